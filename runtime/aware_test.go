package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestSurfaceIsWhatTheHostLetsTheCallerDo(t *testing.T) {
	t.Parallel()
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
		"root_Admin": "device_change device_find device_get device_wipe export status whoami | " +
			"triage | dcim://devices dcim://sites/{id}",
		"root_":     "export status whoami | triage | dcim://devices dcim://sites/{id}",
		"":          "status |  | ",
		"eve_Admin": "status |  | ", // no user of the host: as anonymous
	} {
		for _, era := range eras {
			session := connectHTTP(t, url, token, era)
			if got := surfaceOf(t, session); got != want {
				t.Errorf("%s, %s: %s", token, era, got)
			}
		}
	}
}

// list ≡ what can be used ≡ the host's own answer, for random hosts, roles and scopes, and for
// tools, prompts and resources in every era.
func TestListCallAndHostAgree(t *testing.T) {
	t.Parallel()
	source := identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		role, scope, _ := strings.Cut(token, "_")
		p := access.Principal{Issuer: "test", Subject: "sub-ada", User: "ada", Role: role}
		if scope != "" {
			p.Scopes = []string{scope}
		}
		return identity.Identity{Principal: p}, nil
	}, identity.NamesUsers())
	all := []string{"dcim.view_device", "dcim.change_device", "dcim.wipe_device", "dcim.view_site",
		"billing.export"}
	exemptions := []string{"exempt * *", "exempt dcim.device view", "exempt dcim.device *",
		"exempt * view", "exempt billing export", "exempt billing *", "exempt dcim.site change"}
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		h := newHost(nil)
		h.set("ada")
		s := newServer(t, runtime.Options{Host: runtime.HostOptions{Source: h}, Identity: source,
			Access: runtime.AccessOptions{Denial: denial}}, scopedStock())
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
			exempt := rapid.SliceOfNDistinct(rapid.SampledFrom(exemptions), 0, 2,
				rapid.ID[string]).Draw(rt, "exempt")
			h.set("ada", append(permissions, exempt...)...)
			s.InvalidateCapabilities(runtime.OfUser("ada"))
			client.token = role + "_" + scope
			// The host in other words: what each tool needs, and who has it.
			free := func(words ...string) bool {
				return slices.ContainsFunc(words, func(w string) bool {
					return slices.Contains(exempt, "exempt "+w)
				})
			}
			view := free("* *", "dcim.device view", "dcim.device *", "* view")
			rank := slices.Index(access.DefaultRoles(), role)
			want := map[string]bool{
				"device_change": rank >= 1 && (held["dcim.change_device"] == 2 ||
					free("* *", "dcim.device *")),
				"device_find": rank >= 0 && (held["dcim.view_device"] > 0 || view),
				"device_get":  rank >= 0 && (held["dcim.view_device"] == 2 || view),
				"device_wipe": rank >= 3 && (held["dcim.wipe_device"] == 2 ||
					free("* *", "dcim.device *")),
				"export": held["billing.export"] == 2 || free("* *", "billing export",
					"billing *"),
				"status": true,
				"whoami": true,
			}
			site := held["dcim.view_site"] == 2 || free("* *", "* view")
			want["move"] = scope == "move" && site
			agree := func(list, use, key string, want map[string]bool) {
				listed := client.ask(t, list, "", nil).body
				for name, may := range want {
					if got := strings.Contains(listed, key+`:"`+name+`"`); got != may {
						rt.Fatalf("%s as %q with %v: listed %v: %s", name, client.token,
							permissions, got, listed)
					}
					params, used := `"name":"`+name+`"`, strings.Replace(name, "{id}", "7", 1)
					switch use {
					case "tools/call":
						params += `,"arguments":{}`
					case "resources/read":
						params = `"uri":"` + used + `"`
					}
					answer := client.ask(t, use, params, nameOf(client.era, used))
					if got := answer.status == http.StatusOK && strings.Contains(answer.body,
						`"result"`) && !strings.Contains(answer.body, "isError"); got != may {
						rt.Fatalf("%s as %q with %v: used %v: %s", name, client.token, permissions,
							got, answer)
					}
				}
			}
			agree("tools/list", "tools/call", `"name"`, want)
			agree("prompts/list", "prompts/get", `"name"`,
				map[string]bool{"triage": held["dcim.view_device"] == 2 || view,
					"plan": want["move"]})
			agree("resources/list", "resources/read", `"uri"`,
				map[string]bool{"dcim://devices": held["dcim.view_device"] > 0 || view,
					"dcim://routes": want["move"]})
			agree("resources/templates/list", "resources/read", `"uriTemplate"`,
				map[string]bool{"dcim://sites/{id}": site})
		})
	}
}

