package runtime

import (
	"context"
	"math"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ProgressReporter tells a client how far its call has come. A nil one does nothing, and so does one whose client did
// not ask. It is safe for concurrent use.
type ProgressReporter struct {
	send   func(*mcp.ProgressNotificationParams)
	redact func(string) string

	mu   sync.Mutex
	done float64
	told bool
}

// Progress returns what tells the client of a handler how far it has come; nil where the client did not ask for it, which may
// be used all the same.
func Progress(ctx context.Context) *ProgressReporter {
	if emit := emitterOf(ctx); emit != nil {
		return emit.progress
	}
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok {
		return nil
	}
	return r.talk.reporting()
}

// Report says that so much is done, of a total, or of nobody knows how much where total is 0. The message is for a person; it
// may be empty, and secrets in it are masked.
//
// Reports that come closer together than the client can show are left out, but for the last one; and so are those that are
// not above the one before, which the protocol does not allow (specification 2025-11-25, basic/utilities/progress), and those that are no numbers.
func (p *ProgressReporter) Report(done, total float64, message string) {
	if p == nil || !number(done) || !number(total) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told && done <= p.done {
		return
	}
	p.told, p.done = true, done
	p.send(&mcp.ProgressNotificationParams{Progress: done, Total: total, Message: shortened(p.redact(message), maxMessage)})
}

// maxMessage is how many bytes of a message a client is sent with progress.
const maxMessage = 1024

func number(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
