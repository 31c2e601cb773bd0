package notify

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	progressInterval = 50 * time.Millisecond
	progressBurst    = 16   // reports that are sent without an interval between them
	maxMessage       = 1024 // bytes of the text of a report
)

// Reporter reports progress to a client: a burst at once, and then one in an interval. Of those
// between, it sends the newest. A nil Reporter does nothing.
type Reporter struct {
	mask    redact.Masker
	send    func(p progress, last bool) bool // false if there is no room at present
	mu      sync.Mutex
	done    float64   // of the newest report
	unsent  *progress // the newest report; nil if it was sent
	spent   time.Time // one interval after the last report, for each that was sent
	waiting bool      // until an interval is over
	closed  bool
}

// progress is one report. A Total of 0 is unknown.
type progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

func newReporter(mask redact.Masker, send func(p progress, last bool) bool) *Reporter {
	return &Reporter{mask: mask, send: send, done: math.Inf(-1)}
}

// Progress returns the reporter for a handler's context, nil if the client requests no progress.
func Progress(ctx context.Context) *Reporter {
	if n := from[childNotifier](ctx); n != nil {
		return n.reporter
	}
	if c := from[Client](ctx); c.use() {
		return c.reporter
	}
	return nil
}

// Report reports progress. It ignores NaN, infinity, and progress not above the previous one.
func (r *Reporter) Report(done, total float64, message string) {
	finite := func(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
	if r == nil || !finite(done) || !finite(total) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || done <= r.done {
		return
	}
	r.done = done
	r.unsent = &progress{done, total, redact.Shorten(r.mask.Text(message), maxMessage)}
	if !r.waiting {
		r.flush(false)
	}
}

// flush sends the newest report, if the burst has room or it is the last. r.mu is held.
func (r *Reporter) flush(last bool) {
	if r.unsent == nil {
		return
	}
	now := time.Now()
	if r.spent.Before(now) {
		r.spent = now
	}
	wait := r.spent.Sub(now) - (progressBurst-1)*progressInterval
	if wait <= 0 || last {
		if r.spent = r.spent.Add(progressInterval); r.send(*r.unsent, last) {
			r.unsent = nil
			return
		}
		wait = progressInterval
	}
	r.waiting = true
	time.AfterFunc(wait, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waiting = false
		r.flush(false)
	})
}

// close sends the newest report at once, and nothing after it.
func (r *Reporter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush(true)
	r.closed, r.unsent = true, nil
}
