package runtime

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"
)

// Handlers, audit sinks and middleware run in goroutines that nobody has to wait for. A fresh
// goroutine begins with a small stack that every call would have to grow again, which took a
// third of a call's time; so goroutines that have come back are kept for a while and used again.
//
// Calls are never queued: where no worker is idle, there is a new one.

// maxIdle bounds the workers that are kept. More of them than that leave as soon as they are
// done.
const maxIdle = 128

// idleFor is how long a worker that is not needed stays, at least; it leaves within twice that.
const idleFor = 5 * time.Second

// workers are the idle workers of one server. The zero value has none.
type workers struct {
	mu     sync.Mutex
	idle   []*worker // the one that worked last at the end
	least  int       // the fewest that were idle since the last sweep
	sweep  *time.Timer
	swept  bool // a sweep is on its way
	closed bool
}

// worker is a goroutine that runs one job after another. From take until give it belongs to
// whoever took it, who waits for the job's end or abandons the job, and the worker with it.
type worker struct {
	jobs chan job
	done chan struct{} // the job has ended, or its goroutine has
	lost bool          // the goroutine has ended; written before done

	// One timer serves many jobs. It is not stopped when a job has ended in time: its alarm is
	// then early for a later job, which sets it anew. Setting a timer for each job costs more
	// than the handing over.
	alarm chan struct{}
	timer *time.Timer
	armed time.Time // when the alarm comes; zero for never
}

// job is what a worker runs.
type job interface {
	// on returns the context whose profiler labels the worker bears meanwhile: it would bear those of
	// whoever made it first.
	on() context.Context
	run()
	// ended is called once run has returned, panicked or ended its goroutine, and reports
	// whether somebody waits for that. Where nobody does, the worker leaves.
	ended(crash *crash) bool
}

// crash says how a job ended that did not return.
type crash struct {
	panicked   bool // else its goroutine ended by runtime.Goexit
	value      string
	stacktrace string
}

// take returns a worker that has begun with a job.
func (p *workers) take(j job) *worker {
	p.mu.Lock()
	var w *worker
	if last := len(p.idle) - 1; last >= 0 {
		w = p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		p.least = min(p.least, last)
	}
	p.mu.Unlock()
	if w == nil {
		w = &worker{jobs: make(chan job, 1), done: make(chan struct{}, 1), alarm: make(chan struct{}, 1)}
		go w.work()
	}
	w.jobs <- j
	return w
}

// give takes back a worker whose job is done.
func (p *workers) give(w *worker) {
	if w.lost {
		w.leave()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) == maxIdle {
		w.leave()
		return
	}
	p.idle = append(p.idle, w)
	if !p.swept {
		p.swept, p.least = true, 0
		if p.sweep == nil {
			p.sweep = time.AfterFunc(idleFor, p.leave)
		} else {
			p.sweep.Reset(idleFor)
		}
	}
}

// leave sends those away that were not needed since it ran last. They are the first ones,
// since the last one is taken first.
func (p *workers) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := p.idle[min(p.least, len(p.idle)):]
	for _, w := range p.idle[:len(p.idle)-len(rest)] {
		w.leave()
	}
	p.idle = append([]*worker(nil), rest...)
	p.least = len(rest)
	if p.swept = len(rest) > 0; p.swept {
		p.sweep.Reset(idleFor)
	}
}

// close sends all workers away, those that work as soon as they are done.
func (p *workers) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.idle {
		w.leave()
	}
	p.idle = nil
}

// leave ends a worker that nobody uses any more.
func (w *worker) leave() {
	if w.timer != nil {
		w.timer.Stop()
	}
	close(w.jobs)
}

func (w *worker) work() {
	for j := range w.jobs {
		if !w.does(j) {
			return
		}
	}
}

// does runs one job and reports whether there may be another.
func (w *worker) does(j job) (more bool) {
	var c *crash
	lost := true
	defer func() {
		// Reached by runtime.Goexit as well, and by one that goes on behind a panic that was recovered.
		if w.lost = lost; lost {
			c = &crash{}
		}
		if j.ended(c) {
			more = true
			w.done <- struct{}{}
		} else if w.timer != nil {
			w.timer.Stop()
		}
	}()
	pprof.SetGoroutineLabels(j.on())
	c = crashed(j)
	lost = false
	return
}

// crashed runs a job, and says how it panicked where it did. It does not return where the goroutine ends.
func crashed(j job) (c *crash) {
	defer func() {
		if p := recover(); p != nil {
			c = &crash{panicked: true, value: fmt.Sprint(p), stacktrace: string(debug.Stack())}
		}
	}()
	j.run()
	return nil
}

// wake sees to an alarm at a time, or before it.
func (w *worker) wake(at, now time.Time) {
	switch {
	case w.timer == nil:
		w.timer = time.AfterFunc(at.Sub(now), w.ring)
	case w.armed.IsZero() || at.Before(w.armed):
		w.timer.Reset(at.Sub(now))
	default:
		return
	}
	w.armed = at
}

// ends waits for the end of a job, and reports whether it came in time. It is for what is rare.
func (w *worker) ends(in time.Duration) bool {
	timer := time.NewTimer(in)
	defer timer.Stop()
	select {
	case <-w.done:
		return true
	case <-timer.C:
		return false
	}
}

// ring sounds the alarm. Whoever waits looks at the clock.
func (w *worker) ring() {
	select {
	case w.alarm <- struct{}{}:
	default:
	}
}

// rang notes that the alarm has been heard.
func (w *worker) rang() { w.armed = time.Time{} }

// waited settles who has the last word on a job: the worker that ends it, or whoever does not
// wait any longer.
type waited struct{ state atomic.Int32 }

// The states of a job.
const (
	running int32 = iota
	over
	abandoned
)

// turn makes one state another, and reports false where the other side was faster.
func (w *waited) turn(from, to int32) bool { return w.state.CompareAndSwap(from, to) }

// task is a job that is a func, without more to it.
type task struct {
	waited
	ctx   context.Context
	do    func()
	crash *crash // how it ended, where it did not return
	// late is told how a task ended that nobody waited for any more; nil where nobody wants to know.
	late func(*crash)
}

func (t *task) on() context.Context { return t.ctx }
func (t *task) run()                { t.do() }

func (t *task) ended(c *crash) bool {
	t.crash = c
	if t.turn(running, over) {
		return true
	}
	if t.late != nil {
		t.late(c)
	}
	return false
}

// abandon gives a job up, and reports false where it has ended meanwhile.
func (w *waited) abandon() bool { return w.turn(running, abandoned) }
