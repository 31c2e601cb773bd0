package transport

import (
	"bytes"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// KeepAlive is how long a stream is quiet before a comment keeps proxies from ending it: many do so
// after 60 seconds.
const KeepAlive = 15 * time.Second

// Shared values of response headers, which nobody writes to.
var (
	jsonBody    = []string{"application/json"}
	eventStream = []string{"text/event-stream"}
	noCache     = []string{"no-cache, no-transform"}
	noBuffer    = []string{"no"}
)

// stream writes the events of one stream to the connection that it has at a time: a client may take
// it over with another one. lock guards it.
type stream struct {
	lock      sync.Locker
	kept      *resume.Store     // the events of a stream that a client can resume
	quiet     *worker.Deadlines // of connections, without an event
	sessionID string            // of the client that can resume the stream; empty for none
	id        string            // empty for the stream of the session itself
	next      int               // the index of the next event
	at        *connection       // nil while there is none
}

// connection is what a stream is connected to.
type connection struct {
	stream *stream
	w      http.ResponseWriter
	quiet  worker.Deadline // after which a comment is sent
	over   chan struct{}   // closed when another connection takes the stream, or it ends
}

// send sends an event. That of a stream that a client can resume is kept: then a connection that
// has ended is no error.
func (s *stream) send(text []byte) error {
	index := s.next
	s.next++
	if s.sessionID != "" {
		s.kept.Append(s.sessionID, s.id, text)
	}
	err := s.write(text, index)
	if err == nil {
		err = s.flush()
	}
	if s.sessionID != "" {
		return nil
	}
	return err
}

// take sends the events after an index to a connection, and then every later one until taken is
// closed: the next connection ends this one. The index -1 of a session's own stream is that of the
// events before its first connection, from which on the events count anew. It returns nil if the
// events are not kept.
func (s *stream) take(w http.ResponseWriter, index int) (taken <-chan struct{}) {
	missed, ok := s.kept.After(s.sessionID, s.id, index)
	if !ok {
		return nil
	}
	return s.begin(w, missed, index)
}

// begin connects the stream, and sends the events after an index, which were kept.
func (s *stream) begin(w http.ResponseWriter, missed [][]byte, index int) (taken <-chan struct{}) {
	s.connect(w)
	for i, data := range missed {
		_ = s.write(data, index+1+i) // an error shows with the next write
	}
	if index < 0 {
		s.next = len(missed)
	}
	_ = s.flush()
	return s.at.over
}

// connect writes the header of an event stream to a connection, which takes the stream over.
func (s *stream) connect(w http.ResponseWriter) {
	s.disconnect()
	s.at = &connection{stream: s, w: w, over: make(chan struct{})}
	header := w.Header()
	header["Content-Type"], header["Cache-Control"] = eventStream, noCache
	header["X-Accel-Buffering"] = noBuffer // a proxy would keep events back
	w.WriteHeader(http.StatusOK)
	s.rest()
}

// rest begins the time without an event anew.
func (s *stream) rest() {
	s.quiet.End(&s.at.quiet)
	s.quiet.Begin(&s.at.quiet, s.at, time.Now())
}

// Reached implements [worker.Waiter]: a comment keeps a quiet stream open.
func (c *connection) Reached() {
	go func() {
		defer func() { _ = recover() }() // of a writer that the program has put around net/http's
		s := c.stream
		s.lock.Lock()
		defer s.lock.Unlock()
		if s.at != c {
			return
		}
		_, _ = c.w.Write([]byte(": keep-alive\n\n")) // an error shows with the next event
		_ = http.NewResponseController(c.w).Flush()
		s.rest()
	}()
}

// write writes the event of an index. An empty text names its place alone, as go-sdk does.
func (s *stream) write(text []byte, index int) error {
	if s.at == nil {
		return nil
	}
	out := make([]byte, 0, len(text)+64)
	if len(text) == 0 {
		out = append(out, "event: prime\n"...)
	} else {
		out = append(out, "event: message\n"...)
	}
	if s.sessionID != "" {
		out = append(append(out, "id: "...), resume.ID(s.id, index)...)
		out = append(out, '\n')
	}
	out = append(append(append(out, "data: "...), oneLine(text)...), "\n\n"...)
	s.rest()
	_, err := s.at.w.Write(out)
	return err
}

// oneLine escapes the characters of JSON texts at which some readers of streams end a line.
func oneLine(text []byte) []byte {
	for _, c := range [...][2]string{{"\u0085", `\u0085`}, {"\u2028", `\u2028`},
		{"\u2029", `\u2029`}} {
		if bytes.Contains(text, []byte(c[0])) {
			text = bytes.ReplaceAll(text, []byte(c[0]), []byte(c[1]))
		}
	}
	return text
}

func (s *stream) flush() error {
	if s.at == nil {
		return nil
	}
	return http.NewResponseController(s.at.w).Flush()
}

// leave lets a connection go that has not been taken over.
func (s *stream) leave(w http.ResponseWriter) {
	if s.at != nil && s.at.w == w {
		s.disconnect()
	}
}

// disconnect ends the connection of the stream.
func (s *stream) disconnect() {
	if s.at != nil {
		s.quiet.End(&s.at.quiet)
		close(s.at.over)
		s.at = nil
	}
}

// get answers a GET in a session: the session's stream, or the rest of another stream of which the
// client has missed events. lasts is not nil for a stream that goes on.
func (h *Handler) get(v *visit) (lasts func()) {
	v.w.end() // a stream ends with its session; a shutdown does not wait for it
	last := v.r.Header.Get("Last-Event-Id")
	id, index, ok := resume.Place(last)
	switch {
	case last == "":
		id, index = "", -1
	case !ok:
		v.refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest,
			"Last-Event-ID is not the id of an event of this session")
		return nil
	}
	var from resumable
	end := func() {}
	if id == "" {
		end = h.Guard.Changes.Stream(v.session)
		from = v.session.Out().(*standalone)
	} else if re, _ := h.replies.Load(id); re != nil && re.(*reply).session == v.session {
		from = re.(*reply)
	}
	defer func() {
		if lasts != nil {
			return
		}
		if end(); from != nil {
			from.leave(v.w) // also if a writer that the program has put around net/http's panics
		}
	}()
	if from != nil {
		if taken := from.take(v.w, index); taken != nil {
			return follow(v, from, taken, end)
		}
	}
	over := stream{lock: &sync.Mutex{}, kept: h.Events, quiet: h.quiet, sessionID: v.session.ID(),
		id: id}
	over.lock.Lock() // no keep-alive is written meanwhile
	defer over.lock.Unlock()
	if id == "" || over.take(v.w, index) == nil {
		v.refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest,
			"the events after Last-Event-ID are not kept any more")
	}
	over.disconnect()
	return nil
}

