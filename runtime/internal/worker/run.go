package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Grace is how long a func may take to return after its context has ended, if its caller waits.
const Grace = 200 * time.Millisecond

var (
	// ErrGoexit reports that the func ended its goroutine.
	ErrGoexit = errors.New("its goroutine ended (runtime.Goexit) without a result")
	// ErrAbandoned reports that the func still runs.
	ErrAbandoned = errors.New(
		"it did not stop when its context ended; its goroutine is still running")
	// ErrNoResponse reports that the func did not return in time.
	ErrNoResponse = errors.New("no response in time")
)

// Contain logs a panic, and ends it. It is deferred. The program's log handler may panic as well.
func Contain(ctx context.Context, log *slog.Logger, message string, attrs ...any) {
	if p := recover(); p != nil {
		defer func() { _ = recover() }()
		log.ErrorContext(ctx, message,
			append(attrs, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))...)
	}
}

// Job describes one supervised call.
type Job[T any] struct {
	// Context has the values for Do. Its end stops the job.
	Context context.Context
	// Timeout stops the job. Zero is none.
	Timeout time.Duration
	// Stop, if not nil, stops the job when it is closed.
	Stop <-chan struct{}
	// Grace is how long Do may take to return after the job was stopped.
	Grace time.Duration
	// Do is the foreign code. Its context ends when the job is stopped, or has ended.
	Do func(context.Context) T
	// Late, if not nil, is called when Do ends after the caller has gone; crash is nil if Do
	// has returned.
	Late func(crash *Crash)
}

// Outcome describes how a job ended.
type Outcome[T any] struct {
	Value     T      // of Do; the zero value unless Do has returned
	Crash     *Crash // nil if Do has returned
	Abandoned bool   // Do still runs
	Ended     error  // of the job's context when the job ended or was abandoned; nil in time
}

// Err reports why Do has not returned, nil if it has. A stopped job is [ErrNoResponse].
func (o Outcome[T]) Err() error {
	switch {
	case o.Abandoned:
		return fmt.Errorf("%w (%w)", ErrNoResponse, o.Ended)
	case o.Crash != nil:
		return o.Crash
	}
	return nil
}

// Run runs a job on a worker of the pool. It returns when the job has ended, or abandons it when
// the grace period after the stop is over.
func Run[T any](p *Pool, j Job[T]) Outcome[T] {
	r := &run[T]{Job: j, ctx: j.Context, wake: make(chan struct{}, 2)}
	if j.Timeout > 0 || j.Stop != nil {
		r.own.Parent, r.ctx = j.Context, &r.own
		defer r.own.End()
	}
	if j.Timeout > 0 {
		now, limits := time.Now(), p.deadlines(j.Timeout)
		r.own.At = now.Add(j.Timeout)
		limits.Begin(&r.limit, r, now)
		defer limits.End(&r.limit)
	}
	p.start(r)
	select {
	case <-r.wake:
	case <-j.Context.Done():
	case <-j.Stop:
		r.own.End()
	}
	if r.state.Load() == running && j.Grace > 0 {
		_ = r.ctx.Err() // what has ended it stays the reason
		grace := time.NewTimer(j.Grace)
		defer grace.Stop()
		for waits := true; waits && r.state.Load() == running; {
			select {
			case <-r.wake: // perhaps by the time limit
			case <-grace.C:
				waits = false
			}
		}
	}
	if r.state.CompareAndSwap(running, abandoned) {
		return Outcome[T]{Abandoned: true, Ended: r.ctx.Err()}
	}
	return r.outcome()
}

// run is a job on its worker.
type run[T any] struct {
	Job[T]
	ctx   context.Context
	own   Context // is ctx, for a job with a time limit or a stop
	limit Deadline
	state atomic.Int32
	wake  chan struct{} // gets an item at the time limit, and one when the job has ended
	value T
	crash *Crash
}

// The states of a run. Exactly one of worker and caller leaves the first one.
const (
	running int32 = iota
	over
	abandoned
)

func (r *run[T]) labels() context.Context { return r.ctx }

func (r *run[T]) run() { r.value = r.Do(r.ctx) }

// Reached implements [Waiter].
func (r *run[T]) Reached() { r.wake <- struct{}{} }

func (r *run[T]) ended(c *Crash) bool {
	r.crash = c
	if r.state.CompareAndSwap(running, over) {
		r.wake <- struct{}{}
		return true
	}
	if r.Late != nil {
		r.Late(c)
	}
	return false
}

// outcome describes a run that has ended.
func (r *run[T]) outcome() Outcome[T] {
	o := Outcome[T]{Crash: r.crash, Ended: r.ctx.Err()}
	if r.crash == nil {
		o.Value = r.value
	}
	r.value = *new(T) // what keeps the context does not keep it
	// Do may have compared the time itself and be ahead of the context's timer.
	if at := r.own.At; o.Ended == nil && !at.IsZero() && !time.Now().Before(at) {
		o.Ended = context.DeadlineExceeded
	}
	return o
}
