// Package loader keeps loaded values for a time. Concurrent callers with equal keys share one load,
// and an invalidation also voids the loads in flight.
package loader

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxVoids bounds the invalidations that a loader remembers.
const maxVoids = 64

// Forever keeps a value until it is invalidated or the bound removes it.
const Forever = time.Duration(math.MaxInt64)

var (
	// ErrTimeout reports that a load, or the wait for one, took longer than Config.Timeout.
	ErrTimeout = errors.New("no answer in time")
	// ErrBusy reports that Config.MaxLoads loads are running, and that there is no Config.Timeout.
	ErrBusy = errors.New("too many loads are running")

	errExited = errors.New("the load ended its goroutine (runtime.Goexit)")
)

// Config describes a [Loader]. Key, Load, Keep and Size are required.
type Config[I, V any] struct {
	// Key identifies an input. Inputs with equal keys share an entry.
	Key func(I) string
	// Load loads the value for an input. It runs in its own goroutine, with its own context. A
	// panic is an error.
	Load func(context.Context, I) (V, error)
	// Keep returns how long a value or an error counts, from the start of its load: it may be as
	// old as that. With 0 or less, only the callers that wait for it get it.
	Keep func(I, V, error) time.Duration
	// Size bounds the sum of the costs of the entries that are kept, not of running loads. The
	// least recently used entry leaves first.
	Size int
	// Cost returns the cost of an entry, at least 1. An entry of an error has the zero value. With
	// nil, each entry costs 1.
	Cost func(I, V) int
	// Timeout bounds a load, and the wait for one; 0 is none. A load that does not stop in time
	// keeps its goroutine, and counts for MaxLoads until it returns.
	Timeout time.Duration
	// MaxLoads bounds the concurrent loads; 0 is no bound. With a Timeout, one more waits for the
	// end of another load while a caller waits for it. Without a Timeout, it fails with [ErrBusy].
	MaxLoads int
	// Fresh gives no caller the value of a load that began before its Get; Keep has to return 0.
	// Callers that come while a load runs share the next one, which begins when that one ends: a
	// key has one load at a time. They wait for twice the Timeout, since each load has its own.
	Fresh bool
	// Cancel cancels a load when its last caller has gone.
	Cancel bool
	// RetryJoined reports whether a caller that joined a running load, and got this error from
	// it, loads once more: the cause may be gone, and the caller has most of its time left.
	RetryJoined func(error) bool
	// Looked, if not nil, is called for each Get. hit reports that an entry or a load existed.
	Looked func(hit bool)
	// Loaded, if not nil, is called after a load that is kept and that a Get waited for, and after
	// the first Get of a value that a Peek has loaded.
	Loaded func(I)
}

// Loader is a cache that loads its values. It is safe for concurrent use.
type Loader[I, V any] struct {
	Config[I, V]

	mu      sync.Mutex
	entries map[string]*entry[I, V] // kept or loading
	order   list.List               // of those that are kept, the most recently used first
	cost    int                     // of those that are kept
	loads   int                     // running, also those that were given up
	queue   list.List               // of entries whose loads wait for MaxLoads, the oldest first
	voided  int                     // the number of invalidations
	voids   []func(I) bool          // the last of them
}

// Entry is a loaded value.
type Entry[I, V any] struct {
	Value V

	key     string
	in      I
	expires time.Time // zero until the load is over; guarded by the loader's mu
	voided  int       // the number of invalidations when the load began
}

// entry is a load and its result.
type entry[I, V any] struct {
	Entry[I, V]
	started time.Time // zero until the load begins
	cancel  context.CancelFunc
	ready   chan struct{} // closed when the load is over
	err     error         // written before ready is closed, as Value is
	void    atomic.Bool   // invalidated

	// Guarded by the loader's mu.
	place     *list.Element // nil unless it is kept
	turn      *list.Element // nil unless it is in the queue
	cost      int
	waiting   int          // callers that joined the load and have not left it
	requested bool         // by a Get
	next      *entry[I, V] // begins when this one leaves the loader; nil unless Fresh
}

// New returns an empty loader.
func New[I, V any](c Config[I, V]) *Loader[I, V] {
	return &Loader[I, V]{Config: c, entries: map[string]*entry[I, V]{}}
}

