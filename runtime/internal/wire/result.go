package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Encoded is a result as JSON. The guard encodes results first: go-sdk does so outside of any
// recover, where a panic ends the process and NaN leaves the caller without a response.
type Encoded struct {
	Body  []byte   // a JSON object without _meta
	Meta  mcp.Meta // encoded values, in a map of its own: go-sdk adds the server's name
	Typed bool     // go-sdk sets resultType on results of its kind after the middleware
}

// JSON returns the whole result. It fails only for a value of Meta that was added later.
func (e *Encoded) JSON(resultType string) ([]byte, error) {
	if len(e.Meta) == 0 && resultType == "" {
		return e.Body, nil
	}
	head, err := Marshal(struct {
		Meta       mcp.Meta `json:"_meta,omitempty"`
		ResultType string   `json:"resultType,omitempty"`
	}{e.Meta, resultType})
	if err != nil || string(e.Body) == "{}" {
		return head, err
	}
	head[len(head)-1] = ','
	return append(head, e.Body[1:]...), nil
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
	res, typed := private(res)
	e = &Encoded{Typed: typed}
	if meta := metaOf(res); len(meta) > 0 {
		e.Meta = make(mcp.Meta, len(meta))
		for key, value := range meta {
			raw, err := Marshal(value)
			if err != nil {
				return nil, err
			}
			e.Meta[key] = json.RawMessage(raw)
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

// private makes a result private to its caller's cache. typed: go-sdk sets its resultType later.
func private(res mcp.Result) (_ mcp.Result, typed bool) {
	switch res.(type) {
	case *mcp.SubscriptionsListenResult, *mcp.CompleteResult:
		return res, true
	case *mcp.ReadResourceResult: // go-sdk sets its resultType before the middleware
	case *mcp.ListToolsResult, *mcp.ListPromptsResult, *mcp.ListResourcesResult,
		*mcp.ListResourceTemplatesResult, *mcp.DiscoverResult:
		typed = true
	default:
		return res, false
	}
	c := copyOf(res)
	c.Elem().FieldByName("CacheScope").SetString("private")
	if typed {
		c.Elem().FieldByName("ResultType").SetString("")
	}
	return c.Interface().(mcp.Result), typed
}

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
