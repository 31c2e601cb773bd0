package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// A tool that is switched off answers as one that never was, to everybody, however refusals look.
func TestToolThatIsOffIsByteForByteUnknown(t *testing.T) {
	t.Parallel()
	for _, options := range []runtime.Options{{Anonymous: true},
		{Anonymous: true, Access: runtime.AccessOptions{Denial: access.Forbid}}, {Anonymous: true,
			Access: runtime.AccessOptions{Denial: access.Challenge}},
		{Anonymous: true, Lists: runtime.ListOptions{ListAll: true}}} {
		source := &shelf{off: []string{"create", "get_public_info", "route", "never_was"}}
		options.Catalogs.Source = source
		s := newServer(t, options, directory(&desk{}), headerTool())
		endpoint := serve(t, s)
		for _, era := range eras {
			for _, user := range callers {
				c := newRaw(t, endpoint, tokens[user], era)
				if got := c.ask(t, "tools/list", "", nil); strings.Contains(got.body, "create") ||
					strings.Contains(got.body, "get_public_info") {
					t.Errorf("%s, %q: %s", era, user, got)
				}
				for _, tool := range []string{"create", "get_public_info", "route"} {
					unknown := strings.Repeat("x", len(tool))
					for _, v := range variants {
						off, other := c.call(t, tool, v.rest, v.headers), c.call(t, unknown, v.rest,
							v.headers)
						other.body = strings.ReplaceAll(other.body, unknown, tool)
						if off.String() != other.String() ||
							!strings.Contains(off.body, "unknown tool") {
							t.Errorf("%s, %q, %s with %s:\n%s\nan unknown tool:\n%s", era, user,
								tool, v.name, off, other)
						}
					}
				}
			}
		}
	}
}

func TestToolThatIsSwitchedOnAgainIsAsItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, sink := &shelf{}, &kept{}
		s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Audit: runtime.AuditOptions{Sink: sink}}, directory(&desk{}))
		session := connectHTTP(t, serve(t, s), tokens["Admin"], "2026-07-28")
		call := func() error {
			_, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_all"})
			return err
		}
		for range 3 {
			source.turnOff("get_all")
			synctest.Wait()
			if slices.Contains(mcptest.Tools(t, session), "get_all") {
				t.Error("the tool is on")
			}
			if err := call(); err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("%v", err)
			}
			source.turnOff()
			synctest.Wait()
			if got := mcptest.Tools(t, session); !slices.Equal(got, all) {
				t.Errorf("listed are %q", got)
			}
			if err := call(); err != nil {
				t.Error(err)
			}
		}
		refused := 0
		for _, e := range sink.events() {
			if e.Type == audit.ToolCalled && e.Failure == audit.Denied {
				refused++
				if e.Axis != string(access.AxisUnknown) || e.Missing != "the tool is switched off" {
					t.Errorf("%+v", e)
				}
			}
		}
		if refused != 3 {
			t.Errorf("%d refusals are recorded", refused)
		}
	})
}

// The tool is decided again when the client has answered.
func TestToolThatIsSwitchedOffWhileTheCallerIsAskedRunsNoMore(t *testing.T) {
	t.Parallel()
	for _, era := range eras[1:] {
		synctest.Test(t, func(t *testing.T) {
			source := &shelf{}
			runs := 0
			tool := toolset.Tool{Name: "ask", SDK: true, Input: `{"type":"object"}`,
				Call: func(_ context.Context, c toolset.Call) (toolset.Result, error) {
					runs++
					if len(toolset.Request[mcp.CallToolRequest](c).Params.InputResponses) > 0 {
						return toolset.Done(nil)
					}
					return toolset.Native(&mcp.CallToolResult{
						InputRequests: mcp.InputRequestMap{
							"ok": &mcp.ElicitParams{
								Message: "sure?", RequestedSchema: map[string]any{"type": "object"}}}},
						nil, nil)
				}}
			s := newServer(t, runtime.Options{
				Catalogs: runtime.CatalogOptions{Source: source}}, toolsetOf([]toolset.Tool{tool}))
			client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult,
					error) {
					source.turnOff("ask")
					if synctest.Wait(); len(s.Visible(principalOf("Admin"))) > 0 {
						t.Error("the tool is on")
					}
					return &mcp.ElicitResult{Action: "accept"}, nil
				},
			})
			session, err := client.Connect(context.Background(),
				&mcp.StreamableClientTransport{Endpoint: serve(t, s), HTTPClient: clientOf("Admin"),
					MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			_, err = session.CallTool(context.Background(), &mcp.CallToolParams{Name: "ask"})
			if err == nil || !strings.Contains(err.Error(), "unknown tool") || runs != 1 {
				t.Errorf("%s: %v after %d runs", era, err, runs)
			}
			_ = session.Close()
		})
	}
}

