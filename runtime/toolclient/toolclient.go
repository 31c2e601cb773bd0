// Package toolclient calls tools for typed clients, which mcpgen generates by //mcp:server client=.
// Generated code calls its functions; you need its errors, [Session] and nothing else.
package toolclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Session calls tools. A *mcp.ClientSession of go-sdk is one. It is called from as many goroutines
// as the client.
type Session interface {
	// CallTool sends one call, and returns the result of the tool.
	CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error)
}

// ArgumentsError reports that the arguments of a call do not fit the tool's schema. Nothing was
// sent.
type ArgumentsError struct {
	Tool string
	Err  error // usually a *decode.Error, with a line for each problem
}

// Error implements error.
func (e *ArgumentsError) Error() string {
	return fmt.Sprintf("arguments of tool %s: %v", e.Tool, e.Err)
}

// Unwrap returns the cause.
func (e *ArgumentsError) Unwrap() error { return e.Err }

// ToolError reports that a tool has failed. Refused calls are errors of the session instead:
// *jsonrpc.Error of go-sdk.
type ToolError struct {
	Tool   string
	Result *mcp.CallToolResult // with IsError
}

// Error contains the text of the result.
func (e *ToolError) Error() string {
	return "tool " + e.Tool + " failed: " + strings.Join(texts(e.Result), "\n")
}

// ResultError reports a result that does not have the form that the client was generated for. The
// server may have another version.
type ResultError struct {
	Tool   string
	Result *mcp.CallToolResult
	Err    error
}

// Error implements error.
func (e *ResultError) Error() string { return fmt.Sprintf("result of tool %s: %v", e.Tool, e.Err) }

// Unwrap returns the cause.
func (e *ResultError) Unwrap() error { return e.Err }

// Client calls the tools of one package. It is safe for concurrent use if its session is.
type Client struct {
	session Session
	check   func(tool string, arguments []byte) error
}

// New returns a Client. Generated code calls it, with CheckArguments of the package.
func New(session Session, check func(tool string, arguments []byte) error) Client {
	return Client{session, check}
}

// Result calls a tool with in as its arguments and returns the result as it is. in is nil for a
// tool without arguments.
func Result(ctx context.Context, c Client, tool string, in any) (*mcp.CallToolResult, error) {
	arguments := json.RawMessage("{}")
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return nil, &ArgumentsError{tool, err}
		}
		arguments = text
	}
	if err := c.check(tool, arguments); err != nil {
		return nil, &ArgumentsError{tool, err}
	}
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, fmt.Errorf("calling tool %s: %w", tool, err)
	}
	if result.IsError {
		return nil, &ToolError{tool, result}
	}
	return result, nil
}

// Nothing calls a tool that returns nothing.
func Nothing(ctx context.Context, c Client, tool string, in any) error {
	_, err := Result(ctx, c, tool, in)
	return err
}

// Object calls a tool whose structured content is a T.
func Object[T any](ctx context.Context, c Client, tool string, in any) (T, error) {
	return read[T](ctx, c, tool, in, structured)
}

// Value calls a tool whose structured content is a T in MCP 2026-07-28, and {"result": T} before.
func Value[T any](ctx context.Context, c Client, tool string, in any) (T, error) {
	return read[T](ctx, c, tool, in, func(result *mcp.CallToolResult) ([]byte, error) {
		content, err := structured(result)
		// Every result of 2026-07-28 names the server.
		if _, natural := result.Meta[mcp.MetaKeyServerInfo]; natural || err != nil {
			return content, err
		}
		var wrapped struct{ Result json.RawMessage }
		if err := json.Unmarshal(content, &wrapped); err != nil {
			return nil, err
		}
		return wrapped.Result, nil
	})
}

// JSON calls a tool that returns a T as JSON in a text.
func JSON[T any](ctx context.Context, c Client, tool string, in any) (T, error) {
	return read[T](ctx, c, tool, in, text)
}

// Text calls a tool that returns a text.
func Text(ctx context.Context, c Client, tool string, in any) (string, error) {
	result, err := Result(ctx, c, tool, in)
	if err != nil {
		return "", err
	}
	content, err := text(result)
	if err != nil {
		return "", &ResultError{tool, result, err}
	}
	return string(content), nil
}

// Bytes calls a tool that returns an image, audio or an embedded resource.
func Bytes(ctx context.Context, c Client, tool string, in any) ([]byte, error) {
	result, err := Result(ctx, c, tool, in)
	if err != nil {
		return nil, err
	}
	for _, content := range result.Content {
		switch content := content.(type) {
		case *mcp.ImageContent:
			return content.Data, nil
		case *mcp.AudioContent:
			return content.Data, nil
		case *mcp.EmbeddedResource:
			if content.Resource != nil {
				if content.Resource.Blob == nil {
					return []byte(content.Resource.Text), nil
				}
				return content.Resource.Blob, nil
			}
		}
	}
	return nil, &ResultError{tool, result, errors.New("it has no image, audio or resource")}
}

// Contents calls a tool that returns content of go-sdk's.
func Contents(ctx context.Context, c Client, tool string, in any) ([]mcp.Content, error) {
	result, err := Result(ctx, c, tool, in)
	if err != nil {
		return nil, err
	}
	return result.Content, nil
}

// read calls a tool and reads a T from a part of its result.
func read[T any](ctx context.Context, c Client, tool string, in any,
	part func(*mcp.CallToolResult) ([]byte, error)) (T, error) {
	var value, zero T
	result, err := Result(ctx, c, tool, in)
	if err != nil {
		return zero, err
	}
	content, err := part(result)
	if err == nil {
		err = json.Unmarshal(content, &value)
	}
	if err != nil {
		return zero, &ResultError{tool, result, err}
	}
	return value, nil
}

// structured returns the structured content as JSON. Servers also send it as text, which has the
// digits that numbers beyond 2^53 lose in go-sdk's any.
func structured(result *mcp.CallToolResult) ([]byte, error) {
	exact, err := text(result)
	switch {
	case result.StructuredContent == nil && string(exact) == "null": // go-sdk drops it
		return exact, nil
	case result.StructuredContent == nil:
		return nil, errors.New("it has no structured content")
	case err == nil:
		var value any
		if json.Unmarshal(exact, &value) == nil &&
			reflect.DeepEqual(value, result.StructuredContent) {
			return exact, nil
		}
	}
	return json.Marshal(result.StructuredContent)
}

func text(result *mcp.CallToolResult) ([]byte, error) {
	all := texts(result)
	if len(all) != 1 {
		return nil, fmt.Errorf("it has %d texts, not one", len(all))
	}
	return []byte(all[0]), nil
}

func texts(result *mcp.CallToolResult) (all []string) {
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return all
}
