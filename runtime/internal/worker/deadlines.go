package worker

import (
	"sync"
	"time"
)

// Deadlines ends waits that may all take equally long. They end in the order in which they began,
// so that one timer is enough: a timer for each would cost more than most of the waits. It is safe
// for concurrent use.
type Deadlines struct {
	after time.Duration

	mu          sync.Mutex
	first, last *Deadline
	armed       bool // a timer runs
}

// NewDeadlines returns the deadlines of waits that may take so long.
func NewDeadlines(after time.Duration) *Deadlines { return &Deadlines{after: after} }

// Deadline is one wait. It is a part of what waits.
type Deadline struct {
	at         time.Time
	waits      Waiter // nil if it has not begun, or is over
	prev, next *Deadline
}

// Waiter is what waits.
type Waiter interface {
	// Reached is called when the wait has taken too long. It does not block. It may come while the
	// wait ends.
	Reached()
}

// Begin begins a wait, at the present time.
func (d *Deadlines) Begin(e *Deadline, w Waiter, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.at, e.waits, e.prev = now.Add(d.after), w, d.last
	if d.last == nil {
		d.first = e
	} else {
		d.last.next = e
	}
	if d.last = e; !d.armed {
		d.armed = true
		time.AfterFunc(d.after, d.fire)
	}
}

// End ends a wait.
func (d *Deadlines) End(e *Deadline) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(e)
}

// remove removes a wait, if it is not over. d.mu is held.
func (d *Deadlines) remove(e *Deadline) {
	if e.waits == nil {
		return
	}
	if e.prev == nil {
		d.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		d.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	*e = Deadline{}
}

// fire ends the waits that have taken too long.
func (d *Deadlines) fire() {
	d.mu.Lock()
	now := time.Now()
	var reached []Waiter
	for d.first != nil && !d.first.at.After(now) {
		reached = append(reached, d.first.waits)
		d.remove(d.first)
	}
	if d.armed = d.first != nil; d.armed {
		time.AfterFunc(d.first.at.Sub(now), d.fire)
	}
	d.mu.Unlock()
	for _, w := range reached {
		w.Reached()
	}
}
