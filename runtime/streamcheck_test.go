package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// changing is an identity source of one user, whose role, client and answers change.
type changing struct {
	now   atomic.Pointer[identity.Identity]
	fails atomic.Pointer[error]
	asked atomic.Int64
}

func newChanging(role string) *changing {
	c := &changing{}
	c.role(role)
	return c
}

func (c *changing) role(role string) {
	c.fails.Store(nil)
	c.now.Store(&identity.Identity{Principal: access.Principal{Issuer: "test", Subject: "ada",
		Client: "agent", Role: role}})
}

func (c *changing) fail(err error) { c.fails.Store(&err) }

func (c *changing) source() identity.Source {
	return identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		c.asked.Add(1)
		if err := c.fails.Load(); err != nil {
			return identity.Identity{}, *err
		}
		return *c.now.Load(), nil
	}, identity.NamesUsers())
}

const presented = "hunter2-hunter2"

// openStream subscribes to resources, and opens the stream of the session, or a listen request.
func openStream(t *testing.T, c *raw, uris ...string) *timedResponse {
	t.Helper()
	if c.era == "2026-07-28" {
		return c.watchInBubble(t, http.MethodPost, c.request("subscriptions/listen",
			`"notifications":{"resourceSubscriptions":["`+strings.Join(uris, `","`)+`"]}`),
			map[string]string{"Mcp-Method": "subscriptions/listen"})
	}
	for _, uri := range uris {
		if got := c.ask(t, "resources/subscribe", `"uri":"`+uri+`"`, nil); got.status != 200 ||
			!strings.Contains(got.body, `"result"`) {
			t.Fatalf("%s: %s", uri, got)
		}
	}
	return c.watchInBubble(t, http.MethodGet, "", nil)
}

var updatedURI = regexp.MustCompile(`resources/updated".*"uri":"([^"]*)"`)

// urisSince returns the URIs of updates since the last time, after all that is under way.
func (w *timedResponse) urisSince(seen *int) (uris []string) {
	time.Sleep(time.Second)
	synctest.Wait()
	events, _ := w.events()
	for _, e := range events[min(*seen, len(events)):] {
		if found := updatedURI.FindStringSubmatch(e.data); found != nil {
			uris = append(uris, found[1])
		}
	}
	*seen = len(events)
	return uris
}

// Each stream that is open is decided again as its identity source decides: by a role that is
// lower, by an outage, after the outage, and by a credential that is withdrawn.
func TestOpenStreamsAreDecidedByThePresentCaller(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*runtime.Options){
		"": func(*runtime.Options) {},
		"contained": func(o *runtime.Options) { // a listen request waits in the chain then
			o.Interceptors = []intercept.Middleware{
				func(next intercept.Next) intercept.Next { return next }}
		},
	} {
		for _, era := range eras {
			t.Run(era+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					source, log := newChanging("Admin"), &journal{}
					o := runtime.Options{Identity: source.source(),
						Logger: slog.New(slog.NewTextHandler(log, nil))}
					set(&o)
					s := newServer(t, o, updating())
					c := newRaw(t, serve(t, s), presented, era)
					w := openStream(t, c, "lib://hall", "lib://safe")
					seen := 0
					w.urisSince(&seen)
					check := func(after string, wanted ...string) {
						t.Helper()
						time.Sleep(runtime.DefaultCapabilityRecheck)
						w.urisSince(&seen)
						update(t, s, "lib://safe")
						update(t, s, "lib://hall")
						got := w.urisSince(&seen)
						if slices.Sort(got); !slices.Equal(got, wanted) {
							t.Errorf("%s: %q, want %q", after, got, wanted)
						}
					}
					check("as it was opened", "lib://hall", "lib://safe")
					source.role("Member")
					check("with a lower role", "lib://hall")
					source.role("Admin")
					check("with the role again", "lib://hall", "lib://safe")
					source.fail(errors.New("away"))
					check("while the source cannot decide")
					if w.ended {
						t.Error("an outage ends the stream")
					}
					source.role("Member")
					time.Sleep(runtime.DefaultCapabilityRecheck)
					if got := w.urisSince(&seen); !slices.Equal(got, []string{"lib://hall"}) {
						t.Errorf("after the outage, with a lower role: %q", got)
					}
					check("after the outage", "lib://hall")
					source.role("Admin")
					source.fail(fmt.Errorf("%w: revoked", identity.ErrInvalidToken))
					check("with a credential that is withdrawn")
					if !w.ended {
						t.Error("the stream goes on")
					}
					if strings.Contains(log.String()+w.text, presented) {
						t.Errorf("the credential is shown: %s\n%s", log, w.text)
					}
					before := source.asked.Load()
					time.Sleep(time.Hour)
					if source.asked.Load() != before {
						t.Error("a client without a stream is authenticated again")
					}
				})
			})
		}
	}
}

