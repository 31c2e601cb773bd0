package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Encoded is a result as JSON. The guard encodes results first: go-sdk does so outside of any
// recover, where a panic ends the process and NaN leaves the caller without a response.
type Encoded struct {
	Body []byte          // a JSON object without _meta and resultType
	Meta json.RawMessage // a JSON object; nil for none
	// ResultType is the resultType of 2026-07-28; empty for a result that has none.
	ResultType string
	last       bool // ResultType comes after Body

	list  string           // the name of a further member, an array; empty for none
	items iter.Seq[[]byte] // of the array
	bytes int              // of the items and the commas between them
}

// EncodeList encodes the result of a list: the items of a page, which are JSON, under their name.
// A client may keep it for ttl milliseconds.
func EncodeList(name string, items iter.Seq[[]byte], cursor string, meta mcp.Meta,
	ttl int) (*Encoded, error) {
	result := struct {
		mcp.Cacheable
		NextCursor string `json:"nextCursor,omitempty"`
	}{mcp.Cacheable{TTLMs: ttl, CacheScope: private}, cursor}
	e := &Encoded{ResultType: complete, list: name, items: items}
	for item := range items {
		e.bytes += len(item) + 1
	}
	var err error
	if e.Body, err = Marshal(result); err == nil && len(meta) > 0 {
		e.Meta, err = Marshal(meta)
	}
	return e, err
}

// ServerInfo is the member of _meta that names the server in results of 2026-07-28, as JSON.
func ServerInfo(i *mcp.Implementation) (json.RawMessage, error) {
	return Marshal(mcp.Meta{mcp.MetaKeyServerInfo: i})
}

// Identify adds the server's name to a result that has none, for a message of 2026-07-28.
func (e *Encoded) Identify(server json.RawMessage) {
	switch {
	case len(server) == 0:
	case e.Meta == nil:
		e.Meta = server
	case decode.Value(e.Meta).Member(mcp.MetaKeyServerInfo) == nil:
		e.Meta = join(server, e.Meta)
	}
}

// Append appends the result to out.
func (e *Encoded) Append(out []byte) []byte {
	const name = `"resultType":"`
	out = append(out, '{')
	from := len(out)
	member := func() []byte {
		if len(out) > from {
			return append(out, ',')
		}
		return out
	}
	if e.Meta != nil {
		out = append(append(out, `"_meta":`...), e.Meta...)
	}
	if e.ResultType != "" && !e.last {
		out = append(append(append(member(), name...), e.ResultType...), '"')
	}
	if inner := e.Body[1 : len(e.Body)-1]; len(inner) > 0 {
		out = append(member(), inner...)
	}
	if e.list != "" {
		out = append(append(append(member(), '"'), e.list...), `":[`...)
		first := len(out)
		for item := range e.items {
			if len(out) > first {
				out = append(out, ',')
			}
			out = append(out, item...)
		}
		out = append(out, ']')
	}
	if e.ResultType != "" && e.last {
		out = append(append(append(member(), name...), e.ResultType...), '"')
	}
	return append(out, '}')
}

// Size is about how many bytes Append appends.
func (e *Encoded) Size() int {
	return len(e.Body) + len(e.Meta) + e.bytes + 64
}

// join returns an object with the members of two.
func join(a, b []byte) []byte {
	return slices.Concat(a[:len(a)-1], []byte{','}, b[1:])
}

// ErrNilResult is the error for a nil result.
var ErrNilResult = errors.New("a nil result")

// EncodeResult encodes a result, which it does not change. It recovers, because values marshal
// themselves. The error is for the log.
func EncodeResult(res mcp.Result) (e *Encoded, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, err = nil, fmt.Errorf("panic while marshalling a %T: %v", res, p)
		}
	}()
	if request.IsNil(res) {
		return nil, ErrNilResult
	}
	if r, ok := res.(*mcp.CallToolResult); ok {
		if c, ok := r.StructuredContent.(*Content); ok && c.isWhole(r) {
			whole := c.Encoded
			return &whole, nil
		}
		res = Shown(r)
	}
	meta := metaOf(res)
	e = &Encoded{}
	res, e.ResultType, e.last = plain(res)
	if len(meta) > 0 {
		if e.Meta, err = Marshal(meta); err != nil {
			return nil, err
		}
	}
	if e.Body, err = Marshal(res); err != nil {
		return nil, err
	}
	if len(e.Body) < 2 || e.Body[0] != '{' {
		return nil, fmt.Errorf("a %T that is not a JSON object", res)
	}
	if bytes.Contains(e.Body, []byte(`"_meta"`)) {
		e.Body, err = withoutMeta(e.Body)
	}
	return e, err
}

const complete, inputRequired = "complete", "input_required"

