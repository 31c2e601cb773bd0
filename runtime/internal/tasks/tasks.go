// Package tasks keeps the tasks of a server: who may reach them, the run that works on each, and
// how each ends. It knows neither messages nor handlers.
//
// A run holds a lease, which it renews. Any replica marks a task whose lease is over as failed, at
// the latest with the next cleaning. A task that waits for input has no run: the replica that gets
// the last answer starts the next one.
package tasks

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/task"
)

const (
	// PollInterval is how often clients should read a task.
	PollInterval = time.Second
	// MaxBytes bounds what is kept of one task: arguments, questions, answers and result.
	MaxBytes = 1 << 20
	lease    = 30 * time.Second
	renewal  = lease / 3
	cleaning = time.Minute
	writing  = 5 * time.Second // bounds a change of a task, and each read of a run
)

// The reasons for which a run is cancelled.
var (
	ErrCancelled = errors.New("the client has cancelled the task")
	ErrStopped   = errors.New("the server is shutting down; the call may have had an effect")
	ErrExpired   = errors.New("the time to live of the task is over; the call may have had an effect")
	ErrAuthority = errors.New("the caller's credential has expired or its permission was revoked; " +
		"the call may have had an effect")
	errUnanswered = errors.New("the time to live of the task is over, and the client has not " +
		"answered; earlier runs may have had an effect")
	errNoRoom = errors.New("the server has no room for the result of the task; the call may have " +
		"had an effect")
	errLost = errors.New("the run ended without a result; the call may have had an effect")
)

// Config is what a registry reads.
type Config struct {
	Store  task.Store
	TTL    time.Duration // beyond the time limit of the handler
	Limits task.Limits
	Log    *slog.Logger
	// Ended is called when a task has ended whose run does not record that: the run has died, or
	// none was left.
	Ended func(context.Context, task.Record)
}

// Registry keeps the tasks of a server. It is safe for concurrent use.
type Registry struct {
	Config
	mu   sync.Mutex
	runs map[string]*Run // that work in this process, by the task's ID
}

// New returns a registry that cleans its store until ctx ends.
func New(ctx context.Context, c Config) *Registry {
	r := &Registry{Config: c, runs: map[string]*Run{}}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(cleaning):
				r.clean(ctx)
			}
		}
	}()
	return r
}

func (r *Registry) clean(ctx context.Context) {
	defer func() { _ = recover() }() // of the program's log handler
	now := time.Now()
	if err := errors.Join(r.endLost(ctx, now), r.purge(ctx, now)); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "tasks without a run could not be ended, or expired ones not deleted",
			"error", err)
	}
}

// endLost ends the tasks that nothing else ends. The rest of very many is left to the next time.
func (r *Registry) endLost(ctx context.Context, now time.Time) (err error) {
	defer contain(&err)
	for range 64 {
		lost, err := r.Store.Lost(ctx, now, 16)
		if err != nil || len(lost) == 0 {
			return err
		}
		var failed []error
		for _, t := range lost {
			if _, err := r.finish(ctx, t, true, due(now)); err != nil && !errors.Is(err, task.ErrUnknown) {
				failed = append(failed, err) // the other tasks end
			} // or another replica has deleted it
		}
		if failed != nil {
			return errors.Join(failed...)
		}
	}
	return nil
}

func (r *Registry) purge(ctx context.Context, now time.Time) (err error) {
	defer contain(&err)
	return r.Store.Purge(ctx, now)
}

// contain turns a panic of the program's store into an error: nothing else recovers the goroutines
// of this package, and a request whose handling panics has no event.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the store of tasks panicked: %v", p)
	}
}

// finish ends a task that has no run any more, if a condition holds. Only one of those that find
// it so does. The end of a task that was recorded as a call is recorded.
func (r *Registry) finish(ctx context.Context, t task.Record, recorded bool,
	when func(*task.Record) bool) (task.Record, error) {
	ended := false
	found, err := r.change(ctx, t, func(t *task.Record) error {
		if ended = when(t); !ended {
			return nil
		}
		why := errLost
		if t.Status == task.InputRequired {
			why = errUnanswered
		}
		if t.Run = ""; !t.Status.Ended() {
			end(t, task.Failed, why.Error(), ErrorOf(why))
		}
		return nil
	})
	if err == nil && ended && recorded {
		r.Ended(ctx, found)
	}
	return found, err
}

// due returns the condition that nothing else ends a task.
func due(now time.Time) func(*task.Record) bool {
	return func(t *task.Record) bool {
		at := t.Due()
		return !at.IsZero() && !now.Before(at)
	}
}