// A credential that is now of another user, or of another client, ends the stream.
func TestStreamEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, p := range []access.Principal{
			{Issuer: "test", Subject: "bob", Client: "agent", Role: "Admin"},
			{Issuer: "other", Subject: "ada", Client: "agent", Role: "Admin"},
			{Issuer: "test", Subject: "ada", Client: "console", Role: "Admin"},
		} {
			synctest.Test(t, func(t *testing.T) {
				source := newChanging("Admin")
				s := newServer(t, runtime.Options{Identity: source.source()}, updating())
				c := newRaw(t, serve(t, s), presented, era)
				w := openStream(t, c, "lib://hall")
				seen := 0
				w.urisSince(&seen)
				source.now.Store(&identity.Identity{Principal: p})
				time.Sleep(runtime.DefaultCapabilityRecheck)
				update(t, s, "lib://hall")
				if got := w.urisSince(&seen); got != nil || !w.ended {
					t.Errorf("%s, %v: %q, ended %v", era, p, got, w.ended)
				}
			})
		}
	}
}

// The stream of a session that a caller opens with a lower role has no update for the earlier one.
func TestStreamIsThatOfTheCallerWhoOpensIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newChanging("Admin")
		s := newServer(t, runtime.Options{Identity: source.source()}, updating())
		c := newRaw(t, serve(t, s), presented, "2025-11-25")
		openStream(t, c, "lib://safe", "lib://hall").drop()
		source.role("Member")
		w, seen := c.watchInBubble(t, http.MethodGet, "", nil), 0
		w.urisSince(&seen)
		update(t, s, "lib://safe")
		update(t, s, "lib://hall")
		if got := w.urisSince(&seen); !slices.Equal(got, []string{"lib://hall"}) {
			t.Errorf("%q", got)
		}
	})
}

// A caller whom the identity source no longer names to the host has none of its permissions.
func TestStreamOfACallerWithoutAUserOfTheHost(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source, host := newChanging("Admin"), newHost(nil)
				named := *source.now.Load()
				unnamed := named
				named.Principal.User = "ada"
				source.now.Store(&named)
				host.set("ada", "lib.view_book")
				g := updating().Generated()
				view := access.Permission{App: "lib", Action: "view", Object: "book"}
				for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources} {
					for i, r := range g.Table.Of(k).Rules {
						if !r.Public {
							g.Table.Of(k).Rules[i].Permission = view
						}
					}
				}
				s := newServer(t, runtime.Options{Host: runtime.HostOptions{Source: host},
					Identity: source.source()}, toolset.NewToolset(g))
				c := newRaw(t, serve(t, s), presented, era)
				w, seen := openStream(t, c, "lib://safe"), 0
				w.urisSince(&seen)
				update(t, s, "lib://safe")
				if got := w.urisSince(&seen); len(got) != 1 {
					t.Errorf("with a user: %q", got)
				}
				source.now.Store(&unnamed)
				time.Sleep(runtime.DefaultCapabilityRecheck)
				update(t, s, "lib://safe")
				if got := w.urisSince(&seen); len(got) != 0 {
					t.Errorf("without a user: %q", got)
				}
			})
		})
	}
}

