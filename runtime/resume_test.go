package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// streamEvent is one event of a stream.
type streamEvent struct{ name, id, data string }

// eventStream is the response to one request of a raw client, event by event.
type eventStream struct {
	status int
	events chan streamEvent // closed at the end
	drop   context.CancelFunc
}

func (c *raw) stream(t testing.TB, method, body, lastEventID string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + c.token,
		"Mcp-Session-Id": c.session, "Mcp-Protocol-Version": c.era} {
		req.Header.Set(name, value)
	}
	if c.era == "2026-07-28" {
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "work")
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-Id", lastEventID)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &eventStream{status: res.StatusCode, events: make(chan streamEvent, 1000), drop: cancel}
	go func() {
		defer close(s.events)
		defer res.Body.Close()
		var e streamEvent
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch name {
			case "event":
				e.name = value
			case "id":
				e.id = value
			case "data":
				e.data = value
			case "":
				if e != (streamEvent{}) {
					s.events <- e
				}
				e = streamEvent{}
			}
		}
	}()
	return s
}

func (s *eventStream) next(t testing.TB) streamEvent {
	t.Helper()
	select {
	case e, open := <-s.events:
		if !open {
			t.Fatal("the stream has ended")
		}
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no event")
		return streamEvent{}
	}
}

// rest returns all further events until the end.
func (s *eventStream) rest(t testing.TB) (all []streamEvent) {
	t.Helper()
	for {
		select {
		case e, open := <-s.events:
			if !open {
				return all
			}
			all = append(all, e)
		case <-time.After(20 * time.Second):
			t.Fatal("the stream does not end")
		}
	}
}

// resume reconnects. go-sdk refuses it until it has noticed that the connection has ended.
func (c *raw) resume(t testing.TB, lastEventID string) *eventStream {
	t.Helper()
	for range 200 {
		s := c.stream(t, http.MethodGet, "", lastEventID)
		if s.status != http.StatusConflict {
			return s
		}
		s.drop()
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the stream stays in conflict")
	return nil
}

// twoSteps is a toolset whose tool reports progress, waits, reports again and returns.
func twoSteps(proceed chan struct{}) toolset.Toolset {
	return oneTool("work", func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		runtime.Progress(ctx).Report(1, 2, "first")
		select {
		case <-proceed:
		case <-ctx.Done():
			return toolset.Result{}, ctx.Err()
		}
		runtime.Progress(ctx).Report(2, 2, "second")
		return toolset.Structured(map[string]string{"all": "done"}, nil)
	})
}

const workCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"work",` +
	`"_meta":{"progressToken":"p"}}}`

// A client whose connection drops in the middle of a call gets the rest, by either door, while the
// call runs or after its end.
func TestCallGoesOnAfterItsConnectionAndIsResumed(t *testing.T) {
	for _, sdkOnly := range []bool{false, true} {
		for _, era := range eras[:2] {
			for _, late := range []bool{false, true} {
				t.Run(fmt.Sprintf("sdk=%v/%s/late=%v", sdkOnly, era, late), func(t *testing.T) {
					proceed := make(chan struct{})
					s := newServer(t, runtime.Options{SDKOnly: sdkOnly}, twoSteps(proceed))
					s.Linger()
					c := newRaw(t, serve(t, s), tokens["Member"], era)
					post := c.stream(t, http.MethodPost, workCall, "")
					first := post.next(t)
					prime := first
					if era == "2025-11-25" {
						if prime.name != "prime" || prime.data != "" || prime.id == "" {
							t.Errorf("%+v comes first", prime)
						}
						first = post.next(t)
					}
					if !strings.Contains(first.data, "first") || first.id == "" {
						t.Fatalf("%+v", first)
					}
					post.drop()
					var get *eventStream
					if late {
						close(proceed)
						waitForResponse(t, c, prime.id)
						get = c.resume(t, first.id)
					} else {
						// go-sdk sends no header before the next event.
						time.AfterFunc(200*time.Millisecond, func() { close(proceed) })
						get = c.resume(t, first.id)
					}
					got := get.rest(t)
					if len(got) != 2 || !strings.Contains(got[0].data, "second") ||
						!strings.Contains(got[1].data, `"id":7,"result"`) {
						t.Fatalf("%+v", got)
					}
					// Once more, from the beginning.
					if again := c.resume(t, prime.id).rest(t); era == "2025-11-25" &&
						(len(again) != 3 || again[0] != first || again[2] != got[1]) {
						t.Errorf("%+v", again)
					}
					if e := c.resume(t, got[1].id).rest(t); len(e) != 0 {
						t.Errorf("after the answer: %+v", e)
					}
					if got := c.send(t, http.MethodDelete, "", nil); got.status != 204 {
						t.Fatal(got)
					}
					if sessions, bytes := runtime.KeptEvents(s); sessions != 0 || bytes != 0 {
						t.Errorf("%d sessions and %d bytes are kept", sessions, bytes)
					}
				})
			}
		}
	}
}

// waitForResponse waits until the events of a call contain its response.
func waitForResponse(t testing.TB, c *raw, id string) {
	t.Helper()
	waitFor(t, func() bool {
		s := c.resume(t, id)
		defer s.drop()
		for {
			select {
			case e, open := <-s.events:
				if strings.Contains(e.data, `"result"`) {
					return true
				}
				if !open {
					return false
				}
			case <-time.After(50 * time.Millisecond):
				return false
			}
		}
	})
}

// A connection that the server takes for alive gives way to a new one. Its request ends, so that a
// client has one that waits.
func TestNewConnectionTakesTheStreamOver(t *testing.T) {
	proceed := make(chan struct{})
	s := newServer(t, runtime.Options{}, twoSteps(proceed))
	s.Linger()
	c := newRaw(t, serve(t, s), tokens["Member"], "2025-11-25")
	post := c.stream(t, http.MethodPost, workCall, "")
	prime := post.next(t)
	post.next(t)
	one := c.stream(t, http.MethodGet, "", prime.id)
	one.next(t)
	two := c.stream(t, http.MethodGet, "", prime.id)
	two.next(t)
	if got := one.rest(t); len(got) != 0 {
		t.Errorf("the first GET gets %+v", got)
	}
	close(proceed)
	if got := two.rest(t); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	if got := post.rest(t); len(got) != 0 {
		t.Errorf("the POST gets %+v", got)
	}
}

// Streams of another principal, of another session, and streams that do not exist are alike.
func TestStreamsOfOthersAreUnknown(t *testing.T) {
	for _, sdkOnly := range []bool{false, true} {
		proceed := make(chan struct{})
		s := newServer(t, runtime.Options{SDKOnly: sdkOnly, Anonymous: true}, twoSteps(proceed))
		s.Linger()
		url := serve(t, s)
		c := newRaw(t, url, tokens["Member"], "2025-11-25")
		post := c.stream(t, http.MethodPost, workCall, "")
		prime := post.next(t)
		post.next(t)
		get := func(of *raw, token, session, id string) string {
			other := &raw{url: url, token: token, era: of.era, session: session}
			return other.send(t, http.MethodGet, "", map[string]string{"Last-Event-Id": id}).String()
		}
		for _, running := range []bool{true, false} {
			if !running {
				close(proceed)
				post.rest(t)
			}
			unknown := "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0"
			// Another user with the ids of this session, against a session that does not exist.
			for _, token := range []string{tokens["Admin"], ""} {
				got, want := get(c, token, c.session, prime.id), get(c, token, "nowhere", unknown)
				if got != want || !strings.HasPrefix(got, "404\n") {
					t.Errorf("running=%v, token %q:\n%s\nan unknown session:\n%s", running, token, got,
						want)
				}
			}
			// The same user in another session, against a stream that does not exist.
			own := newRaw(t, url, tokens["Member"], "2025-11-25")
			got, want := get(own, own.token, own.session, prime.id),
				get(own, own.token, own.session, unknown)
			if got != want || !strings.HasPrefix(got, "400\n") {
				t.Errorf("running=%v:\n%s\nan unknown stream:\n%s", running, got, want)
			}
			stale := strings.TrimSuffix(prime.id, "_0") + "_99"
			if got := get(c, c.token, c.session, stale); got != want && !(sdkOnly && running) {
				t.Errorf("running=%v, an event that does not exist:\n%s", running, got)
			}
			if got := get(c, c.token, c.session, "x"); !strings.HasPrefix(got, "400\n") {
				t.Errorf("a malformed id: %s", got)
			}
		}
		if got := c.send(t, http.MethodGet, "", map[string]string{"Last-Event-Id": prime.id,
			"Accept": "application/json"}); got.status != 400 {
			t.Errorf("without event streams: %s", got)
		}
	}
}

// breaking is an HTTP client whose first response with progress breaks after it.
type breaking struct {
	token string
	once  sync.Once
	broke chan struct{}
}

func (b *breaking) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost {
		res.Body = &brokenBody{b, res.Body, ""}
	}
	return res, err
}

type brokenBody struct {
	*breaking
	io.ReadCloser
	read string
}

func (b *brokenBody) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	b.read += string(p[:n])
	if strings.Contains(b.read, "first") && strings.HasSuffix(b.read, "\n\n") {
		b.once.Do(func() {
			close(b.broke)
			_ = b.ReadCloser.Close()
			err = errors.New("the connection has dropped")
		})
	}
	return n, err
}

// go-sdk's client resumes a call by itself.
func TestStockClientResumesACall(t *testing.T) {
	for _, sdkOnly := range []bool{false, true} {
		for _, era := range eras[:2] {
			proceed := make(chan struct{})
			s := newServer(t, runtime.Options{SDKOnly: sdkOnly}, twoSteps(proceed))
			s.Linger()
			b := &breaking{token: tokens["Member"], broke: make(chan struct{})}
			var reports []string
			var lock sync.Mutex
			client := mcp.NewClient(&mcp.Implementation{Name: "stock", Version: "1"},
				&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
					r *mcp.ProgressNotificationClientRequest) {
					lock.Lock()
					defer lock.Unlock()
					reports = append(reports, r.Params.Message)
				}})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: serve(t, s), HTTPClient: &http.Client{Transport: b}},
				&mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				<-b.broke
				time.Sleep(50 * time.Millisecond)
				close(proceed)
			}()
			params := &mcp.CallToolParams{Name: "work"}
			params.SetProgressToken("p")
			res, err := session.CallTool(t.Context(), params)
			if err != nil || fmt.Sprint(res.StructuredContent) != "map[all:done]" {
				t.Errorf("sdk=%v, %s: %v %v", sdkOnly, era, res, err)
			}
			waitFor(t, func() bool {
				lock.Lock()
				defer lock.Unlock()
				return strings.Join(reports, " ") == "first second"
			})
			_ = session.Close()
		}
	}
}

// A session gets what was sent before its standalone stream, and what it missed between two.
func TestStandaloneStreamIsResumed(t *testing.T) {
	s := newServer(t, runtime.Options{}, updating())
	c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
	for _, uri := range []string{"lib://hall", "lib://safe"} {
		c.ask(t, "resources/subscribe", `"uri":"`+uri+`"`, nil)
	}
	update(t, s, "lib://hall")
	get := c.stream(t, http.MethodGet, "", "")
	e := get.next(t)
	if !strings.Contains(e.data, "lib://hall") || e.id == "" {
		t.Fatalf("%+v", e)
	}
	get.drop()
	update(t, s, "lib://safe")
	again := c.resume(t, e.id)
	if e := again.next(t); !strings.Contains(e.data, "lib://safe") {
		t.Errorf("%+v", e)
	}
	again.drop()
	// A plain GET is a new stream.
	var plain *eventStream
	for plain = c.stream(t, http.MethodGet, "", ""); plain.status == http.StatusConflict; {
		plain = c.stream(t, http.MethodGet, "", "")
	}
	update(t, s, "lib://safe")
	if e := plain.next(t); !strings.Contains(e.data, "lib://safe") {
		t.Errorf("%+v", e)
	}
}

// Responses of 2026-07-28 have no ids, and nothing is kept of them.
func TestResponsesWithoutASessionAreNotKept(t *testing.T) {
	proceed := make(chan struct{})
	close(proceed)
	for _, sdkOnly := range []bool{false, true} {
		s := newServer(t, runtime.Options{SDKOnly: sdkOnly}, twoSteps(proceed))
		s.Linger()
		c := newRaw(t, serve(t, s), tokens["Member"], "2026-07-28")
		body := strings.Replace(workCall, `"_meta":{`, `"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{},`, 1)
		got := c.stream(t, http.MethodPost, body, "").rest(t)
		if len(got) < 2 { // progress, which may be one report, and the result
			t.Errorf("%+v", got)
		}
		for _, e := range got {
			if e.id != "" || e.name != "message" {
				t.Errorf("%+v", e)
			}
		}
		if sessions, bytes := runtime.KeptEvents(s); sessions != 0 || bytes != 0 {
			t.Errorf("%d sessions, %d bytes", sessions, bytes)
		}
	}
}
