package runtime_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// fakeHost is a host in memory.
type fakeHost struct {
	mu    sync.Mutex
	users map[string]capability.Set
	asked map[string]int
	fail  func(context.Context) error // runs before each answer
}

func newHost(users map[string]capability.Set) *fakeHost {
	return &fakeHost{users: maps.Clone(users), asked: map[string]int{}}
}

func (h *fakeHost) set(user string, permissions ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == nil {
		h.users = map[string]capability.Set{}
	}
	h.users[user] = permissionsOf(permissions...)
}

func (h *fakeHost) remove(user string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.users, user)
}

func (h *fakeHost) failing(fail func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail = fail
}

func (h *fakeHost) times(user string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[user]
}

func (h *fakeHost) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	h.mu.Lock()
	fail := h.fail
	h.asked[p.User]++
	h.mu.Unlock()
	if fail != nil {
		if err := fail(ctx); err != nil {
			return capability.Set{}, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	set, ok := h.users[p.User]
	if !ok {
		return capability.Set{}, fmt.Errorf("user %q: %w", p.User, capability.ErrNoUser)
	}
	return set, nil
}

func (h *fakeHost) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.users[p.User]; !ok {
		return capability.User{}, capability.ErrNoUser
	}
	return capability.User{ID: "7", Name: p.User}, nil
}

func (h *fakeHost) MapAction(permission string) (string, error) { return permission, nil }

// permissionsOf are a host's permissions: "x" for all objects, "x?" under a constraint, "exempt object action".
func permissionsOf(permissions ...string) capability.Set {
	var set capability.Set
	for _, p := range permissions {
		if words := strings.Fields(p); words[0] == "exempt" {
			set.Exempt(words[1], words[2])
		} else if name, ok := strings.CutSuffix(p, "?"); ok {
			set.Add(name, capability.Constraint(`{"site":"a"}`))
		} else {
			set.Add(p)
		}
	}
	return set
}

func permission(s string) access.Permission {
	if s == "none" {
		return access.NoPermission
	}
	app, rest, _ := strings.Cut(s, ".")
	action, object, _ := strings.Cut(rest, "_")
	return access.Permission{App: app, Action: action, Object: object}
}

// stock is a toolset whose rules name permissions.
func stock() runtime.Toolset { return runtime.NewToolset(stockGenerated()) }

func stockGenerated() runtime.Generated {
	call := func(ctx context.Context, _ runtime.Call) (runtime.Result, error) {
		constraints := []string{}
		own := capability.Constraints(ctx)
		for i, c := range own {
			constraints = append(constraints, string(c))
			if len(c) > 0 {
				c[0] = 'X' // what a handler does to its own is nobody else's
			}
			own[i] = capability.Constraint("Y")
		}
		return runtime.Structured(map[string]any{"constraints": constraints}, nil)
	}
	g := runtime.Generated{
		Package: "example.com/stock", Server: runtime.ServerInfo{Name: "stock", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{
			{Tool: "device_change", MinRole: member, Permission: permission("dcim.change_device")},
			{Tool: "device_find", MinRole: viewer, Permission: permission("dcim.view_device"), Constrained: true},
			{Tool: "device_get", MinRole: viewer, Permission: permission("dcim.view_device")},
			{Tool: "device_wipe", MinRole: admin, Permission: permission("dcim.wipe_device"), Denial: access.Forbid},
			{Tool: "export", Permission: permission("billing.export")},
			{Tool: "status", Public: true},
			{Tool: "whoami", Authenticated: true, Permission: access.NoPermission},
		}, Prompts: []access.Rule{
			{Prompt: "triage", Permission: permission("dcim.view_device")},
		}, Resources: []access.Rule{
			{Resource: "dcim://devices", Permission: permission("dcim.view_device"), Constrained: true},
			{Resource: "dcim://sites/{id}", Permission: permission("dcim.view_site")},
		}},
	}
	for _, rule := range g.Table.Rules {
		g.Tools = append(g.Tools, runtime.Tool{Name: rule.Tool, Input: anyInput, Call: call})
	}
	g.Prompts = []runtime.Prompt{{Name: "triage", Get: func(context.Context, runtime.Call) (runtime.PromptAnswer, error) {
		return runtime.PromptText("look", nil)
	}}}
	read := func(ctx context.Context, _ runtime.Call) (runtime.ResourceAnswer, error) {
		return runtime.ResourceText(fmt.Sprintf("%s", capability.Constraints(ctx)), nil)
	}
	g.Resources = []runtime.Resource{
		{URI: "dcim://devices", Name: "devices", Read: read},
		{URI: "dcim://sites/{id}", Name: "site", Read: read, Variables: []runtime.Variable{{Name: "id"}}},
	}
	return g
}

