// Package audit records decisions: one event for each call of a tool, each get of a prompt, each
// read of a resource, each completion, each list, and each change in a store. Failed
// authentications are counted by address, with at most one event a minute.
//
// An event has the caller, the request, the decision and the outcome. It never contains the value
// of an argument, a result or a credential. The server writes it before it sends the response, and
// withholds the response if the event cannot be written.
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

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Type is the kind of request that an event is about.
type Type string

// The types of events.
const (
	ToolCalled   Type = "tool_called"            // a call of a tool
	ToolList     Type = "tool_list"              // a list of tools
	PromptGet    Type = "prompt_get"             // a get of a prompt
	PromptList   Type = "prompt_list"            // a list of prompts
	ResourceRead Type = "resource_read"          // a read of a resource
	ResourceList Type = "resource_list"          // a list of resources
	TemplateList Type = "resource_template_list" // a list of resource templates
	// Subscription is a request to be notified of updates of a resource. Of one with several URIs,
	// Visible is the number of those that it gets.
	Subscription Type = "resource_subscription"
	Completion   Type = "completion" // of an argument of Prompt or a variable of Resource
	Changed      Type = "changed"    // a change in the store: Action was done to Object
	// TaskUpdate is a client's response to the questions of a task. Object has the RequestID of the
	// call that created the task.
	TaskUpdate Type = "task_update"
	TaskCancel Type = "task_cancel" // a client's cancellation of a task; Object as of a task_update
	// TaskAsked is a run of a task that has ended with questions to the client. RequestID is that of
	// the call that created the task.
	TaskAsked Type = "task_asked"
	// TaskEnded is the end of a task, with the outcome of its handler. RequestID is that of the call
	// that created the task.
	TaskEnded Type = "task_ended"
	// AdminRequest is a request to administer that changes nothing: a refused one, where Action is
	// the operation and Object the scope; or one that reads the trail itself, with its filters as
	// Arguments.
	AdminRequest Type = "admin_request"
	// Authentication reports failed authentications of one address over HTTP, once a minute. Object
	// is the address, an IPv6 network of 64 bits, or "other addresses". Total is the number of
	// failures since the last event of that address.
	Authentication Type = "authentication"
	// Refused is a request of a blocked client. Action is its method of MCP, or that of HTTP and the
	// path. The request is not read any further.
	Refused Type = "request_refused"
	// Checkpoint is the position of a chain. Total is the number of its records, this one included.
	Checkpoint Type = "audit_checkpoint"
	// Outage is written when the sink works again after it had failed. Total is the number of
	// requests, since the time of the event, that were refused without a record or have no outcome.
	Outage Type = "audit_outage"
)

// Status is the outcome of a request.
type Status string

// The statuses of events.
const (
	Success Status = "success" // the request was answered without an error
	Failed  Status = "failed"  // the event's Failure is the reason
	// Intent is the status of an event before its handler starts: it has neither an outcome nor
	// grants nor a duration.
	Intent Status = "intent"
)

// Failure is the reason for the status Failed. It is empty for the other statuses.
type Failure string

