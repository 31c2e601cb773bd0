// Package task is the contract between a server and the store of its tasks: calls of tools that
// outlive their requests (extension io.modelcontextprotocol/tasks, SEP-2663).
//
// [NewMemory] keeps tasks in one process. With a database, such as package store has, every
// replica of a server can answer for every task.
package task

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Status is the status of a task, as the protocol has it.
type Status string

// The statuses. The last three are final.
const (
	Working       Status = "working"
	InputRequired Status = "input_required"
	Completed     Status = "completed"
	Failed        Status = "failed"
	Cancelled     Status = "cancelled"
)

// Ended reports whether a status is final.
func (s Status) Ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Owner is whose a task is: a principal, the client by which it called, and the actor of a
// delegated token. All anonymous callers are the zero Owner.
type Owner struct {
	Issuer      string `json:"issuer,omitempty"`
	Subject     string `json:"subject,omitempty"`
	Client      string `json:"client,omitempty"`
	ActorIssuer string `json:"actorIssuer,omitempty"`
	Actor       string `json:"actor,omitempty"` // the subject of the actor
}

// Record is one task.
type Record struct {
	// ID is a digest of the task's id, so that a reader of the store knows no id.
	ID        string `json:"id"`
	Owner     Owner  `json:"owner"`
	Tool      string `json:"tool"`
	RequestID string `json:"requestId"` // of the call, in the log and the audit

	Status  Status    `json:"status"`
	Message string    `json:"message,omitempty"` // statusMessage
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
	Expires time.Time `json:"expires"` // the end of its time to live

	// Of a working task, and of a cancelled one until its run has ended: the run that works on it,
	// until when the run counts as alive, and when the caller's credential ends; zero never. Caller
	// is a digest of the role, scopes and memberships that the run has of it.
	Run       string    `json:"run,omitempty"`
	Lease     time.Time `json:"lease,omitzero"`
	Authority time.Time `json:"authority,omitzero"`
	Caller    string    `json:"caller,omitempty"`

	// Of a task that has not ended: the arguments of the call, the outstanding and the answered
	// input requests by key, the number of runs that asked, and the handler's state.
	Arguments json.RawMessage            `json:"arguments,omitempty"`
	Requests  map[string]json.RawMessage `json:"requests,omitempty"`
	Answers   map[string]json.RawMessage `json:"answers,omitempty"`
	Rounds    int                        `json:"rounds,omitempty"`
	State     string                     `json:"state,omitempty"`

	// Result is the result of a completed task, or the JSON-RPC error of a failed one.
	Result json.RawMessage `json:"result,omitempty"`
}

// Due returns when a task ends without a run or a client: when the lease of its run is over, or
// while it waits for input, when its time to live is. It is zero for a task that has ended.
func (r *Record) Due() time.Time {
	switch {
	case r.Run != "":
		return r.Lease
	case r.Status.Ended():
		return time.Time{}
	}
	return r.Expires
}

var (
	// ErrUnknown reports that the owner has no such task.
	ErrUnknown = errors.New("no such task")
	// ErrFull reports that the owner or the store has as many tasks as it may have, or that the
	// store has no room for a change.
	ErrFull = errors.New("the server has no room for the task")
)

// Limits are the numbers of tasks that are kept, of one owner's user, whatever the client, and in
// all.
type Limits struct{ User, Total int }

// Store keeps tasks. Its methods are safe for concurrent use. Each call reads its time from the
// record or the argument, so that expired tasks are as unknown.
type Store interface {
	// Create adds a task. It returns [ErrFull] if the tasks that have not expired at r.Created
	// reach a limit.
	Create(ctx context.Context, r Record, l Limits) error
	// Get returns a task of an owner, or [ErrUnknown].
	Get(ctx context.Context, o Owner, id string) (Record, error)
	// Due returns when tasks are due by [Record.Due], by their IDs. A task without Due is left out,
	// as an unknown one is. The server calls it each second for all tasks that run in its process.
	Due(ctx context.Context, ids []string) (map[string]time.Time, error)
	// Change changes a task of an owner in one transaction and returns it. An error of change
	// leaves the task as it was, and is returned. Change may be called several times. It may change
	// Expires.
	Change(ctx context.Context, o Owner, id string, change func(*Record) error) (Record, error)
	// Lost returns tasks whose Due is at now or before, expired ones too, up to a number. The caller
	// changes them, so that the next call returns others.
	Lost(ctx context.Context, now time.Time, most int) ([]Record, error)
	// Owners returns the owners of the tasks that have a Due, by the IDs of the tasks. The server
	// calls it when a client may have been blocked.
	Owners(ctx context.Context) (map[string]Owner, error)
	// Purge deletes the tasks that have expired and have no Due.
	Purge(ctx context.Context, now time.Time) error
}
