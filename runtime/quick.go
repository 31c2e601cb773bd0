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
var resultTypeField, hasResultType = func() (reflect.StructField, bool) {
	field, ok := reflect.TypeFor[mcp.CallToolResult]().FieldByName("resultType")
	return field, ok && len(field.Index) == 1 && field.Type.Kind() == reflect.String
}()

// body is structured content and the result around it: the same as text, and as itself.
//
// Where nobody but go-sdk sees a result on its way to the guard, it is its structured content as well, in the
// place of what nobody reads.
type body struct {
	content []byte // part of whole
	whole   []byte // but for what go-sdk adds, and the brace at the end; nil where the content is not UTF-8
	done    finished
}

// MarshalJSON is the content.
func (b *body) MarshalJSON() ([]byte, error) { return b.content, nil }

// shown is a result with its content in it for everybody to read, where it has a body in its place.
func shown(res mcp.Result) mcp.Result {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil {
		return res
	}
	b, ok := r.StructuredContent.(*body)
	if !ok {
		return res
	}
	c := *r
	c.Content, c.StructuredContent = []mcp.Content{&mcp.TextContent{Text: string(b.content)}}, json.RawMessage(b.content)
	return &c
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
	if !ok || r == nil || made == nil || len(made.whole) == 0 || len(s.opts.Middleware) > 0 || !hasResultType {
		return nil
	}
	if r.Meta != nil || r.IsError || r.InputRequests != nil || r.RequestState != "" {
		return nil
	}
	if own, ok := r.StructuredContent.(*body); ok {
		if own != made || len(r.Content) > 0 {
			return nil
		}
	} else if !made.stands(r) {
		return nil
	}
	if s.adopted {
		// The middleware of an adopted server may have written to the content's bytes, and to the text alike.
		if !json.Valid(made.content) {
			return nil
		}
		again := newBody(made.content)
		if made = &again; made.whole == nil {
			return nil
		}
	}
	kind := reflect.ValueOf(r).Elem().Field(resultTypeField.Index[0]).String()
	out := made.whole
	if kind != "" {
		out = appendText(append(out, `,"resultType":`...), []byte(kind))
	}
	made.done.body = append(out, '}')
	return &made.done
}

// stands reports whether a result has the content, and nothing but that and the same as text.
func (b *body) stands(r *mcp.CallToolResult) bool {
	content, ok := r.StructuredContent.(json.RawMessage)
	if !ok || len(content) != len(b.content) || &content[0] != &b.content[0] || len(r.Content) != 1 {
		return false
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	return ok && text != nil && text.Meta == nil && text.Annotations == nil && text.Text == string(content)
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
