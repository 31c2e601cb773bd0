package runtime

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// gate holds the answer to one HTTP request until the guard has decided about the message in it:
// the status leaves with the first byte, and the denial "challenge" is a status. What is held is
// small: the guard decides before a handler runs. A nil gate holds nothing and answers no challenge.
//
// go-sdk writes to it while the guard decides on another goroutine.
type gate struct {
	w http.ResponseWriter

	mu     sync.Mutex
	header http.Header // what go-sdk sets; it reaches w once the status does
	state  gateState
	status int // zero until go-sdk has said it
	held   bytes.Buffer
	flush  bool
}

type gateState int

const (
	gateHeld  gateState = iota
	gateOpen            // go-sdk's answer passes
	gateShut            // another answer has left, and go-sdk's is dropped
	gateEnded           // the request is over
)

func newGate(w http.ResponseWriter) *gate { return &gate{w: w, header: http.Header{}} }

// open lets go-sdk's answer pass.
func (g *gate) open() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != gateHeld {
		return
	}
	g.state = gateOpen
	if g.status != 0 {
		g.release()
	}
}

// release sends what was held. g.mu is held.
func (g *gate) release() {
	maps.Copy(g.w.Header(), g.header)
	g.w.WriteHeader(g.status)
	if g.held.Len() > 0 {
		_, _ = g.w.Write(g.held.Bytes()) // a client that is gone is noticed by the next write
		g.held.Reset()
	}
	if g.flush {
		_ = http.NewResponseController(g.w).Flush() // not all writers can
	}
}

// challenge answers 403 in go-sdk's place (RFC 6750, section 3). It reports false where there is
// no HTTP answer to give any more.
func (g *gate) challenge(authenticate string) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state != gateHeld {
		return false
	}
	g.state = gateShut
	g.held.Reset()
	g.w.Header().Set("WWW-Authenticate", authenticate)
	plain(g.w, http.StatusForbidden, "insufficient scope")
	_ = http.NewResponseController(g.w).Flush()
	return true
}

// end lets go what nobody decided about: go-sdk answered it itself, or took it without an answer.
func (g *gate) end() {
	g.open()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = gateEnded
}

// Header implements http.ResponseWriter.
func (g *gate) Header() http.Header { return g.header }

// WriteHeader implements http.ResponseWriter.
func (g *gate) WriteHeader(status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writeHeader(status)
}

func (g *gate) writeHeader(status int) {
	if g.status != 0 {
		return
	}
	g.status = status
	if g.state == gateOpen {
		g.release()
	}
}

// Write implements http.ResponseWriter.
func (g *gate) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writeHeader(http.StatusOK)
	switch g.state {
	case gateOpen:
		return g.w.Write(b)
	case gateHeld:
		return g.held.Write(b)
	}
	return len(b), nil
}

// FlushError is what http.ResponseController looks for.
func (g *gate) FlushError() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writeHeader(http.StatusOK)
	switch g.state {
	case gateOpen:
		return http.NewResponseController(g.w).Flush()
	case gateHeld:
		g.flush = true
	}
	return nil
}

// Unwrap lets http.ResponseController reach the connection, for deadlines.
func (g *gate) Unwrap() http.ResponseWriter { return g.w }

// gated are the methods whose answers wait for a decision.
func gated(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete":
		return true
	}
	return false
}

// challenges reports whether any refusal of a server may be a challenge.
func challenges(table access.Table, server access.Denial) bool {
	for _, k := range kinds {
		for _, rule := range table.Of(k).Rules {
			if rule.Denial == access.Challenge || rule.Denial == access.DenialDefault && server == access.Challenge && len(rule.Scopes) > 0 {
				return true
			}
		}
	}
	return false
}

// challengeable reports whether a refusal is answered by a challenge, and opens the gate where it
// is not.
func (s *Server) challengeable(rec *record, d access.Decision) bool {
	if rec.gate != nil && !d.Allowed && s.denial(d) == access.Challenge {
		return true
	}
	rec.gate.open()
	return false
}

// insufficientScope is the challenge of RFC 6750, section 3.1, with the scopes of a token that
// would be let in (specification 2025-11-25, basic/authorization, scope challenge handling): those that
// the caller holds already among them, all of them, so that nothing is told of what other
// rules ask for.
func (s *Server) insufficientScope(d access.Decision) string {
	scopes := slices.DeleteFunc(d.ScopesThatWouldDo(), func(scope string) bool { return !scopeToken(scope) })
	value := fmt.Sprintf("Bearer realm=%q, error=%q, scope=%q", realm(s.info.Name), "insufficient_scope", strings.Join(scopes, " "))
	return value + s.pointer()
}

// scopeToken reports whether a scope can stand in a header (RFC 6749, section 3.3).
func scopeToken(scope string) bool {
	return scope != "" && !strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
