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
	"slices"
	"sync"
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
	limits     sync.Map   // of *Deadlines, by their duration
	coroutines coroutines // of Inline

	mu     sync.Mutex
	idle   []*worker // the one that waits the longest first
	armed  bool      // a timer runs that ends idle workers
	closed bool
}

// worker is an idle goroutine.
type worker struct {
	jobs  chan job // gets one job, or is closed
	since time.Time
}

// NewPool returns a pool without workers.
func NewPool() *Pool { return &Pool{} }

// Close ends all workers and coroutines, busy ones as soon as their job is done.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.dismiss(len(p.idle))
		p.coroutines.close()
	}
}

// deadlines returns the deadlines of jobs that may take so long.
func (p *Pool) deadlines(after time.Duration) *Deadlines {
	found, ok := p.limits.Load(after)
	if !ok {
		found, _ = p.limits.LoadOrStore(after, NewDeadlines(after))
	}
	return found.(*Deadlines)
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

// start gives a job to a worker, the one that has worked last.
func (p *Pool) start(j job) {
	p.mu.Lock()
	n := len(p.idle) - 1
	if n < 0 {
		p.mu.Unlock()
		go p.work(j)
		return
	}
	w := p.idle[n]
	p.idle[n], p.idle = nil, p.idle[:n]
	p.mu.Unlock()
	w.jobs <- j
}

// Go runs a func of our own on a worker, which does not panic.
func (p *Pool) Go(f func()) { p.start(own(f)) }

type own func()

func (own) labels() context.Context { return context.Background() }

func (f own) run() { f() }

func (own) ended(*Crash) bool { return true }

// work runs one job after another.
func (p *Pool) work(j job) {
	w := &worker{jobs: make(chan job, 1)}
	for more := true; more && do(j) && p.rest(w); j, more = <-w.jobs {
	}
}

// rest notes that a worker waits for its next job, and reports false if it is not needed.
func (p *Pool) rest(w *worker) bool {
	pprof.SetGoroutineLabels(context.Background())
	w.since = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		return false
	}
	p.idle = append(p.idle, w)
	if !p.armed {
		p.armed = true
		time.AfterFunc(idleFor, p.tidy)
	}
	return true
}

// tidy ends the workers that have waited for long.
func (p *Pool) tidy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	long := time.Now().Add(-idleFor)
	n := 0
	for n < len(p.idle) && !p.idle[n].since.After(long) {
		n++
	}
	p.dismiss(n)
	if p.armed = len(p.idle) > 0; p.armed {
		time.AfterFunc(p.idle[0].since.Sub(long), p.tidy)
	}
}

// dismiss ends the first n idle workers. p.mu is held.
func (p *Pool) dismiss(n int) {
	for _, w := range p.idle[:n] {
		close(w.jobs)
	}
	p.idle = slices.Delete(p.idle, 0, n)
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
