// Package intercept is the middleware of a server.
//
// It stands inside the guard: it gets the messages that the rules allow, and the guard encodes and
// records what it returns. It has the same place whether the server answers a message
// itself or go-sdk's server does.
package intercept

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Message is one allowed message. Middleware may pass another one on; a message that names another
// tool, prompt or resource is decided again.
type Message struct {
	Method string     // as "tools/call"
	Params mcp.Params // as *mcp.CallToolParamsRaw; a list without params has a typed nil
}

// Next is the rest of the way to the handler. An error that is not a *jsonrpc.Error reaches the
// client as an internal error. The context is that of the message: runtime.Caller finds the caller.
type Next func(ctx context.Context, m Message) (mcp.Result, error)

// Middleware returns a Next in front of another one. It is called once, when the server is made;
// what it returns is called from many goroutines at once.
type Middleware func(Next) Next