// With another token of the same user and client, which may do more, the last message counts: a
// check that finds no change of the stream's own token changes nothing.
func TestCheckWithoutAChangeLeavesTheLastCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		s := newServer(t, runtime.Options{Identity: identity.Bearer(
			func(_ context.Context, token string) (identity.Identity, error) {
				if away.Load() {
					return identity.Identity{}, errors.New("away")
				}
				return identity.Identity{Principal: access.Principal{Subject: "ada", Role: token}}, nil
			})}, updating())
		c := newRaw(t, serve(t, s), "Member", "2025-11-25")
		w, seen := openStream(t, c, "lib://hall"), 0
		w.urisSince(&seen)
		c.token = "Admin"
		c.ask(t, "resources/subscribe", `"uri":"lib://safe"`, nil)
		for range 2 {
			time.Sleep(2 * runtime.DefaultCapabilityRecheck)
			update(t, s, "lib://safe")
			if got := w.urisSince(&seen); !slices.Equal(got, []string{"lib://safe"}) {
				t.Errorf("%q", got)
			}
			away.Store(true)
			time.Sleep(2 * runtime.DefaultCapabilityRecheck)
			away.Store(false)
		}
	})
}

// list_changed is sent of the lists that the present caller has.
func TestChangesAreThoseOfThePresentCaller(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			shelf, source := &shelf{}, newChanging("Admin")
			s := newServer(t, runtime.Options{Identity: source.source(),
				Catalogs: runtime.CatalogOptions{Source: shelf}},
				directory(&desk{}))
			c := listening(t, s, serve(t, s), "token", era)
			c.notified()
			source.role("Viewer")
			time.Sleep(runtime.DefaultCapabilityRecheck)
			if got := c.notified(); !slices.Equal(got, []string{"tools"}) {
				t.Errorf("%s: %q of a lower role", era, got)
			}
			shelf.turnOff("create")
			if got := c.notified(); got != nil {
				t.Errorf("%s: %q of a tool that is hidden now", era, got)
			}
			source.fail(errors.New("away"))
			time.Sleep(runtime.DefaultCapabilityRecheck)
			shelf.turnOff("get_all")
			if got := c.notified(); got != nil {
				t.Errorf("%s: %q while the source cannot decide", era, got)
			}
			source.role("Viewer")
			time.Sleep(runtime.DefaultCapabilityRecheck)
			if got := c.notified(); !slices.Equal(got, []string{"tools"}) {
				t.Errorf("%s: %q after the outage", era, got)
			}
		})
	}
}

var _ catalog.Source = (*shelf)(nil)

// What was kept for a session is decided again when it is resumed. Ids and order stay.
func TestReplayIsDecidedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := newChanging("Admin")
		s := newServer(t, runtime.Options{Identity: source.source()}, updating())
		c := newRaw(t, serve(t, s), presented, "2025-11-25")
		w, seen := openStream(t, c, "lib://hall", "lib://safe", "lib://shelf"), 0
		update(t, s, "lib://hall")
		w.urisSince(&seen)
		first, _ := w.events()
		w.drop()
		for _, uri := range []string{"lib://safe", "lib://shelf", "lib://safe", "lib://hall"} {
			time.Sleep(time.Second)
			update(t, s, uri)
		}
		synctest.Wait()
		resumed := func() (got []string) {
			w := c.watchInBubble(t, http.MethodGet, "",
				map[string]string{"Last-Event-Id": first[0].id})
			time.Sleep(time.Second)
			synctest.Wait()
			w.drop()
			events, _ := w.events()
			for _, e := range events {
				got = append(got, e.id+" "+updatedURI.FindStringSubmatch(e.data)[1])
			}
			return got
		}
		all := resumed()
		if len(all) != 4 {
			t.Fatalf("%q", all)
		}
		source.role("Member")
		if got := resumed(); !slices.Equal(got, []string{all[1], all[3]}) {
			t.Errorf("%q of %q", got, all)
		}
		source.role("Admin")
		if got := resumed(); !slices.Equal(got, all) {
			t.Errorf("%q of %q", got, all)
		}
	})
}

