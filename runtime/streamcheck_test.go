package runtime_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
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

// timedResponse is a response of which a test knows the time of each part. Use it in a bubble.
type timedResponse struct {
	drop   context.CancelFunc
	mu     sync.Mutex
	status int
	header http.Header
	text   string
	last   time.Time     // of the last part, the header included, or of the request
	pause  time.Duration // the longest one before a part
	ended  bool
}

// watchInBubble sends a request of the era, and reads its response.
func (c *raw) watchInBubble(t *testing.T, method, body string,
	further map[string]string) *timedResponse {
	t.Helper()
	req, drop := c.newRequest(t, method, body)
	for name, value := range further {
		req.Header.Set(name, value)
	}
	w := &timedResponse{drop: drop, last: time.Now()}
	go func() {
		defer w.end()
		res, err := c.client.Do(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		w.arrived("", res)
		for part := make([]byte, 64<<10); err == nil; {
			var n int
			n, err = res.Body.Read(part)
			w.arrived(string(part[:n]), nil)
		}
	}()
	return w
}

// arrived notes a part of the body, or the header.
func (w *timedResponse) arrived(text string, header *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if header != nil {
		w.status, w.header = header.StatusCode, header.Header
	} else if text == "" {
		return
	}
	w.pause = max(w.pause, time.Since(w.last))
	w.last = time.Now()
	w.text += text
}

func (w *timedResponse) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// events returns the events that have data, and the number of comments.
func (w *timedResponse) events() (events []streamEvent, comments int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var e streamEvent
	for line := range strings.Lines(w.text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		switch value = strings.TrimPrefix(value, " "); {
		case strings.HasPrefix(line, ":"):
			comments++
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			e.data = value
		case name == "":
			if e.data != "" {
				events = append(events, e)
			}
			e = streamEvent{}
		default:
			events = append(events, streamEvent{name: "no line of a stream: " + line})
		}
	}
	return events, comments
}
