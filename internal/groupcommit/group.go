// Package groupcommit lets many goroutines share one write to something that is slow for each write
// and not for each byte, as a disk is that has to sync.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Group collects what is to be written while a write is under way, and writes that in one go after
// it, in the order in which it came. It has a goroutine while there is something to write.
type Group[T any] struct {
	write func(ctx context.Context, batch []T) error
	most  int
	turn  chan struct{} // a mutex that can be given up on: held while something is written

	mu    sync.Mutex
	queue []*waiting[T]
	leads bool // there is the goroutine

	batch  []*waiting[T] // for the holder of the turn
	values []T
}

type waiting[T any] struct {
	ctx   context.Context
	value T
	done  chan error // of size one: nobody may be left to take it
}

// Errors are what became of each value of a batch, in their order, where it was not the same of
// all: nil is of one that was written.
type Errors []error

func (e Errors) Error() string { return errors.Join(e...).Error() }

// Unwrap returns the errors.
func (e Errors) Unwrap() []error { return e }

// New makes a group of a function that writes at most so many at once. It is never called twice at
// the same time, keeps no batch, and may change it. Its error holds for all values, unless it is
// [Errors], not wrapped, with an error for each value. A panic is an error for all. Its context
// ends at the last deadline of the contexts of the values. It has no deadline if one of them has
// none.
func New[T any](most int, write func(ctx context.Context, batch []T) error) *Group[T] {
	return &Group[T]{write: write, most: most, turn: make(chan struct{}, 1)}
}

// Do writes a value, together with those of others, and returns the write's error. When ctx ends
// first it returns ctx's, and the value may be written nonetheless. It only waits: the write has
// another goroutine.
func (g *Group[T]) Do(ctx context.Context, value T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiting[T]{ctx, value, make(chan error, 1)}
	g.mu.Lock()
	g.queue = append(g.queue, w)
	if !g.leads {
		g.leads = true
		go g.lead()
	}
	g.mu.Unlock()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		g.mu.Lock()
		defer g.mu.Unlock()
		g.queue = slices.DeleteFunc(g.queue, func(other *waiting[T]) bool { return other == w })
		return ctx.Err()
	}
}

// Alone calls do while nothing is written, and returns its error, or ctx's when that ends before
// its turn.
func (g *Group[T]) Alone(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
		return do()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lead writes until nobody waits.
func (g *Group[T]) lead() {
	left := true
	defer func() {
		if left { // the write has ended its goroutine
			go g.lead()
		}
	}()
	for g.more() {
		runtime.Gosched() // to those who are about to wait
		g.next()
	}
	left = false
}

// more reports whether somebody waits. If nobody does, the next one starts a goroutine.
func (g *Group[T]) more() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leads = len(g.queue) > 0
	return g.leads
}

// next writes those who wait by now, and notifies them before it ends its turn.
func (g *Group[T]) next() {
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
	g.take()
	if len(g.batch) == 0 {
		return
	}
	for _, w := range g.batch {
		g.values = append(g.values, w.value)
	}
	ctx, cancel := together(g.batch)
	defer cancel()
	err := errUnfinished
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the write panicked: %v", p)
		}
		each, apart := err.(Errors)
		for i, w := range g.batch {
			if apart && len(each) == len(g.batch) {
				w.done <- each[i]
			} else {
				w.done <- err
			}
		}
		clear(g.batch)
		clear(g.values)
		g.batch, g.values = g.batch[:0], g.values[:0]
	}()
	err = g.write(ctx, g.values)
}

// errUnfinished is for a batch whose write ended its goroutine.
var errUnfinished = errors.New("the write that this was a part of did not come back")

// take moves the first of the queue to the batch. A caller that has left gets an error, not the
// result of a write.
func (g *Group[T]) take() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = slices.DeleteFunc(g.queue, func(w *waiting[T]) bool { return w.ctx.Err() != nil })
	n := min(len(g.queue), g.most)
	g.batch = append(g.batch, g.queue[:n]...)
	g.queue = slices.Delete(g.queue, 0, n)
}

// together is the context of a batch: no caller's end is the others' as well.
func together[T any](batch []*waiting[T]) (context.Context, context.CancelFunc) {
	var last time.Time
	for _, w := range batch {
		deadline, ends := w.ctx.Deadline()
		if !ends {
			return context.WithCancel(context.WithoutCancel(w.ctx))
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(context.WithoutCancel(batch[0].ctx), last)
}

// Waiting counts those whose values are not being written yet.
func (g *Group[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}
