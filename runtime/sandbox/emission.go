package sandbox

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/notify"
)

// How much a handler may say while it runs: so much, and more with each second. What is more is not
// sent. The server counts as well: a helper that sends more is one whose handler writes to the pipe
// itself.
const (
	saidAtOnce  = 4 << 20
	saidASecond = 64 << 10
	saidEach    = 512 // what an emission counts beside its bytes
	// kept for what is sent when the handler has returned
	saidLast = 2 * (notify.MaxEmission + saidEach)
)

// allowance is what a call may say, and has said.
type allowance struct {
	since time.Time // of the helper not before that of the server, which so never allows less
	used  int64
}

// take counts an emission of n bytes where that leaves as much as kept.
func (a *allowance) take(n int, kept int64) bool {
	all := int64(saidAtOnce) + saidASecond*int64(time.Since(a.since)/time.Second)
	if a.used+int64(n)+saidEach > all-kept {
		return false
	}
	a.used += int64(n) + saidEach
	return true
}

// speaker sends what a handler says, in the helper. It is safe for concurrent use.
type speaker struct {
	mu    sync.Mutex // held while a frame is written, which is more than one write
	to    io.Writer
	room  allowance
	quiet bool
}

func newSpeaker(to io.Writer) *speaker { return &speaker{to: to, room: allowance{since: time.Now()}} }

// say sends an emission, and reports whether it did.
func (s *speaker) say(emission json.RawMessage, last bool) bool {
	kept := int64(saidLast)
	if last {
		kept = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || len(emission) > notify.MaxEmission || !s.room.take(len(emission), kept) {
		return false
	}
	if err := writeFrame(s.to, frameEmission, emission); err != nil {
		s.quiet = true // a part of it may have been written: nobody could read on
		return false
	}
	return true
}

// hush lets nothing more be sent, and returns when nothing is being sent.
func (s *speaker) hush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = true
}
