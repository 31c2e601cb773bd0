package transport

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/session"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

func TestHostNames(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "example.com": "example.com", "Example.COM:8080": "example.com",
		"localhost:": "localhost", "127.0.0.1:80": "127.0.0.1", "[::1]:80": "::1", "[::1]": "::1",
		"::1": "::1", "[FE80::1%eth0]:80": "fe80::1%eth0", "a:b:c": "a:b:c", ":80": "",
		"example.com.": "example.com.",
	} {
		if got := HostName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestContentTypesOfJSON(t *testing.T) {
	for _, types := range [][]string{
		{"application/json"}, {"Application/JSON; charset=UTF-8"},
		{`application/json;charset="utf-8"`},
		{"application/json; version=1"}, {"application/json; charset=utf8"},
		{"application/json; charset=US-ASCII"}, {`application/json; charset=""`},
	} {
		if !isJSON(types) {
			t.Errorf("%q is refused", types)
		}
	}
	for _, types := range [][]string{
		nil, {""}, {"text/plain"}, {"application/json", "application/json"},
		{"application/json; charset=utf-16"},
		{"application/json; charset"}, {"application/json, text/plain"}, {"application/jsonp"},
	} {
		if isJSON(types) {
			t.Errorf("%q is accepted", types)
		}
	}
}

// turned is an observer of the requests that do not reach the guard.
type turned struct {
	observe.Observer
	statuses []int
}

func (o *turned) TurnedAway(_ context.Context, status int) {
	o.statuses = append(o.statuses, status)
}

func newHandler(log *bytes.Buffer, o observe.Observer) *Handler {
	logger := slog.New(slog.NewTextHandler(log, nil))
	active, pool := worker.NewGroup(), worker.NewPool()
	policy := &discovery.Policy{Denial: access.Conceal}
	g := guard.New(guard.Config{Deciding: guard.Deciding{Policy: policy},
		Recording: guard.Recording{Closing: context.Background(), Log: logger},
		Listing: guard.Listing{
			Lists: discovery.NewLists(discovery.ListsConfig{Policy: policy, PageSize: 10})},
		Running: guard.Running{Resources: &invoke.Resources{}, Pool: pool, Active: active}})
	server := session.New(session.Config{Guard: g, Upstream: upstream.New(
		mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil), pool)})
	return NewHandler(Config{Sessions: server, Guard: g,
		Facts:  &request.Server{Log: logger},
		Limits: session.Limits{Total: 1, PerUser: 1}, SessionTimeout: time.Minute,
		StreamAfter: StreamAfter, KeepAlive: KeepAlive, Recheck: time.Minute,
		Events:   resume.NewStore(),
		Observer: guard.NewObserver(o, logger), Active: active, Log: logger,
		Authenticator: principal.NewAuthenticator(principal.Config{Log: logger, Realm: "r"}),
		MaxBodyBytes:  100, BodyReadTimeout: BodyReadTimeout,
		AllowedOrigins: []string{"https://app.example"},
	})
}

func TestHostsAndOriginsThatAreAllowed(t *testing.T) {
	const public, local = "192.0.2.1:80", "127.0.0.1:80"
	for _, test := range []struct {
		hosts   []string
		local   string
		host    string
		origins []string
		want    bool
	}{
		{nil, public, "any.example", nil, true},
		{nil, local, "any.example", nil, false},
		{nil, local, "localhost:8080", nil, true},
		{nil, local, "[::1]:8080", nil, true},
		{[]string{"mcp.example"}, local, "MCP.example:8080", nil, true},
		{[]string{"mcp.example"}, local, "localhost", nil, false},
		{[]string{"mcp.example"}, public, "mcp.example.evil", nil, false},
		{nil, public, "mcp.example", []string{"https://mcp.example"}, true},
		{nil, public, "mcp.example", []string{"https://MCP.example"}, true},
		{nil, public, "mcp.example", []string{"https://mcp.example:1"}, false},
		{nil, public, "mcp.example", []string{"ftp://mcp.example"}, false},
		{nil, public, "mcp.example", []string{"null"}, false},
		{nil, public, "mcp.example", []string{""}, false},
		{nil, public, "mcp.example", []string{"%"}, false},
		{nil, public, "mcp.example", []string{"https://App.example"}, true},
		{nil, public, "mcp.example", []string{"https://app.example", "https://app.example"}, false},
		{nil, public, "mcp.example", []string{"https://evil.example"}, false},
	} {
		var log bytes.Buffer
		h := newHandler(&log, nil)
		h.AllowedHosts = test.hosts
		r := httptest.NewRequest("POST", "/", nil)
		addr, err := net.ResolveTCPAddr("tcp", test.local)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr))
		if r.Host = test.host; test.origins != nil {
			r.Header["Origin"] = test.origins
		}
		w := httptest.NewRecorder()
		v := &visit{w: &responseWriter{ResponseWriter: w, unread: h.unread}, r: r}
		if got := h.checkOrigin(v); got != test.want || !got && w.Code != http.StatusForbidden {
			t.Errorf("%+v: %t, %d", test, got, w.Code)
		}
		if (log.Len() == 0) != test.want {
			t.Errorf("%+v: %s", test, log.String())
		}
	}
}

