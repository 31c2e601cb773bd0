package transport

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

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

func newHeld() (*heldResponse, *client) {
	w := &client{header: http.Header{"Vary": {"Origin"}}}
	return &heldResponse{w: w, header: http.Header{}}, w
}

func TestHeldResponseLeavesWithTheDecision(t *testing.T) {
	write := func(h *heldResponse, text string) { _, _ = h.Write([]byte(text)) }
	flush := func(h *heldResponse) { _ = http.NewResponseController(h).Flush() }
	challenge := func(t *testing.T, h *heldResponse, want bool) {
		t.Helper()
		if h.Challenge("Bearer x") != want {
			t.Errorf("challenged: %t", !want)
		}
	}
	for name, test := range map[string]struct {
		do   func(*testing.T, *heldResponse)
		want []string
	}{
		"nothing is written": {func(*testing.T, *heldResponse) {}, nil},
		"held until the release": {func(_ *testing.T, h *heldResponse) {
			h.Header().Set("Content-Type", "text/plain")
			h.WriteHeader(http.StatusAccepted)
			write(h, "a")
			write(h, "b")
		}, nil},
		"released in order": {func(_ *testing.T, h *heldResponse) {
			h.WriteHeader(http.StatusAccepted)
			write(h, "a")
			write(h, "b")
			flush(h)
			h.Release()
			write(h, "c")
			flush(h)
			h.Release()
		}, []string{"status Accepted", "body a", "body b", "flush", "body c", "flush"}},
		"released first": {func(_ *testing.T, h *heldResponse) {
			h.Release()
			write(h, "a")
		}, []string{"body a"}},
		"a held write is a copy": {func(_ *testing.T, h *heldResponse) {
			b := []byte("a")
			_, _ = h.Write(b)
			b[0] = 'b'
			h.Release()
		}, []string{"body a"}},
		"challenged": {func(t *testing.T, h *heldResponse) {
			h.Header().Set("Mcp-Session-Id", "secret")
			h.WriteHeader(http.StatusOK)
			write(h, "held")
			challenge(t, h, true)
			challenge(t, h, false)
			h.Release()
			write(h, "late")
			flush(h)
		}, []string{"status Forbidden", "body insufficient scope", "flush"}},
		"released before a challenge": {func(t *testing.T, h *heldResponse) {
			h.Release()
			challenge(t, h, false)
			write(h, "a")
		}, []string{"body a"}},
		"ended without a decision": {func(t *testing.T, h *heldResponse) {
			h.WriteHeader(http.StatusNotFound)
			write(h, "a")
			h.end()
			write(h, "late")
			flush(h)
			challenge(t, h, false)
		}, []string{"status Not Found", "body a"}},
		"ended without a response": {func(t *testing.T, h *heldResponse) {
			h.end()
			if n, err := h.Write([]byte("late")); n != 4 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h, w := newHeld()
			if test.do(t, h); !slices.Equal(w.events, test.want) {
				t.Errorf("%q, want %q", w.events, test.want)
			}
		})
	}
}

func TestHeaderOfAHeldResponseLeavesWithItsStatus(t *testing.T) {
	h, w := newHeld()
	h.Header().Set("Content-Type", "text/event-stream")
	if h.WriteHeader(http.StatusOK); w.header.Get("Content-Type") != "" {
		t.Error("a header left before the decision")
	}
	h.Release()
	if w.header.Get("Content-Type") != "text/event-stream" || w.header.Get("Vary") != "Origin" {
		t.Errorf("%v", w.header)
	}
	h, w = newHeld()
	h.Header().Set("Mcp-Session-Id", "s")
	h.WriteHeader(http.StatusOK)
	h.Challenge(`Bearer scope="x"`)
	if w.header.Get("Mcp-Session-Id") != "" || w.header.Get("Vary") != "Origin" ||
		w.header.Get("WWW-Authenticate") != `Bearer scope="x"` {
		t.Errorf("%v", w.header)
	}
}

// The guard decides on another goroutine than go-sdk's writer, and the request may end meanwhile.
func TestHeldResponseIsDecidedOnce(t *testing.T) {
	for range 200 {
		h, w := newHeld()
		var challenged bool
		var wg sync.WaitGroup
		wg.Go(func() {
			h.WriteHeader(http.StatusOK)
			_, _ = h.Write([]byte("sdk"))
		})
		wg.Go(func() { challenged = h.Challenge("Bearer x") })
		wg.Go(h.Release)
		wg.Wait()
		h.end()
		want := []string{"status OK", "body sdk"}
		if challenged {
			want = []string{"status Forbidden", "body insufficient scope", "flush"}
		}
		if !slices.Equal(w.events, want) {
			t.Fatalf("challenged %t: %q", challenged, w.events)
		}
	}
}

func TestConnOfStdioIsTheSession(t *testing.T) {
	bound := 0
	c := NewStdioConn(SessionLimits{Total: 2, PerUser: 1}, func(request.Session) { bound++ })
	c.Release()
	if c.Challenge("Bearer x") || !c.Bind(nil) || bound != 1 {
		t.Error("there is a response, or a slot for the session")
	}
	ada := request.User{Subject: "ada"}
	release, status := c.Reserve(ada)
	if release == nil || status != 0 {
		t.Fatal("no slot to listen")
	}
	if none, status := c.Reserve(ada); none != nil || status != http.StatusTooManyRequests {
		t.Errorf("status %d", status)
	}
	release()
	if release, _ := c.Reserve(ada); release == nil {
		t.Error("the slot is lost")
	}
}

func TestConnMarksOnlyAdmittedListenersAsStreams(t *testing.T) {
	streams := 0
	c := &conn{
		sessions: newSessionLimiter(SessionLimits{Total: 1, PerUser: 1}),
		stream:   func() { streams++ },
		bound:    func(request.Session) {},
	}
	for range 2 {
		c.Reserve(request.User{})
	}
	if streams != 1 {
		t.Errorf("%d streams", streams)
	}
	if !c.Bind(nil) || c.Challenge("Bearer x") {
		t.Error("a request without a lease and without a held response")
	}
}

func TestDeadlinesReachTheConnectionOfAHeldResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, w := newHeld()
		err := http.NewResponseController(h).SetWriteDeadline(time.Now().Add(time.Second))
		if err != nil || !slices.Equal(w.events, []string{"deadline 1s"}) {
			t.Errorf("%v, %q", err, w.events)
		}
		if err := http.NewResponseController(h).SetReadDeadline(time.Time{}); !errors.Is(
			err, http.ErrNotSupported) {
			t.Errorf("%v", err)
		}
	})
}
