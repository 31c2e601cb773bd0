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
	maxMessage       = 1024 // bytes of the text of a report
)

// Reporter reports progress to a client, at most once in an interval. A nil Reporter does nothing.
type Reporter struct {
	mask    redact.Masker
	send    func(p progress, last bool)
	mu      sync.Mutex
	done    float64   // of the newest report
	unsent  *progress // the newest report; nil if it was sent
	waiting bool      // until the interval is over
	closed  bool
}

// progress is one report. A Total of 0 is unknown.
type progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

func newReporter(mask redact.Masker, send func(p progress, last bool)) *Reporter {
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

// flush sends the newest report, and the next one not before the interval is over. r.mu is held.
func (r *Reporter) flush(last bool) {
	if r.unsent == nil {
		return
	}
	r.send(*r.unsent, last)
	r.unsent, r.waiting = nil, true
	time.AfterFunc(progressInterval, func() {
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
	r.closed = true
}
