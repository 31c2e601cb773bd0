// Package audit records what was decided: one event for each call of a tool, each get of a
// prompt, each read of a resource, each completion, each list, and each change to what a store
// keeps. Failed authentications are counted by address, with an event a minute at most.
//
// An event says who asked, for what, how it was decided and how it ended. It never holds the
// value of an argument, a result or a credential. The server writes it before the answer
// leaves, and a call whose event cannot be written is not answered.
//
// A call that may change something has two events with the same RequestID. The intent, with the
// status [Intent], is durable before the handler starts. The outcome is durable before the answer
// leaves, and its Intended is true. An intent without an outcome is what a killed server or a
// failed sink leaves: the handler may have run. [IntentPolicy] decides which calls have an intent.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"time"
)

// Type says what kind of request an event is about.
type Type string

const (
	ToolCalled   Type = "tool_called"
	ToolList     Type = "tool_list"
	PromptGet    Type = "prompt_get"
	PromptList   Type = "prompt_list"
	ResourceRead Type = "resource_read"
	ResourceList Type = "resource_list"
	TemplateList Type = "resource_template_list"
	Completion   Type = "completion" // of an argument of Prompt or a variable of Resource
	Changed      Type = "changed"    // Action was done to Object, by an administrator
	// AdminRequest is a request to administer that changes nothing: one that was refused, where
	// Action is the operation and Object the scope; or one that reads the trail itself, with what
	// it was narrowed to as Arguments.
	AdminRequest Type = "admin_request"
	// Authentication reports failed authentications of one address over HTTP, once a minute. Object
	// is the address, an IPv6 network of 64 bits, or "other addresses". Total is the number of
	// failures since the last event of that address.
	Authentication Type = "authentication"
	// Checkpoint is written by a chain, to say how far it has come: Total counts its records, this
	// one included.
	Checkpoint Type = "audit_checkpoint"
	// Outage is written when the sink works again after it had failed: Total counts the requests
	// that were refused without a record since the time of the event, or whose outcome is missing.
	Outage Type = "audit_outage"
)

// Status is the outcome of a request.
type Status string

const (
	Success Status = "success"
	Failed  Status = "failed" // the event's Failure is the reason
	// Intent is the status of an event before its handler starts: it has neither an outcome nor
	// grants nor a duration.
	Intent Status = "intent"
)

// Failure is the reason for the status Failed. It is empty for the other statuses.
type Failure string

const (
	// Denied: refused by the table, or without a grant or a valid credential.
	Denied  Failure = "denied"
	Timeout Failure = "timeout" // allowed, and ended at the handler's time limit
	Limited Failure = "limited" // allowed, and ended at another limit, or not started for one
	Crashed Failure = "crashed" // allowed, and the handler panicked or its result cannot be sent
	// Invalid: the request or its arguments are not valid, such as a bad cursor or a forged state.
	Invalid Failure = "invalid"
	// Errored: allowed, and the handler or middleware returned an error, or the call was cancelled.
	Errored Failure = "error"
)

// Status returns Success for no failure, and Failed for all others.
func (f Failure) Status() Status {
	if f == "" {
		return Success
	}
	return Failed
}

// toolCall is ToolCalled in records of earlier versions.
const toolCall Type = "tool_call"

// outcomes has each word for the outcome of a request: the Failure of a failed event, and the
// Status of all others. Records of earlier versions have the word as their status.
var outcomes = []struct {
	word    string
	status  Status
	failure Failure
}{
	{"success", Success, ""}, {"ok", Success, ""}, {"intent", Intent, ""},
	{"denied", Failed, Denied}, {"timeout", Failed, Timeout}, {"limited", Failed, Limited},
	{"crashed", Failed, Crashed}, {"invalid", Failed, Invalid},
	{"error", Failed, Errored}, {"failed", Failed, Errored},
}

// Words returns the texts that records have for a type: the type, and its name in earlier versions.
func (t Type) Words() []string {
	if t == ToolCalled {
		return []string{string(t), string(toolCall)}
	}
	return []string{string(t)}
}

// OutcomeWords returns the words of the outcomes with a status and a failure, of this version and
// of earlier ones. An empty status or failure stands for all. A word is the Failure of an event, or
// the Status of an event without one.
func OutcomeWords(s Status, f Failure) (words []string) {
	for _, o := range outcomes {
		if (s == "" || s == o.status) && (f == "" || f == o.failure) {
			words = append(words, o.word)
		}
	}
	return words
}

