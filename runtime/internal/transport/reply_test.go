package transport

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

func testReply(expires time.Time) (*reply, *client) {
	w := &client{header: http.Header{}}
	h := &Handler{Config: Config{StreamAfter: 5 * time.Second}}
	return newReply(h, w, request.New(identity.Identity{Expires: expires}, nil), "7"), w
}

func TestReplies(t *testing.T) {
	const progress = "body event: message\ndata: " +
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	large := strings.Repeat("x", largeBody+1)
	notify := func(t *testing.T, r *reply, want bool) {
		t.Helper()
		p := &mcp.ProgressNotificationParams{ProgressToken: 1, Progress: 1}
		if err := r.NotifyProgress(t.Context(), p); (err == nil) != want {
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
			r.finish([]byte("{}"), 200)
			r.finish([]byte("{}"), 200)
		}, []string{"body {}"}, "application/json", nil},
		"an error": {func(_ *testing.T, r *reply) { r.finish([]byte("{}"), 400) },
			[]string{"status Bad Request", "body {}"}, "application/json", nil},
		"a large body": {func(_ *testing.T, r *reply) { r.finish([]byte(large), 200) },
			[]string{"body " + large}, "application/json", nil},
		"a stream by an event": {func(t *testing.T, r *reply) {
			notify(t, r, true)
			r.finish([]byte("{}"), 400)
			notify(t, r, false)
		}, []string{"status OK", "flush", progress, "flush",
			"body event: message\ndata: {}", "flush"},
			"text/event-stream", nil},
		"a stream that the client prefers": {func(_ *testing.T, r *reply) {
			r.startStream()
			r.finish([]byte("{}"), 200)
			r.startStream()
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
				r.finish([]byte("{}"), 400)
			}},
		"no stream before the decision": {func(*testing.T, *reply) {},
			[]string{"status Not Found", "body {}"}, "application/json",
			func(_ *testing.T, r *reply) { r.finish([]byte("{}"), 404) }},
		"a challenge": {func(t *testing.T, r *reply) {
			if !r.Challenge("Bearer x") || r.Challenge("Bearer y") {
				t.Error("one challenge")
			}
			r.Release()
			notify(t, r, false)
			r.finish([]byte("{}"), 200)
		}, []string{"status Forbidden", "body insufficient scope"}, "text/plain; charset=utf-8",
			func(*testing.T, *reply) {}},
		"an expired credential": {func(t *testing.T, r *reply) {
			r.info.Expires = time.Now().Add(-time.Second)
			notify(t, r, false)
		}, nil, "", nil},
		"a credential that expired before the end": {func(_ *testing.T, r *reply) {
			r.info.Expires = time.Now()
			r.finish([]byte("secret"), 400)
		}, []string{"body " + string(wire.ErrorResponse("7", wire.Expired()))},
			"application/json", nil},
		"a closed reply": {func(t *testing.T, r *reply) {
			r.close()
			notify(t, r, false)
			r.finish([]byte("{}"), 200)
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
	r, _ := testReply(time.Time{})
	if _, status := r.Reserve(request.User{}); status != 503 || r.Bind(nil) {
		t.Error("a direct call opens a session or a stream of its own")
	}
}
