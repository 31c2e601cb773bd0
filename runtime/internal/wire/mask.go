package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// MaskResult returns a copy without secrets of a tool's result that is an error. Other results it
// returns unchanged: they are the author's. It recovers, because values marshal themselves.
func MaskResult(mask redact.Masker, res mcp.Result) (_ mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while masking a %T: %v", res, p)
		}
	}()
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil || !r.IsError {
		return res, nil
	}
	masked := *r
	masked.Meta, masked.Content = maskMeta(mask, r.Meta), slices.Clone(r.Content)
	for i, content := range r.Content {
		masked.Content[i] = maskContent(mask, content)
	}
	if r.StructuredContent != nil {
		doc, err := Marshal(r.StructuredContent)
		if err != nil {
			return nil, err
		}
		masked.StructuredContent = mask.JSON(doc)
	}
	return &masked, nil
}

// maskContent returns a copy of a content with its texts and _meta masked. Images and sounds stay.
func maskContent(mask redact.Masker, content mcp.Content) mcp.Content {
	if request.IsNil(content) || reflect.TypeOf(content).Kind() != reflect.Pointer {
		return content
	}
	masked := copyOf(content)
	maskFields(mask, masked.Elem())
	if c, ok := masked.Interface().(*mcp.EmbeddedResource); ok && c.Resource != nil {
		resource := copyOf(c.Resource)
		maskFields(mask, resource.Elem())
		c.Resource = resource.Interface().(*mcp.ResourceContents)
		if blob := c.Resource.Blob; blob != nil && utf8.Valid(blob) { // other bytes are no text
			c.Resource.Blob = []byte(mask.Text(string(blob)))
		}
	}
	return masked.Interface().(mcp.Content)
}

func maskFields(mask redact.Masker, of reflect.Value) {
	for _, field := range of.Fields() {
		if !field.CanSet() {
			continue
		}
		switch text := field.Addr().Interface().(type) {
		case *string:
			*text = mask.Text(*text)
		case *mcp.Meta:
			*text = maskMeta(mask, *text)
		}
	}
}

// maskMeta masks a _meta by name and by form.
func maskMeta(mask redact.Masker, meta mcp.Meta) mcp.Meta {
	if meta == nil {
		return nil
	}
	masked, _ := mask.Any(map[string]any(meta)).(map[string]any) // Any returns one for one
	return masked
}

// MaskedError is a JSON-RPC error whose words were masked where they were made.
type MaskedError struct{ RPC *jsonrpc.Error }

func (e MaskedError) Error() string { return e.RPC.Message }

// Unwrap returns the JSON-RPC error.
func (e MaskedError) Unwrap() error { return e.RPC }

// MaskError masks the secrets in the words and the data of a JSON-RPC error. It masks names that
// the client chose whether they exist or not. Other errors it returns unchanged.
func MaskError(mask redact.Masker, err error) error {
	if e, ok := err.(echo); ok {
		return e.masked(mask)
	}
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) || rpc == nil {
		return err
	}
	return &jsonrpc.Error{Code: rpc.Code, Message: mask.Text(rpc.Message), Data: mask.JSON(rpc.Data)}
}

// MaskedWords returns the words of an error without secrets. In problems of a document the names
// before colons are members, not names of secrets as in logs.
func MaskedWords(mask redact.Masker, err error) string {
	var malformed *decode.Error
	if !errors.As(err, &malformed) || malformed.Error() != err.Error() {
		return mask.Text(err.Error())
	}
	return malformed.Map(mask.Text).Error()
}

// WithoutValues returns an error for the log. An error of decoding repeats the value that it could
// not decode, such as a user's input; the result names only its type and field.
func WithoutValues(err error) error {
	var misfit *json.UnmarshalTypeError
	if !errors.As(err, &misfit) {
		return err
	}
	words := fmt.Sprintf("a value that does not fit a %v (field %q)", misfit.Type, misfit.Field)
	if text := err.Error(); strings.Contains(text, misfit.Error()) {
		words = strings.ReplaceAll(text, misfit.Error(), words)
	}
	return errors.New(words)
}
