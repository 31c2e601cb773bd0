package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
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

func pipedTo(t testing.TB, s *runtime.Server, p access.Principal) func(*subscriber) mcp.Transport {
	return func(*subscriber) mcp.Transport {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.RunIO(ctx, serverIn, serverOut, p)
			_ = serverOut.Close()
		}()
		t.Cleanup(func() { cancel(); <-ended })
		return &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
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

// until returns the URIs of the updates before one of the barrier, to which the client has
// subscribed.
func (c *subscriber) until(t testing.TB, s *runtime.Server, barrier string) (got []string) {
	t.Helper()
	update(t, s, barrier)
	for {
		uri := c.next(t)
		if uri == barrier {
			slices.Sort(got)
			return got
		}
		got = append(got, uri)
	}
}

func update(t testing.TB, s *runtime.Server, uri string) {
	t.Helper()
	if err := s.ResourceUpdated(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
}

// ready waits until the client receives notifications: its stream opens by itself.
func (c *subscriber) ready(t testing.TB, s *runtime.Server, uri string) {
	t.Helper()
	for range 400 {
		update(t, s, uri)
		select {
		case <-c.updated:
			for { // what is still on its way
				select {
				case <-c.updated:
				case <-time.After(100 * time.Millisecond):
					return
				}
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("the client receives nothing")
}

func waitForSubscriptions(t testing.TB, s *runtime.Server, want int) {
	t.Helper()
	for range 400 {
		if runtime.Subscriptions(s) == want {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("%d subscriptions, want %d", runtime.Subscriptions(s), want)
}

func TestSubscriptionsGoByTheRuleOfEachResource(t *testing.T) {
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		s := newServer(t, runtime.Options{Anonymous: true, Denial: denial}, updating())
		url := serve(t, s)
		for _, era := range eras {
			for column, user := range callers {
				p := principalOf(user)
				if p.Role == "viewer" {
					p.Role = ""
				}
				for name, transport := range map[string]func(*subscriber) mcp.Transport{
					"http": webTo(url), "stdio": pipedTo(t, s, p)} {
					t.Run(fmt.Sprintf("%v/%s/%s/%s", denial, era, user, name), func(t *testing.T) {
						waitForSubscriptions(t, s, 0)
						c := subscribing(t, transport, tokens[user], era)
						var want []string
						for _, r := range expectedResources {
							err := c.subscribe(r.read)
							if may := r.who[column] == 'y' && r.uri != "lib://pages/{n}"; may {
								want = append(want, r.read)
								if err != nil {
									t.Errorf("%s: %v", r.read, err)
								}
							} else if era != "2026-07-28" && err == nil {
								t.Errorf("%s: no error", r.read)
							}
						}
						waitForSubscriptions(t, s, len(want))
						c.ready(t, s, "lib://hall")
						for _, r := range expectedResources {
							if r.uri != "lib://hall" && r.uri != "lib://pages/{n}" {
								update(t, s, r.read)
							}
						}
						var got []string
						for len(got) < len(want)-1 {
							got = append(got, c.next(t))
						}
						got = append(got, c.until(t, s, "lib://hall")...)
						got = append(got, "lib://hall")
						slices.Sort(got)
						slices.Sort(want)
						if !slices.Equal(got, want) {
							t.Errorf("updates of %v, want %v", got, want)
						}
						// Each resource once, by another URI of its template nothing.
						if column >= 3 {
							update(t, s, "lib://books/other")
							if got := c.until(t, s, "lib://hall"); len(got) > 0 {
								t.Errorf("updates of %v", got)
							}
						}
						if err := c.Unsubscribe(t.Context(),
							&mcp.UnsubscribeParams{URI: "lib://hall"}); err != nil {
							t.Error(err)
						}
						waitForSubscriptions(t, s, len(want)-1)
						if err := c.Close(); err != nil {
							t.Error(err)
						}
						waitForSubscriptions(t, s, 0)
					})
				}
			}
		}
	}
}

// A hidden resource, one that does not exist and, in the acknowledgement, one without updates are
// alike, byte for byte.
func TestSubscribingToAHiddenResourceIsByteForByteAnUnknownOne(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, updating())
	url := serve(t, s)
	compared := 0
	for _, era := range eras {
		for column, user := range callers {
			c := newRaw(t, url, tokens[user], era)
			for _, r := range expectedResources {
				if r.who[column] == 'y' && (era != "2026-07-28" || r.uri != "lib://pages/{n}") {
					continue
				}
				compared++
				unknown := "bil" + r.read[len("lib"):]
				if era == "2026-07-28" {
					listen := func(uri string) string {
						return c.ask(t, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["`+
							uri+`"]}`, nil).String()
					}
					got, other := listen(r.read), listen(unknown)
					if got != other || !strings.Contains(got, `"notifications":{}`) {
						t.Errorf("%q, %s:\n%s\nan unknown one:\n%s", user, r.read, got, other)
					}
					continue
				}
				for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
					ask := func(uri string) string {
						return c.ask(t, method, `"uri":"`+uri+`"`, nil).String()
					}
					got, other := ask(r.read), strings.ReplaceAll(ask(unknown), unknown, r.read)
					if got != other {
						t.Errorf("%s, %q, %s %s:\n%s\nan unknown one:\n%s", era, user, method, r.read,
							got, other)
					}
					if strings.Contains(got, "Resource not found") != (method == "resources/subscribe") {
						t.Errorf("%s %s: %s", method, r.read, got)
					}
				}
			}
		}
	}
	if compared < 40 {
		t.Errorf("compared %d pairs only", compared)
	}
	waitForSubscriptions(t, s, 0)
}

// The capability follows the code, for every caller.
func TestCapabilityOfSubscriptionsFollowsTheCode(t *testing.T) {
	for want, set := range map[bool]toolset.Toolset{true: updating(), false: library()} {
		url := serve(t, newServer(t, runtime.Options{Anonymous: true, ReadOnly: true}, set))
		for _, era := range eras {
			for _, user := range callers {
				session := connectHTTP(t, url, tokens[user], era)
				if got := session.InitializeResult().Capabilities.Resources.Subscribe; got != want {
					t.Errorf("%s, %q: %v, want %v", era, user, got, want)
				}
			}
		}
	}
}

// What decides is the permission at the time of the notification.
func TestRevokedPermissionEndsNotificationsOfUpdates(t *testing.T) {
	for _, era := range eras {
		h := newHost(nil)
		h.set("ada", "dcim.view_device", "dcim.view_site")
		g := stockGenerated()
		for i := range g.Resources {
			g.Resources[i].Subscribe = true
		}
		s := newServer(t, runtime.Options{PermissionAware: true, Capabilities: h,
			Identity: hosted()}, toolset.NewToolset(g))
		c := subscribing(t, webTo(serve(t, s)), "ada_Viewer", era)
		for _, uri := range []string{"dcim://devices", "dcim://sites/1"} {
			if err := c.subscribe(uri); err != nil {
				t.Fatal(err)
			}
		}
		waitForSubscriptions(t, s, 2)
		c.ready(t, s, "dcim://sites/1")
		c.ready(t, s, "dcim://devices")
		h.set("ada", "dcim.view_site")
		update(t, s, "dcim://devices")
		if got := c.until(t, s, "dcim://sites/1"); len(got) > 0 {
			t.Errorf("%s: updates of %v without a permission", era, got)
		}
		// While the host fails nothing is sent, and afterwards what waits.
		h.set("ada", "dcim.view_device", "dcim.view_site")
		h.failing(func(context.Context) error { return errors.New("down") })
		update(t, s, "dcim://devices")
		select {
		case uri := <-c.updated:
			t.Errorf("%s: an update of %s while the host is down", era, uri)
		case <-time.After(100 * time.Millisecond):
		}
		h.failing(nil)
		if got := c.next(t); got != "dcim://devices" {
			t.Errorf("%s: %s", era, got)
		}
	}
}

// A session has the caller of its last message.
func TestUpdatesGoToTheCallerOfTheLastMessage(t *testing.T) {
	s := newServer(t, runtime.Options{Identity: hosted()}, updating())
	c := subscribing(t, webTo(serve(t, s)), "ada_Admin", "2025-11-25")
	for _, uri := range []string{"lib://safe", "lib://hall"} {
		if err := c.subscribe(uri); err != nil {
			t.Fatal(err)
		}
	}
	c.ready(t, s, "lib://hall")
	for _, role := range []string{"Viewer", "Admin"} {
		c.token.Store("ada_" + role)
		if err := c.Ping(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		update(t, s, "lib://safe")
		got := c.until(t, s, "lib://hall")
		if want := role == "Admin"; (len(got) == 1) != want {
			t.Errorf("%s: updates of %v", role, got)
		}
	}
}

// After the end of the credential nothing is sent. The next message with a credential gets what a
// session has missed.
func TestNoUpdateIsSentOnceTheCredentialHasEnded(t *testing.T) {
	s := newServer(t, runtime.Options{Identity: shortLived()}, updating())
	c := subscribing(t, webTo(serve(t, s)), "one", "2025-11-25")
	start := time.Now()
	if err := c.subscribe("lib://hall"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Until(start.Add(credentialLife + 50*time.Millisecond)))
	update(t, s, "lib://hall")
	select {
	case uri := <-c.updated:
		t.Errorf("an update of %s", uri)
	case <-time.After(200 * time.Millisecond):
	}
	if n := runtime.Subscriptions(s); n != 1 {
		t.Errorf("%d subscriptions", n)
	}
}

func TestSubscriptionsAreBounded(t *testing.T) {
	sink := &keeper{}
	s := newServer(t, runtime.Options{Audit: sink}, updating())
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

// An adopted server subscribes by its handlers, after the guard's decision. Its own notifications
// go to those who may read the resource.
func TestAdoptedServersHaveTheirOwnSubscriptions(t *testing.T) {
	var handled atomic.Int64
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "0.9"}, &mcp.ServerOptions{
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if handled.Add(1); r.Params.URI == "file:///b" {
				return errors.New("not this one")
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error {
			handled.Add(-1)
			return nil
		}})
	for _, uri := range []string{"file:///a", "file:///b", "file:///c"} {
		server.AddResource(&mcp.Resource{Name: uri, URI: uri},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{}, nil
			})
	}
	s := adopt(t, server, runtime.Options{}, map[string]access.Rule{
		"a": {Resource: "file:///a", MinRole: member}, "b": {Resource: "file:///b", MinRole: viewer},
	}, updating())
	url := serve(t, s)
	for _, era := range eras {
		for _, user := range []string{"Viewer", "Member"} {
			handled.Store(0)
			c := subscribing(t, webTo(url), tokens[user], era)
			var subscribed []string
			for _, uri := range []string{"lib://hall", "file:///a", "file:///b", "file:///c"} {
				if err := c.subscribe(uri); err == nil {
					subscribed = append(subscribed, uri)
				}
			}
			want := map[string]int{"Viewer": 1, "Member": 2}[user]
			waitForSubscriptions(t, s, want)
			if n := int(handled.Load()); n != want { // file:///b always, file:///a for a member
				t.Errorf("%s, %s: the handler has run %d times", era, user, n)
			}
			if era != "2026-07-28" && len(subscribed) != want {
				t.Errorf("%s, %s: subscribed to %v", era, user, subscribed)
			}
			c.ready(t, s, "lib://hall")
			for _, uri := range []string{"file:///a", "file:///b", "file:///c"} {
				if err := server.ResourceUpdated(t.Context(),
					&mcp.ResourceUpdatedNotificationParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			if user == "Member" {
				got = append(got, c.next(t))
			}
			if got = append(got, c.until(t, s, "lib://hall")...); len(got) != want-1 || want == 2 &&
				got[0] != "file:///a" {
				t.Errorf("%s, %s: updates of %v", era, user, got)
			}
			if user == "Member" {
				before := handled.Load()
				if err := c.Unsubscribe(t.Context(),
					&mcp.UnsubscribeParams{URI: "file:///a"}); err != nil {
					t.Error(err)
				}
				waitForSubscriptions(t, s, 1)
				for range 400 {
					if handled.Load() == before-1 {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				if handled.Load() != before-1 {
					t.Errorf("%s: the handler did not unsubscribe", era)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			waitForSubscriptions(t, s, 0)
		}
	}
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
	options := runtime.Options{ResourceUpdates: relayed}
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
	for range 400 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it does not hold")
}

// A subscription that the sink does not record is refused.
func TestSubscriptionWithoutItsRecordIsRefused(t *testing.T) {
	sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		if e.Type == audit.Subscription {
			return errors.New("full")
		}
		return nil
	})
	s := newServer(t, runtime.Options{Audit: sink, Identity: identity.Source(users())}, updating())
	url := serve(t, s)
	old, stateless := newRaw(t, url, tokens["Admin"], "2025-11-25"),
		newRaw(t, url, tokens["Admin"], "2026-07-28")
	for _, got := range []reply{
		old.ask(t, "resources/subscribe", `"uri":"lib://hall"`, nil),
		stateless.ask(t, "subscriptions/listen",
			`"notifications":{"resourceSubscriptions":["lib://hall"]}`, nil),
	} {
		if !strings.Contains(got.body, "internal error") || strings.Contains(got.body, "acknowledged") {
			t.Errorf("%s", got)
		}
	}
	waitForSubscriptions(t, s, 0)
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
