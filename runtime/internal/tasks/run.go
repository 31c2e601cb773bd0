package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runtime/task"
)

// Run is one run of a task's handler, in this process.
type Run struct {
	registry *Registry
	task     task.Record // as the run began
	ctx      context.Context
	cancel   context.CancelCauseFunc
	watched  chan struct{} // closed when the watch has ended
	message  atomic.Value  // a string; nil before any progress
	changed  chan struct{} // has a value if something else may have changed the task
	seen     atomic.Int64  // when the task is due, as read, in microseconds; 0 during a write
}

// Start starts to watch a run, whose context ends with the task's authority: its time to live, the
// caller's credential, a revoked permission, a cancellation, or the server. allowed reports whether
// the caller may still use the tool.
func (r *Registry) Start(ctx context.Context, t task.Record,
	allowed func(context.Context) bool) (*Run, context.Context) {
	run := &Run{registry: r, task: t, watched: make(chan struct{}), changed: make(chan struct{}, 1)}
	run.seen.Store(t.Due().UnixMicro())
	run.ctx, run.cancel = context.WithCancelCause(ctx)
	r.mu.Lock()
	r.runs[t.ID] = run
	r.mu.Unlock()
	if now, err := run.read(); err == nil && run.lost(now) {
		run.cancel(ErrCancelled) // before Cancel could find the run
	}
	go run.watch(allowed)
	return run, run.ctx
}

// lost reports whether the task has ended, or has another run.
func (r *Run) lost(now task.Record) bool { return now.Run != r.task.Run || now.Status.Ended() }

// Progress replaces the message of the task.
func (r *Run) Progress(text string) { r.message.Store(text) }

// watch renews the lease, writes progress, and cancels the run. While the store is gone, the run
// goes on: no other replica can end the task.
func (r *Run) watch(allowed func(context.Context) bool) {
	defer close(r.watched)
	authority, renewed, written := r.task.Authority, time.Now(), ""
	decided := renewed
	over := func(end time.Time) bool { return !end.IsZero() && !time.Now().Before(end) }
	// take reads or writes the task, and reports whether the run has it no longer.
	take := func(now task.Record, err error) (lost bool) {
		if err == nil {
			authority = now.Authority
			r.seen.Store(now.Due().UnixMicro())
		}
		return errors.Is(err, task.ErrUnknown) || err == nil && r.lost(now)
	}
	for {
		wait := PollInterval
		for _, end := range []time.Time{authority, r.task.Expires} {
			if !end.IsZero() {
				wait = min(wait, max(time.Until(end), 0))
			}
		}
		changed := false
		select {
		case <-r.ctx.Done():
			return
		case <-r.changed:
			changed = true
		case <-time.After(wait):
		}
		if (changed || over(authority)) && take(r.read()) {
			r.cancel(ErrCancelled) // on another replica, or the lease was lost
			return
		}
		due := time.Since(decided) >= renewal
		if due {
			decided = time.Now()
		}
		switch {
		case over(r.task.Expires):
			r.cancel(ErrExpired)
			return
		case over(authority), due && !r.permitted(allowed):
			r.cancel(ErrAuthority)
			return
		}
		message, _ := r.message.Load().(string)
		if time.Since(renewed) < renewal && message == written || !r.registry.store.up() {
			continue
		}
		seen := r.seen.Swap(0)
		now, err := r.renewed(message)
		if take(now, err) {
			r.cancel(ErrCancelled)
			return
		}
		if err != nil {
			r.seen.Store(seen)
		} else {
			renewed, written = time.Now(), message
		}
	}
}

// permitted reports whether the caller may still use the tool. Program code may panic.
func (r *Run) permitted(allowed func(context.Context) bool) (ok bool) {
	defer func() { _ = recover() }()
	return allowed(r.ctx)
}

func (r *Run) read() (task.Record, error) {
	return r.registry.get(r.ctx, r.task.Owner, r.task.ID)
}

