package runtime

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// Answer answers the calls of a tool of the usual form, which takes a struct and returns an object: read
// decodes the arguments, do is the handler. Generated code spells out the other forms as closures.
//
// Tools of the same two types share its code. A closure for each of them takes most of the time
// that a large package takes to compile, which is why it is not inlined either.
//
//go:noinline
func Answer[In, Out any](read func(*decode.Reader, *In), do func(context.Context, In) (Out, error)) func(context.Context, Call) (Result, error) {
	return func(ctx context.Context, call Call) (Result, error) {
		var in In
		r := decode.Begin(call.Arguments)
		read(r, &in)
		if err := r.Finish(); err != nil {
			return Result{}, err
		}
		return Structured(do(ctx, in))
	}
}
