package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const (
	// keepAlive is the longest pause on a stream by default.
	keepAlive = 15 * time.Second
	// quietTime is longer than proxies keep a connection on which nothing is sent.
	quietTime = 65 * time.Second
)

// timedResponse is a response of which a test knows the time of each part. Use it in a bubble.
type timedResponse struct {
	drop   context.CancelFunc
	mu     sync.Mutex
	status int
	header http.Header
	text   string
	last   time.Time     // of the last part, the header included, or of the request
	pause  time.Duration // the longest one before a part
	ended  bool
}

// watchInBubble sends a request of the era, and reads its response.
func (c *raw) watchInBubble(t *testing.T, method, body string,
	further map[string]string) *timedResponse {
	t.Helper()
	req, drop := c.newRequest(t, method, body)
	for name, value := range further {
		req.Header.Set(name, value)
	}
	w := &timedResponse{drop: drop, last: time.Now()}
	go func() {
		defer w.end()
		res, err := c.client.Do(req)
		if err != nil {
			return
		}
		defer res.Body.Close()
		w.arrived("", res)
		for part := make([]byte, 64<<10); err == nil; {
			var n int
			n, err = res.Body.Read(part)
			w.arrived(string(part[:n]), nil)
		}
	}()
	return w
}

// arrived notes a part of the body, or the header.
func (w *timedResponse) arrived(text string, header *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if header != nil {
		w.status, w.header = header.StatusCode, header.Header
	} else if text == "" {
		return
	}
	w.pause = max(w.pause, time.Since(w.last))
	w.last = time.Now()
	w.text += text
}

func (w *timedResponse) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// longestPause returns the longest pause from the request until now.
func (w *timedResponse) longestPause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return w.pause
	}
	return max(w.pause, time.Since(w.last))
}

// events returns the events that have data, and the number of comments.
func (w *timedResponse) events() (events []streamEvent, comments int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var e streamEvent
	for line := range strings.Lines(w.text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		switch value = strings.TrimPrefix(value, " "); {
		case strings.HasPrefix(line, ":"):
			comments++
		case name == "id":
			e.id = value
		case name == "event":
			e.name = value
		case name == "data":
			e.data = value
		case name == "":
			if e.data != "" {
				events = append(events, e)
			}
			e = streamEvent{}
		default:
			events = append(events, streamEvent{name: "no line of a stream: " + line})
		}
	}
	return events, comments
}

// keptAlive fails the test unless a stream that is open has a part at least every 15 seconds: its
// events and, in between, comments.
func (w *timedResponse) keptAlive(t *testing.T, name string, events int) {
	t.Helper()
	got, comments := w.events()
	if w.status != http.StatusOK || w.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%s: %d %q %s", name, w.status, w.header.Get("Content-Type"), w.text)
		return
	}
	if pause := w.longestPause(); pause > keepAlive {
		t.Errorf("%s: nothing is sent for %v", name, pause)
	}
	if len(got) != events {
		t.Errorf("%s: %d events, want %d: %q", name, len(got), events, got)
	}
	if most := int(quietTime/keepAlive) + 1; comments > most {
		t.Errorf("%s: %d comments in %v", name, comments, quietTime)
	}
}

// quietTools are a tool "work" and "held" in go-sdk's shape. They report progress if a client wants
// it, and then run for a quiet time.
func quietTools() toolset.Toolset {
	call := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		runtime.Progress(ctx).Report(1, 2, "half")
		select {
		case <-time.After(quietTime):
		case <-ctx.Done():
			return toolset.Result{}, ctx.Err()
		}
		return toolset.Structured(map[string]string{"all": "done"}, nil)
	}
	var tools []toolset.Tool
	for _, name := range []string{"work", "held"} {
		tools = append(tools, toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: call,
			SDK: name == "held", Timeout: time.Hour})
	}
	return toolsetOf(tools)
}

