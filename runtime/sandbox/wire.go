package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A frame is a byte that says its kind, its length in four bytes, the highest first, and
// as many bytes. Server and helper are one binary, but a handler can write whatever it likes to
// the helper's descriptors, so the server trusts no length.
const (
	frameRequest = 'q' // to the helper, with the descriptors
	frameWarm    = 'w' // the helper has started; what it has used so far
	frameBegun   = 'b' // the helper is confined, and hands over to the handler
	// what the handler says while it runs, where the request has it sent; any number of them,
	// before the next
	frameEmission = 's'
	// the handler has returned, and changed variables; before its result or failure
	frameJournal = 'v'
	frameResult  = 'r'
	frameFailure = 'f' // a failure, as JSON
)

const (
	prefix = 5
	// maxRequest bounds a request frame; far above what a server lets in.
	maxRequest = 256 << 20
	// maxFailure bounds a failure frame, and the others the texts in it.
	maxFailure = 512 << 10
	maxMessage = 64 << 10
	maxStack   = 16 << 10
	maxBound   = 200
	// maxFiles is below what one message can carry (253, SCM_MAX_FD in include/net/scm.h), with
	// room for paths.
	maxFiles = 128
	maxPaths = 120
)

// order is the fixed part of a request.
type order struct {
	Name  string
	Files []string // names of the first descriptors
	Dir   bool     // whether the next one is the directory
	Paths []Access // the access of the last ones
	// Names are those of all descriptors that a helper with mounts has to show, or to find, and
	// Links further names of them.
	Names  []string `json:",omitempty"`
	Links  []link   `json:",omitempty"`
	Limits Limits
	Space  *borrowed `json:",omitempty"` // the client's workspace, of which Dir is the directory
	Full   string    `json:",omitempty"` // the quota of the workspace that was exceeded before
	// NoSpace is why there is none, and NoSpaceLimit the limit in that.
	NoSpace      string      `json:",omitempty"`
	NoSpaceLimit *LimitError `json:",omitempty"`
	Emits        bool        `json:",omitempty"` // whether emissions are taken
	// The lengths of what follows.
	Arguments, Caller int
}

// link is a symbolic link.
type link struct{ Name, To string }

// used is what a helper had used when it was warm.
type used struct {
	CPU time.Duration
}

// failure is why there is no result.
type failure struct {
	Message string
	Limit   Limit  `json:",omitempty"`
	Bound   string `json:",omitempty"` // of the limit, where that is none of the call's
	Panic   bool   `json:",omitempty"`
	Stack   string `json:",omitempty"`
	// Setup says that the handler did not run: the helper could not be confined.
	Setup bool `json:",omitempty"`
}

// appendFrame appends a frame's prefix; as many bytes have to follow.
func appendFrame(to []byte, kind byte, length int) []byte {
	return binary.BigEndian.AppendUint32(append(to, kind), uint32(length))
}

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	// One write where it is small: the reader wakes up once.
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

// decodeRequest takes a request frame's payload apart.
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