// plain returns a copy of a result without _meta and without the resultType that go-sdk may have
// set, private to its caller's cache, and the resultType to set in 2026-07-28.
func plain(res mcp.Result) (_ mcp.Result, resultType string, last bool) {
	typeOf := func(asks mcp.InputRequestMap) string {
		if asks != nil {
			return inputRequired
		}
		return complete
	}
	switch r := res.(type) {
	case *mcp.CallToolResult:
		c := &mcp.CallToolResult{Content: r.Content, StructuredContent: r.StructuredContent,
			IsError: r.IsError, InputRequests: r.InputRequests, RequestState: r.RequestState}
		if c.Content == nil && c.InputRequests == nil {
			c.Content = []mcp.Content{}
		}
		return c, typeOf(r.InputRequests), true
	case *mcp.GetPromptResult:
		return &mcp.GetPromptResult{Description: r.Description, Messages: r.Messages,
			InputRequests: r.InputRequests, RequestState: r.RequestState}, typeOf(r.InputRequests), true
	case *mcp.ReadResourceResult:
		c := &mcp.ReadResourceResult{Contents: r.Contents, Cacheable: r.Cacheable,
			InputRequests: r.InputRequests, RequestState: r.RequestState}
		c.CacheScope = private
		return c, typeOf(r.InputRequests), true
	case *mcp.SubscriptionsListenResult, *mcp.CompleteResult, *mcp.DiscoverResult,
		*mcp.ListToolsResult, *mcp.ListPromptsResult, *mcp.ListResourcesResult,
		*mcp.ListResourceTemplatesResult:
		c := copyOf(res)
		c.Elem().FieldByName("Meta").SetZero()
		c.Elem().FieldByName("ResultType").SetZero()
		if scope := c.Elem().FieldByName("CacheScope"); scope.IsValid() {
			scope.SetString(private)
		}
		return c.Interface().(mcp.Result), complete, false
	}
	return res, "", false
}

const private = "private"

// copyOf returns a pointer to a copy of what v points to.
func copyOf(v any) reflect.Value {
	from := reflect.ValueOf(v).Elem()
	c := reflect.New(from.Type())
	c.Elem().Set(from)
	return c
}

// metaOf returns the _meta of a result. go-sdk's empty result panics.
func metaOf(res mcp.Result) (meta map[string]any) {
	defer func() { _ = recover() }()
	return res.GetMeta()
}

// withoutMeta removes _meta from the root of an encoded result.
func withoutMeta(body []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if _, ok := object["_meta"]; !ok {
		return body, nil
	}
	delete(object, "_meta")
	return Marshal(object)
}

// OutputSchema reads the output schema of a tool, which is JSON.
func OutputSchema(schema []byte) structured.Schema {
	if string(decode.Value(schema).Member("type")) == `"object"` { // most are: without decoding
		return structured.Schema{Natural: schema, InSessions: schema, Form: structured.AsObject}
	}
	return structured.New(schema)
}

// InSession returns the result of a tool as a version with sessions has it: itself, or a copy. The
// form is that of the tool's schema; an error, and content that does not fit the form, are sent by
// their value. Other results are returned as they are. It recovers, because values marshal
// themselves.
func InSession(res mcp.Result, form structured.Form) (_ mcp.Result, err error) {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil || r.StructuredContent == nil {
		return res, nil
	}
	if _, isSent := r.StructuredContent.(*Content); isSent {
		return res, nil
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while marshalling a %T: %v", r.StructuredContent, p)
		}
	}()
	text, err := Marshal(r.StructuredContent)
	if err != nil {
		return nil, err
	}
	if form != structured.InResult || r.IsError {
		form = structured.ByValue
	}
	shown := *r
	shown.StructuredContent = nil
	content, err := form.Apply(text)
	switch {
	case err == nil:
		shown.StructuredContent = json.RawMessage(content)
	case !r.IsError || !errors.Is(err, structured.ErrNull):
		return nil, err
	}
	return &shown, nil
}

// EditContent edits what an encoded result of a tool repeats of the output of its handler: its
// structured content, and each text content that is JSON.
func EditContent(result []byte, edit func(doc []byte) ([]byte, error)) ([]byte, error) {
	inText := func(name string, value []byte) ([]byte, error) {
		var text string
		if name != "text" || json.Unmarshal(value, &text) != nil || !json.Valid([]byte(text)) {
			return value, nil
		}
		edited, err := edit([]byte(text))
		if err != nil || string(edited) == text {
			return value, err
		}
		return Marshal(string(edited))
	}
	return editMembers(result, func(name string, value []byte) ([]byte, error) {
		var items []json.RawMessage
		switch {
		case name == "structuredContent":
			return edit(value)
		case name != "content" || json.Unmarshal(value, &items) != nil || len(items) == 0:
			return value, nil
		}
		out := []byte{'['}
		for i, item := range items {
			if i > 0 {
				out = append(out, ',')
			}
			edited, err := editMembers(item, inText)
			if err != nil {
				return nil, err
			}
			out = append(out, edited...)
		}
		return append(out, ']'), nil
	})
}

// EditResult edits the result in a message. If that fails, the message becomes an error. Messages
// without a result stay.
func EditResult(message []byte, edit func(result []byte) ([]byte, error)) []byte {
	edited, err := editMembers(message, func(name string, value []byte) ([]byte, error) {
		if name != "result" {
			return value, nil
		}
		return edit(value)
	})
	if err != nil {
		return ErrorResponse(ID{JSON: string(decode.Value(message).Member("id"))}, InternalError())
	}
	return edited
}

// editMembers edits the values of an object.
func editMembers(object []byte, edit func(name string, value []byte) ([]byte, error)) (
	[]byte, error,
) {
	d := json.NewDecoder(bytes.NewReader(object))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.New("a message or result that is not an object")
	}
	out := []byte{'{'}
	for d.More() {
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return nil, err
		}
		text, _ := name.(string)
		edited, err := edit(text, value)
		if err != nil {
			return nil, err
		}
		out = append(append(appendText(out, []byte(text)), ':'), edited...)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// Empty is a result without members.
type Empty struct{ mcp.ResultBase }
