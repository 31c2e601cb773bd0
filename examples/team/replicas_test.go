package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/internal/visitor"
)

// listener is a client that counts notifications.
type listener struct {
	*mcp.ClientSession
	changes chan struct{}
}

// listen connects a client, which has listed its tools.
func listen(t *testing.T, url, caller, era string) *listener {
	t.Helper()
	e := &listener{changes: make(chan struct{}, 1000)}
	session, err := visitor.Listen(t.Context(), transport(url, caller), era, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			e.changes <- struct{}{}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	e.ClientSession = session
	list(t, session)
	return e
}

func (e *listener) next(t *testing.T) {
	t.Helper()
	select {
	case <-e.changes:
	case <-time.After(time.Minute):
		t.Fatal("the client got no notification")
	}
}

// TestChangeOnOneReplicaIsSeenAndSentOnTheOther has the sessions on one process and the changes on
// the other.
func TestChangeOnOneReplicaIsSeenAndSentOnTheOther(t *testing.T) {
	kept := postgres(t)
	one, two := start(t, "-store", kept), start(t, "-store", kept)
	id := one.fill(t, "kit", "get_all")
	one.fill(t, "other", "create")
	for _, era := range eras {
		reader, other := listen(t, two.Base+"/mcp?catalog=kit", "ada", era),
			listen(t, two.Base+"/mcp?catalog=other", "ada", era)
		viewer, whole := listen(t, two.Base+"/mcp?catalog=kit", "vera", era),
			listen(t, two.Base+"/mcp", "ada", era)
		for n := range 6 {
			want := []string{"get_all", "update"}
			if n%2 == 0 {
				one.must(t, 201, "ada", "POST", "/admin/mcp/tool_catalogs/"+id+"/entries",
					map[string]any{"tool_name": "update"})
			} else {
				one.must(t, 204, "ada", "DELETE", "/admin/mcp/tool_catalogs/"+id+"/entries/update",
					nil)
				want = want[:1]
			}
			reader.next(t)
			if got := list(t, reader.ClientSession); !slices.Equal(got, want) {
				t.Errorf("%s: the reader lists %v, want %v", era, got, want)
			}
		}
		turn := func(tool string, on bool, concerns ...*listener) {
			t.Helper()
			one.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/"+tool, map[string]any{"enabled": on})
			for _, e := range concerns {
				e.next(t)
			}
		}
		// A tool that is off on one is unknown on the other, which notifies the clients that saw it.
		turn("create", false, other, whole)
		if _, err := whole.CallTool(t.Context(), &mcp.CallToolParams{Name: "create",
			Arguments: arguments["create"]}); err == nil ||
			wire(t, err).Message != `unknown tool "create"` {
			t.Errorf("%s: a tool that is off: %v", era, err)
		}
		turn("create", true, other, whole)
		turn("get_all", false, reader, viewer, whole)
		turn("get_all", true, reader, viewer, whole)
		// A notification of a change that does not concern its client would have arrived before the
		// last expected one.
		for who, e := range map[string]*listener{"reader": reader, "other": other,
			"viewer": viewer, "whole": whole} {
			list(t, e.ClientSession)
			if n := len(e.changes); n > 0 {
				t.Errorf("%s: %s got %d notifications of changes that do not concern it", era, who, n)
			}
		}
	}
}

// changes are made through one process by many hands, until it is killed: what was acknowledged,
// and what was on its way.
type changes struct {
	mu           sync.Mutex
	acknowledged map[string]bool
	started      map[string]bool
}

// write makes a thousand catalogs, and kills the process once so many are acknowledged.
func (p process) write(t *testing.T, killAfter int) *changes {
	t.Helper()
	c := &changes{acknowledged: map[string]bool{}, started: map[string]bool{}}
	names := make(chan string)
	var hands sync.WaitGroup
	for range 50 {
		hands.Go(func() {
			for name := range names {
				c.mu.Lock()
				c.started[name] = true
				c.mu.Unlock()
				status, answer, err := ask(p.Base, "ada", "POST", "/admin/mcp/tool_catalogs",
					map[string]any{"name": name})
				if err != nil {
					continue // no answer: it may have come about or not
				}
				if status != http.StatusCreated {
					t.Errorf("%s: %d %v", name, status, answer)
				}
				c.mu.Lock()
				c.acknowledged[name] = true
				n := len(c.acknowledged)
				c.mu.Unlock()
				if n == killAfter {
					if err := p.Cmd.Process.Kill(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range 1000 {
		names <- "catalog " + strconv.Itoa(i)
	}
	close(names)
	hands.Wait()
	return c
}

// holds compares what a process lists with what was acknowledged.
func (c *changes) holds(t *testing.T, p process) {
	t.Helper()
	found := map[string]bool{}
	for path := "/admin/mcp/tool_catalogs?limit=100"; path != ""; {
		answer := p.must(t, 200, "ada", "GET", path, nil)
		for _, item := range answer["items"].([]any) {
			c := item.(map[string]any)
			if c["source"] == "store" {
				found[c["name"].(string)] = true
			}
		}
		path = ""
		if next, ok := answer["next"].(string); ok && next != "" {
			path = "/admin/mcp/tool_catalogs?limit=100&after=" + url.QueryEscape(next)
		}
	}
	for name := range c.acknowledged {
		if !found[name] {
			t.Errorf("%s was acknowledged, and is lost", name)
		}
	}
	unanswered := 0
	for name := range found {
		if !c.started[name] {
			t.Errorf("%s was never asked for", name)
		}
		if !c.acknowledged[name] {
			unanswered++
		}
	}
	if unanswered > 50 {
		t.Errorf("%d came about without an answer, and no more than 50 were asked for at a time",
			unanswered)
	}
	t.Logf("%d acknowledged, %d found, of these %d whose answer was lost on the way",
		len(c.acknowledged), len(found), unanswered)
}

func TestProcessThatIsKilledAmongAThousandChangesLosesNoneThatItAcknowledged(t *testing.T) {
	for engine, database := range engines {
		t.Run(engine, func(t *testing.T) {
			kept := database(t)
			p := start(t, "-store", kept)
			c := p.write(t, 400)
			p.Kill()
			if n := len(c.acknowledged); n < 400 || n == 1000 {
				t.Fatalf("%d were acknowledged: the process was not killed in the middle", n)
			}
			c.holds(t, start(t, "-store", kept))
		})
	}
}

func TestReplicaThatIsKilledTakesNothingWithIt(t *testing.T) {
	kept := postgres(t)
	one, two := start(t, "-store", kept), start(t, "-store", kept)
	whole := listen(t, two.Base+"/mcp", "ada", "2025-11-25")
	c := one.write(t, 300)
	one.Kill()
	c.holds(t, two)
	// The other goes on: it changes, and notifies its clients.
	two.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/update", map[string]any{"enabled": false})
	whole.next(t)
	c.holds(t, start(t, "-store", kept))
}

// TestPlainLoadBalancerServesClientsWithoutSessions sends each request to the other replica.
func TestPlainLoadBalancerServesClientsWithoutSessions(t *testing.T) {
	kept := postgres(t)
	one, two := start(t, "-store", kept), start(t, "-store", kept)
	one.fill(t, "kit", kit...)
	var turn atomic.Int64
	var hits [2]atomic.Int64
	replicas := []string{one.Base, two.Base}
	balancer := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			n := turn.Add(1) % 2
			hits[n].Add(1)
			to, err := url.Parse(replicas[n])
			if err != nil {
				t.Error(err)
			}
			r.SetURL(to)
		},
	})
	t.Cleanup(balancer.Close)
	for range 10 {
		session := connectHTTP(t, balancer.URL+"/mcp?catalog=kit", "ada", "2026-07-28")
		if got := list(t, session); !slices.Equal(got, inKit("ada")) {
			t.Errorf("%v", got)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_public_info"})
		if err != nil || res.IsError || !strings.Contains(fmt.Sprint(res.StructuredContent),
			"Orange") {
			t.Errorf("%v, %v", res, err)
		}
	}
	if hits[0].Load() < 10 || hits[1].Load() < 10 {
		t.Errorf("the replicas were asked %d and %d times", hits[0].Load(), hits[1].Load())
	}
}
