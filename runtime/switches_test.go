package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
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
	for _, options := range []runtime.Options{{Anonymous: true},
		{Anonymous: true, Denial: access.Forbid}, {Anonymous: true, Denial: access.Challenge},
		{Anonymous: true, ListAll: true}} {
		source := &shelf{off: []string{"create", "get_public_info", "route", "never_was"}}
		options.Catalogs = source
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
	source, sink := &shelf{}, &kept{}
	s := newServer(t, runtime.Options{Catalogs: source, Audit: sink}, directory(&desk{}))
	session := connectHTTP(t, serve(t, s), tokens["Admin"], "2026-07-28")
	call := func() error {
		_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "get_all"})
		return err
	}
	for range 3 {
		source.turnOff("get_all")
		soon(t, "the tool is off", func() bool {
			return !slices.Contains(mcptest.Tools(t, session), "get_all")
		})
		if err := call(); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%v", err)
		}
		source.turnOff()
		soon(t, "the tool is on", func() bool {
			return slices.Equal(mcptest.Tools(t, session), all)
		})
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
}

// The tool is decided again where go-sdk calls a handler behind the guard's back.
func TestToolThatIsSwitchedOffWhileTheCallerIsAskedRunsNoMore(t *testing.T) {
	for _, era := range eras[1:] {
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
		s := newServer(t, runtime.Options{Catalogs: source}, toolsetOf([]toolset.Tool{tool}))
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult,
				error) {
				source.turnOff("ask")
				soon(t, "the tool is off", func() bool {
					return len(s.Visible(principalOf("Admin"))) == 0
				})
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
	}
}

func TestSwitchesThatAreReloadedCountAtOnce(t *testing.T) {
	source := &shelf{}
	s := newServer(t, runtime.Options{Catalogs: source}, directory(&desk{}))
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
	source, log := &shelf{off: []string{"create"}}, &journal{}
	s := newServer(t, runtime.Options{Catalogs: source, Logger: log.logger()}, directory(&desk{}))
	source.failing(func(context.Context) error { return errors.New("away") })
	source.turnOff("create", "update")
	soon(t, "it is logged", func() bool {
		return strings.Contains(log.String(), "cannot read which tools are switched off")
	})
	if got := s.Visible(principalOf("Admin")); slices.Contains(got, "create") ||
		!slices.Contains(got, "update") {
		t.Errorf("%v", got)
	}
	source.failing(nil)
	soon(t, "the switches are read once the source answers", func() bool {
		return !slices.Contains(s.Visible(principalOf("Admin")), "update")
	})
}

func TestSourceThatFallsSilentIsListenedToAgain(t *testing.T) {
	t.Parallel()
	source, log := &shelf{}, &journal{}
	s := newServer(t, runtime.Options{Catalogs: source, Logger: log.logger()}, directory(&desk{}))
	receives := func(n int) bool {
		source.mu.Lock()
		defer source.mu.Unlock()
		return len(source.channels) == n
	}
	soon(t, "the server listens", func() bool { return receives(1) })
	source.silence()
	soon(t, "the server listens again", func() bool { return receives(1) })
	source.turnOff("update")
	soon(t, "the change is heard", func() bool {
		return !slices.Contains(s.Visible(principalOf("Admin")), "update")
	})
	if !strings.Contains(log.String(),
		"the source of catalogs stopped reporting changes; the server subscribes again") {
		t.Error(log)
	}
}

// quietFor is how long a client that must hear nothing is listened to.
const quietFor = 300 * time.Millisecond

func (c *watchClient) silent(t testing.TB, who string) {
	t.Helper()
	select {
	case kind := <-c.kinds:
		t.Errorf("%s was told that %s have changed", who, kind)
	case <-time.After(quietFor):
	}
}

// receives waits until a client receives notifications, by a switch that concerns it.
func (c *watchClient) receives(t testing.TB, source *shelf, tool string) {
	t.Helper()
	for n := range 400 {
		if n%2 == 0 {
			source.turnOff(tool)
		} else {
			source.turnOff()
		}
		select {
		case <-c.kinds:
			source.turnOff()
			c.drain()
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("the client receives nothing")
}

func TestSessionsThatASwitchConcernsAreNotifiedAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		source := &shelf{}
		s := newServer(t, runtime.Options{Catalogs: source, Anonymous: true, Identity: bothWays()},
			directory(&desk{}))
		endpoint := serve(t, s)
		admin, viewer, nobody := listening(t, s, endpoint, "token-admin", era),
			listening(t, s, endpoint, "token-viewer", era), listening(t, s, endpoint, "", era)
		for _, c := range []*watchClient{admin, viewer, nobody} {
			c.receives(t, source, "get_public_info")
		}
		for _, c := range []*watchClient{admin, viewer, nobody} {
			c.drain()
		}
		source.turnOff("update")
		if got := admin.next(t); got != "tools" {
			t.Errorf("%s: the admin was told of %s", era, got)
		}
		viewer.silent(t, era+": a viewer, who never saw update,")
		source.turnOff("update", "get_all")
		admin.next(t)
		viewer.next(t)
		nobody.silent(t, era+": somebody anonymous, who never saw either,")
		source.turnOff("update", "get_all", "no_such_tool") // nothing changes
		admin.silent(t, era+": the admin")
	}
}

