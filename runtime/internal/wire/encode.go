package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Marshal is [json.Marshal] without the escapes for HTML.
func Marshal(v any) ([]byte, error) {
	e, text, err := encode(v)
	if err != nil {
		return nil, err
	}
	defer e.free()
	return bytes.Clone(text), nil
}

// Content is structured content, encoded once together with the result around it: the same JSON as
// text and as itself. A result that nobody reads before the guard encodes it has the Content itself
// as its StructuredContent, and an empty Content. [Shown] fills them in.
//
// The Content of [NewText] is one text content without structured content.
type Content struct {
	JSON    []byte  // a part of the encoded result; the plain text if textOnly is set
	Encoded Encoded // the result; without Body if JSON is not UTF-8

	textOnly bool
	result   mcp.CallToolResult // with it alone, while nobody has read it
}

const (
	beforeText    = `{"content":[{"type":"text","text":`
	beforeContent = `}],"structuredContent":`
	afterText     = `}]}`
)

// Output is how the output of a handler is encoded.
type Output struct {
	Schema *decode.Shape // has the nulls; nil for none
	Only   bool          // only with the properties of Schema
	Form   structured.Form
	// Without are the guarded fields that are left out, by the schema Guarded, which may be nil.
	Guarded *decode.Shape
	Without []string
}

// Encode encodes the output of a handler. Call it under recover: values marshal themselves.
func (o *Output) Encode(out any) (*Content, error) {
	e, text, err := encode(out)
	if err != nil {
		return nil, err
	}
	defer e.free()
	if o.Only {
		var ok bool
		if text, ok = o.Schema.Only(text); !ok {
			return nil, errors.New("a result that is not JSON, or that its schema does not describe")
		}
	} else if o.Schema != nil {
		text = o.Schema.NormalizeNulls(text)
	}
	if text, err = o.cut(text); err != nil {
		return nil, err
	}
	if text, err = o.Form.Apply(text); err != nil {
		return nil, err
	}
	return NewContent(text), nil
}

// cut returns JSON without the fields that are left out.
func (o *Output) cut(text []byte) ([]byte, error) {
	if len(o.Without) == 0 {
		return text, nil
	}
	return o.Guarded.Cut(text, o.Without)
}

// EncodeText encodes the output of a handler as text content.
func (o *Output) EncodeText(out any) (*Content, error) {
	e, text, err := encode(out)
	if err != nil {
		return nil, err
	}
	defer e.free()
	if text, err = o.cut(text); err != nil {
		return nil, err
	}
	return NewText(string(text)), nil
}

// NewContent copies JSON.
func NewContent(content []byte) *Content {
	if !utf8.Valid(content) {
		return &Content{JSON: bytes.Clone(content)}
	}
	escapes := bytes.Count(content, []byte{'"'}) + bytes.Count(content, []byte{'\\'})
	size := 2*len(content) + escapes + 2 + len(beforeText) + len(beforeContent) + 1
	out := appendText(append(make([]byte, 0, size), beforeText...), content)
	out = append(out, beforeContent...)
	from := len(out)
	out = append(out, content...)
	return &Content{JSON: out[from:len(out):len(out)],
		Encoded: Encoded{Body: append(out, '}'), ResultType: complete, last: true}}
}

// NewText returns a result of one text content.
func NewText(text string) *Content {
	c := &Content{JSON: []byte(text), textOnly: true}
	if utf8.Valid(c.JSON) {
		body := append(appendText([]byte(beforeText), c.JSON), afterText...)
		c.Encoded = Encoded{Body: body, ResultType: complete, last: true}
	}
	return c
}

// appendText appends valid UTF-8 as a JSON string (RFC 8259, section 7).
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
		switch {
		case c == '\n':
			out = append(out, '\\', 'n')
		case c < ' ':
			out = append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			out = append(out, '\\', c)
		}
	}
	return append(append(out, text[from:]...), '"')
}

// isWhole reports whether a result has c as its StructuredContent and nothing else.
func (c *Content) isWhole(r *mcp.CallToolResult) bool {
	return c.Encoded.Body != nil && len(r.Content) == 0 && r.Meta == nil && !r.IsError &&
		r.InputRequests == nil && r.RequestState == ""
}

// Result returns a result with c alone. If it is unread, nobody reads it before the guard does.
func (c *Content) Result(unread bool) *mcp.CallToolResult {
	if unread && c.Encoded.Body != nil {
		c.result = mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: c}
		return &c.result
	}
	text := []mcp.Content{&mcp.TextContent{Text: string(c.JSON)}}
	if c.textOnly {
		return &mcp.CallToolResult{Content: text}
	}
	return &mcp.CallToolResult{Content: text, StructuredContent: json.RawMessage(c.JSON)}
}

// Shown returns a result that everybody can read: a copy if it contains a Content, and else res.
func Shown(res mcp.Result) mcp.Result {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || request.IsNil(r) {
		return res
	}
	c, ok := r.StructuredContent.(*Content)
	if !ok {
		return res
	}
	shown, full := *r, c.Result(false)
	shown.Content, shown.StructuredContent = full.Content, full.StructuredContent
	return &shown
}

// MarshalJSON implements [json.Marshaler].
func (c *Content) MarshalJSON() ([]byte, error) { return c.JSON, nil }

type encoder struct {
	buffer bytes.Buffer
	json   *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(&e.buffer)
	e.json.SetEscapeHTML(false)
	return e
}}

// encode is Marshal without a copy: the text is valid until the encoder is freed.
func encode(v any) (*encoder, []byte, error) {
	e := encoders.Get().(*encoder)
	if err := e.json.Encode(v); err != nil {
		return nil, nil, err // an encoder that failed is not used again
	}
	return e, bytes.TrimSuffix(e.buffer.Bytes(), []byte{'\n'}), nil
}

// free lets others use the encoder's memory.
func (e *encoder) free() {
	const maxIdle = 4 << 20 // bytes that an idle encoder may keep: a list of 1,000 large tools
	e.buffer.Reset()
	if e.buffer.Cap() > maxIdle {
		return
	}
	if Freed != nil {
		Freed(e.buffer.AvailableBuffer())
	}
	encoders.Put(e)
}

// Freed, if it is not nil, gets memory that others will use. It is for tests.
var Freed func(memory []byte)
