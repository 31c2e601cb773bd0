package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// updating is the library whose resources have updates, but for the pages.
func updating() toolset.Toolset {
	g := library().Generated()
	g.Resources = slices.Clone(g.Resources)
	for i := range g.Resources {
		g.Resources[i].Subscribe = g.Resources[i].URI != "lib://pages/{n}"
	}
	return toolset.NewToolset(g)
}

// subscriber is a client that notes the URIs of updated resources.
type subscriber struct {
	*mcp.ClientSession
	updated chan string
	token   atomic.Value // string; sent with each request over HTTP
}

func (c *subscriber) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if token := c.token.Load().(string); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func subscribing(t testing.TB, transport func(*subscriber) mcp.Transport, token,
	era string) *subscriber {
	t.Helper()
	c := &subscriber{updated: make(chan string, 10_000)}
	c.token.Store(token)
	client := mcp.NewClient(&mcp.Implementation{Name: "subscriber", Version: "1"},
		&mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context,
			r *mcp.ResourceUpdatedNotificationRequest) {
			c.updated <- r.Params.URI
		}})
	session, err := client.Connect(context.Background(), transport(c),
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	c.ClientSession = session
	return c
}

func webTo(url string) func(*subscriber) mcp.Transport {
	return func(c *subscriber) mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: c},
			MaxRetries: -1}
	}
}

func (c *subscriber) subscribe(uri string) error {
	return c.Subscribe(context.Background(), &mcp.SubscribeParams{URI: uri})
}

func (c *subscriber) next(t testing.TB) string {
	t.Helper()
	select {
	case uri := <-c.updated:
		return uri
	case <-time.After(20 * time.Second):
		t.Fatal("no notification")
		return ""
	}
}

func update(t testing.TB, s *runtime.Server, uri string) {
	t.Helper()
	if err := s.ResourceUpdated(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
}

func waitForSubscriptions(t testing.TB, s *runtime.Server, want int) {
	t.Helper()
	soon(t, "subscriptions", func() bool { return runtime.Subscriptions(s) == want })
}

func TestSubscriptionsAreBounded(t *testing.T) {
	sink := &keeper{}
	s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink}}, updating())
	url := serve(t, s)
	c := newRaw(t, url, tokens["Member"], "2025-11-25")
	for n := range discovery.MaxSubscriptions {
		got := c.ask(t, "resources/subscribe", fmt.Sprintf(`"uri":"lib://books/%d"`, n), nil)
		if !strings.Contains(got.body, `"result":{}`) {
			t.Fatalf("%d: %s", n, got)
		}
	}
	sink.taken()
	for uri, want := range map[string]string{"lib://hall": "at most 256 subscriptions",
		"lib://books/7": `"result":{}`, // again
		"lib://safe":    "Resource not found",
		"lib://pages/7": "no updates",
		"lib://notes/" + strings.Repeat("x", 8000): "Resource not found"} {
		if got := c.ask(t, "resources/subscribe", `"uri":"`+uri+`"`, nil); !strings.Contains(got.body,
			want) {
			t.Errorf("%.40s: %s", uri, got)
		}
	}
	var outcomes []string
	for _, e := range sink.taken() {
		outcomes = append(outcomes, fmt.Sprint(e.Type, " ", e.Resource, " ", e.Status, e.Failure))
	}
	slices.Sort(outcomes)
	if want := []string{"resource_subscription  faileddenied",
		"resource_subscription lib://books/{id} success",
		"resource_subscription lib://hall failedinvalid",
		"resource_subscription lib://pages/{n} failedinvalid",
		"resource_subscription lib://safe faileddenied"}; !slices.Equal(outcomes, want) {
		t.Errorf("%q", outcomes)
	}
	if n := runtime.Subscriptions(s); n != discovery.MaxSubscriptions {
		t.Errorf("%d subscriptions", n)
	}
	var uris []string
	for n := range discovery.MaxSubscriptions + 50 {
		uris = append(uris, fmt.Sprintf("lib://books/%d", n))
	}
	uris[0] = "lib://safe"
	l := listenTo(t, url, tokens["Member"], uris...)
	if n := len(l.acknowledged); n != discovery.MaxSubscriptions-1 {
		t.Errorf("%d are acknowledged", n)
	}
	if e := sink.taken(); len(e) != 1 || e[0].Type != audit.Subscription || e[0].Visible != 255 ||
		e[0].Total != 306 || e[0].Status != audit.Success {
		t.Errorf("%+v", e)
	}
	l.close()
	if got := c.send(t, http.MethodDelete, "", nil); got.status != http.StatusNoContent {
		t.Fatal(got)
	}
	waitForSubscriptions(t, s, 0)
}

// rawListener is a raw subscriptions/listen request.
type rawListener struct {
	acknowledged []string
	updated      chan string
	close        context.CancelFunc
}

