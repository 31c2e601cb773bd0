package toolset

import (
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// Call is one authorized call on its way to a handler.
type Call struct {
	Arguments json.RawMessage // the arguments, a JSON object; {} if the client sent none

	// run is the server's side of the call, nil outside a server. Its type is any for the reason
	// that Request explains.
	run any
}

// ErrOutsideServer is the error of [Call.Allow] and [Call.Isolated] for a call that no server made.
// Only a server can check permissions and start processes.
//
// It is a constant, because any program could set a variable to nil, which would permit the call.
const ErrOutsideServer = constantError("this is not a call of a server, so grants cannot be " +
	"checked")

// constantError is an error that can be a constant.
type constantError string

// Error implements error.
func (e constantError) Error() string { return string(e) }

// NewCall makes a Call. The server calls it.
//
// If run has a method Allow(context.Context, []Named) (context.Context, error), [Call.Allow] calls
// it. If it has a method Isolated(context.Context) (json.RawMessage, error), [Call.Isolated] calls
// it. If it has a method Request() *mcp.CallToolRequest, [Request] calls it. If it has a method
// Choices() *decode.Choices, [Call.Choices] calls it.
func NewCall(arguments json.RawMessage, run any) Call {
	return Call{Arguments: arguments, run: run}
}

// Allow checks the caller's permissions on the resources that the arguments name, and opens the
// files among them. The handler takes these from the context that Allow returns.
//
// Generated code calls it once for each call, after decoding and before the handler. After an error
// no file is open. The server closes the open files when the handler has returned.
func (c Call) Allow(ctx context.Context, named ...Named) (context.Context, error) {
	run, ok := c.run.(interface {
		Allow(context.Context, []Named) (context.Context, error)
	})
	if !ok {
		return ctx, ErrOutsideServer
	}
	return run.Allow(ctx, named)
}

// Isolated runs the call in a process of its own, with the files that [Call.Allow] opened. It
// returns the result as JSON, or nil if the handler returns an error only. Generated code calls it.
func (c Call) Isolated(ctx context.Context) (json.RawMessage, error) {
	run, ok := c.run.(interface {
		Isolated(context.Context) (json.RawMessage, error)
	})
	if !ok {
		return nil, ErrOutsideServer
	}
	return run.Isolated(ctx)
}

// Choices returns the values of arguments that the caller may send, where //mcp:rule decides on
// values, and the fields that the caller may not see, where the arguments have guarded fields. For
// any other tool it returns nil. Generated code decodes the arguments with the Choices.
func (c Call) Choices() *decode.Choices {
	if run, ok := c.run.(interface{ Choices() *decode.Choices }); ok {
		return run.Choices()
	}
	return nil
}

// Request returns the request of a call, for handlers that have go-sdk's signature. R is
// mcp.CallToolRequest. It carries no token. It is nil outside a server.
//
// R is a type parameter, so that only packages with such a handler import go-sdk.
// mcp.CallToolRequest is also an instance of a generic type. The compiler compiles the methods of
// such an instance, and of all instances that it refers to, in every package that reaches it.
func Request[R any](call Call) *R {
	run, ok := call.run.(interface{ Request() *R })
	if !ok {
		return nil
	}
	return run.Request()
}