// Get returns the kept value for an input, or loads it.
func (l *Loader[I, V]) Get(ctx context.Context, in I) (*Entry[I, V], error) {
	return l.get(ctx, in, true)
}

// Peek is Get without calling Looked and Loaded. A caller that reacts to Loaded uses it: with a
// value that counts for less time than its load takes, Get would cause Loaded again and again.
func (l *Loader[I, V]) Peek(ctx context.Context, in I) (*Entry[I, V], error) {
	return l.get(ctx, in, false)
}

func (l *Loader[I, V]) get(ctx context.Context, in I, requested bool) (*Entry[I, V], error) {
	var late <-chan time.Time
	retried := false
	for first := true; ; first = false {
		e, joined, unseen, err := l.enter(in, requested)
		if first && requested && l.Looked != nil {
			l.Looked(joined)
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-e.ready:
		default:
			if late == nil && l.Timeout > 0 {
				wait := l.Timeout
				if l.Fresh {
					wait *= 2
				}
				timer := time.NewTimer(wait)
				defer timer.Stop()
				late = timer.C
			}
			select {
			case <-e.ready:
			case <-ctx.Done():
				l.leave(e)
				return nil, ctx.Err()
			case <-late:
				l.leave(e)
				return nil, ErrTimeout
			}
		}
		switch {
		case e.void.Load():
			// The value may be from before the invalidation.
		case e.err == nil:
			if unseen && l.Loaded != nil {
				l.Loaded(e.in)
			}
			return &e.Entry, nil
		case joined && !retried && l.RetryJoined != nil && l.RetryJoined(e.err):
			retried = true
		default:
			return nil, e.err
		}
		select {
		case <-late:
			return nil, ErrTimeout
		default:
		}
	}
}

// Current reports whether a new Get would return this entry. If Config.Fresh is set, no Get would:
// then it reports that no invalidation since the load began has matched the input. It remembers
// the last maxVoids of them, and earlier ones count as matches.
func (l *Loader[I, V]) Current(of *Entry[I, V]) bool {
	l.mu.Lock()
	if !l.Fresh {
		defer l.mu.Unlock()
		e := l.entries[of.key]
		return e != nil && &e.Entry == of && time.Now().Before(of.expires)
	}
	later := l.voided - of.voided
	if later > len(l.voids) {
		l.mu.Unlock()
		return false
	}
	voids := slices.Clone(l.voids[len(l.voids)-later:])
	l.mu.Unlock()
	return !slices.ContainsFunc(voids, func(match func(I) bool) bool {
		return match == nil || match(of.in)
	})
}

// Invalidate removes the entries whose inputs match, all of them if match is nil. Callers that
// wait for such a load load again.
func (l *Loader[I, V]) Invalidate(match func(I) bool) {
	l.mu.Lock()
	l.voided++
	if l.Fresh {
		l.voids = append(l.voids, match)
		l.voids = l.voids[max(0, len(l.voids)-maxVoids):]
	}
	all := slices.Collect(maps.Values(l.entries))
	l.mu.Unlock()
	// match is foreign: it may take long, or use the loader.
	for _, e := range all {
		if match != nil && !match(e.in) {
			continue
		}
		l.mu.Lock()
		if e.turn == nil { // otherwise its load begins later
			e.void.Store(true)
			l.drop(e)
		}
		l.mu.Unlock()
	}
}

// Len returns the number of entries, running loads included, and the costs of those that are kept.
func (l *Loader[I, V]) Len() (entries, cost int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries), l.cost
}

// Loading returns the number of loads that have not returned.
func (l *Loader[I, V]) Loading() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loads
}

// enter returns the entry of an input and makes its caller one that waits. Without an entry that
// counts, it starts a load. unseen reports the first Get of an entry that a Peek has loaded.
func (l *Loader[I, V]) enter(in I, requested bool) (e *entry[I, V], joined, unseen bool,
	err error) {
	key := l.Key(in)
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.entries[key]; e != nil {
		running := e.expires.IsZero()
		switch {
		case running && l.Fresh && e.turn == nil:
			if joined = e.next != nil; !joined {
				e.next = l.newEntry(key, in)
			}
			e = e.next
		case running || time.Now().Before(e.expires):
			joined = true
			if e.place != nil {
				l.order.MoveToFront(e.place)
			}
		default:
			l.drop(e)
			e = nil
		}
		if e != nil {
			e.waiting++
			unseen = requested && !e.requested && !running
			e.requested = e.requested || requested
			return e, joined, unseen, nil
		}
	}
	e = l.newEntry(key, in)
	e.waiting, e.requested = 1, requested
	return e, false, false, l.start(e)
}