func TestConstraintsReachHandlersThatHonourThem(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("bob", "dcim.view_device?")
	h.set("ada", "dcim.view_device")
	h.set("root", "exempt * *", "dcim.view_device?")
	url := serve(t, aware(t, h, runtime.Options{
		Access: runtime.AccessOptions{Denial: access.Forbid}}))
	for token, want := range map[string]string{"bob_Viewer": `{"constraints":["{\"site\":\"a\"}"]}`,
		"ada_Viewer": `{"constraints":[]}`, "root_Viewer": `{"constraints":[]}`} {
		session := connectHTTP(t, url, token, "")
		for range 2 { // the first handler writes to what it got
			res, err := session.CallTool(context.Background(),
				&mcp.CallToolParams{Name: "device_find"})
			if err != nil || mcptest.Text(res) != want {
				t.Errorf("%s: %v, %s", token, err, mcptest.Text(res))
			}
		}
	}
	session := connectHTTP(t, url, "bob_Viewer", "")
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "device_get"})
	if err != nil ||
		mcptest.Text(
			res) != `403 Forbidden: tool "device_get" needs permission dcim.view_device without constraints` {
		t.Errorf("%v, %s", err, mcptest.Text(res))
	}
	read, err := session.ReadResource(context.Background(),
		&mcp.ReadResourceParams{URI: "dcim://devices"})
	if err != nil || read.Contents[0].Text != `[{"site":"a"}]` {
		t.Errorf("%v, %+v", err, read)
	}
}

// Each message of a caller reads the host once, whatever it is about, over both transports. A
// message about a hidden tool costs the same as one about a tool that does not exist.
func TestEachMessageReadsTheHostOnce(t *testing.T) {
	t.Parallel()
	type message struct{ method, name, params string }
	const unknown = "nothing/at/all"
	messages := []message{
		{"tools/list", "", ""},
		{"tools/call", "device_find", `"name":"device_find","arguments":{}`}, // constrained
		{"tools/call", "status", `"name":"status","arguments":{}`},
		{"tools/call", "device_change", `"name":"device_change","arguments":{}`}, // hidden
		{"tools/call", "device_wipe", `"name":"device_wipe","arguments":{}`},     // forbidden
		{"tools/call", "nothing", `"name":"nothing","arguments":{}`},
		{"prompts/list", "", ""},
		{"prompts/get", "triage", `"name":"triage"`},
		{"prompts/get", "nothing", `"name":"nothing"`},
		{"resources/list", "", ""},
		{"resources/templates/list", "", ""},
		{"resources/read", "dcim://devices", `"uri":"dcim://devices"`},
		{"resources/read", "dcim://sites/1", `"uri":"dcim://sites/1"`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"triage"},` +
			`"argument":{"name":"a","value":"b"}`},
		{unknown, "", ""},
	}
	for _, era := range eras {
		all := messages
		if era != "2026-07-28" {
			all = append(slices.Clone(all), message{"ping", "", ""},
				message{"logging/setLevel", "", `"level":"error"`})
		} else {
			// In a session, another catalog has the client checked as well.
			all = append(slices.Clone(all), message{"server/discover", "", ""},
				message{"tools/list", "", `"catalog":"kit"`})
		}
		h := newHost(nil)
		h.set("ada", "dcim.view_device?")
		s := aware(t, h, runtime.Options{Anonymous: true})
		url := serve(t, s)
		ada := access.Principal{Issuer: "test", Subject: "sub-ada", User: "ada", Role: "Admin"}
		for name, c := range map[string]*listener{
			"http":  overHTTP(t, url, "ada_Admin", era),
			"stdio": overPipe(t, s, ada, era),
		} {
			for _, m := range all {
				before := h.times("ada")
				c.ask(t, m.method, m.name, m.params)
				if n := h.times("ada") - before; n != 1 {
					t.Errorf("%s, %s: %d queries for %v", era, name, n, m)
				}
			}
		}
		nobody := overHTTP(t, url, "", era)
		before := len(h.asked)
		for _, m := range all {
			nobody.ask(t, m.method, m.name, m.params)
		}
		if len(h.asked) != before || h.times("") != 0 {
			t.Errorf("%s: an anonymous caller reads the host: %v", era, h.asked)
		}
	}
}

// A caller whose user is gone costs one query too, and so do the messages of a session that are no
// request.
func TestRefusedAndOtherMessagesReadTheHostOnce(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{})
	one := func(what string, send func()) {
		t.Helper()
		before := h.times("ada")
		if send(); h.times("ada") != before+1 {
			t.Errorf("%s: %d queries", what, h.times("ada")-before)
		}
	}
	url := serve(t, s)
	session, modern := newRaw(t, url, "ada_Viewer", "2025-11-25"),
		newRaw(t, url, "ada_Viewer", "2026-07-28")
	stdio := map[string]*listener{}
	for _, era := range eras {
		stdio[era] = overPipe(t, s, access.Principal{Subject: "sub-ada", User: "ada"}, era)
		stdio[era].call(t, "device_get", "{}") // a server on stdio does not start without the user
	}
	one("a notification", func() {
		session.send(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled",`+
			`"params":{"requestId":7}}`, nil)
	})
	h.remove("ada")
	one("HTTP", func() { modern.call(t, "device_get", `,"arguments":{}`, nil) })
	one("a session", func() { session.call(t, "device_get", `,"arguments":{}`, nil) })
	for _, era := range eras {
		one("stdio, "+era, func() {
			if got := stdio[era].call(t, "device_get", "{}").response(t); got.Error == nil {
				t.Errorf("%s: %s", era, got.text)
			}
		})
	}
	h.set("ada", "dcim.view_device")
	one("the end of the session", func() { session.send(t, http.MethodDelete, "", nil) })
}

