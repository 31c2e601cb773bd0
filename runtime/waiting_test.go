package runtime_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpgen/mcpgen/runtime"
)

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
						c.request("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}`), nil))
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