// hosted are callers whose tokens say all: "user_role", or of a client itself "any_role_client", or of a
// person who comes by one and has no user "any_role_client_person".
func hosted() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		parts := strings.Split(token, "_")
		p := access.Principal{Issuer: "test", Subject: "sub-" + parts[0], User: parts[0], Role: parts[1]}
		if len(parts) > 2 {
			p.User, p.Client = "", parts[2]
		}
		return identity.Identity{Principal: p, ClientItself: len(parts) == 3}, nil
	}, identity.NamesUsers())
}

// aware makes a permission-aware server of the stock.
func aware(t testing.TB, h *fakeHost, options runtime.Options) *runtime.Server {
	t.Helper()
	options.PermissionAware, options.Capabilities = true, h
	if options.Identity == nil {
		options.Identity = hosted()
	}
	return newServer(t, options, stock())
}

func TestSurfaceIsWhatTheHostLetsTheCallerDo(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device", "dcim.change_device")
	h.set("bob", "dcim.view_device?", "exempt billing export")
	h.set("root", "exempt * *")
	url := serve(t, aware(t, h, runtime.Options{Anonymous: true}))
	for token, want := range map[string]string{
		"ada_Admin":  "device_change device_find device_get status whoami | triage | dcim://devices",
		"ada_Viewer": "device_find device_get status whoami | triage | dcim://devices",
		"ada_":       "status whoami | triage | dcim://devices",
		"bob_Admin":  "device_find export status whoami |  | dcim://devices",
		"root_Admin": "device_change device_find device_get device_wipe export status whoami | triage | dcim://devices dcim://sites/{id}",
		"root_":      "export status whoami | triage | dcim://devices dcim://sites/{id}",
		"":           "status |  | ",
		"eve_Admin":  "status |  | ", // no user of the host: as anonymous
	} {
		for _, era := range eras {
			session := connectHTTP(t, url, token, era)
			if got := surfaceOf(t, session); got != want {
				t.Errorf("%s, %s: %s", token, era, got)
			}
		}
	}
}

func surfaceOf(t testing.TB, session *mcp.ClientSession) string {
	t.Helper()
	ctx := context.Background()
	var prompts, uris []string
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, p.Name)
	}
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URITemplate)
	}
	return strings.Join(mcptest.Tools(t, session), " ") + " | " + strings.Join(prompts, " ") + " | " + strings.Join(uris, " ")
}

// scopedStock is the stock with a tool, a prompt and a resource more, which ask for scopes as well.
func scopedStock() runtime.Toolset {
	g := stockGenerated()
	needs := access.Rule{Scopes: []string{"move"}, Permission: permission("dcim.view_site")}
	move, plan, routes := needs, needs, needs
	move.Tool, plan.Prompt, routes.Resource = "move", "plan", "dcim://routes"
	g.Table.Rules = append(g.Table.Rules, move)
	slices.SortFunc(g.Table.Rules, func(a, b access.Rule) int { return strings.Compare(a.Tool, b.Tool) })
	g.Table.Prompts = append([]access.Rule{plan}, g.Table.Prompts...)
	g.Table.Resources = append(g.Table.Resources, routes)
	slices.SortFunc(g.Table.Resources, func(a, b access.Rule) int { return strings.Compare(a.Resource, b.Resource) })
	g.Tools = append(g.Tools, runtime.Tool{Name: "move", Input: anyInput, Call: g.Tools[0].Call})
	g.Prompts = append(g.Prompts, runtime.Prompt{Name: "plan", Get: g.Prompts[0].Get})
	g.Resources = append(g.Resources, runtime.Resource{URI: "dcim://routes", Name: "routes", Read: g.Resources[0].Read})
	return runtime.NewToolset(g)
}

