package bridge

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// go-sdk marshals results behind all middleware and outside of any recover: a panic there ends
// the process, and NaN leaves the caller without an answer. So it gets encoded results. Under
// protocol 2026-07-28 it adds two things: the server's name in _meta, for which each result has a
// map of its own, and a resultType, which it sets on its own types by an unexported method.

// encodedResult is an encoded result.
type encodedResult struct {
	mcp.ResultBase
	encoded *wire.Encoded
}

// MarshalJSON is called by go-sdk.
func (r *encodedResult) MarshalJSON() ([]byte, error) {
	if len(r.Meta) == 0 {
		return r.encoded.Body, nil
	}
	return (&wire.Encoded{Body: r.encoded.Body, Meta: r.Meta}).JSON("")
}

// typedResult is an encoded result of a kind that gets its resultType after the middleware. The
// embedded type is one of these, and lends its method.
type typedResult struct {
	mcp.ListToolsResult
	encoded *wire.Encoded
}

// MarshalJSON is called by go-sdk.
func (r *typedResult) MarshalJSON() ([]byte, error) {
	return (&wire.Encoded{Body: r.encoded.Body, Meta: r.Meta}).JSON(string(r.ResultType))
}

// finished returns an encoded result as go-sdk takes it. A notification has none.
func finished(e *wire.Encoded) mcp.Result {
	switch {
	case e == nil:
		return nil
	case e.Typed:
		r := &typedResult{encoded: e}
		r.Meta = e.Meta
		return r
	}
	r := &encodedResult{encoded: e}
	r.Meta = e.Meta
	return r
}
