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
)

// listener is a client that keeps the times of notifications.
type listener struct {
	*mcp.ClientSession
	changes chan time.Time
	// settle is the time without a notification after which none follows: more on a loaded machine.
	settle time.Duration
}

func listen(t *testing.T, url, caller, era string) *listener {
	t.Helper()
	e := &listener{changes: make(chan time.Time, 1000)}
	client := mcp.NewClient(&mcp.Implementation{Name: "listener", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			e.changes <- time.Now()
		},
	})
	session, err := client.Connect(t.Context(), transport(url, caller),
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	e.ClientSession = session
	list(t, session)
	return e
}

// connected waits until the client gets notifications. It switches a tool off and on.
func (e *listener) connected(t *testing.T, p process, tool string) {
	t.Helper()
	began := time.Now()
	for n := range 200 {
		p.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/"+tool,
			map[string]any{"enabled": n%2 == 1})
		select {
		case <-e.changes:
			p.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/"+tool,
				map[string]any{"enabled": true})
			e.settle = max(300*time.Millisecond, 3*time.Since(began))
			e.drain(e.settle)
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("the client gets no notification")
}

// drain counts the notifications until none arrives for a time.
func (e *listener) drain(quiet time.Duration) (n int) {
	for {
		select {
		case <-e.changes:
			n++
		case <-time.After(quiet):
			return n
		}
	}
}

func (e *listener) next(t *testing.T, since time.Time) time.Duration {
	t.Helper()
	select {
	case at := <-e.changes:
		return at.Sub(since)
	case <-time.After(time.Minute):
		t.Fatal("the client got no notification")
		return 0
	}
}

// TestChangeOnOneReplicaIsSeenAndSentOnTheOther has the sessions on one process and the changes on
// the other. That a change arrives within a second is measured and logged, since machines are
// shared; that it arrives is the test.
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
		ears := map[string]*listener{"other": other, "viewer": viewer, "whole": whole}
		reader.connected(t, one, "get_all")
		other.connected(t, one, "create")
		viewer.connected(t, one, "get_all")
		whole.connected(t, one, "update")
		reader.drain(reader.settle)
		var longest time.Duration
		for n := range 5 {
			began := time.Now()
			if n%2 == 0 {
				one.must(t, 201, "ada", "POST", "/admin/mcp/tool_catalogs/"+id+"/entries",
					map[string]any{"tool_name": "update"})
			} else {
				one.must(t, 204, "ada", "DELETE", "/admin/mcp/tool_catalogs/"+id+"/entries/update",
					nil)
			}
			longest = max(longest, reader.next(t, began))
			want := []string{"get_all", "update"}
			if n%2 == 1 {
				want = want[:1]
			}
			if got := list(t, reader.ClientSession); !slices.Equal(got, want) {
				t.Errorf("%s: the reader lists %v, want %v", era, got, want)
			}
		}
		for who, e := range ears {
			if n := e.drain(300 * time.Millisecond); n > 0 {
				t.Errorf("%s: %s got %d notifications of changes that do not concern it", era, who, n)
			}
		}
		one.must(t, 204, "ada", "DELETE", "/admin/mcp/tool_catalogs/"+id+"/entries/update", nil)
		// A tool that is off on one is unknown on the other, which notifies the clients that saw it.
		began := time.Now()
		one.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/create",
			map[string]any{"enabled": false})
		longest = max(longest, other.next(t, began), whole.next(t, began))
		if _, err := whole.CallTool(t.Context(), &mcp.CallToolParams{Name: "create",
			Arguments: arguments["create"]}); err == nil ||
			wire(t, err).Message != `unknown tool "create"` {
			t.Errorf("%s: a tool that is off: %v", era, err)
		}
		one.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/create", map[string]any{"enabled": true})
		other.next(t, began)
		t.Logf("%s: from the change on one replica to its notification on the other at most %v",
			era, longest)
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
	whole.connected(t, one, "update")
	c := one.write(t, 300)
	one.Kill()
	c.holds(t, two)
	// And the other goes on: it changes and tells.
	began := time.Now()
	two.must(t, 200, "ada", "PATCH", "/admin/mcp/tools/update", map[string]any{"enabled": false})
	whole.next(t, began)
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
