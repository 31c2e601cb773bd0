// Package tasks keeps the tasks of a server: who may reach them, the run that works on each, and
// how each ends. It knows neither messages nor handlers.
//
// A run holds a lease, which it renews. Any replica marks a task whose lease is over as failed,
// when it looks for such tasks the second time. A replica does so only if its store has responded
// for the time of a lease: after an outage, each run that is alive renews its lease before. A task
// that waits for input has no run: the replica that gets the last answer starts the next one.
//
// A change that a request makes does not end with the request. If the store does not confirm it,
// the registry makes it again until the store does. It drops a task that has no client.
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
	"maps"
	"slices"
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
	writing  = 5 * time.Second // bounds a change of a task, and each read of the registry
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
	// ErrPanicked reports that the program's store of tasks has panicked.
	ErrPanicked = errors.New("the store of tasks panicked")
	errLost     = errors.New("the run ended without a result; the call may have had an effect")
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
	closing context.Context
	store   health
	mu      sync.Mutex
	runs    map[string]*Run       // that work in this process, by the task's ID
	again   map[string]task.Owner // of tasks with a change that is made again, by their IDs
}

// New returns a registry that looks after its store until ctx ends.
func New(ctx context.Context, c Config) *Registry {
	now := time.Now()
	r := &Registry{Config: c, closing: ctx, runs: map[string]*Run{}, again: map[string]task.Owner{},
		store: health{since: now}}
	go func() {
		for wait(ctx, PollInterval) {
			r.wakeRuns(ctx)
		}
	}()
	go func() { // it may take long, and the runs have to know the state of the store
		for cleaned := now; wait(ctx, renewal); {
			looked := time.Now()
			clean := looked.Sub(cleaned) >= cleaning
			if clean {
				cleaned = looked
			}
			r.clean(ctx, looked, clean)
		}
	}()
	return r
}

// wait waits for a time, and reports whether ctx has not ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// wakeRuns lets each run read its task if something else has changed it. One query for all runs
// finds these tasks: each change that a run has to know also changes when the task is due.
func (r *Registry) wakeRuns(ctx context.Context) {
	r.mu.Lock()
	runs := slices.Collect(maps.Values(r.runs))
	r.mu.Unlock()
	if len(runs) == 0 {
		return
	}
	ids, seen := make([]string, len(runs)), make([]int64, len(runs))
	for i, run := range runs {
		ids[i], seen[i] = run.task.ID, run.seen.Load()
	}
	due, err := r.due(ctx, ids)
	if r.store.note(err); err != nil {
		return // the runs go on: see health
	}
	for i, run := range runs {
		// A run that has just written the task, or is writing it, has read the changes with that.
		if at := due[ids[i]].UnixMicro(); at != seen[i] && seen[i] != 0 && run.seen.Load() == seen[i] {
			select {
			case run.changed <- struct{}{}:
			default:
			}
		}
	}
}

func (r *Registry) due(ctx context.Context, ids []string) (_ map[string]time.Time, err error) {
	defer contain(&err)
	ctx, cancel := context.WithTimeout(ctx, writing)
	defer cancel()
	return r.Store.Due(ctx, ids)
}

// clean ends lost tasks, and deletes expired ones too if purge is set.
func (r *Registry) clean(ctx context.Context, now time.Time, purge bool) {
	defer func() { _ = recover() }() // of the program's log handler
	some, err := r.endLost(ctx, now)
	if some {
		r.store.note(nil) // a task that cannot be changed is no outage
	} else {
		r.store.note(err)
	}
	if purge {
		err = errors.Join(err, r.purge(ctx, now))
	}
	if err != nil && purge && ctx.Err() == nil { // a failure lasts, and one line a minute is enough
		r.Log.WarnContext(ctx, "tasks without a run could not be ended, or expired ones not deleted",
			"error", err)
	}
}

