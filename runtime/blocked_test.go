package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/scenario"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// tapped is a response whose bytes can be read while it is written.
type tapped struct {
	mu     sync.Mutex
	header http.Header
	body   bytes.Buffer
}

func (w *tapped) Header() http.Header { return w.header }
func (w *tapped) WriteHeader(int)     {}
func (w *tapped) Flush()              {}

func (w *tapped) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.Write(b)
}

func (w *tapped) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.body.String()
}

// blockPlan is a trace in which a client is blocked.
type blockPlan struct {
	memory   bool           // the source only reads memory
	nobody   bool           // the host has no user of the callers, who count as anonymous
	changed  boundary.Party // whose boundary blocks the client
	requests []blockRequest
}

type blockRequest struct {
	client, era, kind string
	late              bool // it is sent while the block is made
}

var blockKinds = []string{"stream", "listen", "tools/call hold", "tools/call stuck",
	"tools/call quick",
	"tools/call progress", "tools/call task", "tools/call ask", "tools/list", "resources/read",
	"prompts/get", "completion/complete"}

func newBlockPlan(t *rapid.T) (p blockPlan) {
	p.memory, p.nobody = rapid.Bool().Draw(t, "memory"), rapid.Bool().Draw(t, "nobody")
	p.changed = rapid.SampledFrom([]boundary.Party{{}, {Issuer: "i", Client: "agent"},
		{Issuer: "i", Client: "*"}, {Issuer: "i", Client: "agent", Subject: "ada"},
		{Issuer: "a", Actor: "robot"}}).Draw(t, "changed")
	p.requests = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) blockRequest {
		return blockRequest{rapid.SampledFrom([]string{"agent", "agent", "desk"}).Draw(t, "client"),
			rapid.SampledFrom([]string{"2025-06-18", "2025-11-25", "2026-07-28"}).Draw(t, "era"),
			rapid.SampledFrom(blockKinds).Draw(t, "kind"), rapid.Bool().Draw(t, "late")}
	}), 1, 8).Draw(t, "requests")
	return p
}

// blockSource is a source whose boundaries allow all, until it blocks a party.
type blockSource struct {
	mu      sync.Mutex
	blocked boundary.Party
	changes chan boundary.Party
}

func (s *blockSource) Boundary(_ context.Context, p boundary.Party) (b boundary.Boundary, ok bool,
	err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b = boundary.Boundary{Roles: []string{"*"}, Items: []string{"*"}}
	b.Blocked = s.blocked.Issuer == p.Issuer && s.blocked.Actor == p.Actor && p.Client != "desk" &&
		(p.Actor != "" || s.blocked.Client != "")
	return b, true, nil
}

func (s *blockSource) Changes(context.Context) <-chan boundary.Party { return s.changes }

func (s *blockSource) block(changed boundary.Party) {
	s.mu.Lock()
	if s.blocked = changed; changed == (boundary.Party{}) {
		s.blocked = boundary.Party{Issuer: "i", Client: "*"}
	}
	s.mu.Unlock()
	s.changes <- changed
}

// userless is a host without users.
type userless struct{}

func (userless) Resolve(context.Context, access.Principal) (capability.User, error) {
	return capability.User{}, capability.ErrNoUser
}

func (userless) Capabilities(context.Context, access.Principal) (capability.Set, error) {
	return capability.Set{}, capability.ErrNoUser
}

func (userless) MapAction(permission string) (string, error) { return permission, nil }

func makePublic(t access.Table) {
	for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources} {
		rules := t.Of(k).Rules
		for i, r := range rules {
			rules[i] = access.Rule{Tool: r.Tool, Prompt: r.Prompt, Resource: r.Resource, Public: true}
		}
	}
}

type inMemory struct{ *blockSource }

func (inMemory) ReadsMemoryOnly() {}

