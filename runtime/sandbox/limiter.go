package sandbox

import (
	"container/list"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bounds limit the calls of a client to a tool. Zero is no limit.
type bounds struct {
	// Concurrency is the number of calls that may run at a time.
	Concurrency int
	// Rate is the number of calls that may begin in a second, on average.
	Rate float64
	// Burst is the number of calls that may begin at once after a pause. Zero is the number of a
	// second, and at least one.
	Burst int
}

// limiter limits the calls of each client to each tool. A call beyond a limit gets an error at
// once: no call waits. It is safe for concurrent use. The zero value is ready and keeps at most
// 100,000 pairs.
type limiter struct {
	// Pairs is the number of pairs of client and tool that are kept. A pair is kept while it has
	// running calls or a used part of its rate. If all are taken, calls of new pairs are refused,
	// because dropping a pair would reset its rate. Zero is 100,000.
	Pairs int

	mu    sync.Mutex
	pairs map[pair]*list.Element
	order list.List // of *traffic, the one used longest ago in front
}

type pair struct{ client, tool string }

// traffic is the use of one tool by one client.
type traffic struct {
	pair    pair
	bounds  bounds
	running int
	bucket  *rate.Limiter // nil without a rate
	full    time.Time     // when the bucket will be full
}

// Enter admits a call and returns a function to call at its end, once or more often. Otherwise it
// returns a [*limitError] with limitCalls or limitRate. A refused call does not count for the
// rate.
func (l *limiter) Enter(client, tool string, b bounds) (leave func(), err error) {
	if b.Concurrency < 0 || b.Rate < 0 || b.Burst < 0 || math.IsNaN(b.Rate) || math.IsInf(b.Rate, 0) {
		return nil, fmt.Errorf("limits of %s must not be negative or infinite: %+v", tool, b)
	}
	if b.Concurrency == 0 && b.Rate == 0 {
		return func() {}, nil
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prune(now)
	t, err := l.of(pair{client, tool}, b)
	if err != nil {
		return nil, err
	}
	if b.Concurrency > 0 && t.running >= b.Concurrency {
		return nil, &limitError{Limit: limitCalls, Bound: fmt.Sprint(b.Concurrency)}
	}
	if t.bucket != nil {
		ticket := t.bucket.ReserveN(now, 1)
		if after := ticket.DelayFrom(now); after > 0 {
			ticket.CancelAt(now)
			return nil, &limitError{
				Limit: limitRate, Bound: fmt.Sprintf("%v a second", b.Rate), After: after,
			}
		}
		missing := float64(t.bucket.Burst()) - t.bucket.TokensAt(now)
		full := min(missing/b.Rate*float64(time.Second), float64(math.MaxInt64/4))
		t.full = now.Add(time.Duration(full))
	}
	t.running++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.running--
	}), nil
}

// of returns the traffic of a pair, and applies the current bounds.
func (l *limiter) of(p pair, b bounds) (*traffic, error) {
	if l.pairs == nil {
		l.pairs = map[pair]*list.Element{}
	}
	element, known := l.pairs[p]
	if !known {
		if len(l.pairs) >= l.most() {
			return nil, errors.New("too many clients are calling tools: try again later")
		}
		element = l.order.PushBack(&traffic{pair: p})
		l.pairs[p] = element
	}
	l.order.MoveToBack(element)
	t := element.Value.(*traffic)
	if t.bounds != b {
		t.bounds = b
		burst := b.Burst
		if burst == 0 {
			burst = int(max(1, min(b.Rate, math.MaxInt32)))
		}
		switch {
		case b.Rate == 0:
			t.bucket = nil
		case t.bucket == nil:
			t.bucket = rate.NewLimiter(rate.Limit(b.Rate), burst)
		default: // used calls stay used
			t.bucket.SetLimit(rate.Limit(b.Rate))
			t.bucket.SetBurst(burst)
		}
	}
	return t, nil
}

func (l *limiter) most() int {
	if l.Pairs > 0 {
		return l.Pairs
	}
	return 100_000
}

// prune removes unused pairs with full buckets, the least recently used first. It checks a few
// only, so that no call pays for all; each call adds one at most.
func (l *limiter) prune(now time.Time) {
	element := l.order.Front()
	for range 4 {
		if element == nil {
			return
		}
		next := element.Next()
		if t := element.Value.(*traffic); t.running == 0 && !now.Before(t.full) {
			l.order.Remove(element)
			delete(l.pairs, t.pair)
		} else if len(l.pairs) >= l.most() {
			l.order.MoveToBack(element) // so that the next call looks at others
		}
		element = next
	}
}
