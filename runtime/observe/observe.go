// Package observe is the contract between a server and an observer of its messages.
//
// runtime.Options.Observe.Observer takes an [Observer]. Package telemetry has one that exports
// traces and metrics with OpenTelemetry.
package observe

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// Observer is notified of what a server does. It cannot change a decision. Its arguments contain no
// secrets, and no text of a client except trace contexts.
//
// The server calls the methods from many goroutines at once, as part of handling a message, so they
// must not block. If a method panics, the server logs it and continues with the message.
type Observer interface {
	// Began is called for each message with an authenticated or anonymous caller, before the server
	// decides anything. It is not called for messages that go-sdk answers itself, such as one with
	// an unknown method.
	//
	// The context that it returns must be ctx or derived from it; handlers get its values. If the
	// Observation is nil, the server does not report the end of the message.
	Began(ctx context.Context, m Message) (context.Context, Observation)

	// TurnedAway is called for each HTTP request to the MCP endpoint that the server refused before
	// Began. status is the HTTP status of the response: 401 without a valid credential, 429 if
	// credentials from its address failed too often, 404 for an unknown or expired session. Before
	// protocol version 2026-07-28 the status is 200 for a body that is no message, and for params
	// that do not fit the method.
	TurnedAway(ctx context.Context, status int)

	// Cached is called for each look-up in a cache. cache is "capabilities", the host's permissions
	// of callers.
	Cached(cache string, hit bool)
}

// Observation is one message that an [Observer] observes.
type Observation interface {
	// Trace returns the ids of the message's trace and span, in hex, or empty strings if they are
	// unknown. The log and the audit then record them.
	Trace() (traceID, spanID string)

	// Ended is called once, after the message was answered.
	Ended(o Outcome)
}

// Message is what the server knows about a message before it handles it.
type Message struct {
	Method    string // empty if the server does not know the method
	Transport string // TransportHTTP or TransportStdio
	Protocol  string // the version in the request; empty if it is missing or unknown
	RequestID string // as in the log and the audit

	// Meta is the trace context of the message's _meta, Header that of the HTTP headers. The client
	// controls both.
	Meta, Header TraceContext

	// Around is the context of the HTTP request, with the values of middleware in front of the
	// server's handler. It is nil on stdio. In a session a message's own context has the values of
	// the request that opened the session.
	Around context.Context
}

// TraceContext holds the values of W3C Trace Context and W3C Baggage, as the client sent them. Each
// is at most a few KiB long, and empty if it is missing. The server drops a Tracestate in which
// Options.Observe.Masker finds a secret, because exporters send it along with spans.
type TraceContext struct{ Traceparent, Tracestate, Baggage string }

// Outcome is the outcome of a message.
type Outcome struct {
	// Kind and Name are the tool, prompt or resource that the message named, if it exists. A
	// resource's name is its URI or URI template. Otherwise they are zero.
	Kind access.Kind
	Name string

	// Failure is the failure of the audit event, or of a message without an event, such as ping. It
	// is empty for success.
	Failure audit.Failure

	// Axis is the reason of a denial, as in the audit.
	Axis string

	// Limit is the name of the limit that the call reached. Isolated is set if the server killed
	// processes of the call for it.
	Limit    string
	Isolated bool

	// Cancelled is set if the call was cancelled before its handler returned: by the client, by a
	// closed connection, or because the server shuts down.
	Cancelled bool

	// Coerced are the coercions of lenient arguments, also of a call that then failed.
	Coerced decode.Coercions

	// Listed is the number of items of a list that the caller got, Total the number of all items.
	// Total is 0 if the message was no list.
	Listed, Total int

	// Code is the code of the JSON-RPC error, 0 for none.
	Code int64
}

// The transports, as requests and traces name them.
const (
	TransportHTTP  = "http"
	TransportStdio = "stdio"
)