// run returns what is wrong, or "".
func (p blockPlan) run(t *testing.T) string {
	world := &scenarioWorld{proceed: make(chan struct{})}
	source := &blockSource{changes: make(chan boundary.Party, 1)}
	options := runtime.Options{Access: runtime.AccessOptions{Boundaries: source},
		Tasks: runtime.TaskOptions{Store: task.NewMemory()},
		Identity: identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			caller := access.Principal{Issuer: "i", Subject: "ada", Client: token, Roles: []string{"Admin"}}
			if token == "agent" {
				caller.Actor = access.Actor{Issuer: "a", Subject: "robot"}
			}
			return identity.Identity{Principal: caller}, nil
		}, identity.NamesUsers())}
	if p.memory {
		options.Access.Boundaries = inMemory{source}
	}
	script, library := scripted(world), updating().Generated()
	if p.nobody {
		options.Anonymous, options.Host.Source = true, userless{}
		makePublic(script.Table)
		makePublic(library.Table)
	}
	s := newServer(t, options, toolset.NewToolset(script), toolset.NewToolset(library))
	shutDown(t, s)
	h, ctx := s.Handler(), t.Context()
	raws := map[string]*raw{}
	client := func(r blockRequest) *raw {
		c := raws[r.client+r.era]
		if c == nil {
			c = &raw{token: r.client, era: r.era}
			raws[r.client+r.era] = c
		}
		if c.session == "" && c.era != "2026-07-28" {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, asked(c, http.MethodPost, c.request("initialize",
				`"protocolVersion":"`+c.era+`","capabilities":{"elicitation":{}},`+
					`"clientInfo":{"name":"raw","version":"1"}`), nil))
			c.session = w.Header().Get("Mcp-Session-Id")
			h.ServeHTTP(httptest.NewRecorder(), asked(c, http.MethodPost,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				map[string]string{"Mcp-Session-Id": c.session}))
			h.ServeHTTP(httptest.NewRecorder(), asked(c, http.MethodPost,
				c.request("resources/subscribe", `"uri":"lib://hall"`),
				map[string]string{"Mcp-Session-Id": c.session}))
		}
		return c
	}
	send := func(i int, r blockRequest) *tapped {
		w := &tapped{header: http.Header{}}
		request := r.request(client(r), i).WithContext(ctx)
		go h.ServeHTTP(w, request)
		return w
	}
	sent := make([]*tapped, len(p.requests))
	for i, r := range p.requests {
		if client(r); !r.late { // its session is there before the block
			sent[i] = send(i, r)
		}
	}
	synctest.Wait()
	var making sync.WaitGroup
	making.Go(func() { source.block(p.changed) })
	for i, r := range p.requests {
		if r.late {
			sent[i] = send(i, r)
		}
	}
	making.Wait()
	synctest.Wait() // the block is visible
	before := make([]int, len(sent))
	for i, w := range sent {
		before[i] = len(w.text())
	}
	close(world.proceed)
	_ = s.ResourceUpdated(ctx, "lib://hall")
	for i, w := range sent { // a late one begins after the block
		scenario.Pause(time.Minute)
		synctest.Wait()
		text := w.text()[before[i]:]
		if r := p.requests[i]; r.client == "agent" &&
			(strings.Contains(text, `"result"`) || strings.Contains(text, `"method"`)) {
			return fmt.Sprintf("%+v gets %s", r, text)
		} else if r.client == "desk" && !strings.Contains(w.text(), r.gets()) {
			return fmt.Sprintf("%+v gets %s, and not %s", r, w.text(), r.gets())
		}
	}
	for i, kind := range append(blockKinds, "initialize", "ping", "tasks/get", "DELETE") {
		r := blockRequest{client: "agent", kind: kind, era: "2025-11-25"}
		if kind == "listen" || kind == "tasks/get" {
			r.era = "2026-07-28"
		}
		c, w := *client(r), httptest.NewRecorder()
		if h.ServeHTTP(w, r.request(&c, 100+i)); w.Code != http.StatusForbidden ||
			w.Body.String() != "forbidden\n" || w.Header().Get("WWW-Authenticate") != "" {
			return fmt.Sprintf("%s gets %d %s", kind, w.Code, w.Body)
		}
	}
	return ""
}

// gets is a text in each complete answer.
func (r blockRequest) gets() string {
	switch r.kind {
	case "stream", "listen":
		if r.era != "2026-07-28" { // a later stream of its session takes its place
			return ""
		}
		return "notifications/resources/updated"
	case "tools/call ask": // in versions with sessions it waits for the client
		return "elicitation/create"
	}
	return `"result"`
}

func (r blockRequest) request(c *raw, id int) *http.Request {
	method, do, _ := strings.Cut(r.kind, " ")
	tool, params, headers := "do", "", map[string]string{}
	if c.session != "" {
		headers["Mcp-Session-Id"] = c.session
	}
	switch method {
	case "stream", "listen":
		if c.era != "2026-07-28" {
			return asked(c, http.MethodGet, "", headers)
		}
		method = "subscriptions/listen"
		params = `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["lib://hall"]}`
	case "DELETE":
		return asked(c, method, "", headers)
	case "tools/call":
		script := do + "; large 9"
		switch do {
		case "progress":
			script = "progress 1 2 a; stuck; progress 2 2 b; large 9"
		case "quick":
			script = "large 9"
		case "ask":
			script = "elicit name ?"
		case "task":
			tool, script = "task", "hold; large 9"
		}
		text, _ := json.Marshal(map[string]string{"do": script})
		params = `"name":"` + tool + `","arguments":` + string(text)
		headers["Mcp-Name"] = tool
	case "resources/read":
		params, headers["Mcp-Name"] = `"uri":"do:stuck"`, "do:stuck"
	case "prompts/get":
		params, headers["Mcp-Name"] = `"name":"do","arguments":{"do":"stuck"}`, "do"
	case "completion/complete":
		params = `"ref":{"type":"ref/prompt","name":"do"},"argument":{"name":"do","value":"stuck"}`
	case "tasks/get":
		params, headers["Mcp-Name"] = `"taskId":"x"`, "x"
	case "initialize":
		params = `"protocolVersion":"` + c.era +
			`","capabilities":{},"clientInfo":{"name":"a","version":"1"}`
		delete(headers, "Mcp-Session-Id")
	}
	headers["Mcp-Method"] = method
	body := strings.Replace(c.request(method, params), `"id":7`, fmt.Sprintf(`"id":%d`, id), 1)
	body = strings.Replace(body, `"params":{"name"`,
		`"params":{"_meta":{"progressToken":"p"},"name"`, 1)
	return asked(c, http.MethodPost, body, headers)
}

// After the block of a client is visible, no byte of a result, of a notification or of a question
// is sent to it, whatever it has begun before, and each request gets the same 403. Another client
// gets all of its results.
func TestBlockedClientGetsNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan, wrong := newBlockPlan(rt), ""
		synctest.Test(t, func(t *testing.T) { wrong = plan.run(t) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}