func TestRevokedPermissionIsGoneWithTheNextMessage(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{})
	url := serve(t, s)
	for _, era := range eras {
		ada := access.Principal{Issuer: "test", Subject: "sub-ada", User: "ada", Role: "Viewer"}
		for name, c := range map[string]*listener{
			"http":  overHTTP(t, url, "ada_Viewer", era),
			"stdio": overPipe(t, s, ada, era),
		} {
			use := func(held bool) {
				t.Helper()
				for _, m := range []struct{ method, name, params string }{
					{"tools/list", "", ""},
					{"tools/call", "device_get", `"name":"device_get","arguments":{}`},
					{"prompts/get", "triage", `"name":"triage"`},
					{"resources/read", "dcim://devices", `"uri":"dcim://devices"`},
				} {
					got := c.ask(t, m.method, m.name, m.params).response(t)
					if may := got.Error == nil && (m.method != "tools/list" ||
						strings.Contains(got.text, "device_get")); may != held {
						t.Errorf("%s, %s: held %v: %s", era, name, held, got.text)
					}
				}
			}
			for _, held := range []bool{true, false, true} {
				if h.set("ada"); held {
					h.set("ada", "dcim.view_device")
				}
				use(held)
			}
		}
	}
}

// slowHost holds each query of ada's back after it has read the permissions.
type slowHost struct {
	*fakeHost
	read, release chan struct{}
	running, most atomic.Int32
}

func (h *slowHost) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	set, err := h.fakeHost.Capabilities(ctx, p)
	if p.User != "ada" { // the check at start
		return set, err
	}
	h.most.Store(max(h.most.Load(), h.running.Add(1)))
	defer h.running.Add(-1)
	select {
	case h.read <- struct{}{}:
	default: // the test waits for the first one
	}
	<-h.release
	return set, err
}

// A message does not share the query of an earlier message that still runs: that query may have
// read a permission that the host has taken away since. There is one query at a time all the same.
func TestMessageDoesNotShareAQueryFromBeforeIt(t *testing.T) {
	t.Parallel()
	h := &slowHost{fakeHost: newHost(nil), read: make(chan struct{}, 1),
		release: make(chan struct{})}
	h.set("ada", "dcim.view_device")
	url := serve(t, newServer(t, runtime.Options{Host: runtime.HostOptions{Source: h},
		Identity: identity.Bearer(func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Subject: "sub-ada", User: "ada",
				Role: "Viewer"}}, nil
		}, identity.NamesUsers())}, stock()))
	call := func() reply {
		return newRaw(t, url, "ada_Viewer", "2026-07-28").call(t, "device_get", `,"arguments":{}`,
			nil)
	}
	first := make(chan reply, 1)
	go func() { first <- call() }()
	<-h.read
	h.set("ada")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got := call(); !strings.Contains(got.body, "unknown tool") {
				t.Errorf("a message after the change: %s", got)
			}
		})
	}
	before := h.times("ada")
	close(h.release)
	if got := <-first; !strings.Contains(got.body, "constraints") {
		t.Errorf("the message before the change: %s", got)
	}
	wg.Wait()
	if n := h.times("ada") - before; n == 0 || n > 20 || h.most.Load() != 1 {
		t.Errorf("%d queries, %d at a time", n, h.most.Load())
	}
}

