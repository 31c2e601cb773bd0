package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A finished result is one that nothing can go wrong with any more. go-sdk marshals results
// behind all middleware and outside of any recover, where a panic ends the process and NaN
// leaves the caller waiting; so the guard marshals them itself and hands the bytes over.
//
// Two things are still added to it under protocol 2026-07-28: the server's name in _meta, for
// which each finished result has a map of its own (go-sdk writes into it), and resultType,
// which go-sdk sets on the results it knows by an unexported method.
type finished struct {
	mcp.ResultBase
	body []byte // a JSON object without _meta
}

// MarshalJSON is called by go-sdk. Nothing in it can fail or panic.
func (f *finished) MarshalJSON() ([]byte, error) { return join(f.Meta, "", f.body) }

// finishedComplete is a finished result of a kind that gets its resultType after the
// middleware; the embedded type is one such and lends its method.
type finishedComplete struct {
	mcp.ListToolsResult
	body []byte
}

// MarshalJSON is called by go-sdk. Nothing in it can fail or panic.
func (f *finishedComplete) MarshalJSON() ([]byte, error) {
	return join(f.Meta, string(f.ResultType), f.body)
}

// join puts what was added later in front of a finished body.
func join(meta map[string]any, resultType string, body []byte) ([]byte, error) {
	if len(meta) == 0 && resultType == "" {
		return body, nil
	}
	out := []byte{'{'}
	if len(meta) > 0 {
		m, err := marshal(meta)
		if err != nil {
			return nil, err
		}
		out = append(append(out, `"_meta":`...), m...)
	}
	if resultType != "" {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, `"resultType":"`...), resultType...), '"')
	}
	if rest := body[1:]; rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, body[1:]...), nil
}

var errNilResult = errors.New("a nil result")

// finish marshals a result under recover. The error says what was wrong with it, for the log.
func finish(res mcp.Result) (done mcp.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			done, err = nil, fmt.Errorf("panic while marshalling a %T: %v", res, p)
		}
	}()
	if isNil(res) {
		return nil, errNilResult
	}
	res, complete := private(res)
	meta, err := finishedMeta(res)
	if err != nil {
		return nil, err
	}
	body, err := marshal(res)
	if err != nil {
		return nil, err
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("a %T that is not a JSON object", res)
	}
	if bytes.Contains(body, []byte(`"_meta"`)) {
		if body, err = withoutMeta(body); err != nil {
			return nil, err
		}
	}
	if complete {
		f := &finishedComplete{body: body}
		f.Meta = meta
		return f, nil
	}
	f := &finished{body: body}
	f.Meta = meta
	return f, nil
}

// private marks every result that may depend on the caller as not to be shared by caches,
// and says whether go-sdk sets resultType on results of its kind after the middleware.
func private(res mcp.Result) (mcp.Result, bool) {
	const scope = "private"
	switch r := res.(type) {
	case *mcp.ListToolsResult:
		c := *r
		c.CacheScope, c.ResultType = scope, ""
		return &c, true
	case *mcp.ListPromptsResult:
		c := *r
		c.CacheScope, c.ResultType = scope, ""
		return &c, true
	case *mcp.ListResourcesResult:
		c := *r
		c.CacheScope, c.ResultType = scope, ""
		return &c, true
	case *mcp.ListResourceTemplatesResult:
		c := *r
		c.CacheScope, c.ResultType = scope, ""
		return &c, true
	case *mcp.ReadResourceResult:
		c := *r
		c.CacheScope = scope
		return &c, false // go-sdk has set its resultType before the middleware
	case *mcp.DiscoverResult:
		c := *r
		c.CacheScope, c.ResultType = scope, ""
		return &c, true
	case *mcp.SubscriptionsListenResult, *mcp.CompleteResult:
		return res, true
	}
	return res, false
}

// finishedMeta returns a result's _meta with its values marshalled, in a map of its own.
func finishedMeta(res mcp.Result) (mcp.Meta, error) {
	source := metaOf(res)
	if len(source) == 0 {
		return nil, nil
	}
	meta := make(mcp.Meta, len(source))
	for key, value := range source {
		raw, err := marshal(value)
		if err != nil {
			return nil, err
		}
		meta[key] = json.RawMessage(raw)
	}
	return meta, nil
}

// metaOf asks a result for its _meta. go-sdk's empty result panics when asked.
func metaOf(res mcp.Result) (meta map[string]any) {
	defer func() {
		if recover() != nil {
			meta = nil
		}
	}()
	return res.GetMeta()
}

// withoutMeta takes the _meta out of a marshalled result, if it has one at its root.
func withoutMeta(body []byte) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, err
	}
	if _, ok := object["_meta"]; !ok {
		return body, nil
	}
	delete(object, "_meta")
	return marshal(object)
}

// encoder is a JSON encoder with the buffer that it writes to.
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

// maxKeptBuffer bounds what an idle encoder holds on to.
const maxKeptBuffer = 64 << 10

// marshal is json.Marshal without the escaping that HTML needs and JSON does not.
func marshal(v any) ([]byte, error) {
	e, text, err := encode(v)
	if err != nil {
		return nil, err
	}
	body := bytes.Clone(text)
	e.free()
	return body, nil
}

// encode is marshal for who is done with the text when it gives the encoder back.
func encode(v any) (*encoder, []byte, error) {
	// An encoder that panics or errs is not used again.
	e := encoders.Get().(*encoder)
	if err := e.json.Encode(v); err != nil {
		return nil, nil, err
	}
	return e, bytes.TrimSuffix(e.buffer.Bytes(), []byte{'\n'}), nil
}

func (e *encoder) free() {
	if e.buffer.Cap() <= maxKeptBuffer {
		e.buffer.Reset()
		encoders.Put(e)
	}
}