func TestSessionsThatACatalogConcernsAreNotifiedAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		source := kits()
		s := newServer(t, runtime.Options{Catalogs: source, Identity: bothWays()},
			directory(&desk{}))
		endpoint := serve(t, s)
		reader, writer := listening(t, s, endpoint+"?catalog=reading", "token-admin", era),
			listening(t, s, endpoint+"?catalog=writing", "token-admin", era)
		whole, viewer := listening(t, s, endpoint, "token-admin", era),
			listening(t, s, endpoint+"?catalog=reading", "token-viewer", era)
		everybody := map[string]*watchClient{"reader": reader, "writer": writer, "whole": whole,
			"viewer": viewer}
		for who, c := range everybody {
			c.receives(t, source, map[string]string{"reader": "get_all", "writer": "create",
				"whole": "create", "viewer": "get_all"}[who])
		}
		for _, c := range everybody {
			c.drain()
		}
		// A tool that readers see, if they are admins.
		source.put("1", shelved{name: "reading", tools: []string{"get_all", "get_by_id", "update"}})
		if got := reader.next(t); got != "tools" {
			t.Errorf("%s: the reader was told of %s", era, got)
		}
		for _, who := range []string{"writer", "whole", "viewer"} {
			everybody[who].silent(t, era+": "+who)
		}
		source.put("1", shelved{}) // the catalog is gone: the whole list is theirs
		reader.next(t)
		viewer.next(t)
		source.put("1", shelved{name: "reading", tools: []string{"get_all"}})
		reader.next(t)
		viewer.next(t)
		whole.silent(t, era+": whole")
		writer.silent(t, era+": writer")
		// A tool that is off in one catalog alone.
		source.turnOff("create")
		writer.next(t)
		whole.next(t)
		reader.silent(t, era+": reader")
	}
}

// TestChangeThatTheSourceCannotBeQueriedAboutIsSentLater holds that nothing is lost while a source
// does not answer.
func TestChangeThatTheSourceCannotBeQueriedAboutIsSentLater(t *testing.T) {
	t.Parallel()
	source := kits()
	s := newServer(t, runtime.Options{Catalogs: source, Identity: bothWays()}, directory(&desk{}))
	reader := listening(t, s, serve(t, s)+"?catalog=reading", "token-admin", "2025-11-25")
	reader.receives(t, source, "get_all")
	reader.drain()
	source.failing(func(context.Context) error { return errors.New("away") })
	source.put("1", shelved{name: "reading", tools: []string{"get_all"}})
	reader.silent(t, "the reader")
	source.failing(nil)
	if got := reader.next(t); got != "tools" {
		t.Error(got)
	}
}

func TestAdminsAreShownWhatIsOffByExplanationsOnly(t *testing.T) {
	source := &shelf{off: []string{"update"}}
	s := newServer(t, runtime.Options{Catalogs: source}, directory(&desk{}))
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
	source := &shelf{}
	var ends atomic.Int64 // of the first token, in Unix milliseconds
	ends.Store(time.Now().Add(time.Hour).UnixMilli())
	s := newServer(t, runtime.Options{Catalogs: source,
		Identity: identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			id := identity.Identity{Principal: principalOf("Admin"),
				Expires: time.Now().Add(time.Hour)}
			if token == "first" {
				id.Expires = time.UnixMilli(ends.Load())
			}
			return id, nil
		})}, directory(&desk{}))
	// whose stream opens with a token that goes on holding
	c := listening(t, s, serve(t, s), "second", "2025-11-25")
	c.receives(t, source, "create")
	c.drain()
	soonEnds := time.Now().Add(300 * time.Millisecond)
	ends.Store(soonEnds.UnixMilli())
	c.token.Store("first")
	mcptest.Tools(t, c.ClientSession)
	time.Sleep(time.Until(soonEnds) + 50*time.Millisecond)
	source.turnOff("get_all")
	c.silent(t, "a session whose credential has ended")
	c.token.Store("second")
	mcptest.Tools(t, c.ClientSession)
	if got := c.next(t); got != "tools" {
		t.Error(got)
	}
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
	source := &counted{shelf: kits()}
	s := newServer(t, runtime.Options{Catalogs: source, Anonymous: true, Identity: bothWays()},
		directory(&desk{}))
	endpoint := serve(t, s)
	const sessions, changes = 10, 100
	for range sessions {
		newRaw(t, endpoint, "", "2025-11-25").ask(t, "tools/list", `"catalog":"reading"`, nil)
	}
	time.Sleep(300 * time.Millisecond) // what each list has asked for
	before, began := source.n.Load(), time.Now()
	for n := range changes {
		source.put("9", shelved{name: fmt.Sprint("of somebody ", n), owner: "else"})
	}
	took := time.Since(began)
	time.Sleep(600 * time.Millisecond)
	if asked, most := source.n.Load()-before,
		int64(sessions*(3+took/(200*time.Millisecond))); asked == 0 || asked > most {
		t.Errorf("%d changes in %v led to %d questions for %d sessions, more than %d", changes,
			took, asked, sessions, most)
	}
}

func TestLossOfChangesIsLoggedOnceAndSoIsTheirReturn(t *testing.T) {
	source, log := kits(), &journal{}
	newServer(t, runtime.Options{Catalogs: source, Logger: log.logger()}, directory(&desk{}))
	soon(t, "the server listens", func() bool {
		source.mu.Lock()
		defer source.mu.Unlock()
		return len(source.channels) == 1
	})
	source.send(catalog.Change{Deaf: true})
	source.send(catalog.Change{Tools: true, Catalogs: true})
	source.send(catalog.Change{Tools: true})
	soon(t, "the return is logged", func() bool {
		return strings.Contains(log.String(), "the source of catalogs and switches is connected again")
	})
	if text := log.String(); strings.Count(text, "the source of catalogs and switches lost its "+
		"connection; it reconnects, and the server uses the last state") != 1 ||
		strings.Count(text, "the source of catalogs and switches is connected again") != 1 {
		t.Error(text)
	}
}