// list ≡ what can be used ≡ the host's own answer, for random hosts, roles and scopes, and for tools, prompts
// and resources in every era.
func TestListCallAndHostAgree(t *testing.T) {
	source := identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		role, scope, _ := strings.Cut(token, "_")
		p := access.Principal{Issuer: "test", Subject: "sub-ada", User: "ada", Role: role}
		if scope != "" {
			p.Scopes = []string{scope}
		}
		return identity.Identity{Principal: p}, nil
	}, identity.NamesUsers())
	all := []string{"dcim.view_device", "dcim.change_device", "dcim.wipe_device", "dcim.view_site", "billing.export"}
	exemptions := []string{"exempt * *", "exempt dcim.device view", "exempt dcim.device *", "exempt * view", "exempt billing export", "exempt billing *", "exempt dcim.site change"}
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		h := newHost(nil)
		h.set("ada")
		s := newServer(t, runtime.Options{PermissionAware: true, Capabilities: h, Identity: source, Denial: denial}, scopedStock())
		url := serve(t, s)
		var clients []*raw
		for _, era := range eras {
			clients = append(clients, newRaw(t, url, "Viewer_", era))
		}
		rapid.Check(t, func(rt *rapid.T) {
			client := rapid.SampledFrom(clients).Draw(rt, "client")
			scope := rapid.SampledFrom([]string{"", "move", "moved"}).Draw(rt, "scope")
			role := rapid.SampledFrom(append(access.DefaultRoles(), "")).Draw(rt, "role")
			held := map[string]int{} // 1 under a constraint, 2 without
			var permissions []string
			for _, p := range all {
				switch held[p] = rapid.IntRange(0, 2).Draw(rt, p); held[p] {
				case 1:
					permissions = append(permissions, p+"?")
				case 2:
					permissions = append(permissions, p)
				}
			}
			exempt := rapid.SliceOfNDistinct(rapid.SampledFrom(exemptions), 0, 2, rapid.ID[string]).Draw(rt, "exempt")
			h.set("ada", append(permissions, exempt...)...)
			s.InvalidateCapabilities(runtime.OfUser("ada"))
			client.token = role + "_" + scope
			// The host in other words: what each tool needs, and who has it.
			free := func(words ...string) bool {
				return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(exempt, "exempt "+w) })
			}
			view := free("* *", "dcim.device view", "dcim.device *", "* view")
			rank := slices.Index(access.DefaultRoles(), role)
			want := map[string]bool{
				"device_change": rank >= 1 && (held["dcim.change_device"] == 2 || free("* *", "dcim.device *")),
				"device_find":   rank >= 0 && (held["dcim.view_device"] > 0 || view),
				"device_get":    rank >= 0 && (held["dcim.view_device"] == 2 || view),
				"device_wipe":   rank >= 3 && (held["dcim.wipe_device"] == 2 || free("* *", "dcim.device *")),
				"export":        held["billing.export"] == 2 || free("* *", "billing export", "billing *"),
				"status":        true,
				"whoami":        true,
			}
			site := held["dcim.view_site"] == 2 || free("* *", "* view")
			want["move"] = scope == "move" && site
			agree := func(list, use, key string, want map[string]bool) {
				listed := client.ask(t, list, "", nil).body
				for name, may := range want {
					if got := strings.Contains(listed, key+`:"`+name+`"`); got != may {
						rt.Fatalf("%s as %q with %v: listed %v: %s", name, client.token, permissions, got, listed)
					}
					params, used := `"name":"`+name+`"`, strings.Replace(name, "{id}", "7", 1)
					switch use {
					case "tools/call":
						params += `,"arguments":{}`
					case "resources/read":
						params = `"uri":"` + used + `"`
					}
					answer := client.ask(t, use, params, nameOf(client.era, used))
					if got := answer.status == http.StatusOK && strings.Contains(answer.body, `"result"`) && !strings.Contains(answer.body, "isError"); got != may {
						rt.Fatalf("%s as %q with %v: used %v: %s", name, client.token, permissions, got, answer)
					}
				}
			}
			agree("tools/list", "tools/call", `"name"`, want)
			agree("prompts/list", "prompts/get", `"name"`, map[string]bool{"triage": held["dcim.view_device"] == 2 || view, "plan": want["move"]})
			agree("resources/list", "resources/read", `"uri"`, map[string]bool{"dcim://devices": held["dcim.view_device"] > 0 || view, "dcim://routes": want["move"]})
			agree("resources/templates/list", "resources/read", `"uriTemplate"`, map[string]bool{"dcim://sites/{id}": site})
		})
	}
}

func TestConstraintsReachHandlersThatHonourThem(t *testing.T) {
	h := newHost(nil)
	h.set("bob", "dcim.view_device?")
	h.set("ada", "dcim.view_device")
	h.set("root", "exempt * *", "dcim.view_device?")
	url := serve(t, aware(t, h, runtime.Options{Denial: access.Forbid}))
	for token, want := range map[string]string{"bob_Viewer": `{"constraints":["{\"site\":\"a\"}"]}`, "ada_Viewer": `{"constraints":[]}`, "root_Viewer": `{"constraints":[]}`} {
		session := connectHTTP(t, url, token, "")
		for range 2 { // the first handler writes to what it got
			res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "device_find"})
			if err != nil || mcptest.Text(res) != want {
				t.Errorf("%s: %v, %s", token, err, mcptest.Text(res))
			}
		}
	}
	session := connectHTTP(t, url, "bob_Viewer", "")
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "device_get"})
	if err != nil || mcptest.Text(res) != `403 Forbidden: tool "device_get" needs permission dcim.view_device without constraints` {
		t.Errorf("%v, %s", err, mcptest.Text(res))
	}
	read, err := session.ReadResource(context.Background(), &mcp.ReadResourceParams{URI: "dcim://devices"})
	if err != nil || read.Contents[0].Text != `[{"site":"a"}]` {
		t.Errorf("%v, %+v", err, read)
	}
}

