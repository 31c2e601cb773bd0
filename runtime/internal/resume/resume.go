// Package resume keeps the events of the streams of sessions, so that a client whose connection has
// dropped gets what it has missed. A session belongs to one owner, whom the transport checks
// before it reads an event.
package resume

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

const (
	// MaxBytes bounds the events that are kept. Beyond it, the oldest streams of the user who has the
	// most are forgotten.
	MaxBytes = 64 << 20
	// MaxStreamBytes and MaxStreamEvents bound one stream, which forgets its oldest events.
	MaxStreamBytes  = 4 << 20
	MaxStreamEvents = 1024
	// MaxStreams bounds the streams of a session, which forgets the oldest ones.
	MaxStreams = 64
	// MaxAge is how long the events of a stream are kept after its last one.
	MaxAge = 30 * time.Minute

	streamCost, eventCost = 512, 64 // bytes beside the data
)

// Store keeps the events of all sessions of a handler. It is safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	sessions map[string]*session
	users    map[request.User]int // bytes
	bytes    int
	byUse    *list.List // of *stream, the oldest first
}

type session struct {
	id      string
	user    request.User
	own     stream             // the standalone one, if own.of is set
	streams map[string]*stream // the others; nil before the first one
	byUse   *list.List         // of them, the oldest first; nil before the first one
}

// stream has the events of one response, or with an empty id those outside of any.
type stream struct {
	of     *session
	id     string
	first  int      // the index of the first event that is kept
	events [][]byte // an empty one is not sent again
	bytes  int
	begun  bool // the standalone stream has had a connection
	used   time.Time
	replay Replay // see [Store.Open]

	inStore, inSession *list.Element
}

// Replay decides for each caller who resumes a stream: it returns what this caller gets of each
// event, and false for a caller who gets none. edit is nil for the events as they are.
type Replay func(caller *request.Info) (edit func(event []byte) []byte, ok bool)

// NewStore returns a store without events.
func NewStore() *Store {
	return &Store{sessions: map[string]*session{}, users: map[request.User]int{},
		byUse: list.New()}
}

// Open begins a stream of a session, which belongs to a user; the empty id is the standalone
// stream. A nil Replay is for the standalone stream, whose events are decided one by one.
func (s *Store) Open(sessionID, streamID string, user request.User, replay Replay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.sessions[sessionID]
	if of == nil {
		of = &session{id: sessionID, user: user}
		s.sessions[sessionID] = of
	}
	if of.find(streamID) != nil {
		return
	}
	st := &of.own
	if streamID != "" {
		st = &stream{}
	}
	st.of, st.id, st.used, st.replay = of, streamID, time.Now(), replay
	st.inStore = s.byUse.PushBack(st)
	if streamID != "" {
		if of.streams == nil {
			of.streams, of.byUse = map[string]*stream{}, list.New()
		}
		of.streams[streamID] = st
		st.inSession = of.byUse.PushBack(st)
		for of.byUse.Len() > MaxStreams {
			s.forget(of.byUse.Front().Value.(*stream))
		}
	}
	s.grow(st, streamCost)
	s.makeRoom(st)
}

// Append adds an event to a stream. An event of a stream that was forgotten is dropped.
func (s *Store) Append(sessionID, streamID string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(sessionID, streamID)
	if st == nil {
		return
	}
	st.events = append(st.events, data)
	s.grow(st, eventCost+len(data))
	for len(st.events) > 0 &&
		(len(st.events) > MaxStreamEvents || st.bytes-streamCost > MaxStreamBytes) {
		s.drop(st, 1)
	}
	s.use(st)
	s.makeRoom(st)
}

// After returns the events of a stream after an index. -1 of the standalone stream is what was sent
// before it was first asked for, and begins to count anew. It reports false if they are not kept.
func (s *Store) After(sessionID, streamID string, index int) ([][]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(sessionID, streamID)
	switch {
	case st == nil:
		return nil, false
	case streamID == "" && index < 0:
		if st.begun {
			s.drop(st, len(st.events))
		}
		st.begun, st.first = true, 0
	case index+1 < st.first || index >= st.first+len(st.events):
		return nil, false
	}
	return append([][]byte(nil), st.events[index+1-st.first:]...), true
}

// Replay is the [Replay] of a stream. A stream that is not kept has no events to edit.
func (s *Store) Replay(sessionID, streamID string,
	caller *request.Info) (edit func(event []byte) []byte, ok bool) {
	s.mu.Lock()
	st := s.find(sessionID, streamID)
	s.mu.Unlock()
	if st == nil || st.replay == nil {
		return nil, true
	}
	return st.replay(caller)
}

