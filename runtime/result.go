package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// result makes the answer of a call from what its handler returned: marshalled once, mended
// by the output schema, as structured content and as the same text. The handler's values are
// not written to, and a *mcp.CallToolResult that it returned may be shared between calls.
//
// Where the structured content is all that the answer holds, it is returned as well. unread says that nobody
// but go-sdk sees the answer before [Server.quick] does: it has the body in the place of its content then.
//
// It must run under recover: values marshal themselves.
func (t *tool) result(r Result, unread bool) (*mcp.CallToolResult, *body, error) {
	if r.SDK || !r.HasOut {
		res, err := t.foreign(r)
		return res, nil, err
	}
	e, text, err := encode(r.Out)
	if err != nil {
		return nil, nil, err
	}
	if text, err = t.mended(r, text); err != nil {
		return nil, nil, err
	}
	whole := &struct {
		res  mcp.CallToolResult
		body body
	}{body: newBody(text)}
	e.free()
	whole.res.Content, whole.res.StructuredContent = none, &whole.body
	if !unread || whole.body.whole == nil || !hasResultType {
		return shown(&whole.res).(*mcp.CallToolResult), &whole.body, nil
	}
	return &whole.res, &whole.body, nil
}

// fits holds an answer against the tool's limit on it.
func (t *tool) fits(res *mcp.CallToolResult, whole *body) error {
	if t.Limits.Output == 0 {
		return nil
	}
	size := 0
	if whole != nil {
		size = len(whole.content)
	} else {
		text, err := marshal(res)
		if err != nil {
			return err
		}
		size = len(text)
	}
	if int64(size) > t.Limits.Output {
		return &outputError{t.Limits.Output}
	}
	return nil
}

// outputError is a [LimitError].
type outputError struct{ bound int64 }

func (e *outputError) Error() string {
	return fmt.Sprintf("the tool reached its limit on output (%s): ask for less", bytesOf(e.bound))
}

// Reached implements [LimitError].
func (e *outputError) Reached() string { return "output" }

// bytesOf writes a size as directives do.
func bytesOf(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes && n%unit.bytes == 0 {
			return fmt.Sprintf("%d %s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// none is a content that go-sdk takes for one.
var none = []mcp.Content{}

// foreign is the answer of a handler that made it itself, or that answers with an error alone.
func (t *tool) foreign(r Result) (*mcp.CallToolResult, error) {
	res := &mcp.CallToolResult{}
	if r.Native != nil {
		c := *r.Native
		res = &c
		// go-sdk turns the first into an error of its own, behind all middleware.
		if res.InputRequests != nil && (len(res.Content) > 0 || res.StructuredContent != nil) {
			return nil, errors.New("a result with both content and input requests: return one of them")
		}
		asked, err := questions(res.InputRequests)
		if err != nil {
			return nil, err
		}
		res.InputRequests = asked
	}
	if r.HasOut && res.InputRequests == nil {
		if err := t.structure(res, r); err != nil {
			return nil, err
		}
	}
	if res.Content == nil && res.InputRequests == nil {
		res.Content = []mcp.Content{}
	}
	if r.Native != nil {
		if slices.ContainsFunc(res.Content, func(c mcp.Content) bool { return isNil(c) }) {
			return nil, errors.New("a nil content: leave it out")
		}
		// What the handler put into its own result is marshalled by go-sdk outside of any
		// recover; try it here.
		if _, err := finish(res); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// structure fills in the structured content.
func (t *tool) structure(res *mcp.CallToolResult, r Result) error {
	body, err := marshal(r.Out)
	if err == nil {
		body, err = t.mended(r, body)
	}
	if err != nil || string(body) == "null" {
		return err
	}
	res.StructuredContent = json.RawMessage(body)
	if res.Content == nil {
		res.Content = []mcp.Content{&mcp.TextContent{Text: string(body)}}
	}
	return nil
}

// mended is what the handler returned, marshalled as body, as its schema says. It is null for a handler of
// go-sdk's own shape only.
func (t *tool) mended(r Result, body []byte) ([]byte, error) {
	if r.Wrapped {
		body = slices.Concat([]byte(`{"result":`), body, []byte{'}'})
	}
	if t.output != nil {
		body = t.output.Mend(body)
	}
	if !r.Wrapped && !r.SDK && body[0] != '{' {
		return nil, errors.New("structured content that is not an object: return a value, not a nil pointer")
	}
	return body, nil
}
