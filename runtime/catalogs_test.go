package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
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
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// listedIn is what a list on the wire has: the names of its tools, and its note.
func listedIn(t testing.TB, body string) (names []string, note string) {
	t.Helper()
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body = data
	}
	var answer struct {
		Result struct {
			Tools []struct{ Name string }
			Meta  map[string]any `json:"_meta"`
		}
		Error any
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error != nil {
		t.Fatalf("%s: %v", body, err)
	}
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	note, _ = answer.Result.Meta[runtime.MetaCatalogNote].(string)
	return names, note
}

func kits() *shelf {
	s := &shelf{}
	s.put("1", shelved{name: "reading", tools: []string{"get_all", "get_by_id", "no_such_tool"}})
	s.put("2", shelved{name: "writing", tools: []string{"create", "update"}})
	s.put("3", shelved{name: "of ada", owner: "mara", tools: []string{"update"}})
	s.put("4", shelved{name: "empty"})
	s.put("5", shelved{name: "100% Käse/Ø", tools: []string{"create"},
		note: "there are two of this name"})
	return s
}

// stdioTalk opens a session over lines and returns what sends one and reads the next.
func stdioTalk(t testing.TB, s *runtime.Server, p access.Principal,
	options ...runtime.StreamOption) func(string) string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, out, p, options...) }()
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<22)
	talk := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("no answer to %s", line)
		}
		return lines.Text()
	}
	t.Cleanup(func() {
		toServer.Close()
		go func() {
			for lines.Scan() { // what was still on its way
			}
		}()
		if err := <-done; err != nil {
			t.Errorf("RunIO: %v", err)
		}
	})
	talk(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	return talk
}

// declaring is a toolset whose code puts its tools into catalogs.
func declaring() toolset.Toolset {
	return toolsetOf([]toolset.Tool{
		{Name: "alpha", Input: `{"type":"object"}`, Call: nothing, Catalogs: []string{"greek",
			"reading"}},
		{Name: "beta", Input: `{"type":"object"}`, Call: nothing, Catalogs: []string{"greek"}},
		{Name: "gamma", Input: `{"type":"object"}`, Call: nothing},
	})
}

func TestServerReturnsTheCatalogsOfItsCode(t *testing.T) {
	s := newServer(t, runtime.Options{}, declaring(), directory(&desk{}))
	if got := fmt.Sprint(s.DeclaredCatalogs()); got !=
		"[{code:greek greek true [alpha beta] } {code:reading reading true [alpha] }]" {
		t.Error(got)
	}
}

var _ catalog.Source = (*shelf)(nil)

// soon waits for something that is about to be so. The test's own time limit bounds it.
func soon(t testing.TB, _ string, so func() bool) {
	t.Helper()
	for !so() {
		goruntime.Gosched()
	}
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

// watchClient is a client that notes which lists have changed for it.
type watchClient struct {
	*mcp.ClientSession
	kinds chan string
	token atomic.Value // string; sent with each request over HTTP
}

// RoundTrip sends the token along.
func (c *watchClient) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token.Load().(string))
	return http.DefaultTransport.RoundTrip(r)
}

// listening opens a session that listens, over HTTP, or over pipes where url is empty.
func listening(t testing.TB, s *runtime.Server, url, token, era string) *watchClient {
	t.Helper()
	c := &watchClient{kinds: make(chan string, 100)}
	c.token.Store(token)
	client := mcp.NewClient(&mcp.Implementation{Name: "told", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			c.kinds <- "tools"
		},
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {
			c.kinds <- "prompts"
		},
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			c.kinds <- "resources"
		},
	})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: c}, MaxRetries: -1}
	if url == "" {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		parts := strings.Split(token, "_")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.RunIO(ctx, serverIn, serverOut, access.Principal{Subject: "sub-" + parts[0],
				User: parts[0], Roles: []string{parts[1]}})
			_ = serverOut.Close()
		}()
		t.Cleanup(func() { cancel(); <-ended })
		transport = &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
	}
	session, err := client.Connect(context.Background(), transport,
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	c.ClientSession = session
	mcptest.Tools(t, session)
	return c
}

// notified returns the kinds of lists that the client was notified of since the last time, sorted.
// It is for bubbles: the second is longer than anything that is under way.
func (c *watchClient) notified() (kinds []string) {
	time.Sleep(time.Second)
	for len(c.kinds) > 0 {
		kinds = append(kinds, <-c.kinds)
	}
	slices.Sort(kinds)
	return kinds
}

// The host is queried because of a request only, however long a query takes and its answer counts.
func TestHostIsNotQueriedWithoutRequests(t *testing.T) {
	t.Parallel()
	const takes = 10 * time.Second
	// nothing is kept, for less than a query takes, and for less than two take
	for _, ttl := range []time.Duration{0, takes / 2, takes * 3 / 2} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.set("ada", "dcim.view_device")
			h.failing(func(context.Context) error { time.Sleep(takes); return nil })
			url := serve(t, aware(t, h, runtime.Options{
				Host: runtime.HostOptions{TTL: ttl, Timeout: 2 * takes}}))
			// each is queried for apart
			for _, token := range []string{"ada_Viewer", "ada_Member", "ada_Manager",
				"ada_Admin"} {
				newRaw(t, url, token, "2025-11-25").ask(t, "tools/list", "", nil)
			}
			time.Sleep(10 * takes)
			before := h.times("ada")
			if time.Sleep(100 * takes); h.times("ada") != before || before == 0 {
				t.Errorf("with a period of %s the host was queried %d times, then %d", ttl, before,
					h.times("ada"))
			}
		})
	}
}
