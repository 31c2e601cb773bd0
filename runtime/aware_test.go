package runtime_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// list ≡ what can be used ≡ the host's own answer, for random hosts, roles and scopes, and for
// tools, prompts and resources in every era.
func TestListCallAndHostAgree(t *testing.T) {
	t.Parallel()
	source := identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		role, scope, _ := strings.Cut(token, "_")
		p := access.Principal{Issuer: "test", Subject: "sub-ada", User: "ada", Roles: []string{role}}
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
			role := rapid.SampledFrom(append(access.DefaultRoles()[0], "")).Draw(rt, "role")
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
			rank := slices.Index(access.DefaultRoles()[0], role)
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

// What a source says that the host lets a caller do counts for nothing, least of all where the host
// is silent.
func TestPermitsOfASourceAreNone(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	var all *access.Permits
	s := aware(t, h, runtime.Options{Identity: identity.Bearer(func(context.Context,
		string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", User: "ada",
			Roles: []string{"Admin"}, Permits: all}}, nil
	}, identity.NamesUsers())})
	all = s.Table().Permits(func(access.Kind, access.Rule) access.Permit {
		return access.PermitAll
	})
	url := serve(t, s)
	p := access.Principal{Subject: "ada", User: "ada", Roles: []string{"Admin"}, Permits: all}
	for _, want := range []string{"device_find device_get status whoami", "status"} {
		if got := strings.Join(mcptest.Tools(t, connectHTTP(t, url, "x", "2026-07-28")),
			" "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := newRaw(t, url, "x", "2026-07-28").call(t, "device_wipe", `,"arguments":{}`,
			nil); strings.Contains(got.body, "constraints") {
			t.Errorf("%s", got)
		}
		if e := s.Explain(context.Background(), p, "export"); e.Allowed {
			t.Errorf("%s", e)
		}
		h.failing(func(context.Context) error { return errors.New("down") })
		s.InvalidateCapabilities(nil)
	}
}