func TestRequestsThatDoNotReachTheGuardAreObserved(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Handler, *http.Request)
		status int
	}{
		"another origin": {
			func(_ *Handler, r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
			http.StatusForbidden,
		},
		"closed": {
			func(h *Handler, _ *http.Request) { h.Closed = true }, http.StatusServiceUnavailable,
		},
		"shutting down": {
			func(h *Handler, _ *http.Request) { h.Active.Drain() }, http.StatusServiceUnavailable,
		},
		"another method": {
			func(h *Handler, r *http.Request) { h.Anonymous, r.Method = true, "PUT" },
			http.StatusMethodNotAllowed,
		},
		"no credential": {func(*Handler, *http.Request) {}, http.StatusUnauthorized},
		"another type": {
			func(h *Handler, r *http.Request) {
				h.Anonymous = true
				r.Header.Set("Content-Type", "text/plain")
			}, http.StatusUnsupportedMediaType,
		},
		"a long body": {
			func(h *Handler, _ *http.Request) { h.Anonymous, h.MaxBodyBytes = true, 1 },
			http.StatusRequestEntityTooLarge,
		},
		"a malformed message": {
			func(h *Handler, _ *http.Request) { h.Anonymous = true }, http.StatusBadRequest,
		},
		"a panic": {
			func(h *Handler, _ *http.Request) {
				h.Authenticator = nil
			}, http.StatusInternalServerError,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			o := &turned{}
			h, w := newHandler(&log, o), httptest.NewRecorder()
			r := httptest.NewRequest("POST", "/", strings.NewReader("[]"))
			r.Header.Set("Content-Type", "application/json")
			test.change(h, r)
			h.ServeHTTP(w, r)
			if w.Code != test.status || len(o.statuses) != 1 || o.statuses[0] != test.status {
				t.Errorf("%d, observed %v", w.Code, o.statuses)
			}
			select {
			case <-h.Active.Drain():
			default:
				t.Error("it is still counted")
			}
		})
	}
}

func TestAbortedRequestsStayAborted(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(&log, nil)
	defer func() {
		if p := recover(); p != http.ErrAbortHandler || log.Len() > 0 {
			t.Errorf("%v, %s", p, log.String())
		}
	}()
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	h.ServeAdmin(http.HandlerFunc(abort)).
		ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
}

// slow is a writer that takes long, and notes two writes at once.
type slow struct {
	client
	writes, twice atomic.Int32
}

func (w *slow) Write(b []byte) (int, error) {
	if w.writes.Add(1) > 1 {
		w.twice.Add(1)
	}
	for range 10_000 {
		runtime.Gosched()
	}
	w.writes.Add(-1)
	return w.client.Write(b)
}

// The rest of a stream that has ended is written alone, however slowly its client reads it. GET on
// a session that has ended keeps nothing.
func TestStreamsThatHaveEnded(t *testing.T) {
	h := newHandler(&bytes.Buffer{}, nil)
	defer h.Guard.Pool.Close()
	h.quiet = worker.NewDeadlines(time.Nanosecond)
	s, _ := h.table.New(request.Owner{})
	h.table.Add(s, newStandalone(h, s))
	h.Events.Open(s.ID(), "x", request.User{}, nil)
	for range 3 {
		h.Events.Append(s.ID(), "x", []byte("{}"))
	}
	get := func(w http.ResponseWriter, last string) {
		r := httptest.NewRequest("GET", "/", nil)
		if r.Header.Set("Last-Event-Id", last); last == "" {
			r.Header.Del("Last-Event-Id")
		}
		h.get(&visit{w: &responseWriter{ResponseWriter: w, unread: h.unread}, r: r, session: s,
			info: request.New(identity.Identity{})})
	}
	w := &slow{client: client{header: http.Header{}}}
	get(w, "x_0")
	if got := strings.Join(w.events, ", "); w.twice.Load() > 0 || strings.Count(got, "data: {}") != 2 {
		t.Error(w.twice.Load(), got)
	}
	s.End()
	recorder := httptest.NewRecorder()
	get(recorder, "")
	if sessions, _ := h.Events.Size(); recorder.Code != http.StatusBadRequest || sessions != 0 {
		t.Error(recorder.Code, sessions)
	}
}

