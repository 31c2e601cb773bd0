package runtime

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Observer watches what a server does, and has no say in it. Package telemetry has one that makes traces and metrics of
// it. What it is told holds no secret and no text that a client made up, but for trace contexts.
//
// Its methods are called from many goroutines at once and in line with what they are told of, so they must not wait
// for anything. A panic of one is logged, and the request goes on without it.
type Observer interface {
	// Began is told of each message that has a caller, before anything is decided; not of what go-sdk answers by itself, as it does
	// where nobody knows the method. Handlers get what the context that it
	// returns holds; that must be ctx or one derived from it. A nil Observation hears nothing more.
	Began(ctx context.Context, m Message) (context.Context, Observation)
	// TurnedAway is told of each HTTP request to the MCP endpoint that was refused and of whose message Began was not told, by the
	// status that it was answered with: 401 without a valid credential, 404 for a session that there is not (any more). What is no message, or holds params
	// that do not fit, is answered with 200 to clients of the protocols before 2026-07-28.
	TurnedAway(ctx context.Context, status int)
	// Cached is told whether what was looked for was found: in "views", the lists as they are kept for each set of what callers see, or in
	// "capabilities", what the host said of callers.
	Cached(cache string, hit bool)
}

// Observation is one message that an [Observer] watches.
type Observation interface {
	// Trace returns the ids by which traces know the message, in hex; the log and the audit have them then. Empty ones are
	// not known.
	Trace() (traceID, spanID string)
	// Ended is called once, when the message has been answered.
	Ended(o Outcome)
}

// Message is what is known of a message before it is looked at.
type Message struct {
	Method    string // one that the server knows, or "" for any other
	Transport string // TransportHTTP or TransportStdio
	Protocol  string // its version, as the client says; "" where it says none that there is
	RequestID string // as in the log and the audit
	// Meta and Header are the trace contexts that came in the message's _meta and in the headers of the HTTP request.
	// They are the caller's words.
	Meta, Header TraceContext
	// Around is the context of the HTTP request that the message came by, with what middleware in front of [Server.Handler] put
	// into it. It is nil on stdio. In a session the context of a message has that of the request which opened the session.
	Around context.Context
}

// TraceContext is what W3C Trace Context and W3C Baggage pass on, as it was sent: at most a few KiB each, and empty where
// there was none. A Tracestate in which Options.Masker finds a secret is left out, as it is exported with spans.
type TraceContext struct{ Traceparent, Tracestate, Baggage string }

// Outcome is what came of a message.
type Outcome struct {
	// Kind and Name say what was called, got or read, where that is something that there is; a resource
	// is named as its URI or template. Else they are empty, whatever the client asked for.
	Kind access.Kind
	Name string
	// Status is as in the audit; it is empty for what is not audited, as ping, and came to no error.
	Status audit.Status
	// Axis is what denied it, as in the audit.
	Axis string
	// Limit is the limit that it reached, and Isolated says that processes of its own were killed for that.
	Limit    string
	Isolated bool
	// Cancelled says that the call was cancelled before its handler was done: its client has hung up or said so, or the server shuts down.
	Cancelled bool
	// Listed and Total are how much of a list the caller was shown, and of how much; Total is 0 for what is no list.
	Listed, Total int
	// Code is that of the JSON-RPC error it was answered with, 0 for none.
	Code int64
}

// The transports, as requests and traces name them.
const (
	TransportHTTP  = "http"
	TransportStdio = "stdio"
)

// watching is an Observer that may be nil, whose panics end with it.
type watching struct {
	observer Observer
	failed   func(p any, stack []byte) // not nil where there is an observer
}

func (w watching) recovers() {
	if p := recover(); p != nil {
		w.failed(fmt.Sprint(p), debug.Stack())
	}
}

// began is for where somebody watches.
func (w watching) began(ctx context.Context, m Message) (inside context.Context, seen Observation) {
	inside = ctx
	defer w.recovers()
	if c, o := w.observer.Began(ctx, m); !isNil(c) {
		inside, seen = c, o
	}
	return inside, seen
}

func (w watching) turnedAway(ctx context.Context, status int) {
	if w.observer != nil {
		defer w.recovers()
		w.observer.TurnedAway(ctx, status)
	}
}

func (w watching) cached(cache string, hit bool) {
	if w.observer != nil {
		defer w.recovers()
		w.observer.Cached(cache, hit)
	}
}

func (w watching) trace(o Observation) (traceID, spanID string) {
	if o == nil {
		return "", ""
	}
	defer w.recovers()
	return o.Trace()
}

func (w watching) ended(o Observation, out Outcome) {
	if o != nil {
		defer w.recovers()
		o.Ended(out)
	}
}
