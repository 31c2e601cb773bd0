package runtime_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

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
				User: parts[0], Role: parts[1]})
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

// next waits for the next notification of a client.
func (c *watchClient) next(t testing.TB) string {
	t.Helper()
	select {
	case kind := <-c.kinds:
		return kind
	case <-time.After(20 * time.Second):
		t.Fatal("the client was told nothing")
		return ""
	}
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

func TestOnlySessionsWhoseSurfaceChangedAreNotified(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, func(t *testing.T, era string, overHTTP bool) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.set("ada", "dcim.view_device")
			h.set("bob", "dcim.view_device")
			s, url := awareServer(t, h, overHTTP, runtime.Options{})
			ada, bob := listening(t, s, url, "ada_Viewer", era),
				listening(t, s, url, "bob_Viewer", era)
			check := func(after string, wantAda, wantBob []string) {
				t.Helper()
				if got := ada.notified(); !slices.Equal(got, wantAda) {
					t.Errorf("after %s, ada is notified of %q", after, got)
				}
				if got := bob.notified(); !slices.Equal(got, wantBob) {
					t.Errorf("after %s, bob is notified of %q", after, got)
				}
			}
			check("the start", nil, nil)
			h.set("ada", "dcim.view_device", "dcim.change_device")
			s.InvalidateCapabilities(nil)
			check("a permission that ada's role hides", nil, nil)
			h.set("ada", "dcim.view_device", "dcim.change_device", "billing.export")
			s.InvalidateCapabilities(nil)
			check("a tool more", []string{"tools"}, nil)
			h.set("ada")
			s.InvalidateCapabilities(runtime.OfUser("ada"))
			check("the loss of everything", []string{"prompts", "resources", "tools"}, nil)
			h.set("bob", "dcim.view_device", "dcim.view_site")
			s.InvalidateCapabilities(nil)
			check("a resource of bob's", nil, []string{"resources"})
		})
	})
}

func TestAnotherTokenOfTheSameUserThatSeesMoreIsNotified(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.set("ada", "dcim.view_device", "dcim.change_device")
		s := aware(t, h, runtime.Options{})
		c := listening(t, s, serve(t, s), "ada_Viewer", "2025-11-25")
		c.notified()
		c.token.Store("ada_Member")
		mcptest.Tools(t, c.ClientSession)
		if got := c.notified(); !slices.Equal(got, []string{"tools"}) {
			t.Errorf("%q have changed", got)
		}
	})
}

func TestRefreshedPermissionsThatDifferAreSent(t *testing.T) {
	t.Parallel()
	for _, period := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.set("ada", "dcim.view_device")
			s := aware(t, h, runtime.Options{
				Host: runtime.HostOptions{TTL: period, Recheck: time.Hour}})
			url := serve(t, s)
			c := listening(t, s, url, "ada_Viewer", "2026-07-28")
			c.notified()
			h.set("ada", "dcim.view_device", "dcim.view_site")
			time.Sleep(period)
			if got := c.notified(); got != nil {
				t.Errorf("period %s: %q have changed before a request", period, got)
			}
			// another request of ada's reads the host
			mcptest.Tools(t, connectHTTP(t, url, "ada_Viewer", "2026-07-28"))
			if got := c.notified(); !slices.Equal(got, []string{"resources"}) {
				t.Errorf("period %s: %q have changed", period, got)
			}
		})
	}
}

// A client that only waits is notified of a change in the host after the interval, without a
// message or an invalidation.
func TestClientThatOnlyWaitsIsNotifiedAfterTheInterval(t *testing.T) {
	t.Parallel()
	const interval = 10 * time.Minute // a session without requests ends after 30
	onEveryTransport(t, func(t *testing.T, era string, overHTTP bool) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.set("ada", "dcim.view_device")
			s, url := awareServer(t, h, overHTTP, runtime.Options{
				Host: runtime.HostOptions{Recheck: interval}})
			c := listening(t, s, url, "ada_Viewer", era)
			c.notified()
			h.set("ada", "dcim.view_device", "dcim.view_site")
			time.Sleep(interval - 3*time.Second)
			if got := c.notified(); got != nil {
				t.Errorf("%q have changed before the interval", got)
			}
			time.Sleep(2 * time.Second)
			if got := c.notified(); !slices.Equal(got, []string{"resources"}) {
				t.Errorf("%q have changed", got)
			}
		})
	})
}

// onEveryTransport runs a test for each version over HTTP and over pipes.
func onEveryTransport(t *testing.T, test func(t *testing.T, era string, overHTTP bool)) {
	for _, era := range eras {
		t.Run(era+"/http", func(t *testing.T) { test(t, era, true) })
		t.Run(era+"/stdio", func(t *testing.T) { test(t, era, false) })
	}
}