// The failures of events.
const (
	// Denied: refused by a rule, or without a grant or a valid credential.
	Denied Failure = "denied"
	// Timeout: allowed, and ended at the handler's time limit.
	Timeout Failure = "timeout"
	// Limited: allowed, and ended at another limit, or not started because of one.
	Limited Failure = "limited"
	// Crashed: allowed, and the handler panicked or its result cannot be sent.
	Crashed Failure = "crashed"
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

// Words returns the words of the outcomes with the status and a failure, of this version and of
// earlier ones. An empty status or failure stands for all. A word is the Failure of an event, or
// the Status of an event without one.
func (s Status) Words(f Failure) (words []string) {
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

// IntentPolicy selects the allowed calls that have an [Intent] before their handler starts. Each of
// them waits for two durable records in place of one.
type IntentPolicy string

// The policies of intents.
const (
	// IntentNonReadonly: tools, but for those that are declared readonly on a server without
	// middleware. Prompts, resources and completions only read. It is the default.
	IntentNonReadonly IntentPolicy = "nonReadonly"
	// IntentAll: tools, prompts, resources and completions.
	IntentAll IntentPolicy = "all"
	// IntentNone: no calls. A call can then run, and run again when it is retried, without a record.
	IntentNone IntentPolicy = "none"
)

// Event is one record. Its JSON form is the line that [JSONLines] writes.
type Event struct {
	// Time is the time of the request.
	Time time.Time `json:"timestamp"`
	// Type is the kind of request.
	Type Type `json:"event_type"`
	// RequestID is made by the server, one for each request. It is not the client's JSON-RPC id. An
	// intent and its outcome have the same one.
	RequestID string `json:"request_id"`
	// TraceID is the trace that the request belongs to (W3C Trace Context, trace-id).
	TraceID string `json:"trace_id,omitempty"`

	// Issuer is the issuer of Principal.
	Issuer string `json:"issuer,omitempty"`
	// Principal is the subject of the caller; empty for an anonymous one.
	Principal string `json:"principal,omitempty"`
	// Client is the OAuth client or the program that called.
	Client string `json:"client_id,omitempty"`
	// Actor is the party that acts for Principal, by a delegated token. Nil is none.
	Actor *access.Actor `json:"actor,omitempty"`
	// Roles are the caller's roles.
	Roles []string `json:"roles,omitempty"`

	// Tool is the requested name, cut to 128 bytes. The tool exists only if Axis is not "unknown".
	Tool string `json:"tool_name,omitempty"`
	// Prompt is the requested name of a prompt, as Tool.
	Prompt string `json:"prompt,omitempty"`
	// Resource is the URI or the URI template of the requested resource, as its author wrote it. It
	// is empty for a URI that matches none. The values of variables, and such a URI, are in
	// Arguments by size and digest.
	Resource string `json:"resource,omitempty"`
	// Action is what was done in the store, as in "update".
	Action string `json:"action,omitempty"`
	// Object is what Action was done to, as in: catalog 17 "kit", global.
	Object string `json:"object,omitempty"`
	// Arguments are the arguments of the request, without their values.
	Arguments []Argument `json:"arguments,omitempty"`

	// Status is the outcome.
	Status Status `json:"status"`
	// Failure is the reason for the status "failed".
	Failure Failure `json:"failure,omitempty"`
	// Intended reports that an event with the status Intent and the same RequestID comes before.
	Intended bool `json:"intended,omitempty"`
	// Axis is the part of the rule that decided: role, scopes, permission, constraints,
	// authentication, public, rule, values of an argument, boundary of the client, or unknown for a
	// tool, prompt or resource that does not exist. If something else ended an allowed request, it
	// is grant, limit, arguments or cancelled.
	Axis string `json:"axis,omitempty"`
	// Missing is what a refused caller lacked, as in "needs role Manager", or the limit. For a tool,
	// prompt or resource that does not exist, it is "does not exist".
	Missing string `json:"missing,omitempty"`

	// Grants are the grants that allowed the resources of the arguments.
	Grants []Use `json:"grants,omitempty"`

	// Catalog is the requested tool catalog of a list, as the client wrote it, cut to 64 bytes.
	Catalog string `json:"catalog,omitempty"`
	// Visible is the number of items of a list that the caller got.
	Visible int `json:"visible,omitempty"`
	// Total is the number of items of a list for all callers, or as Type describes it.
	Total int `json:"total,omitempty"`

	// Milliseconds is the duration of the request, with a fraction; 0 in an intent.
	Milliseconds float64 `json:"execution_time_ms"`

	// Cut has the last records that a retention cut deletes, one of each chain.
	Cut []Link `json:"cut,omitempty"`
	// Chain is the event's place in a chain; see package chain. It is the last field: the MAC covers
	// the text before it.
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
		Role   string `json:"role"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*e = Event(read.fields)
	e.Client, e.Tool = cmp.Or(e.Client, read.Client), cmp.Or(e.Tool, read.Tool)
	if read.Role != "" && e.Roles == nil {
		e.Roles = []string{read.Role}
	}
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

// Axes of events besides those of package access.
const (
	AxisGrant     = "grant"     // a grant is missing; Missing has the type of permission and the cause
	AxisLimit     = "limit"     // a limit was reached, its time included; Missing has the limit
	AxisArguments = "arguments" // the arguments do not fit the schema
	AxisCancelled = "cancelled" // the client cancelled the call, or the server stopped
)

// Use is a grant that allowed a resource.
type Use struct {
	Argument string `json:"argument"` // the argument that named the resource
	Kind     string `json:"kind"`     // the type of the permission
	Grant    string `json:"grant"`    // the id of the grant
}

// Argument is one top-level argument of an allowed call, an argument of a prompt or a variable of a
// resource's URI, without its value. An event has the first 64 by name. A denied request has one
// Argument without a name, for the text of all of its arguments, of its URI, or of the argument to
// complete, as it was sent. So has a call whose arguments are no object.
type Argument struct {
	// Name is cut to 64 bytes. It is empty for all arguments together.
	Name string `json:"name"`
	// Bytes is the size of the value's JSON text.
	Bytes int `json:"bytes"`
	// Digest is the digest of the value's JSON text as it was sent: equal values have equal digests.
	// It does not hide a value that can be guessed. If tools take short passwords, protect the trail
	// like the passwords themselves.
	Digest Digest `json:"digest"`
}

// Sink records events. The server calls Record from many goroutines at once.
type Sink interface {
	// Record returns once the event is as safe as the sink makes it. After an error, the server
	// refuses the request of the event. ctx ends when the server no longer waits.
	Record(ctx context.Context, event Event) error
}

// SinkFunc is a function that is a [Sink].
type SinkFunc func(ctx context.Context, event Event) error

// Record calls f.
func (f SinkFunc) Record(ctx context.Context, event Event) error { return f(ctx, event) }

// BatchSink is a Sink that takes many events at once, which then share a sync or a transaction.
type BatchSink interface {
	Sink
	// RecordBatch records events in their order. It returns once all are as safe as the sink makes
	// them. After an error some of them may be recorded, and none of them counts as such.
	RecordBatch(ctx context.Context, events []Event) error
}

// InOrder records events in their order, as a batch if the sink takes batches and otherwise one by
// one, up to the first error.
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

// WaitingSink is a Sink whose Record does no more than wait for another goroutine: it returns when
// ctx ends, and does not panic. A server calls it on the goroutine of the request. Calls of all
// other sinks have goroutines of their own. A sink that embeds a WaitingSink is one as well, also
// with a Record of its own, which must then have these properties.
type WaitingSink interface {
	Sink
	// OnlyWaits does nothing.
	OnlyWaits()
}

// ReadySink is a Sink that reports whether it can record. While it cannot, the server is not ready.
type ReadySink interface {
	Sink
	// Ready returns nil if the sink can record an event now, and otherwise the reason. It may write
	// to find out, leaves no event, and may be called from many goroutines at once.
	Ready(ctx context.Context) error
}

// ready returns the result of a sink's Ready method, and nil for a sink without one.
func ready(ctx context.Context, sink Sink) error {
	if s, ok := sink.(ReadySink); ok {
		return s.Ready(ctx)
	}
	return nil
}

// Sealer gives events their place in a chain. It is for a store that writes events within
// transactions of its own.
type Sealer interface {
	// Seal calls do while nothing else is written to the chain. Do calls seal once and writes the
	// event that seal returns, with its place; or it does neither. If do fails after seal, the
	// chain ends, since the event may or may not be stored, and another begins.
	Seal(ctx context.Context, do func(seal func(Event) (Event, error)) error) error
}

// Voucher is a [Sealer] that recognises its records. A record that it seals names the last deleted
// records of a trail, which must be records that it recognises.
type Voucher interface {
	Sealer
	// Vouches reports whether a record's text was written after the record with a MAC, which is
	// zero for the first of a chain. It may be called from many goroutines at once, and within
	// Seal.
	Vouches(after MAC, text []byte) bool
}