// renewed renews the lease, and returns the task.
func (r *Run) renewed(message string) (task.Record, error) {
	return r.registry.change(r.ctx, r.task, func(t *task.Record) error {
		if t.Run == r.task.Run && t.Status == task.Working {
			if t.Lease = leaseFrom(0); t.Message != message {
				t.Message = message
				touch(t)
			}
		}
		return nil
	})
}

// Cancel ends the run's context with a reason of this package.
func (r *Run) Cancel(why error) { r.cancel(why) }

// Why returns why the run was cancelled, nil if it was not.
func (r *Run) Why() error { return context.Cause(r.ctx) }

// Outcome is how a run ended.
type Outcome struct {
	Status task.Status
	Text   string // for people
	Result json.RawMessage
	// Of a run that asks: the requests by key, and the handler's state.
	Requests map[string]json.RawMessage
	State    string
}

// Claim ends the watch, and reports whether the run still has its task: a run whose lease was over
// may not. No replica ends the task while the caller records how the run ended, which takes at most
// a time.
func (r *Run) Claim(ctx context.Context, recording time.Duration) (own bool, _ error) {
	r.cancel(nil)
	<-r.watched
	_, err := r.change(ctx, func(t *task.Record) error {
		if own = t.Run == r.task.Run; own {
			t.Lease = leaseFrom(recording)
		}
		return nil
	})
	if errors.Is(err, task.ErrUnknown) { // its time to live is over
		return false, nil
	}
	return own && err == nil, err
}

// change changes the task. While the store is gone it tries again, until the task's time to live is
// over or ctx ends.
func (r *Run) change(ctx context.Context, change func(*task.Record) error) (task.Record, error) {
	end := time.Now().Add(lease)
	if r.task.Expires.After(end) {
		end = r.task.Expires
	}
	for {
		t, err := r.registry.change(ctx, r.task, change)
		if !unsure(err) || ctx.Err() != nil || !time.Now().Before(end) {
			return t, err
		}
		r.registry.pause(ctx)
	}
}

// Fits reports whether a task does not exceed [MaxBytes] with an outcome.
func (r *Run) Fits(o Outcome) bool {
	kept := task.Record{State: o.State, Requests: o.Requests, Result: o.Result}
	if o.Status == task.InputRequired {
		kept.Arguments = r.task.Arguments
	}
	return size(&kept) <= MaxBytes
}

// End keeps the outcome of a run that has claimed its task, unless the task was cancelled. The
// caller has recorded an outcome that ends the task.
func (r *Run) End(ctx context.Context, o Outcome) error {
	cancelled := false
	keep := func(t *task.Record) error {
		cancelled = t.Run == r.task.Run && t.Status != task.Working
		switch {
		case t.Run != r.task.Run:
		case cancelled && o.Status != task.InputRequired:
			t.Run = ""
		case cancelled: // nothing has recorded the end
		case o.Status != task.InputRequired:
			end(t, o.Status, o.Text, o.Result)
		default:
			touch(t)
			t.Status, t.Message, t.Run, t.Rounds = o.Status, o.Text, "", t.Rounds+1
			t.Requests, t.Answers, t.State = o.Requests, nil, o.State
		}
		return nil
	}
	asked := o.Status == task.InputRequired
	now, err := r.change(ctx, keep)
	if errors.Is(err, task.ErrFull) { // what it asks, or its result, has no room
		o = Outcome{Status: task.Failed, Text: errNoRoom.Error(), Result: ErrorOf(errNoRoom)}
		now, err = r.change(ctx, keep)
	}
	if err != nil || !cancelled || !asked {
		return err
	}
	e := ending{Registry: r.registry, task: now, own: rand.Text(), recorded: true,
		when: func(t *task.Record) bool { return t.Run == r.task.Run }}
	_, err = e.do(ctx)
	return err
}

// Release forgets a run. It is over.
func (r *Run) Release() {
	r.cancel(nil)
	r.registry.mu.Lock()
	defer r.registry.mu.Unlock()
	if r.registry.runs[r.task.ID] == r {
		delete(r.registry.runs, r.task.ID)
	}
}
