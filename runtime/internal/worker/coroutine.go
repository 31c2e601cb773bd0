package worker

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"runtime/pprof"
	"sync"
)

// maxCoroutines bounds the idle coroutines that a pool keeps. They are the jobs that only compute
// at one time: a few for each processor.
const maxCoroutines = 64

// Inline runs a func that only computes, and waits for it without a limit. It uses a coroutine of
// the pool, on the thread of the caller: the scheduler has no part in it, and there is no timer.
// The coroutine contains what a deferred func cannot, runtime.Goexit. crash is nil if do has
// returned.
//
// The caller must not be locked to its thread (runtime.LockOSThread): the Go runtime ends the
// process when such a goroutine switches to a coroutine. This is recognized only while no coroutine
// is idle, because the check takes longer than the call. A worker may be locked, by an earlier job:
// use [Await] there.
func Inline[T any](p *Pool, ctx context.Context, do func(context.Context) T) (value T,
	crash *Crash) {
	c := p.coroutines.take()
	if c == nil {
		if isLocked() {
			return Await(p, ctx, do)
		}
		c = newCoroutine()
	}
	j := &inline[T]{ctx: ctx, do: do}
	c.job = j
	c.next()
	crash, c.crash = c.crash, nil
	p.coroutines.keep(c)
	return j.value, crash
}

// Await is [Inline] on a worker, for any caller.
func Await[T any](p *Pool, ctx context.Context, do func(context.Context) T) (T, *Crash) {
	o := Run(p, Job[T]{Context: context.WithoutCancel(ctx),
		Do: func(context.Context) T { return do(ctx) }})
	return o.Value, o.Crash
}

// inline is a job on a coroutine.
type inline[T any] struct {
	ctx   context.Context
	do    func(context.Context) T
	value T // the zero value unless do has returned
}

func (j *inline[T]) labels() context.Context { return j.ctx }

func (j *inline[T]) run() { j.value = j.do(j.ctx) }

// coroutine runs one job after another, each during one call of next.
type coroutine struct {
	next func() (struct{}, bool)
	stop func()

	job   foreign // the next one
	crash *Crash  // of the last one
	lost  bool    // the last job has called runtime.Goexit
}

func newCoroutine() *coroutine {
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		for c.work(yield) && yield(struct{}{}) {
		}
	})
	return c
}

// work runs the job. If that ends the coroutine, work yields for the last time.
func (c *coroutine) work(yield func(struct{}) bool) bool {
	c.lost = true
	defer func() {
		c.job = nil
		pprof.SetGoroutineLabels(context.Background())
		// A job that keeps its thread would end the process at the switch back.
		for range maxLocks {
			runtime.UnlockOSThread()
		}
		if c.lost {
			c.crash = &Crash{}
			yield(struct{}{})
		}
	}()
	pprof.SetGoroutineLabels(c.job.labels())
	c.crash = recovered(c.job)
	c.lost = false
	return true
}

// maxLocks is how many calls of runtime.LockOSThread a job may leave without its UnlockOSThread.
const maxLocks = 8

// isLocked reports whether the goroutine is locked to its thread. It reads the first line of the
// stack trace, as Go reports this nowhere else.
func isLocked() bool {
	header := make([]byte, 128)
	header, _, _ = bytes.Cut(header[:runtime.Stack(header, false)], []byte{'\n'})
	return bytes.Contains(header, []byte("locked to thread"))
}

// coroutines are the idle coroutines of a pool. A sync.Pool would drop some, and a dropped
// coroutine is never freed.
type coroutines struct {
	mu     sync.Mutex
	idle   []*coroutine
	closed bool
}

// take returns the coroutine that was used last, nil for none.
func (cs *coroutines) take() *coroutine {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	last := len(cs.idle) - 1
	if last < 0 {
		return nil
	}
	c := cs.idle[last]
	cs.idle[last] = nil
	cs.idle = cs.idle[:last]
	return c
}

// keep keeps a coroutine for reuse, or ends it.
func (cs *coroutines) keep(c *coroutine) {
	if c.lost {
		go c.stop() // it ends its caller too
		return
	}
	cs.mu.Lock()
	kept := !cs.closed && len(cs.idle) < maxCoroutines
	if kept {
		cs.idle = append(cs.idle, c)
	}
	cs.mu.Unlock()
	if !kept {
		c.stop()
	}
}

// close ends the idle coroutines. The others end when their job is done.
func (cs *coroutines) close() {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.closed = true
	idle := cs.idle
	cs.idle = nil
	go func() { // the caller may be locked to its thread
		for _, c := range idle {
			c.stop()
		}
	}()
}