// awareServer is [aware] with the URL of the server over HTTP, for [listening].
func awareServer(t *testing.T, h *fakeHost, overHTTP bool,
	options runtime.Options) (s *runtime.Server, url string) {
	s = aware(t, h, options)
	if overHTTP {
		url = serve(t, s)
	} else {
		shutDown(t, s)
	}
	return s, url
}

func TestListeningIsForWhatWasRequested(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{Anonymous: true})
	url := serve(t, s)
	c := newRaw(t, url, "ada_Viewer", "2026-07-28")
	// Nothing that there is to listen to: it ends at once.
	got := c.ask(t, "subscriptions/listen",
		`"notifications":{"resourceSubscriptions":["dcim://devices"]}`, nil)
	if got.status != 200 || !strings.Contains(got.body, `"notifications":{}`) ||
		!strings.Contains(got.body, `"result"`) {
		t.Errorf("%s", got)
	}
	if n := runtime.Watched(s); n != 0 {
		t.Errorf("%d are watched", n)
	}
}

// stream is an answer that is read while it is sent.
type stream struct {
	cancel context.CancelFunc
	lines  chan string // of data; closed where the answer ends
}

// listen opens a request that listens for changes of the tools.
func listen(t testing.TB, url, token, era, session string, id int) *stream {
	t.Helper()
	c := &raw{era: era}
	body := strings.Replace(c.request("subscriptions/listen",
		`"notifications":{"toolsListChanged":true}`), `"id":7`, fmt.Sprintf(`"id":%d`, id), 1)
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": era,
		"Mcp-Method":           "subscriptions/listen", "Mcp-Session-Id": session,
		"Authorization": "Bearer " + token,
	} {
		if value != "" && value != "Bearer " {
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{cancel, make(chan string, 100)}
	go func() {
		defer close(s.lines)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "" ||
				strings.HasPrefix(lines.Text(), "{") {
				s.lines <- data
			}
		}
	}()
	t.Cleanup(cancel)
	return s
}

// next is the next message, or "" where the answer has ended.
func (s *stream) next(t testing.TB) string {
	t.Helper()
	select {
	case line := <-s.lines:
		return line
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was sent, and the answer does not end")
		return ""
	}
}

// Who has nothing to listen to is answered at once, and holds nothing.
func TestListeningOfAnonymousCallersEndsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{Anonymous: true,
		HTTP: runtime.HTTPOptions{MaxSessions: 2, MaxPerUser: 1}})
	url := serve(t, s)
	for id := range 20 {
		for who, got := range map[string]*stream{
			"an anonymous caller":      listen(t, url, "", "2026-07-28", "", id+1),
			"an identity without user": listen(t, url, "eve_Viewer", "2026-07-28", "", id+1),
		} {
			if first := got.next(t); !strings.Contains(first, `"notifications":{}`) {
				t.Fatalf("%s: %s", who, first)
			}
			if second := got.next(t); !strings.Contains(second, `"result"`) || got.next(t) != "" {
				t.Fatalf("%s: %s", who, second)
			}
		}
	}
}

// Requests that listen are held to the bounds of sessions, of the server and of each user.
func TestRequestsThatListenAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	for _, user := range []string{"ada", "bob", "eve"} {
		h.set(user, "dcim.view_device")
	}
	s := aware(t, h, runtime.Options{HTTP: runtime.HTTPOptions{MaxSessions: 3, MaxPerUser: 2}})
	url := serve(t, s)
	const era, taken = "2026-07-28", `"toolsListChanged":true`
	refused := func(got *stream, want string) {
		t.Helper()
		if first := got.next(t); !strings.Contains(first, `"code":429`) ||
			!strings.Contains(first, want) || got.next(t) != "" {
			t.Errorf("%s", first)
		}
	}
	first, second := listen(t, url, "ada_Viewer", era, "", 1), listen(t, url, "ada_Admin", era, "",
		2)
	if a, b := first.next(t), second.next(t); !strings.Contains(a, taken) ||
		!strings.Contains(b, taken) {
		t.Fatalf("%s\n%s", a, b)
	}
	refused(listen(t, url, "ada_Viewer", era, "", 3), "of this caller")
	third := listen(t, url, "bob_Viewer", era, "", 4)
	if got := third.next(t); !strings.Contains(got, taken) {
		t.Fatalf("%s", got)
	}
	refused(listen(t, url, "eve_Viewer", era, "", 5), "on this server")
	if got := opening(t, url, "eve_Viewer"); got.status != http.StatusServiceUnavailable {
		t.Errorf("a session beside them: %s", got)
	}
	if n := runtime.Watched(s); n != 3 {
		t.Errorf("%d are watched", n)
	}
	second.cancel()
	opensAgain(t, url, "eve_Viewer") // its room is given back
}