// endLost ends the tasks that nothing else ends. The rest of very many is left to the next time. It
// reports whether the store has accepted a change of the last ones.
func (r *Registry) endLost(ctx context.Context, now time.Time) (accepted bool, err error) {
	defer contain(&err)
	for range 64 {
		lost, err := r.lost(ctx, now)
		if err != nil || len(lost) == 0 {
			return false, err
		}
		settled := r.store.settled()
		accepted = false
		var failed []error
		for _, t := range lost {
			switch err := r.endDue(ctx, t, settled, now); {
			case err == nil:
				accepted = true
			case !errors.Is(err, task.ErrUnknown): // otherwise another replica has deleted it
				failed = append(failed, err) // the other tasks end
			}
		}
		if failed == nil && settled {
			continue
		}
		if accepted && !settled {
			r.store.noteWrite()
		}
		return accepted, errors.Join(failed...)
	}
	return accepted, nil
}

func (r *Registry) lost(ctx context.Context, now time.Time) ([]task.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, writing)
	defer cancel()
	return r.Store.Lost(ctx, now, 16)
}

// endDue ends a task that is due. While its run may be alive, it writes the task as it is, which
// shows that the store accepts changes.
func (r *Registry) endDue(ctx context.Context, t task.Record, settled bool, now time.Time) error {
	if !settled {
		_, err := r.change(ctx, t, func(*task.Record) error { return nil })
		return err
	}
	_, err := r.finish(ctx, t, now)
	return err
}

func (r *Registry) running(id string) *Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.runs[id]
}

func (r *Registry) purge(ctx context.Context, now time.Time) (err error) {
	defer contain(&err)
	ctx, cancel := context.WithTimeout(ctx, cleaning/2)
	defer cancel()
	return r.Store.Purge(ctx, now)
}

// contain turns a panic of the program's store into an error: nothing else recovers the goroutines
// of this package, and a request whose handling panics has no event.
func contain(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrPanicked, p)
	}
}

// finish ends a task that is due.
func (r *Registry) finish(ctx context.Context, t task.Record,
	now time.Time) (task.Record, error) {
	e := ending{Registry: r, task: t, own: rand.Text(), recorded: true, when: due(now)}
	found, err := e.do(ctx)
	if e.taken && unsure(err) {
		r.repeat(t, func(ctx context.Context, _ bool) bool { return !unsure(e.again(ctx)) })
	}
	return found, err
}

// ending ends a task that has no run any more. It takes the place of the run, as a run claims its
// task: so only one of those that find the task records its end, and another one does if this
// process dies before, or if the store has not confirmed the change.
type ending struct {
	*Registry
	task     task.Record
	own      string // the name by which it takes the place
	recorded bool   // whether the end is recorded: the task was recorded as a call
	when     func(*task.Record) bool
	taken    bool
}

// do can be called again after an error.
func (e *ending) do(ctx context.Context) (task.Record, error) {
	first, own := !e.taken, false
	found, err := e.change(ctx, e.task, func(t *task.Record) error {
		if own = t.Run == e.own || e.when(t); own {
			t.Run, t.Lease = e.own, leaseFrom(0)
		}
		return nil
	})
	if err != nil || !own {
		return found, err
	}
	if e.taken = true; first && e.recorded {
		e.Ended(ctx, found)
	}
	return e.change(ctx, e.task, func(t *task.Record) error {
		if t.Run != e.own {
			return nil
		}
		why := errLost
		if t.Status == task.InputRequired {
			why = errUnanswered
		}
		if t.Run = ""; !t.Status.Ended() {
			end(t, task.Failed, why.Error(), ErrorOf(why))
		}
		if !e.recorded {
			t.Expires = t.Updated // nobody knows of it
		}
		return nil
	})
}