func TestSwitchesThatAreReloadedCountAtOnce(t *testing.T) {
	t.Parallel()
	source := &shelf{}
	s := newServer(t, runtime.Options{
		Catalogs: runtime.CatalogOptions{Source: source}}, directory(&desk{}))
	for range 100 {
		for _, off := range []string{"create", ""} {
			source.mu.Lock()
			source.off = []string{off} // without a notification
			source.mu.Unlock()
			if err := s.ReloadSwitches(t.Context()); err != nil ||
				slices.Contains(s.Visible(principalOf("Admin")), "create") == (off != "") {
				t.Fatalf("%q is off, and seen is %v, %v", off, s.Visible(principalOf("Admin")), err)
			}
		}
	}
	source.failing(func(context.Context) error { return errors.New("away") })
	if err := s.ReloadSwitches(t.Context()); err == nil {
		t.Error("a source that fails is not told")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ReloadSwitches(ended); err == nil {
		t.Error("what nobody waits for is done")
	}
	if err := newServer(t, runtime.Options{},
		directory(&desk{})).ReloadSwitches(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSwitchesThatCannotBeReadStayAsTheyWere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, log := &shelf{off: []string{"create"}}, &journal{}
		s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Logger: log.logger()},
			directory(&desk{}))
		shutDown(t, s)
		synctest.Wait()
		source.failing(func(context.Context) error { return errors.New("away") })
		source.turnOff("create", "update")
		synctest.Wait()
		if !strings.Contains(log.String(), "cannot read which tools are switched off") {
			t.Errorf("%s", log)
		}
		if got := s.Visible(principalOf("Admin")); slices.Contains(got, "create") ||
			!slices.Contains(got, "update") {
			t.Errorf("%v", got)
		}
		source.failing(nil)
		time.Sleep(time.Minute) // the server tries again
		if slices.Contains(s.Visible(principalOf("Admin")), "update") {
			t.Error("the switches are not read once the source answers")
		}
	})
}

func TestSourceThatFallsSilentIsListenedToAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, log := &shelf{}, &journal{}
		s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Logger: log.logger()},
			directory(&desk{}))
		shutDown(t, s)
		subscribers := func() int {
			source.mu.Lock()
			defer source.mu.Unlock()
			return len(source.channels)
		}
		if synctest.Wait(); subscribers() != 1 {
			t.Fatal("the server does not subscribe")
		}
		source.silence()
		if time.Sleep(time.Minute); subscribers() != 1 {
			t.Fatal("the server does not subscribe again")
		}
		source.turnOff("update")
		if synctest.Wait(); slices.Contains(s.Visible(principalOf("Admin")), "update") {
			t.Error("the change is not noticed")
		}
		if !strings.Contains(log.String(),
			"the source of catalogs stopped reporting changes; the server subscribes again") {
			t.Error(log)
		}
	})
}

// notifiedAre checks which clients were notified that their tools have changed.
func notifiedAre(t *testing.T, clients map[string]*watchClient, after string, want ...string) {
	t.Helper()
	for who, c := range clients {
		wanted := []string(nil)
		if slices.Contains(want, who) {
			wanted = []string{"tools"}
		}
		if got := c.notified(); !slices.Equal(got, wanted) {
			t.Errorf("after %s, %s is notified of %q", after, who, got)
		}
	}
}

func TestSessionsThatASwitchConcernsAreNotifiedAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			source := &shelf{}
			s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
				Anonymous: true,
				Identity:  bothWays()}, directory(&desk{}))
			endpoint := serve(t, s)
			clients := map[string]*watchClient{
				"an admin":          listening(t, s, endpoint, "token-admin", era),
				"a viewer":          listening(t, s, endpoint, "token-viewer", era),
				"an anonymous user": listening(t, s, endpoint, "", era)}
			notifiedAre(t, clients, era+": the start")
			source.turnOff("get_public_info")
			notifiedAre(t, clients, era+": a public tool is off", "an admin", "a viewer",
				"an anonymous user")
			source.turnOff()
			notifiedAre(t, clients, era+": it is on again", "an admin", "a viewer",
				"an anonymous user")
			source.turnOff("update")
			notifiedAre(t, clients, era+": update is off", "an admin")
			source.turnOff("update", "get_all")
			notifiedAre(t, clients, era+": get_all is off too", "an admin", "a viewer")
			source.turnOff("update", "get_all", "no_such_tool")
			notifiedAre(t, clients, era+": an unknown tool is off too")
		})
	}
}

func TestSessionsThatACatalogConcernsAreNotifiedAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			source := kits()
			s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
				Identity: bothWays()},
				directory(&desk{}))
			endpoint := serve(t, s)
			clients := map[string]*watchClient{
				"reader": listening(t, s, endpoint+"?catalog=reading", "token-admin", era),
				"writer": listening(t, s, endpoint+"?catalog=writing", "token-admin", era),
				"whole":  listening(t, s, endpoint, "token-admin", era),
				"viewer": listening(t, s, endpoint+"?catalog=reading", "token-viewer", era)}
			notifiedAre(t, clients, era+": the start")
			source.put("1", shelved{name: "reading",
				tools: []string{"get_all", "get_by_id", "update"}})
			notifiedAre(t, clients, era+": a tool that readers see, if they are admins", "reader")
			source.put("1", shelved{})
			notifiedAre(t, clients, era+": the catalog is gone, and the list is whole", "reader",
				"viewer")
			source.put("1", shelved{name: "reading", tools: []string{"get_all"}})
			notifiedAre(t, clients, era+": the catalog is back", "reader", "viewer")
			source.turnOff("create")
			notifiedAre(t, clients, era+": a tool is off that one catalog has", "writer", "whole")
		})
	}
}

