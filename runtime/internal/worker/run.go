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
	// Deadline stops the job. The zero time is none.
	Deadline time.Time
	// Stop, if not nil, stops the job when it is closed.
	Stop <-chan struct{}
	// Grace is how long Do may take to return after the job was stopped.
	Grace time.Duration
	// Do is the foreign code. Its context ends when the job is stopped.
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
	ctx, cancel := j.Context, func() {}
	switch {
	case !j.Deadline.IsZero():
		ctx, cancel = context.WithDeadline(ctx, j.Deadline)
	case j.Stop != nil:
		ctx, cancel = context.WithCancel(ctx)
	}
	defer cancel()
	r := &run[T]{Job: j, ctx: ctx, done: make(chan struct{})}
	p.start(r)
	select {
	case <-r.done:
		return r.outcome()
	case <-ctx.Done():
	case <-j.Stop:
		cancel()
	}
	if j.Grace > 0 {
		grace := time.NewTimer(j.Grace)
		defer grace.Stop()
		select {
		case <-r.done:
			return r.outcome()
		case <-grace.C:
		}
	}
	if r.state.CompareAndSwap(running, abandoned) {
		return Outcome[T]{Abandoned: true, Ended: ctx.Err()}
	}
	<-r.done // it has just returned
	return r.outcome()
}

// run is a job on its worker.
type run[T any] struct {
	Job[T]
	ctx   context.Context
	state atomic.Int32
	done  chan struct{} // closed when the job has ended before it was abandoned
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

func (r *run[T]) ended(c *Crash) bool {
	r.crash = c
	if r.state.CompareAndSwap(running, over) {
		close(r.done)
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
	// Do may have compared the time itself and be ahead of the context's timer.
	if o.Ended == nil && !r.Deadline.IsZero() && !time.Now().Before(r.Deadline) {
		o.Ended = context.DeadlineExceeded
	}
	return o
}