// Replacement returns the filter of this version for a type of earlier versions, such as
// "type=tool_called". It is empty for all other types.
func (t Type) Replacement() string {
	if t == toolCall {
		return "type=" + string(ToolCalled)
	}
	return ""
}

// Replacement returns the filter of this version for a status of earlier versions, such as
// "failure=denied". It is empty for all other statuses.
func (s Status) Replacement() string {
	switch status, failure := s.current(); {
	case status == s:
		return ""
	case failure != "":
		return "failure=" + string(failure)
	default:
		return "status=" + string(status)
	}
}

// current returns a record's status and failure in the words of this version.
func (s Status) current() (Status, Failure) {
	for _, o := range outcomes {
		if o.word == string(s) {
			return o.status, o.failure
		}
	}
	return s, ""
}

// IntentPolicy is which allowed calls have an [Intent] before their handler starts. An event for
// each of them is durable twice, which costs the time of a second write.
type IntentPolicy string

const (
	// IntentNonReadonly: tools, but for those that are declared readonly on a server without
	// middleware. Prompts, resources and completions only read. It is the default.
	IntentNonReadonly IntentPolicy = "nonReadonly"
	IntentAll         IntentPolicy = "all"  // tools, prompts, resources and completions
	IntentNone        IntentPolicy = "none" // a call runs, and a retry repeats it, without a record
)

// Event is one record. Its JSON form is the line that [JSONLines] writes.
type Event struct {
	Time time.Time `json:"timestamp"`
	Type Type      `json:"event_type"`
	// made by the server, one for each request; not the client's JSON-RPC id
	RequestID string `json:"request_id"`
	// TraceID is the trace that the request belongs to (W3C Trace Context, trace-id), empty where
	// there is none.
	TraceID string `json:"trace_id,omitempty"`

	Issuer    string `json:"issuer,omitempty"`
	Principal string `json:"principal,omitempty"` // the subject; empty for an anonymous caller
	Client    string `json:"client_id,omitempty"`
	Role      string `json:"role,omitempty"`

	// Tool is the name that was asked for, cut to 128 bytes. It exists only if Axis is not
	// "unknown".
	Tool string `json:"tool_name,omitempty"`
	// Prompt is Tool for a prompt.
	Prompt string `json:"prompt,omitempty"`
	// Resource is the URI or the URI template of the resource that was asked for, as its author
	// wrote it. It is empty for a URI that is none of them. What stands in the place of
	// variables, and such a URI, are values: Arguments has their size and digest.
	Resource string `json:"resource,omitempty"`
	// Action is what was done to what a store keeps, as in "update", and Object what it was done
	// to, as in: catalog 17 "kit", global.
	Action    string     `json:"action,omitempty"`
	Object    string     `json:"object,omitempty"`
	Arguments []Argument `json:"arguments,omitempty"`

	Status  Status  `json:"status"`
	Failure Failure `json:"failure,omitempty"`
	// Intended reports that an event with the status Intent and the same RequestID comes before.
	Intended bool `json:"intended,omitempty"`
	// Axis is the part of the rule that decided: role, scopes, authentication, public, rule, values
	// of an argument, or unknown for a tool, prompt or resource that does not exist. If something
	// else ended an allowed request, it is one of the Axis constants.
	Axis string `json:"axis,omitempty"`
	// Missing says what a refused caller lacked, as in "needs role Manager".
	Missing string `json:"missing,omitempty"`

	// Grants are those that allowed what the arguments name.
	Grants []Use `json:"grants,omitempty"`

	// Catalog is the tool catalog that a list was asked for by, as the client wrote it, cut to 64
	// bytes.
	Catalog string `json:"catalog,omitempty"`
	// Visible and Total count what is in a list: shown to the caller, and of the server.
	Visible int `json:"visible,omitempty"`
	Total   int `json:"total,omitempty"`

	// Milliseconds is how long it took, with a fraction.
	Milliseconds float64 `json:"execution_time_ms"`

	// Cut names the last records that a retention cut took away, one of each chain.
	Cut []Link `json:"cut,omitempty"`
	// Chain is the event's place in a chain; see package chain. It is the last field: what a chain
	// vouches for is the text before its MAC.
	Chain *Link `json:"chain,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler]. It reads the records of this version, and of
// earlier ones, whose names and words it replaces with those of this version. A reader that
// verifies or copies a record uses its text instead.
func (e *Event) UnmarshalJSON(text []byte) error {
	type fields Event
	var read struct {
		fields
		Client string `json:"client"`
		Tool   string `json:"tool"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*e = Event(read.fields)
	e.Client, e.Tool = cmp.Or(e.Client, read.Client), cmp.Or(e.Tool, read.Tool)
	if e.Type == toolCall {
		e.Type = ToolCalled
	}
	if e.Failure == "" {
		e.Status, e.Failure = e.Status.current()
	}
	return nil
}

