package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Masker is Options.Masker, for handlers beside MCP; see Options.Admin.
func (s *Server) Masker() redact.Masker { return s.opts.Masker }

// maskedRefusal is a JSON-RPC error without the secrets in its words and its data. A name that a client made up, and that an error
// repeats, is masked whether there is something of that name or not.
func (s *Server) maskedRefusal(err error) error {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc == nil {
		return err
	}
	return &jsonrpc.Error{Code: rpc.Code, Message: s.opts.Masker.Text(rpc.Message), Data: s.maskedJSON(rpc.Data)}
}

// wordedRefusal is a JSON-RPC error whose words were masked where it is known what they are.
type wordedRefusal struct{ rpc *jsonrpc.Error }

func (e wordedRefusal) Error() string { return e.rpc.Message }
func (e wordedRefusal) Unwrap() error { return e.rpc }

// maskedJSON is a document without its secrets; the document itself where it has none.
func (s *Server) maskedJSON(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return doc
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return json.RawMessage(`"` + redact.Mask + `"`)
	}
	shown := s.opts.Masker.Any(tree)
	if reflect.DeepEqual(shown, tree) {
		return doc
	}
	masked, err := marshal(shown)
	if err != nil {
		return json.RawMessage(`"` + redact.Mask + `"`)
	}
	return masked
}

// maskedFailure is an error that a handler answers with as a result of its own, without its secrets. The handler's values are not
// written to. A result that is no error is its author's, and stays.
//
// It must run under recover: values marshal themselves.
func (s *Server) maskedFailure(res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if res == nil || !res.IsError {
		return res, nil
	}
	masked := *res
	masked.Meta = s.maskedMeta(res.Meta)
	masked.Content = make([]mcp.Content, len(res.Content))
	for i, content := range res.Content {
		masked.Content[i] = s.maskedContent(content)
	}
	if res.Content == nil {
		masked.Content = nil
	}
	if res.StructuredContent != nil {
		doc, err := marshal(res.StructuredContent)
		if err != nil {
			return nil, err
		}
		masked.StructuredContent = s.maskedJSON(doc)
	}
	return &masked, nil
}

// maskedAnswer is maskedFailure for what middleware or an adopted server answered.
func (s *Server) maskedAnswer(res mcp.Result) (masked mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			masked, err = nil, fmt.Errorf("panic while masking a %T: %v", res, p)
		}
	}()
	if r, ok := res.(*mcp.CallToolResult); ok && r != nil && r.IsError {
		return s.maskedFailure(r)
	}
	return res, nil
}

// maskedMeta is a result's or a content's _meta without its secrets, by name and by form.
func (s *Server) maskedMeta(meta mcp.Meta) mcp.Meta {
	if meta == nil {
		return nil
	}
	masked, _ := s.opts.Masker.Any(map[string]any(meta)).(map[string]any) // which Any returns for one
	return masked
}

// maskedContent is a content without the secrets in its texts, names and _meta. What an image shows is not looked at.
func (s *Server) maskedContent(content mcp.Content) mcp.Content {
	switch c := content.(type) {
	case *mcp.TextContent:
		if c != nil {
			masked := *c
			masked.Text, masked.Meta = s.opts.Masker.Text(c.Text), s.maskedMeta(c.Meta)
			return &masked
		}
	case *mcp.EmbeddedResource:
		if c != nil && c.Resource != nil {
			masked, resource := *c, *c.Resource
			resource.URI, resource.Text = s.opts.Masker.Text(resource.URI), s.opts.Masker.Text(resource.Text)
			resource.MIMEType, resource.Meta = s.opts.Masker.Text(resource.MIMEType), s.maskedMeta(resource.Meta)
			if text := string(resource.Blob); utf8.ValidString(text) { // others are no texts that say anything
				if shown := s.opts.Masker.Text(text); shown != text {
					resource.Blob = []byte(shown)
				}
			}
			masked.Resource, masked.Meta = &resource, s.maskedMeta(c.Meta)
			return &masked
		}
	case *mcp.ResourceLink:
		if c != nil {
			masked := *c
			masked.URI, masked.Description = s.opts.Masker.Text(c.URI), s.opts.Masker.Text(c.Description)
			masked.Name, masked.Title = s.opts.Masker.Text(c.Name), s.opts.Masker.Text(c.Title)
			masked.MIMEType, masked.Meta = s.opts.Masker.Text(c.MIMEType), s.maskedMeta(c.Meta)
			return &masked
		}
	case *mcp.ImageContent:
		if c != nil {
			masked := *c
			masked.Meta = s.maskedMeta(c.Meta)
			return &masked
		}
	case *mcp.AudioContent:
		if c != nil {
			masked := *c
			masked.Meta = s.maskedMeta(c.Meta)
			return &masked
		}
	}
	return content
}