// callOf is a call of a tool, and the headers that its era wants. A client that wants progress gets
// a stream at once.
func (c *raw) callOf(tool string, progress bool) (body string, further map[string]string) {
	body = c.request("tools/call", `"name":"`+tool+`"`)
	switch {
	case progress && c.era == "2026-07-28":
		body = strings.Replace(body, `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	case progress:
		body = strings.Replace(body, `"name"`, `"_meta":{"progressToken":1},"name"`, 1)
	}
	if c.era == "2026-07-28" {
		further = map[string]string{"Mcp-Method": "tools/call", "Mcp-Name": tool}
	}
	return body, further
}

// A proxy ends a connection on which nothing is sent for 60 seconds, and in 2026-07-28 that cancels
// the call.
func TestQuietStreamsOfCallsAreKeptAlive(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		for _, tool := range []string{"work", "held"} {
			for _, progress := range []bool{false, true} {
				name := fmt.Sprintf("%s, %s, progress %v", version, tool, progress)
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := newRaw(t, serve(t, newServer(t, runtime.Options{}, quietTools())),
							tokens["Member"], version)
						body, further := c.callOf(tool, progress)
						w := c.watchInBubble(t, http.MethodPost, body, further)
						time.Sleep(quietTime + time.Second)
						synctest.Wait()
						events := 1
						if progress {
							events++
						}
						w.keptAlive(t, name, events)
						if got, _ := w.events(); len(got) > 0 &&
							!strings.Contains(got[len(got)-1].data, `"all":"done"`) {
							t.Errorf("%s: the last event is %q", name, got[len(got)-1])
						}
					})
				})
			}
		}
	}
}

func TestQuietStreamsOfSubscriptionsAreKeptAlive(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, runtime.Options{}, updating())
				c := newRaw(t, serve(t, s), tokens["Member"], version)
				var w *timedResponse
				before := 0 // events before the quiet time
				if version == "2026-07-28" {
					w = c.watchInBubble(t, http.MethodPost, c.request("subscriptions/listen",
						`"notifications":{"resourceSubscriptions":["lib://hall"]}`),
						map[string]string{"Mcp-Method": "subscriptions/listen"})
					before = 1 // the acknowledgement
				} else {
					c.ask(t, "resources/subscribe", `"uri":"lib://hall"`, nil)
					w = c.watchInBubble(t, http.MethodGet, "", nil)
				}
				time.Sleep(quietTime)
				synctest.Wait()
				w.keptAlive(t, version, before)
				if err := s.ResourceUpdated(t.Context(), "lib://hall"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				w.keptAlive(t, version+", with a notification", before+1)
			})
		})
	}
}

// A stream that a client resumes is kept alive too. Comments have no id, and are not sent again.
func TestResumedStreamsAreKeptAlive(t *testing.T) {
	t.Parallel()
	for _, version := range withSessions {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, runtime.Options{}, updating(), quietTools())
				c := newRaw(t, serve(t, s), tokens["Member"], version)
				c.ask(t, "resources/subscribe", `"uri":"lib://hall"`, nil)
				body, further := c.callOf("work", true)
				call := c.watchInBubble(t, http.MethodPost, body, further)
				time.Sleep(quietTime / 2)
				synctest.Wait()
				events, _ := call.events()
				if len(events) != 1 {
					t.Fatalf("%s: %q", version, events)
				}
				call.drop()
				synctest.Wait()
				resumed := c.watchInBubble(t, http.MethodGet, "", map[string]string{
					"Last-Event-Id": events[0].id})
				time.Sleep(quietTime/2 + time.Second)
				synctest.Wait()
				resumed.keptAlive(t, version+", a call", 1)

				get := c.watchInBubble(t, http.MethodGet, "", nil)
				synctest.Wait()
				if err := s.ResourceUpdated(t.Context(), "lib://hall"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(quietTime / 2)
				synctest.Wait()
				if events, _ = get.events(); len(events) != 1 {
					t.Fatalf("%s: %q", version, events)
				}
				get.drop()
				synctest.Wait()
				again := c.watchInBubble(t, http.MethodGet, "", map[string]string{
					"Last-Event-Id": events[0].id})
				time.Sleep(quietTime)
				synctest.Wait()
				again.keptAlive(t, version+", a GET", 0)
			})
		})
	}
}

// A comment makes no stream of a response that is JSON: for a client that accepts JSON alone, and
// for a refusal that takes long.
func TestKeepAliveMakesNoStreamOfJSON(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
					if e.Failure == audit.Denied {
						time.Sleep(quietTime)
					}
					return nil
				})
				s := newServer(t, runtime.Options{
					Audit: runtime.AuditOptions{Sink: slow, Timeout: time.Hour},
					Access: runtime.AccessOptions{
						Denial: access.Forbid}}, quietTools(), directory(&desk{}))
				c := newRaw(t, serve(t, s), tokens["Viewer"], version)
				for _, tool := range []string{"work", "held", "update"} {
					body, further := c.callOf(tool, true)
					further = maps.Clone(further)
					if tool != "update" {
						if further == nil {
							further = map[string]string{}
						}
						further["Accept"] = "application/json"
					}
					w := c.watchInBubble(t, http.MethodPost, body, further)
					time.Sleep(quietTime + time.Second)
					synctest.Wait()
					if !w.ended || !json.Valid([]byte(w.text)) ||
						!strings.HasPrefix(w.header.Get("Content-Type"), "application/json") {
						t.Errorf("%s, %s: %d %v %s", version, tool, w.status, w.header, w.text)
					}
				}
			})
		})
	}
}

func TestStdioHasNoKeepAlive(t *testing.T) {
	t.Parallel()
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, runtime.Options{}, updating(), quietTools())
				shutDown(t, s)
				in, toServer := io.Pipe()
				var out journal
				done := make(chan error, 1)
				go func() { done <- s.RunIO(t.Context(), in, &out, principalOf("Member")) }()
				c := &raw{era: version}
				write := func(id int, message string) {
					fmt.Fprintln(toServer, strings.Replace(message, `"id":7`, fmt.Sprintf(`"id":%d`, id),
						1))
				}
				if version == "2026-07-28" {
					write(1, c.request("subscriptions/listen",
						`"notifications":{"resourceSubscriptions":["lib://hall"]}`))
				} else {
					write(0, strings.Replace(handshake, "2025-11-25", version, 1))
					fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
					write(1, c.request("resources/subscribe", `"uri":"lib://hall"`))
				}
				body, _ := c.callOf("work", false)
				write(2, body)
				time.Sleep(quietTime + time.Second)
				synctest.Wait()
				for line := range strings.Lines(out.String()) {
					if !json.Valid([]byte(line)) || !strings.HasPrefix(line, "{") {
						t.Errorf("%s: %q", version, line)
					}
				}
				if !strings.Contains(out.String(), `"id":2,"result"`) {
					t.Errorf("%s: the call has no result: %s", version, out.String())
				}
				toServer.Close()
				<-done
			})
		})
	}
}

// A client whose connection is gone, and its server does not know that yet, opens another stream.
func TestHalfOpenStreamGivesWay(t *testing.T) {
	t.Parallel()
	for _, version := range withSessions {
		for _, resumes := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, resumes %v", version, resumes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t, runtime.Options{}, updating())
					c := newRaw(t, serve(t, s), tokens["Member"], version)
					c.ask(t, "resources/subscribe", `"uri":"lib://hall"`, nil)
					first, id := c.halfOpen(t, s)
					defer first.Close()
					time.Sleep(quietTime)
					further := map[string]string{}
					if resumes {
						further["Last-Event-Id"] = id
					}
					begun := time.Now()
					second := c.watchInBubble(t, http.MethodGet, "", further)
					time.Sleep(time.Second)
					synctest.Wait()
					if second.status != http.StatusOK {
						t.Fatalf("%s, resumes %v: %d %s", version, resumes, second.status, second.text)
					}
					if took := second.last.Sub(begun); took > time.Second {
						t.Errorf("%s, resumes %v: after %v", version, resumes, took)
					}
					if err := s.ResourceUpdated(t.Context(), "lib://hall"); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if events, _ := second.events(); len(events) != 1 ||
						!strings.Contains(events[0].data, "lib://hall") {
						t.Errorf("%s, resumes %v: %q", version, resumes, events)
					}
				})
			})
		}
	}
}

// halfOpen opens the stream of a session, and reads no more than its first notification. It returns
// the connection and the id of the event.
func (c *raw) halfOpen(t *testing.T, s *runtime.Server) (conn io.Closer, id string) {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(c.url, "http://"), "/mcp")
	pipe, err := memnet.Dialer{}.DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(pipe, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Accept: text/event-stream\r\nMcp-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n\r\n",
		host, c.token, c.era, c.session)
	lines := make(chan string, 100)
	go func() {
		for r := bufio.NewScanner(pipe); r.Scan(); {
			lines <- r.Text()
			if strings.HasPrefix(r.Text(), "data: {") {
				return
			}
		}
	}()
	synctest.Wait()
	if err := s.ResourceUpdated(t.Context(), "lib://hall"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	for len(lines) > 0 {
		if value, ok := strings.CutPrefix(<-lines, "id: "); ok {
			id = value
		}
	}
	if id == "" {
		t.Fatal("the first stream has no event")
	}
	return pipe, id
}