func (e *ending) again(ctx context.Context) error {
	_, err := e.do(ctx)
	return err
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

// get reads a task. A store that hangs must not keep a run or a request.
func (r *Registry) get(ctx context.Context, o task.Owner, id string) (_ task.Record, err error) {
	defer contain(&err)
	ctx, cancel := context.WithTimeout(ctx, writing)
	defer cancel()
	return r.Store.Get(ctx, o, id)
}

// repeat makes a change of a task again until the store has confirmed it, or the task's time to
// live is over, or the server stops. do reports whether nothing is left to do. One change of each
// task is made again, and as many, also of one user, as there may be tasks; repeat reports false
// for more.
func (r *Registry) repeat(t task.Record, do func(ctx context.Context, last bool) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := 0
	for _, o := range r.again {
		if o.Issuer == t.Owner.Issuer && o.Subject == t.Owner.Subject {
			own++
		}
	}
	if _, ok := r.again[t.ID]; ok || len(r.again) >= max(r.Limits.Total, 1) ||
		own >= max(r.Limits.User, 1) {
		return false
	}
	r.again[t.ID] = t.Owner
	go func() {
		defer func() {
			_ = recover() // of the program's log handler
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.again, t.ID)
		}()
		for last := false; !last; {
			r.pause(r.closing)
			last = r.closing.Err() != nil || !time.Now().Before(t.Expires)
			last = do(r.closing, last) || last
		}
	}()
	return true
}

// pause waits before a change is made again. While the store is known to be gone, one query for all
// runs finds out when it is back.
func (r *Registry) pause(ctx context.Context) {
	for range renewal / PollInterval {
		if !wait(ctx, PollInterval) || r.store.up() {
			return
		}
	}
}

// unsure reports whether a store may have made a change that it reports an error of.
func unsure(err error) bool {
	for _, sure := range []error{task.ErrUnknown, task.ErrFull, ErrTooLarge} {
		if errors.Is(err, sure) {
			return false
		}
	}
	return err != nil
}

// leaseFrom returns the end of a lease, in the precision of all stores.
func leaseFrom(more time.Duration) time.Time {
	return time.Now().UTC().Add(lease + more).Truncate(time.Microsecond)
}

// digest is the key of a task in the store.
func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Create adds a working task whose handler has a time limit, and returns its id. The caller starts
// its run. A task that the store may have without a confirmation is deleted: nobody has its id.
func (r *Registry) Create(ctx context.Context, of task.Record,
	limit time.Duration) (id string, _ task.Record, err error) {
	if size(&of) > MaxBytes {
		return "", of, ErrTooLarge
	}
	id = strings.ToLower(rand.Text()) // 130 bits
	now := time.Now().UTC().Truncate(time.Microsecond)
	of.ID, of.Status, of.Created, of.Updated = digest(id), task.Working, now, now
	of.Expires, of.Run, of.Lease = now.Add(limit+r.TTL), rand.Text(), leaseFrom(0)
	if err = r.create(ctx, of); unsure(err) {
		r.dropLater(r.dropping(task.Record{ID: of.ID, Owner: of.Owner, Run: of.Run, Lease: of.Lease,
			Expires: of.Expires}))
	}
	return id, of, err
}

// create adds a task, also if the request has ended.
func (r *Registry) create(ctx context.Context, t task.Record) (err error) {
	defer contain(&err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writing)
	defer cancel()
	return r.Store.Create(ctx, t, r.Limits)
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
	case !due(now)(&found) || !r.store.settled():
		return found, nil
	}
	return r.finish(ctx, found, now)
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
			wake(t)
		}
		return nil
	})
	return err
}

// Answer keeps answers to outstanding input requests of a round. Answers to others are ignored.
// done is called once: with the record of the task if its next run has to be started, which the
// record names, and otherwise with nil. That can be after Answer has returned an error.
func (r *Registry) Answer(ctx context.Context, t task.Record, answers map[string]json.RawMessage,
	caller string, authority time.Time, done func(*task.Record)) error {
	own := rand.Text()
	answer := func(ctx context.Context) (*task.Record, error) {
		start := false
		now, err := r.change(ctx, t, func(now *task.Record) error {
			if start = now.Run == own; start { // the store has not confirmed it
				now.Lease = leaseFrom(0)
				return nil
			}
			if now.Status != task.InputRequired || now.Rounds != t.Rounds || now.Run != "" {
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
				now.Status, now.Run, now.Authority = task.Working, own, authority
				now.Lease, now.Caller = leaseFrom(0), caller
			}
			return nil
		})
		if err != nil || !start {
			return nil, err
		}
		return &now, nil
	}
	run, err := answer(ctx)
	if unsure(err) && r.repeat(t, func(ctx context.Context, last bool) bool {
		run, err := answer(ctx)
		if unsure(err) && !last {
			return false
		}
		done(run)
		return true
	}) {
		return err
	}
	done(run)
	return err
}