// Since returns the kept events of a stream from an index on, and the index of the first of them.
func (s *Store) Since(sessionID, streamID string, index int) (events [][]byte, first int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(sessionID, streamID)
	if st == nil {
		return nil, index
	}
	first = max(index, st.first)
	return slices.Clone(st.events[min(first-st.first, len(st.events)):]), first
}

// Remove removes an event: later ones get lower indices. It reports false if the event is not kept.
func (s *Store) Remove(sessionID, streamID string, index int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.find(sessionID, streamID)
	if st == nil || index < st.first || index >= st.first+len(st.events) {
		return false
	}
	at := index - st.first
	s.grow(st, -eventCost-len(st.events[at]))
	st.events = slices.Delete(st.events, at, at+1)
	return true
}

// SessionClosed forgets a session.
func (s *Store) SessionClosed(sessionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.sessions[sessionID]; of != nil {
		delete(s.sessions, sessionID)
		if of.own.of != nil {
			s.forget(&of.own)
		}
		for _, st := range of.streams {
			s.forget(st)
		}
	}
}

// Size returns how many sessions and bytes are kept.
func (s *Store) Size() (sessions, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions), s.bytes
}

func (s *Store) find(sessionID, streamID string) *stream {
	if of := s.sessions[sessionID]; of != nil {
		return of.find(streamID)
	}
	return nil
}

func (s *session) find(streamID string) *stream {
	if streamID != "" {
		return s.streams[streamID]
	}
	if s.own.of != nil {
		return &s.own
	}
	return nil
}

func (s *Store) use(st *stream) {
	st.used = time.Now()
	s.byUse.MoveToBack(st.inStore)
	if st.inSession != nil {
		st.of.byUse.MoveToBack(st.inSession)
	}
}

// drop drops the oldest events of a stream.
func (s *Store) drop(st *stream, n int) {
	for _, data := range st.events[:n] {
		s.grow(st, -eventCost-len(data))
	}
	clear(st.events[:n])
	st.events, st.first = st.events[n:], st.first+n
}

// forget forgets a stream, and of the standalone one, which lasts as long as its session, the
// events.
func (s *Store) forget(st *stream) {
	s.drop(st, len(st.events))
	if st.id == "" && s.sessions[st.of.id] == st.of {
		s.use(st)
		return
	}
	s.grow(st, -st.bytes)
	delete(st.of.streams, st.id) // which has none for the standalone one
	s.byUse.Remove(st.inStore)
	if st.inSession != nil {
		st.of.byUse.Remove(st.inSession)
	}
}

func (s *Store) grow(st *stream, bytes int) {
	st.bytes += bytes
	s.bytes += bytes
	s.count(st.of.user, bytes)
}

func (s *Store) count(user request.User, bytes int) {
	if s.users[user] += bytes; s.users[user] == 0 {
		delete(s.users, user)
	}
}

// makeRoom forgets streams that are too old, and if there are too many bytes, the oldest streams of
// the user who has the most. It keeps the given one.
func (s *Store) makeRoom(keep *stream) {
	const steps = 16 // at a time
	for range steps {
		oldest := s.byUse.Front().Value.(*stream)
		if time.Since(oldest.used) < MaxAge {
			break
		}
		s.drop(oldest, len(oldest.events))
		s.use(oldest)
	}
	if s.bytes <= MaxBytes {
		return
	}
	for s.bytes > MaxBytes*7/8 { // so that the next events find room
		var most request.User
		for user, bytes := range s.users {
			if bytes > s.users[most] {
				most = user
			}
		}
		target := max(s.users[most]-(s.bytes-MaxBytes*7/8), 0)
		before := s.bytes
		for e := s.byUse.Front(); e != nil && s.users[most] > target; {
			st, next := e.Value.(*stream), e.Next()
			if st != keep && st.of.user == most && (st.id != "" || len(st.events) > 0) {
				s.forget(st)
			}
			e = next
		}
		if s.bytes == before {
			return
		}
	}
}

// ID returns the id of an event as go-sdk writes it.
func ID(streamID string, index int) string { return streamID + "_" + strconv.Itoa(index) }

// Place returns the stream and the index of an event's id.
func Place(id string) (streamID string, index int, ok bool) {
	streamID, text, ok := strings.Cut(id, "_")
	index, err := strconv.Atoi(text)
	return streamID, index, ok && err == nil && index >= 0
}