// End sets the status and the failure of an event. No failure is success.
func (e *Event) End(f Failure) { e.Status, e.Failure = f.Status(), f }

// Axes of events that are none of the table's.
const (
	AxisGrant = "grant" // Missing is the type of permission, and in brackets why it is not had
	AxisLimit = "limit" // Missing is the limit

	AxisArguments = "arguments" // they do not fit the schema
	AxisCancelled = "cancelled" // by the client, or because the server stops
)

// Use is a grant that was made use of.
type Use struct {
	Argument string `json:"argument"` // which named the resource
	Kind     string `json:"kind"`     // the type of the permission
	Grant    string `json:"grant"`    // the id of the grant
}

// Argument is one top-level argument of an allowed call, an argument of a prompt or a variable of a
// resource's URI, without its value; of each event the first 64 by name. A denied request has one
// Argument without a name, for the text of all of its arguments, of its URI, or of the argument to
// complete, as it was sent. So has a call whose arguments are no object.
type Argument struct {
	Name string `json:"name"` // cut to 64 bytes; empty for all arguments together
	// Bytes is the size of the value's JSON text.
	Bytes int `json:"bytes"`
	// Digest is of the value's JSON text as it was sent. It shows that two calls had the same
	// value. It does not hide a value that can be guessed: who has the trail finds a short password
	// by trying, whatever the argument is called. Where tools take such, guard the trail as the
	// passwords themselves.
	Digest Digest `json:"digest"`
}

// Sink takes events. Record returns once the event is as safe as the sink makes it; an error
// makes the server refuse the request that the event is about. It is called from many
// goroutines at once, and ctx ends when the server no longer waits.
type Sink interface {
	Record(ctx context.Context, event Event) error
}

// SinkFunc is a function that is a [Sink].
type SinkFunc func(ctx context.Context, event Event) error

// Record calls f.
func (f SinkFunc) Record(ctx context.Context, event Event) error { return f(ctx, event) }

// BatchSink is a Sink that takes many events at once, which then share what makes them durable.
type BatchSink interface {
	Sink
	// RecordBatch records events in their order. It returns once all are as safe as the sink makes
	// them. After an error some of them may be recorded, and none of them counts as such.
	RecordBatch(ctx context.Context, events []Event) error
}

// InOrder records events in their order, as a batch where the sink takes batches and one by one
// where not, up to the first error.
func InOrder(ctx context.Context, sink Sink, events []Event) error {
	if batches, ok := sink.(BatchSink); ok {
		return batches.RecordBatch(ctx, events)
	}
	for _, e := range events {
		if err := sink.Record(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// ReadySink is a Sink that reports whether it can record. While it cannot, the server is not ready.
type ReadySink interface {
	Sink
	// Ready returns nil if the sink can record an event now, and otherwise the reason. It may write
	// to find out, leaves no event, and may be called from many goroutines at once.
	Ready(ctx context.Context) error
}

// Ready returns what a sink's Ready method returns, and nil for a sink without one. A sink that
// hands events on to another one calls it for that.
func Ready(ctx context.Context, sink Sink) error {
	if s, ok := sink.(ReadySink); ok {
		return s.Ready(ctx)
	}
	return nil
}

// Sealer gives events their place in a chain. It is for a store that writes events within
// transactions of its own.
type Sealer interface {
	// Seal calls do while nothing else is written to the chain. Do calls seal once, and writes the
	// event that this gives with its place; or it does neither. Where it fails after that the chain
	// ends, since nobody can tell whether the event stands, and another begins.
	Seal(ctx context.Context, do func(seal func(Event) (Event, error)) error) error
}

// Voucher is a [Sealer] that knows its records again. What is deleted from a trail is named by a
// record that it seals, so that only what it vouches for may be named.
type Voucher interface {
	Sealer
	// Vouches reports whether a record's text is what was written after the record with a MAC,
	// which is zero for the first of a chain. It may be called from many goroutines at once, and
	// within Seal.
	Vouches(after MAC, text []byte) bool
}