// The events of a call, and a list, are resumed by a caller who may still use the tool, and is
// listed the same: while the call runs, and after its end.
func TestReplayOfACallIsDecidedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source, proceed := newChanging("Admin"), make(chan struct{})
		g := oneTool("work", func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			r := toolset.Request[mcp.CallToolRequest](c)
			_ = r.Session.NotifyProgress(ctx,
				&mcp.ProgressNotificationParams{ProgressToken: "p", Progress: 1})
			<-proceed
			return toolset.Native(&mcp.CallToolResult{}, map[string]any{"secret": true}, nil)
		}).Generated()
		g.Tools[0].SDK, g.Tools[0].Timeout = true, time.Hour
		g.Table.Rules[0] = access.Rule{Tool: "work", MinRole: 4}
		s := newServer(t, runtime.Options{Identity: source.source()}, toolset.NewToolset(g))
		c := newRaw(t, serve(t, s), presented, "2025-11-25")
		first := func(w *timedResponse) string {
			t.Helper()
			synctest.Wait()
			id := regexp.MustCompile(`(?m)^id: (.*)$`).FindStringSubmatch(w.text)
			if id == nil {
				t.Fatalf("no event: %d %s", w.status, w.text)
			}
			w.drop()
			return id[1]
		}
		call := first(c.watchInBubble(t, http.MethodPost, c.request("tools/call",
			`"name":"work","_meta":{"progressToken":"p"}`), nil))
		list := first(c.watchInBubble(t, http.MethodPost,
			strings.Replace(c.request("tools/list", ""), `"id":7`, `"id":8`, 1),
			map[string]string{"Accept": "text/event-stream, application/json"}))
		resume := func(id string) *timedResponse {
			w := c.watchInBubble(t, http.MethodGet, "", map[string]string{"Last-Event-Id": id})
			synctest.Wait()
			return w
		}
		check := func(when string, want int, ids ...string) {
			t.Helper()
			for _, id := range ids {
				if w := resume(id); w.status != want || want != 200 && strings.Contains(w.text, "work") {
					t.Errorf("%s: %d %s", when, w.status, w.text)
				} else {
					w.drop()
				}
			}
		}
		check("as it was", 200, call, list)
		source.role("Member")
		check("with a lower role", 400, call, list)
		source.role("Admin")
		running := resume(call)
		source.role("Member")
		time.Sleep(runtime.DefaultCapabilityRecheck)
		synctest.Wait()
		if !running.ended {
			t.Error("the stream of a running call goes on for a caller who may not use its tool")
		}
		close(proceed)
		synctest.Wait()
		if strings.Contains(running.text, "secret") {
			t.Error(running.text)
		}
		check("after its end", 400, call)
		source.role("Admin")
		if w := resume(call); !strings.Contains(w.text, "secret") {
			t.Errorf("%d %s", w.status, w.text)
		}
	})
}

// A client that has left its stream is authenticated no more: nothing keeps its credential.
func TestCredentialOfAStreamIsGoneWithTheStream(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		synctest.Test(t, func(t *testing.T) {
			source := newChanging("Admin")
			s := newServer(t, runtime.Options{Identity: source.source()}, updating())
			c := newRaw(t, serve(t, s), presented, era)
			w, seen := openStream(t, c, "lib://hall"), 0
			w.urisSince(&seen)
			for range 3 {
				before := source.asked.Load()
				time.Sleep(runtime.DefaultCapabilityRecheck)
				if w.urisSince(&seen); source.asked.Load() != before+1 {
					t.Errorf("%s: an open stream has %d checks in a minute", era, source.asked.Load()-before)
				}
			}
			w.drop()
			synctest.Wait()
			before := source.asked.Load()
			time.Sleep(time.Hour)
			if got := source.asked.Load(); got != before {
				t.Errorf("%s: %d checks of a stream that has ended", era, got-before)
			}
		})
	}
}
