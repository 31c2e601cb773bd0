package runtime

import "context"

// Answerer answers the calls of a tool. Generated code declares one for every type of handler, as
// a type whose values are the handlers:
//
//	type answerBooking func(context.Context, Booking) (Receipt, error)
//
// Tools of the same type of handler share its code, and the rows that name them are data, which takes a compiler
// no time. A closure for each tool, or a call that makes one, takes most of the time of a large package; an instance of a
// generic func is no cheaper.
type Answerer interface {
	Answer(ctx context.Context, call Call) (Result, error)
}
