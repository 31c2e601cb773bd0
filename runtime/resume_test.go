package runtime_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// newRequest returns a request with the headers of the era, which ends with the test or by drop.
func (c *raw) newRequest(t testing.TB, method, body string) (r *http.Request,
	drop context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + c.token,
		"Mcp-Session-Id": c.session, "Mcp-Protocol-Version": c.era} {
		r.Header.Set(name, value)
	}
	return r, cancel
}

func (c *raw) stream(t testing.TB, method, body, lastEventID string) *eventStream {
	t.Helper()
	req, drop := c.newRequest(t, method, body)
	if c.era == "2026-07-28" {
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "work")
	}
	if lastEventID != "" {
		req.Header.Set("Last-Event-Id", lastEventID)
	}
	res, err := (&http.Client{Transport: c.client.Transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &eventStream{status: res.StatusCode, events: make(chan streamEvent, 1000), drop: drop}
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

// A handler that has closed its stream holds its session until its end, after which the client gets
// the response.
func TestCallGoesOnWhenItsHandlerHasClosedItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := oneTool("work", func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			r := toolset.Request[mcp.CallToolRequest](c)
			r.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: time.Second})
			time.Sleep(20 * time.Minute)
			return toolset.Native(&mcp.CallToolResult{}, map[string]any{"ended": ctx.Err() != nil}, nil)
		}).Generated()
		g.Tools[0].SDK, g.Tools[0].Timeout = true, time.Hour
		s := newServer(t, runtime.Options{
			HTTP: runtime.HTTPOptions{SessionTimeout: time.Minute}}, toolset.NewToolset(g))
		c := newRaw(t, serve(t, s), tokens["Member"], "2025-11-25")
		stream := c.stream(t, "POST", c.request("tools/call", `"name":"work"`), "")
		var last string
		for e := range stream.events {
			last = cmp.Or(e.id, last)
		}
		time.Sleep(10 * time.Minute)
		again := c.stream(t, "GET", "", last)
		time.Sleep(11 * time.Minute)
		if e := again.next(t); again.status != http.StatusOK ||
			!strings.Contains(e.data, `"ended":false`) {
			t.Errorf("%d %+v", again.status, e)
		}
		again.drop()
		stream.drop()
		c.client.CloseIdleConnections()
	})
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
	for _, era := range eras[:2] {
		proceed := make(chan struct{})
		s := newServer(t, runtime.Options{}, twoSteps(proceed))
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
			close(proceed)
		}()
		params := &mcp.CallToolParams{Name: "work"}
		params.SetProgressToken("p")
		res, err := session.CallTool(t.Context(), params)
		if err != nil || fmt.Sprint(res.StructuredContent) != "map[all:done]" {
			t.Errorf("%s: %v %v", era, res, err)
		}
		waitFor(t, func() bool {
			lock.Lock()
			defer lock.Unlock()
			return strings.Join(reports, " ") == "first second"
		})
		_ = session.Close()
	}
}

// deaf is a response that keeps its header alone.
type deaf http.Header

func (w deaf) Header() http.Header         { return http.Header(w) }
func (w deaf) WriteHeader(int)             {}
func (w deaf) Write(b []byte) (int, error) { return len(b), nil }
func (w deaf) Flush()                      {}

// asked is a request of a raw client, without a connection.
func asked(c *raw, method, body string, further map[string]string) *http.Request {
	r := httptest.NewRequest(method, runtime.PathMCP, strings.NewReader(body))
	if body == "" {
		r.Body = http.NoBody
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + c.token,
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": c.era} {
		r.Header.Set(name, value)
	}
	for name, value := range further {
		r.Header.Set(name, value)
	}
	return r
}

// A server has many streams that wait. Each keeps little beside its request, and has no step of the
// way to it on its stack, of which net/http's connection keeps twice as much for each doubling. Its
// request is authenticated again at each interval: that takes about 500 bytes, and twice as much
// under the race detector.
func TestStreamsThatWaitKeepLittle(t *testing.T) {
	const few, many, rounds = 20, 100, 5
	for name, test := range map[string]struct {
		era   string
		bytes int64 // of the heap, for each
	}{
		"a session and its stream": {"2025-11-25", 5000},
		"a listen request":         {"2026-07-28", 10_500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, runtime.Options{
					HTTP: runtime.HTTPOptions{MaxSessions: 1000, MaxPerUser: 1000}}, updating())
				shutDown(t, s)
				h, c := s.Handler(), &raw{token: tokens["Member"], era: test.era}
				ctx, cancel := context.WithCancel(t.Context())
				request := func() *http.Request {
					if c.era == "2026-07-28" {
						return asked(c, http.MethodPost, c.request("subscriptions/listen",
							`"notifications":{"resourceSubscriptions":["lib://hall"]}`),
							map[string]string{"Mcp-Method": "subscriptions/listen"})
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, asked(c, http.MethodPost,
						c.request("initialize",
							`"protocolVersion":"2025-11-25","capabilities":{},`+
								`"clientInfo":{"name":"raw","version":"1"}`), nil))
					return asked(c, http.MethodGet, "",
						map[string]string{"Mcp-Session-Id": w.Header().Get("Mcp-Session-Id")})
				}
				used := func() int64 {
					synctest.Wait()
					goruntime.GC()
					goruntime.GC() // frees what pools keep
					var m goruntime.MemStats
					goruntime.ReadMemStats(&m)
					return int64(m.HeapAlloc)
				}
				open := func(n int) {
					for range n {
						r := request().WithContext(ctx)
						go h.ServeHTTP(deaf{}, r)
					}
				}
				open(few)        // and what the first ones alone cost
				var each []int64 // of each round: what tests before have left may end meanwhile
				for range rounds {
					before := used()
					open(many)
					each = append(each, (used()-before)/many)
				}
				slices.Sort(each)
				if each[rounds/2] > test.bytes {
					t.Errorf("%d bytes, want %d at most", each, test.bytes)
				}
				stacks := make([]byte, 4<<20)
				stacks = stacks[:goruntime.Stack(stacks, true)]
				waiting, deep := 0, ""
				for stack := range strings.SplitSeq(string(stacks), "\n\n") {
					if strings.Contains(stack, "transport.(*Handler).ServeHTTP") {
						if waiting++; strings.Contains(stack, ").begin(") && deep == "" {
							deep = stack
						}
					}
				}
				if deep != "" {
					t.Errorf("it waits on the way to its stream:\n%s", deep)
				}
				if want := few + rounds*many; waiting != want {
					t.Errorf("%d of %d wait", waiting, want)
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}