func TestOneCapabilityQueryForEachIdentityAndPeriod(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	url := serve(t, aware(t, h, runtime.Options{}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			session := connectHTTP(t, url, "ada_Viewer", "")
			for range 5 {
				mcptest.Tools(t, session)
				if _, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "device_get"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := h.times("ada"); n != 1 {
		t.Errorf("the host was asked %d times", n)
	}
}

func TestLostPermissionIsGoneAfterInvalidation(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{})
	url := serve(t, s)
	for _, era := range eras {
		h.set("ada", "dcim.view_device")
		s.InvalidateCapabilities(nil)
		c := newRaw(t, url, "ada_Viewer", era)
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body, "constraints") {
			t.Fatalf("%s", got)
		}
		h.set("ada")
		s.InvalidateCapabilities(runtime.OfUser("ada"))
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body, "unknown tool") {
			t.Errorf("%s: the next request: %s", era, got)
		}
		h.remove("ada")
		s.InvalidateCapabilities(nil)
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); got.status != http.StatusForbidden {
			t.Errorf("%s: a user that is gone: %s", era, got)
		}
	}
}

func TestLostPermissionIsGoneWithinTheCachePeriod(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	const period = 20 * time.Millisecond
	url := serve(t, aware(t, h, runtime.Options{CapabilityTTL: period}))
	c := newRaw(t, url, "ada_Viewer", "2026-07-28")
	if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body, "constraints") {
		t.Fatalf("%s", got)
	}
	h.set("ada")
	time.Sleep(period)
	if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body, "unknown tool") {
		t.Errorf("after the period: %s", got)
	}
}

func TestPermissionLostDuringACallIsDecidedAgain(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	var s *runtime.Server
	middleware := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/call" || method == "prompts/get" {
				h.set("ada")
				s.InvalidateCapabilities(nil)
			}
			return next(ctx, method, req)
		}
	}
	s = aware(t, h, runtime.Options{Middleware: []mcp.Middleware{middleware}})
	url := serve(t, s)
	for _, use := range []struct{ method, params, name string }{{"tools/call", `"name":"device_get","arguments":{}`, "device_get"}, {"prompts/get", `"name":"triage"`, "triage"}} {
		h.set("ada", "dcim.view_device")
		s.InvalidateCapabilities(nil)
		if got := newRaw(t, url, "ada_Viewer", "2026-07-28").ask(t, use.method, use.params, nameOf("2026-07-28", use.name)); !strings.Contains(got.body, "unknown") {
			t.Errorf("%s: %s", use.method, got)
		}
	}
}