// resumable is a stream that another connection can take over.
type resumable interface {
	// take is [stream.take]. It returns nil too if the stream has ended.
	take(w http.ResponseWriter, index int) (taken <-chan struct{})
	// leave lets a connection go that has not been taken over.
	leave(w http.ResponseWriter)
}

// follow returns what waits until the credential, the stream or the client of a GET ends, or
// another connection takes the stream over. It keeps nothing else of the request.
func follow(v *visit, from resumable, taken <-chan struct{}, end func()) (lasts func()) {
	w, of, gone, expires := v.w, v.session, v.r.Context().Done(), v.info.Expires
	return func() {
		defer end()
		var expired <-chan time.Time
		if !expires.IsZero() {
			timer := time.NewTimer(time.Until(expires))
			defer timer.Stop()
			expired = timer.C
		}
		if !of.Ended() { // an end before take has found no connection
			select {
			case <-taken:
			case <-gone:
			case <-expired:
			}
		}
		from.leave(w)
	}
}

// standalone is the stream of a session, for what belongs to no message of the client. Its events
// are kept for a client that comes back. It is a [session.Out].
type standalone struct {
	*Handler
	session *session.Session
	mu      sync.Mutex
	stream  stream
	opened  bool // in the store of events
	begun   bool // there was a connection
}

func newStandalone(h *Handler, s *session.Session) *standalone {
	o := &standalone{Handler: h, session: s}
	o.stream = stream{lock: &o.mu, kept: h.Events, quiet: h.quiet, sessionID: s.ID()}
	s.OnEnd(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.opened = true // not after this
		h.Events.SessionClosed(s.ID())
		o.stream.disconnect()
	})
	return o
}

// open makes the stream in the store with its first event: an idle session keeps nothing there.
// o.mu is held.
func (o *standalone) open() {
	if o.opened {
		return
	}
	o.opened = true
	o.Events.Open(o.session.ID(), "", o.session.User())
	if o.begun {
		_, _ = o.Events.After(o.session.ID(), "", -1) // the connection is known
	}
}

// Event implements [session.Out].
func (o *standalone) Event(text []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open()
	return o.stream.send(text)
}

func (o *standalone) take(w http.ResponseWriter, index int) (taken <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened || index >= 0 {
		return o.stream.take(w, index)
	}
	o.begun = true
	return o.stream.begin(w, nil, -1)
}

func (o *standalone) leave(w http.ResponseWriter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream.leave(w)
}