func listenTo(t testing.TB, url, token string, uris ...string) *rawListener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	text, err := json.Marshal(uris)
	if err != nil {
		t.Fatal(err)
	}
	c := &raw{url: url, token: token, era: "2026-07-28"}
	body := c.request("subscriptions/listen",
		`"notifications":{"resourceSubscriptions":`+string(text)+`}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	l := &rawListener{updated: make(chan string, 1000), close: cancel}
	acknowledged := make(chan []string, 1)
	go func() {
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var m struct {
				Method string
				Params struct {
					URI           string
					Notifications mcp.NotificationSubscriptions
					Meta          map[string]any `json:"_meta"`
				}
			}
			if json.Unmarshal([]byte(data), &m) != nil {
				continue
			}
			switch m.Method {
			case "notifications/subscriptions/acknowledged":
				acknowledged <- m.Params.Notifications.ResourceSubscriptions
			case "notifications/resources/updated":
				l.updated <- fmt.Sprint(m.Params.URI, " ", m.Params.Meta[mcp.MetaKeySubscriptionID])
			}
		}
	}()
	select {
	case l.acknowledged = <-acknowledged:
	case <-time.After(20 * time.Second):
		t.Fatal("the request is not acknowledged")
	}
	return l
}

// relay is a ResourceUpdates between servers of one process.
type relay struct {
	mu        sync.Mutex
	followers []chan string
	following int
	fail      error
}

func (r *relay) PublishUpdate(_ context.Context, uri string) error {
	if r.fail == nil {
		for _, f := range r.followers {
			f <- uri
		}
	}
	return r.fail
}

func (r *relay) FollowUpdates(context.Context) <-chan string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.following++
	return r.followers[r.following-1]
}

func TestUpdatesReachTheClientsOfAllReplicas(t *testing.T) {
	relayed := &relay{followers: []chan string{make(chan string, 9), make(chan string, 9)}}
	options := runtime.Options{Protocol: runtime.ProtocolOptions{ResourceUpdates: relayed}}
	one := newServer(t, options, updating())
	other := newServer(t, options, updating())
	waitFor(t, func() bool {
		relayed.mu.Lock()
		defer relayed.mu.Unlock()
		return relayed.following == 2
	})
	near := listenTo(t, serve(t, one), tokens["Member"], "lib://books/1", "lib://hall")
	far := listenTo(t, serve(t, other), tokens["Member"], "lib://books/1", "lib://hall")
	update(t, one, "lib://books/1")
	for _, l := range []*rawListener{near, far} {
		if got := <-l.updated; got != "lib://books/1 7" {
			t.Errorf("%s", got)
		}
	}
	relayed.followers[0] <- "" // whatever has changed
	relayed.followers[1] <- ""
	for _, l := range []*rawListener{near, far} {
		got := []string{<-l.updated, <-l.updated}
		if slices.Sort(got); !slices.Equal(got, []string{"lib://books/1 7", "lib://hall 7"}) {
			t.Errorf("%q", got)
		}
	}
	relayed.fail = errors.New("down")
	if err := one.ResourceUpdated(t.Context(), "lib://hall"); err == nil ||
		!errors.Is(err, relayed.fail) {
		t.Error(err)
	}
	if got := <-near.updated; got != "lib://hall 7" {
		t.Error(got)
	}
	for _, uri := range []string{"", "lib://pages/1", "lib://unknown", "bil://books/1"} {
		if err := one.ResourceUpdated(t.Context(), uri); err == nil {
			t.Errorf("%q has an update", uri)
		}
	}
	if err := newServer(t, runtime.Options{}, library()).ResourceUpdated(t.Context(),
		"lib://hall"); err == nil {
		t.Error("a server without subscriptions has an update")
	}
}

func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	soon(t, "it holds", holds)
}

// Another user, and another session of the same user, cannot end a subscription.
func TestSubscriptionsOfOthersGoOn(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, updating())
	url := serve(t, s)
	l := listenTo(t, url, tokens["Member"], "lib://hall") // its request has the id 7
	c := subscribing(t, webTo(url), tokens["Member"], "2025-11-25")
	if err := c.subscribe("lib://hall"); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"", tokens["Admin"], tokens["Member"]} {
		for _, era := range eras {
			other := newRaw(t, url, token, era)
			headers := map[string]string{"Mcp-Method": "notifications/cancelled"}
			if got := other.send(t, http.MethodPost, strings.Replace(other.request(
				"notifications/cancelled", `"requestId":7`), `"id":7,`, "", 1), headers); got.status != 202 {
				t.Fatal(got)
			}
			// Another id than the cancelled one, which the session may still cancel.
			got := other.send(t, http.MethodPost, strings.Replace(other.request(
				"resources/unsubscribe", `"uri":"lib://hall"`), `"id":7`, `"id":8`, 1),
				map[string]string{"Mcp-Method": "resources/unsubscribe"})
			if strings.Contains(got.body, `"result":{}`) != (era != "2026-07-28") {
				t.Errorf("%s: %s", era, got)
			}
		}
	}
	if n := runtime.Subscriptions(s); n != 2 {
		t.Errorf("%d subscriptions", n)
	}
	update(t, s, "lib://hall")
	if got := c.next(t); got != "lib://hall" {
		t.Error(got)
	}
	if got := <-l.updated; got != "lib://hall 7" {
		t.Error(got)
	}
}
