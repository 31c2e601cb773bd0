package runtime_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// told is a client that notes which lists it was told have changed.
type told struct {
	*mcp.ClientSession
	kinds chan string
	token atomic.Value // string; sent with each request over HTTP
}

// RoundTrip sends the token along.
func (c *told) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+c.token.Load().(string))
	return http.DefaultTransport.RoundTrip(r)
}

// listening opens a session that listens, over HTTP, or over pipes where url is empty.
func listening(t testing.TB, s *runtime.Server, url, token, era string) *told {
	t.Helper()
	c := &told{kinds: make(chan string, 100)}
	c.token.Store(token)
	client := mcp.NewClient(&mcp.Implementation{Name: "told", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { c.kinds <- "tools" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { c.kinds <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { c.kinds <- "resources" },
	})
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: c}, MaxRetries: -1}
	if url == "" {
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		parts := strings.Split(token, "_")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = s.RunIO(ctx, serverIn, serverOut, access.Principal{Subject: "sub-" + parts[0], User: parts[0], Role: parts[1]})
			_ = serverOut.Close()
		}()
		t.Cleanup(func() { cancel(); <-ended })
		transport = &mcp.IOTransport{Reader: clientIn, Writer: clientOut}
	}
	session, err := client.Connect(context.Background(), transport, &mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	c.ClientSession = session
	mcptest.Tools(t, session)
	return c
}

// next waits for what a client is told next.
func (c *told) next(t testing.TB) string {
	t.Helper()
	select {
	case kind := <-c.kinds:
		return kind
	case <-time.After(20 * time.Second):
		t.Fatal("the client was told nothing")
		return ""
	}
}

// ready waits until a client hears what it is told: its stream opens by itself, some time after the session.
func (c *told) ready(t testing.TB, s *runtime.Server, h *fakeHost, user string, permissions ...string) {
	t.Helper()
	for n := range 400 {
		with := permissions
		if n%2 == 0 {
			with = append(slices.Clone(permissions), "billing.export")
		}
		h.set(user, with...)
		s.InvalidateCapabilities(runtime.OfUser(user))
		select {
		case <-c.kinds:
			h.set(user, permissions...)
			s.InvalidateCapabilities(runtime.OfUser(user))
			// What is still on its way is heard before the list that follows it.
			for len(mcptest.Tools(t, c.ClientSession)) == 0 {
			}
			c.drain()
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("the client hears nothing")
}

func (c *told) drain() {
	for {
		select {
		case <-c.kinds:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

func TestOnlySessionsWhoseSurfaceChangedAreTold(t *testing.T) {
	for _, era := range eras {
		for _, transport := range []string{"http", "stdio"} {
			t.Run(era+"/"+transport, func(t *testing.T) {
				h := newHost(nil)
				h.set("ada", "dcim.view_device")
				h.set("bob", "dcim.view_device")
				s := aware(t, h, runtime.Options{})
				url := ""
				if transport == "http" {
					url = serve(t, s)
				}
				ada, bob := listening(t, s, url, "ada_Viewer", era), listening(t, s, url, "bob_Viewer", era)
				ada.ready(t, s, h, "ada", "dcim.view_device")
				bob.ready(t, s, h, "bob", "dcim.view_device")
				// Something that ada's role hides all the same: nobody is told.
				h.set("ada", "dcim.view_device", "dcim.change_device")
				s.InvalidateCapabilities(nil)
				mcptest.Tools(t, ada.ClientSession)
				// A tool more: tools alone.
				h.set("ada", "dcim.view_device", "dcim.change_device", "billing.export")
				s.InvalidateCapabilities(nil)
				if got := ada.next(t); got != "tools" {
					t.Errorf("%s has changed", got)
				}
				// All is lost: tools, prompts and resources, each once.
				h.set("ada")
				s.InvalidateCapabilities(runtime.OfUser("ada"))
				got := []string{ada.next(t), ada.next(t), ada.next(t)}
				slices.Sort(got)
				if want := []string{"prompts", "resources", "tools"}; !slices.Equal(got, want) {
					t.Errorf("%v have changed", got)
				}
				// The first that bob hears is about bob.
				h.set("bob", "dcim.view_device", "dcim.view_site")
				s.InvalidateCapabilities(nil)
				if got := bob.next(t); got != "resources" {
					t.Errorf("bob was told of %s", got)
				}
				if len(ada.kinds) != 0 {
					t.Errorf("ada was told of %s again", <-ada.kinds)
				}
			})
		}
	}
}

func TestAnotherTokenOfTheSameUserThatSeesMoreIsTold(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device", "dcim.change_device")
	s := aware(t, h, runtime.Options{})
	c := listening(t, s, serve(t, s), "ada_Viewer", "2025-11-25")
	c.ready(t, s, h, "ada", "dcim.view_device", "dcim.change_device")
	c.token.Store("ada_Member")
	mcptest.Tools(t, c.ClientSession)
	if got := c.next(t); got != "tools" {
		t.Errorf("%s has changed", got)
	}
}

func TestRefreshedAnswerThatDiffersIsTold(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	const period = 50 * time.Millisecond
	s := aware(t, h, runtime.Options{CapabilityTTL: period})
	url := serve(t, s)
	c := listening(t, s, url, "ada_Viewer", "2026-07-28")
	c.ready(t, s, h, "ada", "dcim.view_device")
	h.set("ada", "dcim.view_device", "dcim.view_site")
	time.Sleep(period)
	mcptest.Tools(t, connectHTTP(t, url, "ada_Viewer", "2026-07-28")) // another request of ada's asks the host
	if got := c.next(t); got != "resources" {
		t.Errorf("%s has changed", got)
	}
}

func TestListeningIsForWhatWasAskedFor(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{Anonymous: true})
	url := serve(t, s)
	c := newRaw(t, url, "ada_Viewer", "2026-07-28")
	// Nothing that there is to listen to: it ends at once.
	got := c.ask(t, "subscriptions/listen", `"notifications":{"resourceSubscriptions":["dcim://devices"]}`, nil)
	if got.status != 200 || !strings.Contains(got.body, `"notifications":{}`) || !strings.Contains(got.body, `"result"`) {
		t.Errorf("%s", got)
	}
	if n := runtime.Watched(s); n != 0 {
		t.Errorf("%d are watched", n)
	}
}

func TestWhoIsGoneIsNotWatched(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, runtime.Options{})
	url := serve(t, s)
	for _, era := range eras {
		for _, transport := range []string{"", url} {
			c := listening(t, s, transport, "ada_Viewer", era)
			c.ready(t, s, h, "ada", "dcim.view_device")
			if n := runtime.Watched(s); n != 1 {
				t.Errorf("%s: %d are watched", era, n)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			for deadline := time.Now().Add(20 * time.Second); runtime.Watched(s) != 0; time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%s: %d are watched after the session", era, runtime.Watched(s))
				}
			}
		}
	}
}
