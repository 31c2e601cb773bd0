package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
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
	unsent    int               // the index of the first event that no connection was sent
	at        *connection       // nil while there is none
}

// connection is what a stream is connected to.
type connection struct {
	stream *stream
	w      http.ResponseWriter
	quiet  worker.Deadline           // after which a comment is sent
	held   bool                      // nothing is written; see [stream.decided]
	edit   func(event []byte) []byte // of its caller's [filter]
	over   chan struct{}             // closed when another connection takes the stream, or it ends
}

// filter is what the caller of a connection gets of a stream.
type filter struct {
	may  func(event []byte) bool   // decides about missed events; nil is for all
	edit func(event []byte) []byte // edits all events; nil does not
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
func (s *stream) take(w http.ResponseWriter, index int, f filter) (taken <-chan struct{}) {
	missed, ok := s.kept.After(s.sessionID, s.id, index)
	if !ok {
		return nil
	}
	return s.begin(w, missed, index, f)
}

// begin connects the stream, and sends the events after an index, which were kept.
func (s *stream) begin(w http.ResponseWriter, missed [][]byte, index int,
	f filter) (taken <-chan struct{}) {
	s.connect(w)
	s.at.edit = f.edit
	if index < 0 {
		s.next, s.unsent = len(missed), 0
	}
	s.replay(missed, index+1, f.may)
	return s.at.over
}

// replay sends kept events, of which the first has an index. An event that was sent before keeps
// its index. One that was not, and that the client may not get, is removed, so that no missing
// index shows it.
func (s *stream) replay(events [][]byte, first int, may func(event []byte) bool) {
	index := first
	for _, data := range events {
		switch {
		case may == nil || may(data):
			_ = s.write(data, index) // an error shows with the next write
		case index >= s.unsent && s.kept.Remove(s.sessionID, s.id, index):
			s.next--
			continue
		}
		index++
	}
	_ = s.flush()
}

// decided notes whether the identity source could decide about the caller of a connection. While it
// cannot, events are kept and not written. The next decision sends them.
func (s *stream) decided(w http.ResponseWriter, held bool, f filter) {
	at := s.at
	if at == nil || at.w != w {
		return
	}
	if !held {
		at.edit = f.edit
	}
	if at.held == held {
		return
	}
	if at.held = held; held {
		return
	}
	events, first := s.kept.Since(s.sessionID, s.id, s.unsent)
	s.replay(events, first, f.may)
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
	if s.at == nil || s.at.held {
		return nil
	}
	s.unsent = max(s.unsent, index+1)
	if s.at.edit != nil && len(text) > 0 {
		text = s.at.edit(text)
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

const notKept = "the events after Last-Event-ID are not kept any more"

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
	var f filter
	end := func() {}
	if id == "" {
		h.Guard.Observe(v.info) // what is sent from now on is decided for this caller
		end = h.Guard.Changes.Stream(v.session)
		from = v.session.Out().(*standalone)
	} else {
		ok := false
		if f.edit, ok = h.Events.Replay(v.session.ID(), id, v.info); !ok {
			v.refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, notKept)
			return nil
		}
		if re, _ := h.replies.Load(id); re != nil && re.(*reply).session == v.session {
			from = re.(*reply)
		}
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
		if taken := from.take(v.w, index, v.info); taken != nil {
			return h.follow(v, from, taken, end)
		}
	}
	over := stream{lock: &sync.Mutex{}, kept: h.Events, quiet: h.quiet, sessionID: v.session.ID(),
		id: id}
	over.lock.Lock() // no keep-alive is written meanwhile
	defer over.lock.Unlock()
	if id == "" || over.take(v.w, index, f) == nil {
		v.refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, notKept)
	}
	over.disconnect()
	return nil
}

// resumable is a stream that another connection can take over.
type resumable interface {
	// take is [stream.take] for a caller. It returns nil too if the stream has ended.
	take(w http.ResponseWriter, index int, caller *request.Info) (taken <-chan struct{})
	// decided is [stream.decided] for the present caller; nil if the source cannot decide. It
	// reports false if this caller gets no more of the stream.
	decided(w http.ResponseWriter, now *request.Info) bool
	// leave lets a connection go that has not been taken over.
	leave(w http.ResponseWriter)
}