// A subscription gets notifications until the server ends, and does not keep it from ending.
func TestShutdownEndsRequestsThatListenAndWaitsForCalls(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device", "dcim.change_device")
	started, release := make(chan struct{}), make(chan struct{})
	middleware := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if m.Method == "tools/call" {
				close(started)
				<-release
			}
			return next(ctx, m)
		}
	}
	s := aware(t, h, runtime.Options{Interceptors: []intercept.Middleware{middleware}})
	url := serve(t, s)
	heard := listen(t, url, "ada_Viewer", "2026-07-28", "", 1)
	if got := heard.next(t); !strings.Contains(got, `"toolsListChanged":true`) {
		t.Fatalf("%s", got)
	}
	called := make(chan reply)
	go func() {
		called <- newRaw(t, url, "ada_Viewer", "2026-07-28").call(t, "device_get",
			`,"arguments":{}`, nil)
	}()
	<-started
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() { ended <- s.Shutdown(ctx) }()
	// While the call is waited for, the stream is open.
	h.set("ada", "billing.export")
	s.InvalidateCapabilities(nil)
	if got := heard.next(t); !strings.Contains(got, "notifications/tools/list_changed") {
		t.Errorf("%s", got)
	}
	h.set("ada", "dcim.view_device")
	s.InvalidateCapabilities(nil)
	close(release)
	if got := <-called; !strings.Contains(got.body, "constraints") {
		t.Errorf("%s", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v", err)
	}
	for line := heard.next(t); line != ""; line = heard.next(t) {
		if !strings.Contains(line, "list_changed") && !strings.Contains(line, `"result"`) {
			t.Errorf("%s", line)
		}
	}
}

func TestRequestsThatListenOverStdioAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{HTTP: runtime.HTTPOptions{MaxPerUser: 2}})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.RunIO(context.Background(), in, out, access.Principal{Subject: "ada",
			User: "ada"})
	}()
	answers := bufio.NewScanner(fromServer)
	c := &raw{era: "2026-07-28"}
	for id, want := range []string{`"toolsListChanged":true`, `"toolsListChanged":true`,
		`"code":429`} {
		body := strings.Replace(c.request("subscriptions/listen",
			`"notifications":{"toolsListChanged":true}`), `"id":7`, fmt.Sprintf(`"id":%d`, id+1), 1)
		if _, err := io.WriteString(toServer, body+"\n"); err != nil {
			t.Fatal(err)
		}
		if !answers.Scan() || !strings.Contains(answers.Text(), want) {
			t.Errorf("%d: %s", id, answers.Text())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, fromServer) }()
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
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

// A change that concerns everybody leaves room to query the host for callers in between.
func TestRequestsFindRoomWhileEverybodyIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	const clients = 300 // more than there are questions at a time
	synctest.Test(t, func(t *testing.T) {
		h := newHost(nil)
		h.set("bob", "dcim.view_device")
		source := identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Issuer: "test", Subject: token,
				User: "bob", Role: "Viewer"}}, nil
		}, identity.NamesUsers())
		s := aware(t, h, runtime.Options{Identity: source})
		url := serve(t, s)
		for i := range clients {
			newRaw(t, url, fmt.Sprintf("client%d", i), "2025-11-25")
		}
		synctest.Wait() // the last handshake is looked at behind its answer
		if n := runtime.Watched(s); n != clients {
			t.Fatalf("%d are watched", n)
		}
		asked, release := make(chan struct{}, 9*clients), make(chan struct{})
		h.failing(func(context.Context) error {
			asked <- struct{}{}
			<-release
			return nil
		})
		s.InvalidateCapabilities(nil)
		synctest.Wait()
		most := runtime.HostQueries(s)
		if most > 16 || len(asked) == 0 {
			t.Errorf("%d places are taken for those who did not ask", most)
		}
		answered := make(chan reply)
		go func() {
			answered <- newRaw(t, url, "fresh", "2026-07-28").call(t, "device_get",
				`,"arguments":{}`, nil)
		}()
		synctest.Wait()
		if len(asked) != most+1 {
			t.Errorf("%d queries beside those %d", len(asked)-most, most)
		}
		close(release)
		if got := <-answered; !strings.Contains(got.body, "constraints") {
			t.Errorf("%s", got)
		}
	})
}

func TestWhoIsGoneIsNotWatched(t *testing.T) {
	t.Parallel()
	onEveryTransport(t, func(t *testing.T, era string, overHTTP bool) {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.set("ada", "dcim.view_device")
			s, url := awareServer(t, h, overHTTP, runtime.Options{})
			c := listening(t, s, url, "ada_Viewer", era)
			if synctest.Wait(); runtime.Watched(s) != 1 {
				t.Errorf("%d are watched", runtime.Watched(s))
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if synctest.Wait(); runtime.Watched(s) != 0 {
				t.Errorf("%d are watched after the session", runtime.Watched(s))
			}
		})
	})
}
