package worker

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// wait is a wait that notes when it was reached.
type wait struct {
	Deadline
	of     *Deadlines
	mu     *sync.Mutex // of all
	begun  time.Time   // zero if it has not begun, or is over
	again  bool        // it begins again when it is reached
	other  *wait       // that its Reached ends; nil for none
	missed string
}

const waitFor = 5 * time.Second

func (w *wait) begin() {
	w.begun = time.Now()
	w.of.Begin(&w.Deadline, w, w.begun)
}

func (w *wait) end() {
	w.begun = time.Time{}
	w.of.End(&w.Deadline)
}

// Reached implements [Waiter].
func (w *wait) Reached() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun.IsZero() {
		w.missed += "it was reached, and had not begun or was over; "
	} else if took := time.Since(w.begun); took != waitFor {
		w.missed += fmt.Sprintf("it was reached after %s; ", took)
	}
	w.begun = time.Time{}
	if w.again {
		w.begin()
	}
	// Others may have been reached with it, and End comes while their Reached waits for its turn.
	if o := w.other; o != nil && !o.begun.IsZero() && time.Since(o.begun) != waitFor {
		o.end()
	}
}

func TestWaitIsReachedOnceAtItsTimeUnlessItHasEnded(t *testing.T) {
	const many = 6
	step := rapid.Custom(func(t *rapid.T) [2]int {
		return [2]int{rapid.IntRange(0, 3).Draw(t, "what"), rapid.IntRange(0, many-1).Draw(t, "n")}
	})
	rapid.Check(t, func(r *rapid.T) {
		steps := rapid.SliceOfN(step, 1, 40).Draw(r, "steps")
		again := rapid.SliceOfN(rapid.Bool(), many, many).Draw(r, "begin again")
		others := rapid.SliceOfN(rapid.IntRange(-many, many-1), many, many).Draw(r, "ended by")
		problem := ""
		synctest.Test(t, func(*testing.T) {
			d, mu := NewDeadlines(waitFor), &sync.Mutex{}
			waits := make([]*wait, many)
			for i := range waits {
				waits[i] = &wait{of: d, mu: mu, again: again[i]}
			}
			for i, other := range others {
				if other >= 0 {
					waits[i].other = waits[other]
				}
			}
			settle := func() {
				synctest.Wait()
				mu.Lock()
				defer mu.Unlock()
				for i, w := range waits {
					if took := time.Since(w.begun); !w.begun.IsZero() && took >= waitFor {
						w.missed += fmt.Sprintf("it is not reached after %s; ", took)
					}
					if w.missed != "" {
						problem += fmt.Sprintf("wait %d: %s\n", i, w.missed)
						w.missed = ""
					}
				}
			}
			for _, s := range steps {
				mu.Lock()
				w := waits[s[1]]
				begins, ends := s[0] == 0 && w.begun.IsZero(), s[0] == 1
				if begins {
					w.begin()
				} else if ends {
					w.end()
				}
				mu.Unlock()
				if !begins && !ends {
					time.Sleep(time.Duration(s[1]) * time.Second)
				}
				settle()
			}
			for range 3 {
				time.Sleep(waitFor)
				settle()
			}
			mu.Lock()
			for _, w := range waits {
				w.again = false
			}
			mu.Unlock()
			time.Sleep(2 * waitFor)
			settle()
			if d.first != nil || d.last != nil || d.armed {
				problem += "it is not empty afterwards, or a timer runs"
			}
		})
		if problem != "" {
			r.Fatal(problem)
		}
	})
}

// A timer takes memory; a wait while one runs does not.
func TestWaitsShareATimer(t *testing.T) {
	d := NewDeadlines(time.Hour)
	first := &wait{of: d}
	first.begin()
	w := &wait{of: d}
	if n := testing.AllocsPerRun(100, func() { w.begin(); w.end() }); n != 0 {
		t.Errorf("a wait takes %v allocations while another waits", n)
	}
	first.end()
	if n := testing.AllocsPerRun(100, func() { w.begin(); w.end() }); n != 0 {
		t.Errorf("a wait takes %v allocations while the timer of an earlier one runs", n)
	}
}

// counted notes how often it is reached.
type counted struct {
	Deadline
	mu      sync.Mutex
	reached int
}

func (c *counted) Reached() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached++
}

func TestWaitsRace(t *testing.T) {
	d := NewDeadlines(time.Millisecond)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				c := &counted{}
				d.Begin(&c.Deadline, c, time.Now())
				for range 1000 {
					d.mu.Lock()
					over := c.waits == nil
					d.mu.Unlock()
					if over {
						break
					}
				}
				d.End(&c.Deadline)
				c.mu.Lock()
				if c.reached > 1 {
					t.Errorf("reached %d times", c.reached)
				}
				c.mu.Unlock()
			}
		})
	}
	all.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.first != nil || d.last != nil {
		t.Error("waits are left")
	}
}
