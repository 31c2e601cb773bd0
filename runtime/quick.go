package runtime

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Most results are what [tool.result] made of a handler's value: structured content, and the same
// as text. It is JSON already, so its bytes are put together here; anything else, and
// anything that somebody may have changed on the way, is marshalled by [finish].

// resultTypeField is where go-sdk keeps what it says of a finished call under protocol
// 2026-07-28. It is set by dispatch and by nothing else, and shown by no method.
var resultTypeField, hasResultType = reflect.TypeFor[mcp.CallToolResult]().FieldByName("resultType")

// body is structured content and the result around it: the same as text, and as itself.
type body struct {
	content []byte // part of whole
	whole   []byte // but for what go-sdk adds, and the brace at the end; nil where the content is not UTF-8
}

const (
	beforeText     = `{"content":[{"type":"text","text":`
	beforeContent  = `}],"structuredContent":`
	withResultType = `,"resultType":"complete"}`
)

// newBody copies the content.
func newBody(content []byte) body {
	if !utf8.Valid(content) {
		return body{content: bytes.Clone(content)}
	}
	escapes := bytes.Count(content, []byte{'"'}) + bytes.Count(content, []byte{'\\'})
	out := make([]byte, 0, 2*len(content)+escapes+2+len(beforeText)+len(beforeContent)+len(withResultType))
	out = appendText(append(out, beforeText...), content)
	out = append(out, beforeContent...)
	from := len(out)
	out = append(out, content...)
	return body{content: out[from:len(out):len(out)], whole: out}
}

// quick finishes the result of a call whose dispatch closure answered with rec.body and
// nothing more. It returns nil for any other.
func (s *Server) quick(rec *record, res mcp.Result) mcp.Result {
	r, ok := res.(*mcp.CallToolResult)
	made := rec.body
	if !ok || r == nil || len(made.whole) == 0 || len(s.opts.Middleware) > 0 || !hasResultType || resultTypeField.Type.Kind() != reflect.String {
		return nil
	}
	if r.Meta != nil || r.IsError || r.InputRequests != nil || r.RequestState != "" || len(r.Content) != 1 {
		return nil
	}
	content, ok := r.StructuredContent.(json.RawMessage)
	if !ok || len(content) != len(made.content) || &content[0] != &made.content[0] {
		return nil
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok || text == nil || text.Meta != nil || text.Annotations != nil || text.Text != string(content) {
		return nil
	}
	if s.adopted {
		// The middleware of an adopted server may have written to the content's bytes, and to the text alike.
		if !json.Valid(content) {
			return nil
		}
		if made = newBody(content); made.whole == nil {
			return nil
		}
	}
	kind := reflect.ValueOf(r).Elem().FieldByIndex(resultTypeField.Index).String()
	out := made.whole
	if kind != "" {
		out = appendText(append(out, `,"resultType":`...), []byte(kind))
	}
	return &finished{body: append(out, '}')}
}

// appendText writes valid UTF-8 as a JSON string (RFC 8259, section 7).
func appendText(out, text []byte) []byte {
	const digits = "0123456789abcdef"
	out = append(out, '"')
	from := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		default:
			out = append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	return append(append(out, text[from:]...), '"')
}