// TestChangeThatTheSourceCannotBeQueriedAboutIsSentLater holds that nothing is lost while a source
// does not answer.
func TestChangeThatTheSourceCannotBeQueriedAboutIsSentLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := kits()
		s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Identity: bothWays()},
			directory(&desk{}))
		reader := listening(t, s, serve(t, s)+"?catalog=reading", "token-admin", "2025-11-25")
		reader.notified()
		source.failing(func(context.Context) error { return errors.New("away") })
		source.put("1", shelved{name: "reading", tools: []string{"get_all"}})
		time.Sleep(10 * time.Minute)
		if got := reader.notified(); got != nil {
			t.Errorf("%q have changed while the source does not answer", got)
		}
		source.failing(nil)
		time.Sleep(time.Minute) // the server tries again
		if got := reader.notified(); !slices.Equal(got, []string{"tools"}) {
			t.Errorf("%q have changed", got)
		}
	})
}

func TestAdminsAreShownWhatIsOffByExplanationsOnly(t *testing.T) {
	t.Parallel()
	source := &shelf{off: []string{"update"}}
	s := newServer(t, runtime.Options{
		Catalogs: runtime.CatalogOptions{Source: source}}, directory(&desk{}))
	e := s.Explain(context.Background(), principalOf("Admin"), "update")
	if !e.Off || e.Allowed || e.Listed || !strings.Contains(e.String(),
		"the tool is switched off") || !strings.Contains(e.String(), "denied") {
		t.Errorf("%s", e)
	}
	if e := s.Explain(context.Background(), principalOf("Admin"), "create"); e.Off || !e.Allowed {
		t.Errorf("%s", e)
	}
}

var _ catalog.Source = (*shelf)(nil)

// What changes while no credential of a session is valid is notified once there is one again.
func TestChangeBetweenTwoTokensIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, life := &shelf{}, map[string]time.Duration{"first": time.Minute, "second": time.Hour}
		s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Identity: identity.Bearer(func(_ context.Context,
				token string) (identity.Identity, error) {
				return identity.Identity{Principal: principalOf("Admin"),
					Expires: time.Now().Add(life[token])}, nil
			})}, directory(&desk{}))
		// whose stream opens with a token that goes on holding
		c := listening(t, s, serve(t, s), "second", "2025-11-25")
		c.notified()
		c.token.Store("first")
		mcptest.Tools(t, c.ClientSession)
		time.Sleep(life["first"])
		source.turnOff("get_all")
		if got := c.notified(); got != nil {
			t.Errorf("a session whose credential has ended is notified of %q", got)
		}
		c.token.Store("second")
		mcptest.Tools(t, c.ClientSession)
		if got := c.notified(); !slices.Equal(got, []string{"tools"}) {
			t.Errorf("%q have changed", got)
		}
	})
}

// counted counts the questions for catalogs.
type counted struct {
	*shelf
	n atomic.Int64
}

func (a *counted) Catalog(ctx context.Context, p access.Principal,
	ref catalog.Ref) (catalog.Found, error) {
	a.n.Add(1)
	return a.shelf.Catalog(ctx, p, ref)
}

func TestManyChangesOfCatalogsAreLookedAtTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &counted{shelf: kits()}
		s := newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Anonymous: true,
			Identity:  bothWays()}, directory(&desk{}))
		endpoint := serve(t, s)
		const sessions = 10
		for range sessions {
			newRaw(t, endpoint, "", "2025-11-25").ask(t, "tools/list", `"catalog":"reading"`, nil)
		}
		time.Sleep(time.Minute) // for the queries of these lists
		before := source.n.Load()
		for n := range 100 {
			source.put("9", shelved{name: fmt.Sprint("of somebody ", n), owner: "else"})
		}
		time.Sleep(time.Minute)
		if queries := source.n.Load() - before; queries == 0 || queries > 3*sessions {
			t.Errorf("100 changes at once lead to %d queries for %d sessions", queries, sessions)
		}
	})
}

func TestLossOfChangesIsLoggedOnceAndSoIsTheirReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, log := kits(), &journal{}
		shutDown(t, newServer(t, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Logger: log.logger()},
			directory(&desk{})))
		synctest.Wait()
		source.send(catalog.Change{Deaf: true})
		source.send(catalog.Change{Tools: true, Catalogs: true})
		source.send(catalog.Change{Tools: true})
		synctest.Wait()
		const lost, found = "the source of catalogs and switches lost its connection; " +
			"it reconnects, and the server uses the last state",
			"the source of catalogs and switches is connected again"
		if text := log.String(); strings.Count(text, lost) != 1 ||
			strings.Count(text, found) != 1 {
			t.Error(text)
		}
	})
}