func (l *Loader[I, V]) newEntry(key string, in I) *entry[I, V] {
	return &entry[I, V]{Entry: Entry[I, V]{key: key, in: in}, ready: make(chan struct{})}
}

// start starts the load of an entry, or queues it if too many run. l.mu is held.
func (l *Loader[I, V]) start(e *entry[I, V]) error {
	if l.MaxLoads > 0 && l.loads >= l.MaxLoads {
		if l.Timeout <= 0 {
			return ErrBusy
		}
		l.entries[e.key], e.turn = e, l.queue.PushBack(e)
		return nil
	}
	e.started, e.voided = time.Now(), l.voided
	var ctx context.Context
	if l.Timeout > 0 {
		ctx, e.cancel = context.WithTimeout(context.Background(), l.Timeout)
	} else {
		ctx, e.cancel = context.WithCancel(context.Background())
	}
	l.entries[e.key] = e
	l.loads++
	go l.load(ctx, e)
	return nil
}

// leave is called by a caller that does not wait for the end of the load.
func (l *Loader[I, V]) leave(e *entry[I, V]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.waiting--
	if e.waiting == 0 && e.turn != nil {
		l.queue.Remove(e.turn)
		l.drop(e)
	} else if l.Cancel && e.waiting == 0 && e.expires.IsZero() && e.cancel != nil {
		l.drop(e) // the next caller starts a load of its own
		e.cancel()
	}
}

// load runs the load of an entry. The callers get its result, or the end of its context.
func (l *Loader[I, V]) load(ctx context.Context, e *entry[I, V]) {
	var (
		value V
		keep  time.Duration
		err   = errExited
	)
	stop := context.AfterFunc(ctx, func() {
		err := ctx.Err()
		if errors.Is(err, context.DeadlineExceeded) {
			err = ErrTimeout
		}
		var none V
		l.finish(e, none, err, 0)
	})
	defer func() {
		if p := recover(); p != nil {
			keep, err = 0, fmt.Errorf("the load panicked: %v", p)
		}
		stop()
		l.mu.Lock()
		l.loads--
		if first := l.queue.Front(); first != nil {
			next := l.queue.Remove(first).(*entry[I, V])
			next.turn = nil
			_ = l.start(next) // a load has ended
		}
		l.mu.Unlock()
		l.finish(e, value, err, keep)
		e.cancel()
	}()
	value, err = l.Load(ctx, e.in)
	keep = l.Keep(e.in, value, err)
}

// finish sets the result of a load, unless it has one.
func (l *Loader[I, V]) finish(e *entry[I, V], value V, err error, keep time.Duration) {
	l.mu.Lock()
	if !e.expires.IsZero() {
		l.mu.Unlock()
		return
	}
	e.Value, e.err, e.cost = value, err, 1
	e.expires = e.started.Add(max(keep, 0))
	if l.Cost != nil && keep > 0 {
		e.cost = l.Cost(e.in, value)
	}
	switch {
	case keep <= 0 || e.cost > l.Size:
		l.drop(e)
	case l.entries[e.key] == e:
		e.place = l.order.PushFront(e)
		for l.cost += e.cost; l.cost > l.Size; {
			l.drop(l.order.Back().Value.(*entry[I, V]))
		}
	}
	close(e.ready)
	loaded := l.Loaded != nil && e.requested && keep > 0 && !e.void.Load()
	l.mu.Unlock()
	if loaded {
		l.Loaded(e.in)
	}
}

// drop removes an entry, if it is still that of its key, and starts the next one if it has callers.
// l.mu is held.
func (l *Loader[I, V]) drop(e *entry[I, V]) {
	if l.entries[e.key] != e {
		return
	}
	delete(l.entries, e.key)
	if e.place != nil {
		l.order.Remove(e.place)
		l.cost -= e.cost
	}
	next := e.next
	e.next = nil // a caller that keeps its entry does not keep those after it
	if next != nil && next.waiting > 0 {
		if next.err = l.start(next); next.err != nil {
			next.expires = time.Now()
			close(next.ready)
		}
	}
}