// In versions with sessions a call goes on when its connection has ended, also while the host is
// read.
func TestCallInASessionGoesOnWhenItsClientLeavesTheHostsQuery(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	events := make(chan audit.Event, 10)
	s := aware(t, h, runtime.Options{Audit: runtime.AuditOptions{Sink: audit.SinkFunc(
		func(_ context.Context, e audit.Event) error {
			if e.Type == audit.ToolCalled {
				events <- e
			}
			return nil
		})}})
	gone, handler := make(chan struct{}), s.Handler()
	url := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Leaves") != "" {
			context.AfterFunc(r.Context(), func() { close(gone) })
		}
		handler.ServeHTTP(w, r)
	}))
	defer url.Close()
	c := newRaw(t, url.URL+s.Path(), "ada_Viewer", "2025-11-25")
	reading, release := make(chan struct{}), make(chan struct{})
	h.failing(func(context.Context) error {
		close(reading)
		<-release
		return nil
	})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", c.url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"device_get"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"X-Leaves": "yes", "Mcp-Session-Id": c.session,
		"Authorization": "Bearer " + c.token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream"} {
		req.Header.Set(name, value)
	}
	go func() {
		<-reading
		leave()
		<-gone
		h.failing(nil)
		close(release)
	}()
	if _, err := http.DefaultClient.Do(req); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if e := <-events; e.Failure != "" {
		t.Errorf("%+v", e)
	}
}

func TestOneCapabilityQueryForEachIdentityAndPeriod(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	url := serve(t, aware(t, h, runtime.Options{Host: runtime.HostOptions{TTL: time.Minute}}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			session := connectHTTP(t, url, "ada_Viewer", "")
			for range 5 {
				mcptest.Tools(t, session)
				if _, err := session.CallTool(context.Background(),
					&mcp.CallToolParams{Name: "device_get"}); err != nil {
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
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{Host: runtime.HostOptions{TTL: time.Hour}})
	url := serve(t, s)
	for _, era := range eras {
		h.set("ada", "dcim.view_device")
		s.InvalidateCapabilities(nil)
		c := newRaw(t, url, "ada_Viewer", era)
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body,
			"constraints") {
			t.Fatalf("%s", got)
		}
		h.set("ada")
		s.InvalidateCapabilities(runtime.OfUser("ada"))
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body,
			"unknown tool") {
			t.Errorf("%s: the next request: %s", era, got)
		}
		h.remove("ada")
		s.InvalidateCapabilities(nil)
		if got := c.call(t, "device_get", `,"arguments":{}`,
			nil); got.status != http.StatusForbidden {
			t.Errorf("%s: a user that is gone: %s", era, got)
		}
	}
}

func TestLostPermissionIsGoneWithinTheCachePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.set("ada", "dcim.view_device")
		const period = time.Minute
		url := serve(t, aware(t, h, runtime.Options{Host: runtime.HostOptions{TTL: period}}))
		c := newRaw(t, url, "ada_Viewer", "2026-07-28")
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body,
			"constraints") {
			t.Fatalf("%s", got)
		}
		h.set("ada")
		time.Sleep(period)
		if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body,
			"unknown tool") {
			t.Errorf("after the period: %s", got)
		}
	})
}

func TestPermissionLostDuringACallIsDecidedAgain(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	var s *runtime.Server
	middleware := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if m.Method == "tools/call" || m.Method == "prompts/get" {
				h.set("ada")
				s.InvalidateCapabilities(nil)
			}
			return next(ctx, m)
		}
	}
	s = aware(t, h, runtime.Options{Interceptors: []intercept.Middleware{middleware}})
	url := serve(t, s)
	for _, use := range []struct{ method, params, name string }{{"tools/call",
		`"name":"device_get","arguments":{}`, "device_get"}, {"prompts/get", `"name":"triage"`,
		"triage"}} {
		h.set("ada", "dcim.view_device")
		s.InvalidateCapabilities(nil)
		if got := newRaw(t, url, "ada_Viewer", "2026-07-28").ask(t, use.method, use.params,
			nameOf("2026-07-28", use.name)); !strings.Contains(got.body, "unknown") {
			t.Errorf("%s: %s", use.method, got)
		}
	}
}

