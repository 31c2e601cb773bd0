package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/mounts"
)

// A frame is a byte for its kind, its length in four bytes (big endian), and that many bytes.
// Server and helper are one binary, but a handler can write anything to the helper's descriptors,
// so the server trusts no length.
const (
	frameRequest = 'q' // to the helper, with the descriptors
	frameWarm    = 'w' // the helper has started; its processor time so far
	frameBegun   = 'b' // the helper is confined, and calls the handler
	// a message of the running handler, if the request accepts them; any number, before the next
	frameEmission = 's'
	// the handler has returned, and changed variables; before its result or failure
	frameJournal = 'v'
	frameResult  = 'r'
	frameFailure = 'f' // a failure, as JSON
)

const (
	prefix = 5
	// maxRequest limits a request frame; far more than a server accepts.
	maxRequest = 256 << 20
	// maxFailure limits a failure frame, and the others its texts.
	maxFailure = 512 << 10
	maxMessage = 64 << 10
	maxStack   = 16 << 10
	maxBound   = 200
	// maxFiles is below the maximum of one message (253, SCM_MAX_FD in include/net/scm.h), with
	// room for paths.
	maxFiles = 128
	maxPaths = 120
)

// order is the fixed part of a request.
type order struct {
	Name  string
	Files []string // names of the first descriptors
	Dir   bool     // whether the next one is the directory
	Paths []rights // the access of the last ones
	// Names are the names of all descriptors that a helper with mounts has to show, or to find.
	// Links are further names of them.
	Names  []string      `json:",omitempty"`
	Links  []mounts.Link `json:",omitempty"`
	Limits Limits
	Space  *workspaceCopy `json:",omitempty"` // the client's workspace, with directory Dir
	Full   string         `json:",omitempty"` // the quota of the workspace that was exceeded before
	// NoSpace is the reason of a missing workspace, and NoSpaceLimit the limit in it.
	NoSpace      string      `json:",omitempty"`
	NoSpaceLimit *limitError `json:",omitempty"`
	Emits        bool        `json:",omitempty"` // emissions are accepted
	// Lengths of the data after it.
	Arguments, Caller int
}

// failure is the reason of a missing result.
type failure struct {
	Message string
	Limit   limitName `json:",omitempty"`
	Bound   string    `json:",omitempty"` // of the limit, if it is not the call's
	Panic   bool      `json:",omitempty"`
	Stack   string    `json:",omitempty"`
	// Setup reports that the handler did not run: the helper could not be confined.
	Setup bool `json:",omitempty"`
}

// appendFrame appends a frame's prefix. length bytes have to follow.
func appendFrame(to []byte, kind byte, length int) []byte {
	return binary.BigEndian.AppendUint32(append(to, kind), uint32(length))
}

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	// One write for a small frame wakes the reader once.
	if len(payload) <= 4096 {
		_, err := w.Write(append(appendFrame(make([]byte, 0, prefix+len(payload)), kind,
			len(payload)), payload...))
		return err
	}
	if _, err := w.Write(appendFrame(nil, kind, len(payload))); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// readPrefix reads a frame's kind and length.
func readPrefix(r io.Reader) (kind byte, length int64, err error) {
	var head [prefix]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	return head[0], int64(binary.BigEndian.Uint32(head[1:])), nil
}

// encodeRequest returns a request frame.
func encodeRequest(o order, arguments, caller []byte) ([]byte, error) {
	o.Arguments, o.Caller = len(arguments), len(caller)
	head, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	length := 4 + len(head) + len(arguments) + len(caller)
	if length > maxRequest {
		return nil, fmt.Errorf("the arguments have %d bytes, more than the %d that a helper accepts",
			len(arguments)+len(caller), maxRequest)
	}
	frame := appendFrame(make([]byte, 0, prefix+length), frameRequest, length)
	frame = binary.BigEndian.AppendUint32(frame, uint32(len(head)))
	frame = append(frame, head...)
	frame = append(frame, arguments...)
	return append(frame, caller...), nil
}

// decodeRequest splits a request frame's payload.
func decodeRequest(payload []byte) (o order, arguments, caller []byte, err error) {
	if len(payload) < 4 {
		return o, nil, nil, io.ErrUnexpectedEOF
	}
	head, rest := int64(binary.BigEndian.Uint32(payload)), payload[4:]
	if head > int64(len(rest)) {
		return o, nil, nil, io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(rest[:head], &o); err != nil {
		return o, nil, nil, err
	}
	rest = rest[head:]
	if o.Arguments < 0 || o.Caller < 0 || o.Arguments > len(rest) ||
		o.Caller != len(rest)-o.Arguments {
		return o, nil, nil, io.ErrUnexpectedEOF
	}
	return o, rest[:o.Arguments:o.Arguments], rest[o.Arguments:], nil
}

// Limits of a handler's messages: an initial amount, and more with each second. Others are not
// sent. The server counts as well: a helper exceeds the limits only if its handler writes to the
// pipe itself.
const (
	emittedAtOnce  = 4 << 20
	emittedASecond = 64 << 10
	emittedEach    = 512 // added to the bytes of each emission
	// reserved for messages after the handler has returned
	emittedLast = 2 * (notify.MaxEmission + emittedEach)
)

// allowance is the limit and the use of a call's messages.
type allowance struct {
	since time.Time // the helper's is not earlier, so the server never allows less
	used  int64
}

// take counts an emission of n bytes if that leaves kept bytes.
func (a *allowance) take(n int, kept int64) bool {
	all := int64(emittedAtOnce) + emittedASecond*int64(time.Since(a.since)/time.Second)
	if a.used+int64(n)+emittedEach > all-kept {
		return false
	}
	a.used += int64(n) + emittedEach
	return true
}

// emitter sends a handler's messages, in the helper. It is safe for concurrent use.
type emitter struct {
	mu    sync.Mutex // held while a frame is written, in one or two writes
	to    io.Writer
	room  allowance
	quiet bool
}

func newEmitter(to io.Writer) *emitter {
	return &emitter{to: to, room: allowance{since: time.Now()}}
}

// emit sends an emission, and reports whether it did.
func (s *emitter) emit(emission json.RawMessage, last bool) bool {
	kept := int64(emittedLast)
	if last {
		kept = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet || len(emission) > notify.MaxEmission || !s.room.take(len(emission), kept) {
		return false
	}
	if err := writeFrame(s.to, frameEmission, emission); err != nil {
		s.quiet = true // a part may be written: no further frame is readable
		return false
	}
	return true
}

// stop waits for a current emission and prevents further ones.
func (s *emitter) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = true
}