// change changes a task, also if the request has ended.
func (r *Registry) change(ctx context.Context, t task.Record,
	change func(*task.Record) error) (_ task.Record, err error) {
	defer contain(&err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
	defer cancel()
	return r.Store.Change(ctx, t.Owner, t.ID, change)
}

// get reads a task.
func (r *Registry) get(ctx context.Context, o task.Owner, id string) (_ task.Record, err error) {
	defer contain(&err)
	return r.Store.Get(ctx, o, id)
}

// digest is the key of a task in the store.
func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Create adds a working task whose handler has a time limit, and returns its id. The caller starts
// its run.
func (r *Registry) Create(ctx context.Context, of task.Record,
	limit time.Duration) (id string, _ task.Record, err error) {
	defer contain(&err)
	if size(&of) > MaxBytes {
		return "", of, ErrTooLarge
	}
	id = strings.ToLower(rand.Text()) // 130 bits
	now := time.Now().UTC().Truncate(time.Microsecond)
	of.ID, of.Status, of.Created, of.Updated = digest(id), task.Working, now, now
	of.Expires, of.Run, of.Lease = now.Add(limit+r.TTL), rand.Text(), now.Add(lease)
	return id, of, r.Store.Create(ctx, of, r.Limits)
}

// Find returns a task of an owner. It returns [task.ErrUnknown] for all others alike.
func (r *Registry) Find(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	found, err := r.get(ctx, o, digest(id))
	now := time.Now()
	switch {
	case err != nil:
		return task.Record{}, err
	case !now.Before(found.Expires):
		return task.Record{}, task.ErrUnknown
	case !due(now)(&found):
		return found, nil
	}
	return r.finish(ctx, found, true, due(now))
}

// Extend lets a working task go on until a credential of its owner ends; zero is never. The run
// keeps its caller, so that a credential with any other role, scope or membership extends nothing.
func (r *Registry) Extend(ctx context.Context, t task.Record, caller string,
	until time.Time) error {
	longer := func(t *task.Record) bool {
		return t.Status == task.Working && t.Caller == caller && !t.Authority.IsZero() &&
			(until.IsZero() || until.After(t.Authority))
	}
	if !longer(&t) {
		return nil
	}
	_, err := r.change(ctx, t, func(t *task.Record) error {
		if longer(t) {
			t.Authority = until
		}
		return nil
	})
	return err
}

// Answer keeps answers to outstanding input requests of a round. It reports that a run has to be
// started if none is left; the record has its name. Answers to others are ignored.
func (r *Registry) Answer(ctx context.Context, t task.Record, answers map[string]json.RawMessage,
	caller string, authority time.Time) (_ task.Record, start bool, _ error) {
	t, err := r.change(ctx, t, func(now *task.Record) error {
		start = false
		if now.Status != task.InputRequired || now.Rounds != t.Rounds {
			return nil
		}
		for key, answer := range answers {
			if now.Requests[key] != nil && now.Answers[key] == nil {
				if now.Answers == nil {
					now.Answers = map[string]json.RawMessage{}
				}
				now.Answers[key] = answer
			}
		}
		if size(now) > MaxBytes {
			return ErrTooLarge
		}
		touch(now)
		if start = len(now.Answers) == len(now.Requests); start {
			now.Status, now.Run, now.Authority = task.Working, rand.Text(), authority
			now.Lease, now.Caller = time.Now().Add(lease), caller
		}
		return nil
	})
	return t, start && err == nil, err
}

// Cancel ends a task that has not ended, and its run.
func (r *Registry) Cancel(ctx context.Context, t task.Record) error {
	waited := false
	t, err := r.change(ctx, t, func(t *task.Record) error {
		waited = t.Status == task.InputRequired
		if run := t.Run; !t.Status.Ended() {
			end(t, task.Cancelled, ErrCancelled.Error(), nil)
			t.Run = run // until it has ended
		}
		return nil
	})
	if err == nil && waited {
		r.Ended(ctx, t)
	}
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if run := r.runs[t.ID]; run != nil {
			run.cancel(ErrCancelled)
		}
	}
	return err
}

// Drop ends a task whose run is not started. The call of a task without questions yet has no record
// either, so that no end of it is recorded.
func (r *Registry) Drop(ctx context.Context, t task.Record) {
	own := func(now *task.Record) bool { return now.Run == t.Run }
	if _, err := r.finish(ctx, t, t.Rounds > 0, own); err != nil {
		r.Log.ErrorContext(ctx, "a task could not be ended", "request_id", t.RequestID, "error", err)
	}
}

func touch(t *task.Record) { t.Updated = time.Now().UTC().Truncate(time.Microsecond) }

// end sets a final status. What only a further run needs is forgotten.
func end(t *task.Record, s task.Status, message string, result json.RawMessage) {
	touch(t)
	t.Status, t.Message, t.Result = s, message, result
	t.Arguments, t.Requests, t.Answers, t.State, t.Run = nil, nil, nil, "", ""
}

// ErrTooLarge reports that a task exceeds [MaxBytes].
var ErrTooLarge = errors.New("the task would be larger than 1 MiB")

// HasRoom reports whether a task does not exceed [MaxBytes] with answers to its input requests.
func HasRoom(t task.Record, answers map[string]json.RawMessage) bool {
	return size(&t)+size(&task.Record{Answers: answers}) <= MaxBytes
}

func size(t *task.Record) int {
	n := len(t.Arguments) + len(t.State) + len(t.Result)
	for _, texts := range []map[string]json.RawMessage{t.Requests, t.Answers} {
		for key, text := range texts {
			n += len(key) + len(text)
		}
	}
	return n
}

// ErrorOf returns an internal error of JSON-RPC with the words of an error.
func ErrorOf(err error) json.RawMessage {
	text, _ := json.Marshal(map[string]any{"code": -32603, "message": err.Error()}) // plain values
	return text
}