// follow returns what waits until the credential, the stream or the client of a GET ends, or
// another connection takes the stream over. It keeps the request alone, to authenticate it again.
func (h *Handler) follow(v *visit, from resumable, taken <-chan struct{},
	end func()) (lasts func()) {
	ctx, leave := h.Rights.Enter(v.r.Context(), v.info)
	w, of, gone, expires := v.w, v.session, ctx.Done(), v.info.Expires
	withdrawn := make(chan struct{})
	withdraw := sync.OnceFunc(func() { close(withdrawn) })
	stop := h.watch(v.r, v.info, func(s request.Standing, now *request.Info) {
		if s == request.Withdrawn || !from.decided(w, now) {
			withdraw()
		}
	})
	return func() {
		defer end()
		defer stop()
		defer leave()
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
			case <-withdrawn:
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
	o.Events.Open(o.session.ID(), "", o.session.User(), nil)
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

func (o *standalone) take(w http.ResponseWriter, index int,
	caller *request.Info) (taken <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened || index >= 0 {
		return o.stream.take(w, index, o.filter(caller))
	}
	o.begun = true
	return o.stream.begin(w, nil, -1, filter{})
}

func (o *standalone) decided(w http.ResponseWriter, now *request.Info) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream.decided(w, now == nil, o.filter(now))
	return true
}

// filter returns the decision on each kept event for a caller.
func (o *standalone) filter(caller *request.Info) filter {
	return filter{may: func(event []byte) bool { return o.Guard.MaySend(caller, event) }}
}

func (o *standalone) leave(w http.ResponseWriter) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stream.leave(w)
}

// watcher authenticates the request of an open stream again at each interval. It keeps the request,
// with its credential, until the stream ends, and shows it in no text.
type watcher struct {
	*Handler
	changed  func(request.Standing, *request.Info)
	request  atomic.Pointer[http.Request] // nil after the end
	deadline worker.Deadline              // of the next check

	session request.Session // of the request
	version string

	// Of the check that runs. There is one at a time.
	caller   access.Principal // at the last check
	standing request.Standing
}

// watch calls a func with each change of the caller of a request, until stop. A change is a message
// of the session: its caller counts.
func (h *Handler) watch(r *http.Request, info *request.Info,
	changed func(request.Standing, *request.Info)) (stop func()) {
	w := &watcher{Handler: h, changed: changed, session: info.Session, version: info.Version,
		caller: info.Principal}
	w.request.Store(r)
	w.rest()
	return w.stop
}

// Format implements [fmt.Formatter]: a text has no credential.
func (w *watcher) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "(masked)") }

func (w *watcher) stop() {
	w.request.Store(nil)
	w.rechecks.End(&w.deadline)
}

// rest waits for the next check.
func (w *watcher) rest() {
	w.rechecks.Begin(&w.deadline, w, time.Now())
	if w.request.Load() == nil {
		w.rechecks.End(&w.deadline)
	}
}

// Reached implements [worker.Waiter].
func (w *watcher) Reached() {
	go func() {
		if r := w.request.Load(); r != nil {
			w.check(r)
			w.rest()
		}
	}()
}

// check authenticates the request, and passes a change on. A check that panics has not decided.
func (w *watcher) check(r *http.Request) {
	defer worker.Contain(r.Context(), w.Log, "a check of an open stream panicked")
	standing, now := request.Undecided, (*request.Info)(nil)
	defer func() {
		if w.request.Load() == nil || standing == w.standing && now == nil {
			return
		}
		if w.standing = standing; standing == request.Withdrawn {
			w.stop()
		}
		w.changed(standing, now)
	}()
	standing, now = w.decide(r)
}

// decide returns the present caller of the request. It returns nil if the caller and the standing
// are those of the last check, or the credential is not valid. A caller of another user or client
// has no valid credential for the stream.
func (w *watcher) decide(r *http.Request) (request.Standing, *request.Info) {
	id, err := w.identify(r)
	if errors.Is(err, identity.ErrInvalidToken) || errors.Is(err, identity.ErrNoCredentials) {
		w.Log.InfoContext(r.Context(), "an open stream ends: its credential is not valid any more",
			"principal", w.caller.Subject, "reason", err)
		return request.Withdrawn, nil
	} else if err != nil {
		w.Authenticator.Refusal(r, "", err) // which logs at most one line a minute
		return request.Undecided, nil
	}
	id.Principal = w.Rights.Host.WithUser(id.Principal, id.ClientItself)
	same := discovery.SameCaller(id.Principal, w.caller)
	if same && w.standing == request.Valid {
		return request.Valid, nil
	}
	now := request.NewHTTP(r, id)
	if w.Rights.Attach(r.Context(), now) != nil ||
		request.OwnerOf(now.Principal) != request.OwnerOf(w.caller) {
		return request.Withdrawn, nil
	}
	if now.Session, now.Version = w.session, w.version; !same {
		w.caller = now.Principal
		w.Guard.Observe(now) // otherwise the caller of the last message of the session counts
	}
	return request.Valid, now
}
