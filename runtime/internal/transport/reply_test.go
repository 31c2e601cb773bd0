package transport

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

func testReply(expires time.Time) (*reply, *client) {
	w := &client{header: http.Header{}}
	h := &Handler{waiting: worker.NewDeadlines(StreamAfter), quiet: worker.NewDeadlines(KeepAlive)}
	id, _ := wire.IDOf(decode.Value("7"))
	r := newReply(h, &visit{w: &responseWriter{}, json: true, stream: true,
		info:    request.New(identity.Identity{Expires: expires}),
		message: wire.Checked{ID: id}})
	r.w = w
	return r, w
}

func TestReplies(t *testing.T) {
	const progress = "body event: message\ndata: " +
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	large := strings.Repeat("x", largeBody+1)
	notify := func(t *testing.T, r *reply, want bool) {
		t.Helper()
		p := &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1}
		err := session.Notifier{Out: r}.Notify("notifications/progress", p)
		if (err == nil) != want {
			t.Errorf("%v", err)
		}
	}
	for name, test := range map[string]struct {
		do     func(*testing.T, *reply)
		want   []string
		header string
		later  func(*testing.T, *reply) // after StreamAfter; nil for nothing
	}{
		"JSON": {func(_ *testing.T, r *reply) {
			r.Release()
			r.finish([]byte("{}"), false, 200)
			r.finish([]byte("{}"), false, 200)
		}, []string{"body {}"}, "application/json", nil},
		"an error": {func(_ *testing.T, r *reply) { r.finish([]byte("{}"), false, 400) },
			[]string{"status Bad Request", "body {}"}, "application/json", nil},
		"a large body": {func(_ *testing.T, r *reply) { r.finish([]byte(large), false, 200) },
			[]string{"body " + large}, "application/json", nil},
		"an event while the caller is not decided": {func(t *testing.T, r *reply) {
			r.info.Stand(request.Undecided)
			notify(t, r, false)
			r.info.Stand(request.Withdrawn)
			notify(t, r, false)
			r.info.Stand(request.Valid)
			r.finish([]byte("{}"), false, 200)
		}, []string{"body {}"}, "application/json", nil},
		"a stream by an event": {func(t *testing.T, r *reply) {
			notify(t, r, true)
			r.finish([]byte("{}"), false, 400)
			notify(t, r, false)
		}, []string{"status OK", "flush", progress, "flush",
			"body event: message\ndata: {}", "flush"},
			"text/event-stream", nil},
		"a stream that the client prefers": {func(_ *testing.T, r *reply) {
			r.finish([]byte("{}"), true, 200)
		}, []string{"status OK", "flush", "body event: message\ndata: {}", "flush"},
			"text/event-stream", nil},
		"a stream by time": {func(t *testing.T, r *reply) {
			r.Release()
			r.Release()
		}, []string{"status OK", "flush",
			"body event: message\ndata: {}", "flush"}, "text/event-stream",
			func(t *testing.T, r *reply) {
				if r.Challenge("Bearer") {
					t.Error("a challenge in a stream")
				}
				r.finish([]byte("{}"), false, 400)
			}},
		"no stream before the decision": {func(*testing.T, *reply) {},
			[]string{"status Not Found", "body {}"}, "application/json",
			func(_ *testing.T, r *reply) { r.finish([]byte("{}"), false, 404) }},
		"a challenge": {func(t *testing.T, r *reply) {
			if !r.Challenge("Bearer x") || r.Challenge("Bearer y") {
				t.Error("one challenge")
			}
			r.Release()
			notify(t, r, false)
			r.finish([]byte("{}"), false, 200)
		}, []string{"status Forbidden", "body insufficient scope"}, "text/plain; charset=utf-8",
			func(*testing.T, *reply) {}},
		"an expired credential": {func(t *testing.T, r *reply) {
			r.info.Expires = time.Now().Add(-time.Second)
			notify(t, r, false)
		}, nil, "", nil},
		"a credential that expired before the end": {func(_ *testing.T, r *reply) {
			r.info.Expires = time.Now()
			r.finish([]byte("secret"), false, 400)
		}, []string{"body " + string(wire.ErrorResponse(wire.ID{JSON: "7"}, wire.Expired()))},
			"application/json", nil},
		"a closed reply": {func(t *testing.T, r *reply) {
			r.close()
			notify(t, r, false)
			r.finish([]byte("{}"), false, 200)
		}, nil, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, w := testReply(time.Time{})
				if test.do(t, r); test.later != nil {
					time.Sleep(6 * time.Second)
					test.later(t, r)
				}
				if !slices.Equal(w.events, test.want) ||
					w.header.Get("Content-Type") != test.header {
					t.Errorf("%q %v, want %q", w.events, w.header, test.want)
				}
			})
		})
	}
}

