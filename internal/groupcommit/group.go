// Package groupcommit lets many goroutines share one write to something that is slow for each write
// and not for each byte, as a disk is that has to sync.
package groupcommit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Group collects what is to be written while a write is under way, and writes that in one go after
// it, in the order in which it came. It has no goroutine of its own: one of those that wait writes
// for all of them.
type Group[T any] struct {
	write func(ctx context.Context, batch []T) error
	most  int
	turn  chan struct{} // a mutex that can be given up on: held while something is written

	mu    sync.Mutex
	queue []*waiting[T]
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
// the same time. Its error is that of all of them, or [Errors], as it is and not wrapped, one of
// each. Its context ends at the last deadline of those whose values are written, if all have one,
// and with none of them otherwise.
func New[T any](most int, write func(ctx context.Context, batch []T) error) *Group[T] {
	return &Group[T]{write: write, most: most, turn: make(chan struct{}, 1)}
}

// Do writes a value, together with those of others, and returns the write's error. When ctx ends
// first it returns ctx's, and the value may be written nonetheless.
func (g *Group[T]) Do(ctx context.Context, value T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := &waiting[T]{ctx, value, make(chan error, 1)}
	g.mu.Lock()
	g.queue = append(g.queue, w)
	g.mu.Unlock()
	for {
		select {
		case err := <-w.done:
			return err
		case g.turn <- struct{}{}:
			g.lead()
		case <-ctx.Done():
			g.mu.Lock()
			g.queue = slices.DeleteFunc(g.queue, func(other *waiting[T]) bool { return other == w })
			g.mu.Unlock()
			return ctx.Err()
		}
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

// lead writes those who wait by now, and notifies them before it ends its turn.
func (g *Group[T]) lead() {
	defer func() { <-g.turn }()
	batch := g.take()
	if len(batch) == 0 {
		return
	}
	values := make([]T, len(batch))
	for i, w := range batch {
		values[i] = w.value
	}
	ctx, cancel := together(batch)
	defer cancel()
	err := errUnfinished
	defer func() {
		each, apart := err.(Errors)
		for i, w := range batch {
			if apart && len(each) == len(batch) {
				w.done <- each[i]
			} else {
				w.done <- err
			}
		}
	}()
	err = g.write(ctx, values)
}

// errUnfinished is for the others of a batch whose write panicked.
var errUnfinished = errors.New("the write that this was a part of did not come back")

// take removes the first of the queue. A caller that has left gets an error, not the result of a
// write.
func (g *Group[T]) take() []*waiting[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = slices.DeleteFunc(g.queue, func(w *waiting[T]) bool { return w.ctx.Err() != nil })
	n := min(len(g.queue), g.most)
	batch := slices.Clone(g.queue[:n])
	g.queue = slices.Delete(g.queue, 0, n)
	return batch
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