// What is left of an earlier run may ask who called while a later one is decided. It finds its own caller.
func TestCallerOfALeftOverGoroutineIsItsOwn(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	var s *runtime.Server
	var wg sync.WaitGroup
	stop := make(chan struct{})
	left := func(ctx context.Context, who string) {
		began := make(chan struct{})
		wg.Go(func() {
			for first := true; ; first = false {
				if p, ok := runtime.Caller(ctx); !ok || p.Subject != "sub-ada" || p.Permits == nil {
					t.Errorf("%s: %v, %+v", who, ok, p)
				}
				if first {
					close(began)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		<-began
	}
	middleware := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != "tools/call" {
				return next(ctx, method, req)
			}
			left(ctx, "middleware")
			if _, err := next(ctx, method, req); err != nil {
				return nil, err
			}
			h.remove("ada") // the second run finds nobody
			s.InvalidateCapabilities(nil)
			return next(ctx, method, req)
		}
	}
	s = newServer(t, runtime.Options{PermissionAware: true, Capabilities: h, Identity: hosted(), Anonymous: true, Middleware: []mcp.Middleware{middleware}},
		runtime.NewToolset(runtime.Generated{
			Package: "x", Server: runtime.ServerInfo{Name: "x", Version: "1"},
			Table: access.Table{Rules: []access.Rule{{Tool: "look", Public: true}}},
			Tools: []runtime.Tool{{Name: "look", Input: `{"type":"object"}`, Call: func(ctx context.Context, _ runtime.Call) (runtime.Result, error) {
				p, _ := runtime.Caller(ctx)
				if !p.Anonymous() {
					left(ctx, "handler")
				}
				return runtime.Structured(map[string]bool{"anonymous": p.Anonymous()}, nil)
			}}},
		}))
	got := newRaw(t, serve(t, s), "ada_Viewer", "2026-07-28").call(t, "look", `,"arguments":{}`, nil)
	close(stop)
	wg.Wait()
	if !strings.Contains(got.body, `"anonymous":true`) {
		t.Errorf("%s", got)
	}
}

func TestHostThatFailsDeniesAndSaysSoInLogAndAuditOnly(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"an error":              func(context.Context) error { return errors.New("secret reason") },
		"a panic":               func(context.Context) error { panic("secret reason") },
		"the end of its thread": func(context.Context) error { goruntime.Goexit(); return nil },
		"no answer":             func(ctx context.Context) error { <-ctx.Done(); time.Sleep(20 * time.Millisecond); return nil },
	} {
		timeout := runtime.DefaultCapabilityTimeout
		if name == "no answer" {
			timeout = 250 * time.Millisecond
		}
		h := newHost(nil)
		h.set("ada", "exempt * *")
		var events []audit.Event
		var mu sync.Mutex
		var log lockedBuffer
		s := aware(t, h, runtime.Options{
			CapabilityTimeout: timeout, Denial: access.Forbid, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Audit: audit.SinkFunc(func(_ context.Context, e audit.Event) error {
				mu.Lock()
				defer mu.Unlock()
				events = append(events, e)
				return nil
			}),
		})
		h.failing(fail)
		c := newRaw(t, serve(t, s), "ada_Admin", "2026-07-28")
		list := c.ask(t, "tools/list", "", nil)
		if !strings.Contains(list.body, `"status"`) || strings.Contains(list.body, "whoami") || strings.Contains(list.body, "device") {
			t.Errorf("%s: %s", name, list)
		}
		got := c.call(t, "device_get", `,"arguments":{}`, nil)
		if !strings.Contains(got.body, `403 Forbidden: tool \"device_get\" needs permission dcim.view_device"`) || strings.Contains(got.body, "could not") {
			t.Errorf("%s: %s", name, got)
		}
		if public := c.call(t, "status", `,"arguments":{}`, nil); !strings.Contains(public.body, "constraints") {
			t.Errorf("%s: %s", name, public)
		}
		mu.Lock()
		e := events[1]
		mu.Unlock()
		if e.Principal != "sub-ada" || e.Axis != "permission" || e.Missing != "needs permission dcim.view_device; the host's permissions could not be read" {
			t.Errorf("%s: %+v", name, e)
		}
		if !strings.Contains(log.String(), "the host's permissions could not be read") {
			t.Errorf("%s: %s", name, log.String())
		}
		h.failing(nil)
		for runtime.Asking(s) > 0 { // a question from before may still take until its end
			time.Sleep(time.Millisecond)
		}
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body, "constraints") {
			t.Errorf("%s: once it answers again: %s", name, got)
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestIdentityWithoutAHostUserIsNeverServedByRole(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "exempt * *")
	var log lockedBuffer
	url := serve(t, aware(t, h, runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	for _, token := range []string{"eve_Admin", "_Admin"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			c := &raw{url: url, token: token}
			if got := c.send(t, method, c.request("tools/list", ""), nil); got.status != http.StatusForbidden || got.body != "forbidden\n" {
				t.Errorf("%s %s: %s", method, token, got)
			}
		}
	}
	if !strings.Contains(log.String(), "an identity has no user of the host") || !strings.Contains(log.String(), "principal=sub-eve") {
		t.Errorf("%s", log.String())
	}
	// On stdio the server refuses to start; a user that goes away later is refused.
	s := aware(t, h, runtime.Options{Logger: quiet()})
	if err := s.RunIO(context.Background(), strings.NewReader(""), io.Discard, access.Principal{Subject: "eve", User: "eve", Role: "Admin"}); err == nil ||
		err.Error() != `the principal "eve" cannot be served with Options.PermissionAware: the host has no active user "eve" (no such user in the host): correct the name, or make the user in the host` {
		t.Errorf("%v", err)
	}
	session := connectIO(t, s, access.Principal{Subject: "ada", User: "ada", Role: "Admin"}, "")
	if got := len(mcptest.Tools(t, session)); got != 7 {
		t.Errorf("%d tools", got)
	}
	h.remove("ada")
	s.InvalidateCapabilities(nil)
	if _, err := session.ListTools(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("%v", err)
	}
}

func TestServiceUsersAreUsersOfTheirClients(t *testing.T) {
	h := newHost(nil)
	h.set("svc", "dcim.view_device")
	h.set("svc-test", "billing.export")
	h.set("ada", "exempt * *")
	url := serve(t, aware(t, h, runtime.Options{ServiceUsers: []runtime.ServiceUser{
		{Client: "ci", User: "svc"}, {Client: "ci", Issuer: "test", User: "svc-test"}, {Client: "cron", User: "svc"}, {Client: "night", Issuer: "other", User: "svc"},
	}}))
	for token, want := range map[string]string{
		"x_Viewer_ci":   "export status whoami",
		"x_Viewer_cron": "device_find device_get status whoami",
	} {
		if got := strings.Join(mcptest.Tools(t, connectHTTP(t, url, token, "")), " "); got != want {
			t.Errorf("%s: %s", token, got)
		}
	}
	for _, token := range []string{"x_Viewer_night", "x_Viewer_CI", "_Viewer"} { // another issuer's, another case, a subject that is called as nothing
		c := &raw{url: url, token: token, era: "2026-07-28"}
		if got := c.ask(t, "tools/list", "", nil); got.status != http.StatusForbidden {
			t.Errorf("%s: %s", token, got)
		}
	}
}

// A token that names no user, or one that does not count, may be anybody's who signs in by the client.
func TestPeopleWhoComeByAClientAreNotItsServiceUser(t *testing.T) {
	h := newHost(nil)
	h.set("svc", "dcim.view_device")
	h.set("svc-own", "billing.export")
	s := aware(t, h, runtime.Options{ServiceUsers: []runtime.ServiceUser{
		{Client: "ci", User: "svc"}, {Client: "kiosk", User: "svc", Delegated: true},
		{Client: "both", User: "svc", Delegated: true}, {Client: "both", Issuer: "test", User: "svc-own"},
	}})
	url := serve(t, s)
	for token, want := range map[string]string{
		"x_Viewer_ci":           "device_find device_get status whoami",
		"x_Viewer_ci_person":    "",
		"x_Viewer_kiosk":        "device_find device_get status whoami",
		"x_Viewer_kiosk_person": "device_find device_get status whoami",
		"x_Viewer_both":         "export status whoami",
		"x_Viewer_both_person":  "", // the entry that names the issuer stands first, and is for the client alone
	} {
		if want == "" {
			c := &raw{url: url, token: token, era: "2026-07-28"}
			if got := c.ask(t, "tools/list", "", nil); got.status != http.StatusForbidden {
				t.Errorf("%s: %s", token, got)
			}
			continue
		}
		if got := strings.Join(mcptest.Tools(t, connectHTTP(t, url, token, "")), " "); got != want {
			t.Errorf("%s: %s", token, got)
		}
	}
	// Where the program wrote the principal down, one whose subject is its client is the client.
	for p, want := range map[*access.Principal]bool{{Subject: "ci", Client: "ci"}: true, {Subject: "ada", Client: "ci"}: false} {
		e := s.Explain(context.Background(), *p, "whoami")
		err := s.RunIO(context.Background(), strings.NewReader(""), io.Discard, *p)
		if e.Allowed != want || (err == nil) != want {
			t.Errorf("%s: %v, %s", p.Subject, err, e)
		}
	}
}

func TestHandshakeDeclaresChangesForEverybodyAlike(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "exempt * *")
	h.set("bob")
	url := serve(t, aware(t, h, runtime.Options{}))
	var bodies []string
	for _, token := range []string{"ada_Admin", "bob_"} {
		c := &raw{url: url, token: token, era: "2026-07-28"}
		bodies = append(bodies, c.ask(t, "server/discover", "", nil).body)
		capabilities := connectHTTP(t, url, token, "2025-11-25").InitializeResult().Capabilities
		if !capabilities.Tools.ListChanged || !capabilities.Prompts.ListChanged || !capabilities.Resources.ListChanged || capabilities.Resources.Subscribe {
			raw, _ := json.Marshal(capabilities)
			t.Errorf("%s", raw)
		}
	}
	if bodies[0] != bodies[1] || strings.Count(bodies[0], `"listChanged":true`) != 3 {
		t.Errorf("%s", bodies)
	}
}

// What the host does not let a caller do is to that caller what does not exist.
func TestWhatTheHostHidesIsByteForByteUnknown(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.change_device")
	h.set("bob", "dcim.view_device?")
	s := aware(t, h, runtime.Options{Anonymous: true})
	url := serve(t, s)
	compared := 0
	for _, era := range eras {
		for token, hidden := range map[string][]string{"ada_Admin": {"device_get", "device_find", "export"}, "bob_Admin": {"device_get"}, "eve_Admin": {"whoami", "device_get"}, "": {"whoami"}} {
			c := newRaw(t, url, token, era)
			for _, tool := range hidden {
				for _, v := range variants {
					unknown := tool[:len(tool)-1] + "_"
					got := c.call(t, tool, v.rest, v.headers).String()
					want := strings.ReplaceAll(c.call(t, unknown, v.rest, v.headers).String(), unknown, tool)
					if compared++; got != want {
						t.Errorf("%s as %q, %s, %s:\n%s\nunknown:\n%s", tool, token, era, v.name, got, want)
					}
				}
			}
		}
		c := newRaw(t, url, "ada_Admin", era)
		for _, use := range []struct{ method, hidden, unknown, from, to string }{
			{"prompts/get", `"name":"triage"`, `"name":"triag_"`, "triag_", "triage"},
			{"resources/read", `"uri":"dcim://devices"`, `"uri":"dcim://device_"`, "dcim://device_", "dcim://devices"},
			{"resources/read", `"uri":"dcim://sites/7"`, `"uri":"dcim://site_/7"`, "dcim://site_/7", "dcim://sites/7"},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"triage"},"argument":{"name":"a","value":""}`, `"ref":{"type":"ref/prompt","name":"triag_"},"argument":{"name":"a","value":""}`, "triag_", "triage"},
		} {
			headers := func(name string) map[string]string {
				if use.method == "completion/complete" {
					return nil
				}
				return nameOf(era, name)
			}
			got := c.ask(t, use.method, use.hidden, headers(use.to)).String()
			want := strings.ReplaceAll(c.ask(t, use.method, use.unknown, headers(use.from)).String(), use.from, use.to)
			if compared++; got != want {
				t.Errorf("%s, %s:\n%s\nunknown:\n%s", use.hidden, era, got, want)
			}
		}
	}
	t.Logf("%d answers compared", compared)
}

// The same where refusals may be challenges: nobody is told of scopes who lacks the permission as well, or
// whose permissions are not known.
func TestWhatTheHostHidesIsByteForByteUnknownUnderChallenge(t *testing.T) {
	call := func(context.Context, runtime.Call) (runtime.Result, error) {
		return runtime.Structured(map[string]any{}, nil)
	}
	g := runtime.Generated{
		Package: "x", Server: runtime.ServerInfo{Name: "x", Version: "1"},
		Table: access.Table{Rules: []access.Rule{
			{Tool: "none", Scopes: []string{"w"}, Permission: access.NoPermission},
			{Tool: "view", Scopes: []string{"w"}, Permission: permission("dcim.view_device"), Denial: access.Challenge},
			{Tool: "wipe", Scopes: []string{"w"}, Permission: permission("dcim.wipe_device")},
		}},
	}
	for _, rule := range g.Table.Rules {
		g.Tools = append(g.Tools, runtime.Tool{Name: rule.Tool, Input: anyInput, Call: call})
	}
	h := newHost(nil)
	h.set("ada", "dcim.view_device?")
	s := newServer(t, runtime.Options{PermissionAware: true, Capabilities: h, Identity: hosted(), Anonymous: true, Denial: access.Challenge}, runtime.NewToolset(g))
	url := serve(t, s)
	for _, well := range []bool{true, false} {
		for _, era := range eras {
			for _, token := range []string{"ada_Viewer", "eve_Viewer", ""} {
				c := newRaw(t, url, token, era)
				for _, tool := range []string{"wipe", "view", "none"} {
					unknown := tool[:len(tool)-1] + "_"
					got := c.call(t, tool, "", nil).String()
					want := strings.ReplaceAll(c.call(t, unknown, "", nil).String(), unknown, tool)
					// ada lacks nothing but the scope for none: that much she may be told.
					if told := well && token == "ada_Viewer" && tool == "none"; (got != want) != told {
						t.Errorf("%s %q %s, well %v: %s", era, token, tool, well, got)
					}
				}
			}
		}
		h.failing(func(context.Context) error { return errors.New("down") })
		s.InvalidateCapabilities(nil)
	}
}

func TestWhatTheHostHidesIsByteForByteUnknownOnStdio(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.change_device")
	s := aware(t, h, runtime.Options{Anonymous: true})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.RunIO(context.Background(), in, out, access.Principal{Subject: "ada", User: "ada", Role: "Admin"})
	}()
	answers := bufio.NewScanner(fromServer)
	talk := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil || !answers.Scan() {
			t.Fatalf("%s: %v", line, err)
		}
		return answers.Text()
	}
	for _, era := range []string{"2026-07-28", "2025-11-25"} {
		if era != "2026-07-28" {
			talk(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + era + `","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		}
		c := &raw{era: era}
		compare := func(method, params, name string) {
			t.Helper()
			unknown := name[:len(name)-1] + "_"
			got := talk(c.request(method, strings.ReplaceAll(params, "NAME", name)))
			want := strings.ReplaceAll(talk(c.request(method, strings.ReplaceAll(params, "NAME", unknown))), unknown, name)
			if got != want || !strings.Contains(got, `"error"`) {
				t.Errorf("%s %s:\n%s\nunknown:\n%s", era, method, got, want)
			}
		}
		for _, tool := range []string{"device_get", "device_find", "export"} {
			for _, v := range variants {
				compare("tools/call", `"name":"NAME"`+v.rest, tool)
			}
		}
		compare("prompts/get", `"name":"NAME"`, "triage")
		compare("resources/read", `"uri":"NAME"`, "dcim://devices")
		compare("completion/complete", `"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"a","value":""}`, "triage")
	}
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// An identity without a user is an anonymous caller to the handler, to the audit and to everything else.
func TestIdentityWithoutAHostUserIsAnonymousWhereverItIsSeen(t *testing.T) {
	var mu sync.Mutex
	var events []audit.Event
	var callers []access.Principal
	call := func(ctx context.Context, _ runtime.Call) (runtime.Result, error) {
		p, _ := runtime.Caller(ctx)
		mu.Lock()
		defer mu.Unlock()
		callers = append(callers, p)
		return runtime.Structured(map[string]any{}, nil)
	}
	s := newServer(t, runtime.Options{
		PermissionAware: true, Capabilities: newHost(nil), Identity: hosted(), Anonymous: true,
		Audit: audit.SinkFunc(func(_ context.Context, e audit.Event) error {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, e)
			return nil
		}),
	}, toolset([]runtime.Tool{{Name: "look", Input: anyInput, Call: call}}, access.Rule{Tool: "look", Public: true}))
	url := serve(t, s)
	for _, era := range eras {
		newRaw(t, url, "eve_Admin", era).call(t, "look", `,"arguments":{}`, nil)
	}
	if len(callers) != len(eras) || len(events) != len(eras) {
		t.Fatalf("%d callers, %d events", len(callers), len(events))
	}
	for i := range eras {
		if e := events[i]; !callers[i].IsZero() || e.Principal != "" || e.Issuer != "" || e.Client != "" || e.Role != "" {
			t.Errorf("%s: %+v, %+v", eras[i], callers[i], e)
		}
	}
}

// What a source says that the host lets a caller do counts for nothing, least of all where the host is silent.
func TestPermitsOfASourceAreNone(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	var all *access.Permits
	s := aware(t, h, runtime.Options{Identity: identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", User: "ada", Role: "Admin", Permits: all}}, nil
	}, identity.NamesUsers())})
	all = s.Table().Permits(func(access.Kind, access.Rule) access.Permit { return access.PermitAll })
	url := serve(t, s)
	p := access.Principal{Subject: "ada", User: "ada", Role: "Admin", Permits: all}
	for _, want := range []string{"device_find device_get status whoami", "status"} {
		if got := strings.Join(mcptest.Tools(t, connectHTTP(t, url, "x", "2026-07-28")), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := newRaw(t, url, "x", "2026-07-28").call(t, "device_wipe", `,"arguments":{}`, nil); strings.Contains(got.body, "constraints") {
			t.Errorf("%s", got)
		}
		if e := s.Explain(context.Background(), p, "export"); e.Allowed {
			t.Errorf("%s", e)
		}
		h.failing(func(context.Context) error { return errors.New("down") })
		s.InvalidateCapabilities(nil)
	}
}

func TestDecisionsAreTracedAtDebugLevelOnly(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var log lockedBuffer
		s := aware(t, h, runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))})
		c := newRaw(t, serve(t, s), "ada_Viewer", "2026-07-28")
		if got := c.call(t, "export", "", nil); strings.Contains(got.body, "billing") {
			t.Errorf("the caller is told: %s", got)
		}
		if got := strings.Contains(log.String(), "permission fails: needs billing.export, has none"); got != want {
			t.Errorf("%v: traced %v:\n%s", level, got, log.String())
		}
	}
}