// A plain GET begins the stream anew: the first one with what was sent before, and a later one
// without, also if the store of events had nothing of the stream until then.
func TestPlainGETBeginsTheStreamAnew(t *testing.T) {
	for _, test := range []struct {
		connected bool
		sent, new string // to the GET, with "early" before it and "late" after it
	}{{false, "early, late", "_1"}, {true, "late", "_0"}} {
		h := newHandler(&bytes.Buffer{}, nil)
		s, _ := h.table.New(request.Owner{})
		o := newStandalone(h, s)
		h.table.Add(s, o)
		first, second := &client{header: http.Header{}}, &client{header: http.Header{}}
		if test.connected {
			if o.take(first, 0, nil) != nil {
				t.Error("an event that was never sent is resumed")
			}
			o.take(first, -1, nil)
			if sessions, _ := h.Events.Size(); sessions != 0 {
				t.Error("a stream without events is kept")
			}
			o.leave(first)
		}
		_ = o.Event([]byte("early"))
		o.take(second, -1, nil)
		_ = o.Event([]byte("late"))
		var sent []string
		for _, e := range second.events {
			if _, data, is := strings.Cut(e, "data: "); is {
				sent = append(sent, data)
			}
		}
		if got := strings.Join(sent, ", "); got != test.sent ||
			!strings.Contains(strings.Join(second.events, "\n"), "id: "+test.new+"\ndata: late") {
			t.Errorf("connected before %v: %q of %q", test.connected, got, second.events)
		}
		s.End()
		h.Guard.Pool.Close()
	}
}

func TestRequestWithoutASlotIsAnswered(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(&log, nil)
	h.Anonymous = true
	if release, _ := h.table.Reserve(request.User{}); release == nil {
		t.Fatal("no slot")
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "60" ||
		!strings.Contains(w.Body.String(), "too many sessions of this caller") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "no session is available: see") {
		t.Errorf("%s", log.String())
	}
}

// fickle is a writer of the program's own that panics once.
type fickle struct {
	client
	panicked bool
}

func (w *fickle) FlushError() error {
	if !w.panicked {
		w.panicked = true
		panic("at the disco")
	}
	return w.client.FlushError()
}

// net/http uses the memory of a response again once its request has ended: what is written to it
// then could reach another client.
func TestStreamLeavesTheRequestWhoseWriterHasPanicked(t *testing.T) {
	h := newHandler(&bytes.Buffer{}, nil)
	defer h.Guard.Pool.Close()
	s, _ := h.table.New(request.Owner{})
	o := newStandalone(h, s)
	h.table.Add(s, o)
	defer s.End()
	w := &fickle{client: client{header: http.Header{}}}
	func() {
		defer func() { _ = recover() }()
		h.get(&visit{w: &responseWriter{ResponseWriter: w, unread: h.unread}, session: s,
			r: httptest.NewRequest("GET", "/", nil), info: request.New(identity.Identity{})})
	}()
	_ = o.Event([]byte("late"))
	if got := strings.Join(w.events, ", "); !w.panicked || strings.Contains(got, "late") {
		t.Error(w.panicked, got)
	}
}

// A watcher shows no credential, and keeps no request after its end.
func TestWatcherKeepsItsRequestUntilTheEnd(t *testing.T) {
	h := newHandler(&bytes.Buffer{}, nil)
	defer h.Guard.Pool.Close()
	h.rechecks = worker.NewDeadlines(time.Hour)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer hunter2")
	w := &watcher{Handler: h}
	w.request.Store(r)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		if text := fmt.Sprintf(format, w); text != "(masked)" {
			t.Errorf("%s: %s", format, text)
		}
	}
	kept := weak.Make(r)
	stop := h.watch(r, request.New(identity.Identity{}), func(request.Standing, *request.Info) {})
	w, r = nil, nil
	if runtime.GC(); kept.Value() == nil {
		t.Error("an open stream has no request")
	}
	stop()
	if runtime.GC(); kept.Value() != nil {
		t.Error("the request is kept after the end")
	}
	runtime.KeepAlive(stop)
	runtime.KeepAlive(h)
}
