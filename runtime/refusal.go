package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// unknownTool is the one answer to a tool that does not exist and to one that is concealed.
// Code and words are go-sdk's, so that no server looks different from any other.
func unknownTool(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", name)}
}

func unknownPrompt(name string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", name)}
}

// unknownResource is built here because go-sdk writes the URI with %q, which is not JSON for
// control characters and silences the session.
func unknownResource(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		data = nil
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

func methodNotFound(method string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", method)}
}

func invalidParams(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// internalError tells the caller that something went wrong and nothing of what.
func internalError() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}

// forbidden is the answer to a tool that may be talked about and not used.
func forbidden(name string, d access.Decision) *mcp.CallToolResult {
	return errorResult(fmt.Sprintf("403 Forbidden: tool %q %s", name, d.Missing()))
}

// codeForbidden is the JSON-RPC error of a prompt or a resource that may be talked about and
// not used. It is of the range that JSON-RPC leaves to servers, and none that MCP or go-sdk
// uses: go-sdk's client would take -32003 for a connection that it closed itself.
const codeForbidden = -32043

// forbiddenItem is forbidden for a prompt or a resource, which have no error results.
func forbiddenItem(what item, d access.Decision) error {
	return &jsonrpc.Error{Code: codeForbidden, Message: fmt.Sprintf("403 Forbidden: %s %q %s", what.kind, what.name, d.Missing())}
}

// errNobody is the answer to a caller who is to be treated as an anonymous one, where none are admitted.
func errNobody() error { return &jsonrpc.Error{Code: codeForbidden, Message: "403 Forbidden"} }

// codeCrowded is codeForbidden's like for a caller, or a server, that listens too often already.
const codeCrowded = -32029

// errCrowded is the answer to a request for which seats has no room.
func errCrowded(status int) error {
	text := "too many requests listen on this server: try again later"
	if status == http.StatusTooManyRequests {
		text = "too many sessions and listening requests of this caller: end one, or try again later"
	}
	return &jsonrpc.Error{Code: codeCrowded, Message: text}
}

// errorResult is the answer of a call that failed, for the model to read.
func errorResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// failureResult is the answer of a call whose handler failed, or that reached a limit. What is wrong with the arguments, and limits, are
// for the model, which can mend its call; what a handler says may be for anybody.
func (s *Server) failureResult(failure error) *mcp.CallToolResult {
	var malformed *decode.Error
	var limit LimitError
	text := s.masked(failure)
	if errors.As(failure, &malformed) || errors.As(failure, &limit) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{ForModel(1, text)}}
	}
	return errorResult(text)
}

// masked are the words of an error without its secrets. In what is wrong with a document the names of its members stand before colons, and
// are not what names in logs are.
func (s *Server) masked(err error) string { return maskedWords(s.opts.Masker, err) }

func maskedWords(mask redact.Masker, err error) string {
	var malformed *decode.Error
	if !errors.As(err, &malformed) || malformed.Error() != err.Error() {
		return mask.Text(err.Error())
	}
	problems := slices.Clone(malformed.Problems)
	for i, p := range problems {
		problems[i] = decode.Problem{Pointer: maskedPointer(mask, p.Pointer), Message: mask.Text(p.Message)}
	}
	return decode.NewError(problems).Error()
}

// maskedPointer masks the secrets in the names of a JSON Pointer, where a slash is written ~1 (RFC 6901, section 3).
func maskedPointer(mask redact.Masker, pointer string) string {
	names := strings.Split(pointer, "/")
	for i, name := range names {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if masked := mask.Text(name); masked != name {
			names[i] = strings.ReplaceAll(strings.ReplaceAll(masked, "~", "~0"), "/", "~1")
		}
	}
	return strings.Join(names, "/")
}

// wireError makes any error fit to leave: a JSON-RPC error keeps its code and words, an end
// of the context says so, and everything else is an internal error, since a plain error would
// reach the caller with code 0 and all its words.
func wireError(err error) error {
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc != nil {
		clean := &jsonrpc.Error{Code: rpc.Code, Message: rpc.Message}
		if json.Valid(rpc.Data) {
			clean.Data = rpc.Data
		}
		if err != error(rpc) {
			clean.Message = err.Error()
		}
		return clean
	}
	if errors.Is(err, context.Canceled) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the request was cancelled"}
	}
	return internalError()
}