// A client that takes no stream gets JSON alone, whatever is sent before.
func TestClientWithoutStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := testReply(time.Time{})
		r.streams = false
		r.Release()
		time.Sleep(6 * time.Second)
		if err := r.Event([]byte("{}")); err == nil {
			t.Error("an event leaves")
		}
		r.finish([]byte("{}"), false, 200)
		if got := strings.Join(w.events, ", "); got != "body {}" {
			t.Error(got)
		}
	})
}

// A quiet stream has a comment after KeepAlive, and none once its response has left.
func TestQuietStreamsAreKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := testReply(time.Time{})
		if err := r.Event([]byte("{}")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(KeepAlive - time.Second)
		_ = r.Event([]byte("{}"))
		time.Sleep(KeepAlive - time.Second)
		seen := func() []string {
			r.mu.Lock()
			defer r.mu.Unlock()
			return w.events
		}
		before := len(seen())
		time.Sleep(KeepAlive)
		if got := strings.Join(seen()[before:], ", "); got != "body : keep-alive, flush" {
			t.Error(got)
		}
		r.finish([]byte("{}"), false, 200)
		r.close()
		before = len(seen())
		if time.Sleep(time.Hour); len(seen()) != before {
			t.Errorf("%q after the end", seen()[before:])
		}
	})
}

// Some readers of streams end a line at characters that JSON texts may have.
func TestEventsAreOneLine(t *testing.T) {
	for text, want := range map[string]string{`{"a":"b"}`: `{"a":"b"}`,
		"\u0085\u2028\u2029é": `\u0085\u2028\u2029é`} {
		if got := string(oneLine([]byte(text))); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// client is a response writer that notes what reaches it, in order.
type client struct {
	header http.Header
	events []string
}

func (w *client) Header() http.Header { return w.header }

func (w *client) WriteHeader(status int) { w.note("status " + http.StatusText(status)) }

func (w *client) Write(b []byte) (int, error) {
	if len(b) > 0 {
		w.note("body " + strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

func (w *client) FlushError() error { w.note("flush"); return nil }

func (w *client) SetWriteDeadline(at time.Time) error {
	note := "no deadline"
	if !at.IsZero() {
		note = "deadline " + time.Until(at).String()
	}
	w.note(note)
	return nil
}

func (w *client) note(event string) { w.events = append(w.events, event) }

// clinging is a writer that fails, and still reads a text after that, as that of HTTP/2 does when
// the client ends its stream.
type clinging struct {
	client
	text []byte
}

func (w *clinging) Write(b []byte) (int, error) {
	w.text = b
	return 0, errors.New("the client has gone")
}

func TestTextOfAFailedWriteIsNoOthersMemory(t *testing.T) {
	r, _ := testReply(time.Time{})
	w := &clinging{client: client{header: http.Header{}}}
	r.w = w
	r.respond(wire.Response(r.id, &wire.Encoded{Body: []byte(`{"of":"the caller"}`)}, nil), false,
		http.StatusOK)
	before := string(w.text)
	for range 100 {
		_ = wire.Response(r.id, &wire.Encoded{Body: []byte(`{"of":"another"}`)}, nil)
	}
	if !strings.Contains(before, "the caller") || string(w.text) != before {
		t.Errorf("%s\nis %s", before, w.text)
	}
}
