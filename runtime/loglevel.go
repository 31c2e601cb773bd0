package runtime

//lint:file-ignore SA1019 log messages to clients are deprecated in 2026-07-28, and clients of all versions may ask for them

import (
	"context"
	"log/slog"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// logLevels are the levels of the protocol (specification 2025-11-25, server/utilities/logging, after RFC 5424), in slog's numbers.
var logLevels = []struct {
	name  mcp.LoggingLevel
	level slog.Level
}{
	{"debug", mcp.LevelDebug}, {"info", mcp.LevelInfo}, {"notice", mcp.LevelNotice}, {"warning", mcp.LevelWarning},
	{"error", mcp.LevelError}, {"critical", mcp.LevelCritical}, {"alert", mcp.LevelAlert}, {"emergency", mcp.LevelEmergency},
}

// levelNamed is the level that clients call by a name.
func levelNamed(name mcp.LoggingLevel) (slog.Level, bool) {
	for _, l := range logLevels {
		if l.name == name {
			return l.level, true
		}
	}
	return 0, false
}

// nameOf is what clients call a level: that of the highest which is not above it.
func nameOf(level slog.Level) mcp.LoggingLevel {
	name := logLevels[0].name
	for _, l := range logLevels {
		if l.level <= level {
			name = l.name
		}
	}
	return name
}

// sessionLevels are the levels that clients have set for their sessions (logging/setLevel). Clients of 2026-07-28 name
// theirs with each request.
type sessionLevels struct {
	mu sync.RWMutex
	of map[*mcp.ServerSession]slog.Level
}

// setLevel passes on from which level on a client wants log messages, and remembers it. go-sdk, which takes any word for a level, does
// not tell whether a client has set one.
func (g guard) setLevel(ctx context.Context, r *mcp.ServerRequest[*mcp.SetLoggingLevelParams]) (mcp.Result, error) {
	if !legacy(r.Session) { // 2026-07-28 has no such method: a level stands in _meta, and one that was set would do nothing
		return nil, methodNotFound("logging/setLevel")
	}
	level, known := levelNamed(r.Params.Level)
	if !known {
		return nil, invalidParams("level is not one of debug, info, notice, warning, error, critical, alert, emergency")
	}
	res, err := g.inner(ctx, "logging/setLevel", r)
	if err == nil && r.Session != nil {
		g.levels.set(r.Session, level)
	}
	return res, err
}

// set remembers a session's level for as long as the session lives.
func (s *sessionLevels) set(session *mcp.ServerSession, level slog.Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[*mcp.ServerSession]slog.Level{}
	}
	if _, known := s.of[session]; !known {
		go func() {
			_ = session.Wait() // how it ended does not matter
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.of, session)
		}()
	}
	s.of[session] = level
}

// get returns a session's level, and whether its client has set any: without one it wants no log messages.
func (s *sessionLevels) get(session *mcp.ServerSession) (slog.Level, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	level, ok := s.of[session]
	return level, ok
}