// What is left of an earlier run may ask who called while a later one is decided. It finds its own
// caller.
func TestCallerOfALeftOverGoroutineIsItsOwn(t *testing.T) {
	t.Parallel()
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
	middleware := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if m.Method != "tools/call" {
				return next(ctx, m)
			}
			left(ctx, "middleware")
			if _, err := next(ctx, m); err != nil {
				return nil, err
			}
			h.remove("ada") // the second run finds nobody
			s.InvalidateCapabilities(nil)
			return next(ctx, m)
		}
	}
	s = newServer(t, runtime.Options{Host: runtime.HostOptions{Source: h}, Identity: hosted(),
		Anonymous: true, Interceptors: []intercept.Middleware{middleware}},
		toolset.NewToolset(toolset.Generated{
			Package: "x", Server: toolset.ServerInfo{Name: "x", Version: "1"},
			Table: access.Table{Rules: []access.Rule{{Tool: "look", Public: true}}},
			Tools: []toolset.Tool{{Name: "look", Input: `{"type":"object"}`,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					p, _ := runtime.Caller(ctx)
					if !p.Anonymous() {
						left(ctx, "handler")
					}
					return toolset.Structured(map[string]bool{"anonymous": p.Anonymous()}, nil)
				}}},
		}))
	got := newRaw(t, serve(t, s), "ada_Viewer", "2026-07-28").call(t, "look", `,"arguments":{}`,
		nil)
	close(stop)
	wg.Wait()
	if !strings.Contains(got.body, `"anonymous":true`) {
		t.Errorf("%s", got)
	}
}

func TestHostThatFailsDeniesAndIsReportedInLogAndAuditOnly(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(context.Context) error{
		"an error":              func(context.Context) error { return errors.New("secret reason") },
		"a panic":               func(context.Context) error { panic("secret reason") },
		"the end of its thread": func(context.Context) error { goruntime.Goexit(); return nil },
		"no answer":             nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			if name == "no answer" {
				fail = func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(time.Second)
					return nil
				}
			}
			h := newHost(nil)
			h.set("ada", "exempt * *")
			var events []audit.Event
			var mu sync.Mutex
			var log lockedBuffer
			s := aware(t, h, runtime.Options{
				Access: runtime.AccessOptions{Denial: access.Forbid},
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
				Audit: runtime.AuditOptions{
					Sink: audit.SinkFunc(func(_ context.Context, e audit.Event) error {
						mu.Lock()
						defer mu.Unlock()
						events = append(events, e)
						return nil
					})},
			})
			h.failing(fail)
			c := newRaw(t, serve(t, s), "ada_Admin", "2026-07-28")
			list := c.ask(t, "tools/list", "", nil)
			if !strings.Contains(list.body, `"status"`) || strings.Contains(list.body, "whoami") ||
				strings.Contains(list.body, "device") {
				t.Errorf("%s: %s", name, list)
			}
			got := c.call(t, "device_get", `,"arguments":{}`, nil)
			if !strings.Contains(got.body,
				`403 Forbidden: tool \"device_get\" needs permission dcim.view_device"`) ||
				strings.Contains(got.body, "could not") {
				t.Errorf("%s: %s", name, got)
			}
			if public := c.call(t, "status", `,"arguments":{}`, nil); !strings.Contains(public.body,
				"constraints") {
				t.Errorf("%s: %s", name, public)
			}
			mu.Lock()
			e := events[1]
			mu.Unlock()
			if e.Principal != "sub-ada" || e.Axis != "permission" ||
				e.Missing != "needs permission dcim.view_device; the host's permissions could not be "+
					"read" {
				t.Errorf("%s: %+v", name, e)
			}
			if !strings.Contains(log.String(), "the host's permissions could not be read") {
				t.Errorf("%s: %s", name, log.String())
			}
			h.failing(nil)
			time.Sleep(time.Minute) // a query from before may still take until its end
			if got := c.call(t, "device_get", `,"arguments":{}`, nil); !strings.Contains(got.body,
				"constraints") {
				t.Errorf("%s: once it answers again: %s", name, got)
			}
		})
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

func TestHandshakeDeclaresChangesForEverybodyAlike(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "exempt * *")
	h.set("bob")
	url := serve(t, aware(t, h, runtime.Options{}))
	var bodies []string
	for _, token := range []string{"ada_Admin", "bob_"} {
		c := &raw{url: url, token: token, era: "2026-07-28"}
		bodies = append(bodies, c.ask(t, "server/discover", "", nil).body)
		capabilities := connectHTTP(t, url, token, "2025-11-25").InitializeResult().Capabilities
		if !capabilities.Tools.ListChanged || !capabilities.Prompts.ListChanged ||
			!capabilities.Resources.ListChanged || capabilities.Resources.Subscribe {
			raw, _ := json.Marshal(capabilities)
			t.Errorf("%s", raw)
		}
	}
	if bodies[0] != bodies[1] || strings.Count(bodies[0], `"listChanged":true`) != 3 {
		t.Errorf("%s", bodies)
	}
}