// CancelWaiting cancels the tasks of some owners that wait for input, for a reason. Those that run
// end with the contexts of their runs.
func (r *Registry) CancelWaiting(ctx context.Context, why error,
	of func(context.Context, task.Owner) (bool, error)) error {
	owners, err := r.owners(ctx)
	if err != nil {
		return err
	}
	found := map[task.Owner]bool{}
	var failed []error
	for id, owner := range owners {
		cancels, known := found[owner]
		if !known {
			if cancels, err = of(ctx, owner); err != nil {
				failed = append(failed, err)
			}
			found[owner] = cancels
		}
		if !cancels {
			continue
		}
		t, err := r.get(ctx, owner, id)
		if err == nil && t.Status == task.InputRequired {
			err = r.Cancel(ctx, t, why)
		}
		if err != nil && !errors.Is(err, task.ErrUnknown) { // otherwise it has been deleted
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func (r *Registry) owners(ctx context.Context) (_ map[string]task.Owner, err error) {
	defer contain(&err)
	ctx, cancel := context.WithTimeout(ctx, cleaning/2)
	defer cancel()
	return r.Store.Owners(ctx)
}

// Cancel ends a task that has not ended, and its run, for a reason.
func (r *Registry) Cancel(ctx context.Context, t task.Record, why error) error {
	e := &ending{Registry: r, task: t, own: rand.Text(), recorded: true,
		when: func(*task.Record) bool { return false }}
	err := r.cancel(ctx, t, why, e)
	if unsure(err) {
		r.repeat(t, func(ctx context.Context, _ bool) bool { return !unsure(r.cancel(ctx, t, why, e)) })
	}
	return err
}

func (r *Registry) cancel(ctx context.Context, t task.Record, why error, e *ending) error {
	_, err := r.change(ctx, t, func(t *task.Record) error {
		if t.Status.Ended() {
			return nil
		}
		run := t.Run // until it has ended
		if wake(t); run == "" {
			run, t.Lease = e.own, leaseFrom(0) // nothing else records the end
		}
		end(t, task.Cancelled, why.Error(), nil)
		t.Run = run
		return nil
	})
	if err != nil {
		return err
	}
	if run := r.running(t.ID); run != nil {
		run.cancel(why)
		return nil
	}
	return e.again(ctx)
}

// Drop ends a task whose run is not started. The call of a task without questions yet has no record
// either, so that no end of it is recorded, and the task is kept no longer.
func (r *Registry) Drop(ctx context.Context, t task.Record) {
	e := r.dropping(t)
	if err := e.again(ctx); err != nil && !errors.Is(err, task.ErrUnknown) {
		r.dropLater(e)
		r.Log.ErrorContext(ctx, "a task could not be ended yet", "request_id", t.RequestID,
			"error", err)
	}
}

func (r *Registry) dropping(t task.Record) *ending {
	return &ending{Registry: r, task: t, own: rand.Text(), recorded: t.Rounds > 0,
		when: func(now *task.Record) bool { return now.Run == t.Run }}
}

// dropLater drops a task that the store may still make, although it has not confirmed it.
func (r *Registry) dropLater(e *ending) {
	r.repeat(e.task, func(ctx context.Context, _ bool) bool {
		err := e.again(ctx)
		return err == nil || errors.Is(err, task.ErrUnknown) && !time.Now().Before(e.task.Lease)
	})
}

// wake changes when a task is due, which its run finds within a second: see [Registry.wakeRuns].
func wake(t *task.Record) { t.Lease = t.Lease.Add(time.Microsecond) }

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
