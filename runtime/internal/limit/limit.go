// Package limit counts the calls of each client to each tool, for concurrency= and rate= of
// //mcp:limit.
package limit

import (
	"container/list"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// maxPairs is the number of pairs of client and tool that are kept. A pair is kept while it has
// running calls or a used part of its rate.
const maxPairs = 100_000

// Calls counts the calls of a server. No call waits: one that exceeds a limit gets an error at
// once. Calls is safe for concurrent use. The zero value is ready.
type Calls struct {
	mu    sync.Mutex
	pairs map[pair]*list.Element
	order list.List // of *traffic, the one used longest ago in front
	most  int       // maxPairs if it is zero
}

type pair struct {
	client isolate.Client
	tool   string
}

// traffic is the use of one tool by one client.
type traffic struct {
	pair    pair
	running int
	// full is when the whole rate is available again. Each call that starts delays it by the time in
	// which the rate allows one more call (the generic cell rate algorithm).
	full time.Time
}

// Enter admits a call and returns a function to call once, at its end. A call that exceeds a limit
// gets a [toolset.LimitError], and does not count for the rate. The limits of a tool are the same
// in each call.
func (c *Calls) Enter(client isolate.Client, tool string, l toolset.Limits) (
	leave func(), err error) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prune(now)
	t, err := c.of(pair{client, tool})
	if err != nil {
		return nil, err
	}
	if l.Concurrency > 0 && t.running >= l.Concurrency {
		return nil, reached{limit: "calls at a time", bound: strconv.Itoa(l.Concurrency)}
	}
	if l.Rate.Calls > 0 {
		// Rounded up, so that no rounding admits more calls than the rate.
		calls := time.Duration(l.Rate.Calls)
		interval := (l.Rate.Per + calls - 1) / calls
		next := t.full
		if next.Before(now) {
			next = now
		}
		next = next.Add(interval)
		if after := next.Sub(now) - calls*interval; after > 0 {
			return nil, reached{limit: "rate", bound: rateText(l.Rate), after: after}
		}
		t.full = next
	}
	t.running++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.running--
	}, nil
}

// of returns the traffic of a pair. If all pairs are taken, it is an error: dropping one would
// reset its rate.
func (c *Calls) of(p pair) (*traffic, error) {
	if c.pairs == nil {
		c.pairs = map[pair]*list.Element{}
		if c.most == 0 {
			c.most = maxPairs
		}
	}
	element, known := c.pairs[p]
	if !known {
		if len(c.pairs) >= c.most {
			return nil, errors.New("too many clients are calling tools: try again later")
		}
		element = c.order.PushBack(&traffic{pair: p})
		c.pairs[p] = element
	}
	c.order.MoveToBack(element)
	return element.Value.(*traffic), nil
}

// prune removes unused pairs whose whole rate is available, the least recently used first. It
// checks a few only, so that no call pays for all; each call adds one at most.
func (c *Calls) prune(now time.Time) {
	element := c.order.Front()
	for range 4 {
		if element == nil {
			return
		}
		next := element.Next()
		if t := element.Value.(*traffic); t.running == 0 && !now.Before(t.full) {
			c.order.Remove(element)
			delete(c.pairs, t.pair)
		} else if len(c.pairs) >= c.most {
			c.order.MoveToBack(element) // so that the next call looks at others
		}
		element = next
	}
}

// reached is a limit that a call has reached.
type reached struct {
	limit, bound string
	after        time.Duration // until the next call, for a rate
}

func (r reached) Error() string {
	if r.after > 0 {
		return fmt.Sprintf("the limit on the %s (%s) is reached: try again after %s", r.limit, r.bound,
			r.after.Round(time.Millisecond))
	}
	return fmt.Sprintf("the tool reached its limit on %s (%s)", r.limit, r.bound)
}

// Reached implements [toolset.LimitError].
func (r reached) Reached() string { return r.limit }

// rateText formats a rate: "100 a minute".
func rateText(r toolset.Rate) string {
	per := "in " + r.Per.String()
	switch r.Per {
	case time.Second:
		per = "a second"
	case time.Minute:
		per = "a minute"
	case time.Hour:
		per = "an hour"
	}
	return strconv.Itoa(r.Calls) + " " + per
}
