package transport

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// DoorCase is a call of the tool "work", with one change.
type DoorCase struct {
	Check    string // the only check of doorChecks that fails; empty for none
	Name     string
	Version  string            // in the header
	Old, New string            // a change of the body
	Header   map[string]string // further headers; an empty value removes one
}

// Body returns the message.
func (c DoorCase) Body() string {
	meta := ""
	if c.Version == request.Stateless {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}},`
	}
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{` + meta + `"name":"work"}}`
	return strings.Replace(body, c.Old, c.New, 1)
}

// Headers returns the headers of the message, for a session with this id.
func (c DoorCase) Headers(session string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {c.Version},
		"Accept": {"application/json, text/event-stream"}}
	if c.Version == request.Stateless {
		h["Mcp-Method"], h["Mcp-Name"] = []string{"tools/call"}, []string{"work"}
	} else {
		h["Mcp-Session-Id"] = []string{session}
	}
	for name, value := range c.Header {
		if h.Set(name, value); value == "" {
			h.Del(name)
		}
	}
	return h
}

const in2026, inSession = request.Stateless, request.NewestWithSessions

type header = map[string]string

var DoorCases = []DoorCase{
	{"", "a call", in2026, "", "", nil},
	{"", "a call in a session", inSession, "", "", nil},
	{"", "the version of the session alone", inSession, "", "", header{"Mcp-Protocol-Version": ""}},
	{"", "another version with sessions", inSession, "", "",
		header{"Mcp-Protocol-Version": "2025-03-26"}},
	{"", "all types", in2026, "", "", header{"Accept": "*/*"}},
	{"", "types with parameters", inSession, "", "",
		header{"Accept": "Application/*;q=1 , text/*; q=0.5"}},
	{"", "no client info", in2026, `clientInfo"`, `none"`, nil},
	{"", "a text as id", inSession, `"id":7`, `"id":"a\u0062"`, nil},
	{"params and id", "no params", inSession, `,"params":{"name":"work"}`, "", nil},
	{"params and id", "null as params", inSession, `{"name":"work"}`, "null", nil},
	{"params and id", "no id", inSession, `"id":7,`, "", nil},
	{"params and id", "null as id", inSession, `"id":7`, `"id":null`, nil},
	{"accept", "no types", in2026, "", "", header{"Accept": ""}},
	{"accept", "JSON alone", in2026, "", "", header{"Accept": "application/json"}},
	{"accept", "streams alone", inSession, "", "", header{"Accept": "text/event-stream"}},
	{"accept", "other types", inSession, "", "", header{"Accept": "application/jsonp, text"}},
	{"last event", "an event to resume at", inSession, "", "", header{"Last-Event-Id": "1"}},
	{"last event", "an event in 2026-07-28", in2026, "", "", header{"Last-Event-Id": "1"}},
	{"version", "none in _meta", in2026, `protocolVersion"`, `none"`, nil},
	{"version", "a number in _meta", in2026, `"2026-07-28"`, `20260728`, nil},
	{"version", "an older one in _meta", in2026, `"2026-07-28"`, `"2025-11-25"`, nil},
	{"version", "a later one in the header", in2026, "", "",
		header{"Mcp-Protocol-Version": "2099-01-01"}},
	{"version", "an unknown one in a session", inSession, "", "",
		header{"Mcp-Protocol-Version": "2025-01-01"}},
	{"version", "a later one in a session", inSession, "", "",
		header{"Mcp-Protocol-Version": request.Stateless}},
	{"version", "one in _meta of a session", inSession, `"name"`,
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"},"name"`, nil},
	{"version", "no session", inSession, "", "", header{"Mcp-Session-Id": ""}},
	{"version", "an unknown session", inSession, "", "", header{"Mcp-Session-Id": "x"}},
	{"client", "no capabilities", in2026, `clientCapabilities"`, `none"`, nil},
	{"client", "null as capabilities", in2026, `Capabilities":{}`,
		`Capabilities":null`, nil},
	{"client", "a list as capabilities", in2026, `Capabilities":{}`,
		`Capabilities":[]`, nil},
	{"client", "a misfit in capabilities", in2026, `Capabilities":{}`,
		`Capabilities":{"roots":7}`, nil},
	{"client", "a text as client info", in2026, `{"name":"c","version":"1"}`, `"c"`, nil},
	{"client", "a misfit in client info", in2026, `"name":"c"`, `"name":7`, nil},
	{"method header", "no method", in2026, "", "", header{"Mcp-Method": ""}},
	{"method header", "another method", in2026, "", "", header{"Mcp-Method": "tools/list"}},
	{"name header", "no name", in2026, "", "", header{"Mcp-Name": ""}},
	{"name header", "another name", in2026, "", "", header{"Mcp-Name": "Work"}},
	{"name header", "no name in the params", in2026, `"name":"work"`, `"x":1`, nil},
}

// fakeSession is a session that ends when it is closed.
type fakeSession struct {
	request.Session
	id    string
	ended chan struct{}
}

func newSession(id string) *fakeSession { return &fakeSession{id: id, ended: make(chan struct{})} }

func (s *fakeSession) ID() string   { return s.id }
func (s *fakeSession) Wait() error  { <-s.ended; return nil }
func (s *fakeSession) Close() error { close(s.ended); return nil }
func (s *fakeSession) InitializeParams() *mcp.InitializeParams {
	return &mcp.InitializeParams{ProtocolVersion: inSession}
}

// unborn is a session before its handshake.
type unborn struct{ *fakeSession }

func (unborn) InitializeParams() *mcp.InitializeParams { return nil }

func newCandidate(t *testing.T, c DoorCase) *candidate {
	t.Helper()
	checked, refused := wire.CheckMessage([]byte(c.Body()), redact.Masker{})
	if refused != nil {
		t.Fatalf("%s: %s", c.Body(), refused.Response(redact.Masker{}))
	}
	out := &candidate{Checked: checked, header: c.Headers("s")}
	if out.header.Get(request.HeaderSession) == "s" &&
		out.header.Get(request.HeaderProtocolVersion) < request.Stateless {
		out.session = newSession("s")
	}
	out.info = request.New(identity.Identity{Principal: access.Principal{Subject: "ada"}}, out.header)
	return out
}

func failing(c *candidate) (names []string) {
	for _, check := range doorChecks {
		if !check.holds(c) {
			names = append(names, check.name)
		}
		if c.Call == nil {
			break // nothing else can be read
		}
	}
	return names
}

func TestDirectDoorTakesMessagesThatPassEachCheck(t *testing.T) {
	for _, test := range DoorCases {
		got := failing(newCandidate(t, test))
		if test.Check == "version" && len(got) > 0 {
			got = got[:1] // later checks read the version
		}
		if strings.Join(got, ",") != test.Check {
			t.Errorf("%s, %s: fails %q", test.Check, test.Name, got)
		}
		if newCandidate(t, test).passes() != (test.Check == "") {
			t.Errorf("%s, %s: takes the wrong door", test.Check, test.Name)
		}
	}
	early := newCandidate(t, DoorCases[1])
	if early.session = (unborn{newSession("s")}); early.passes() {
		t.Error("a session before its handshake")
	}
	line := newCandidate(t, DoorCases[0])
	if line.header = nil; !line.passes() {
		t.Error("a line without headers")
	}
	if line.session = newSession(""); line.passes() {
		t.Error("a line of 2026-07-28 in a session")
	}
}

func TestEachDoorCheckHasACase(t *testing.T) {
	for _, check := range doorChecks {
		has := func(c DoorCase) bool { return c.Check == check.name }
		if !slices.ContainsFunc(DoorCases, has) {
			t.Errorf("%q has no case", check.name)
		}
	}
}
