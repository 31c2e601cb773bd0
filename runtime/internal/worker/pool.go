// Package worker runs foreign code (handlers, audit sinks, middleware, identity sources, host
// adapters, readiness checks) under a deadline and contains its panics.
//
// [Run] is the supervised call of the kernel. It returns when the code has returned, or at the
// latest a grace period after its deadline. Code that does not return keeps its goroutine.
// [Inline] is for code whose author promises that it only computes: it waits for the code's end.
package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxIdle bounds the idle workers that a pool keeps.
	maxIdle = 128
	// idleFor is how long a worker waits for its next job.
	idleFor = 10 * time.Second
)

// Pool keeps goroutines for reuse: a fresh goroutine has to grow its stack in every call. Jobs
// never queue; without an idle worker there is a new one. It is safe for concurrent use.
type Pool struct {
	jobs   chan job // without a buffer: only an idle worker receives
	idle   atomic.Int32
	closed chan struct{}
	close  sync.Once

	coroutines coroutines // of Inline
}

// NewPool returns a pool without workers.
func NewPool() *Pool { return &Pool{jobs: make(chan job), closed: make(chan struct{})} }

// Close ends all workers and coroutines, busy ones as soon as their job is done.
func (p *Pool) Close() {
	p.close.Do(func() {
		close(p.closed)
		p.coroutines.close()
	})
}

// foreign is a call of foreign code.
type foreign interface {
	// labels returns the context whose profiler labels the goroutine has during the call.
	labels() context.Context
	run()
}

// job is the work of one worker.
type job interface {
	foreign
	// ended is called after run has returned, panicked or ended its goroutine. It reports
	// whether a caller waits. Without one the worker leaves.
	ended(crash *Crash) bool
}

// start gives a job to a worker.
func (p *Pool) start(j job) {
	select {
	case p.jobs <- j:
	default:
		go p.work(j)
	}
}

// work runs one job after another.
func (p *Pool) work(j job) {
	timer := time.NewTimer(idleFor)
	defer timer.Stop()
	for do(j) {
		pprof.SetGoroutineLabels(context.Background())
		if p.idle.Add(1) > maxIdle {
			p.idle.Add(-1)
			return
		}
		timer.Reset(idleFor)
		select {
		case j = <-p.jobs:
			p.idle.Add(-1)
		case <-timer.C:
			p.idle.Add(-1)
			return
		case <-p.closed:
			p.idle.Add(-1)
			return
		}
	}
}

// do runs a job and reports whether its goroutine can run another.
func do(j job) (more bool) {
	var crash *Crash
	lost := true
	defer func() {
		// runtime.Goexit reaches this point too, also behind a recovered panic.
		if lost {
			crash = &Crash{} // of a job that ends its goroutine
		}
		more = j.ended(crash) && !lost
	}()
	pprof.SetGoroutineLabels(j.labels())
	crash = recovered(j)
	lost = false
	return
}

// recovered runs a job and describes its panic, nil without one.
func recovered(j foreign) (c *Crash) {
	defer func() {
		if p := recover(); p != nil {
			c = &Crash{Panicked: true, Value: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
	}()
	j.run()
	return nil
}

// Crash describes a func that did not return.
type Crash struct {
	Panicked bool // false: its goroutine ended by runtime.Goexit
	Value    string
	Stack    string
}

// Error implements error.
func (c *Crash) Error() string {
	if c.Panicked {
		return "it panicked: " + c.Value
	}
	return ErrGoexit.Error()
}

// Unwrap returns [ErrGoexit] unless the func panicked.
func (c *Crash) Unwrap() error {
	if c.Panicked {
		return nil
	}
	return ErrGoexit
}
