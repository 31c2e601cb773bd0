package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// asksReady asks whether a server is ready, as anybody may.
func asksReady(s *runtime.Server) func() (int, string) {
	h := s.Handler()
	return func() (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", runtime.PathReadyz, nil))
		return w.Code, strings.TrimSpace(w.Body.String())
	}
}

func TestServerIsReadyWhileItsChecksPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		var asked atomic.Int32
		var state atomic.Pointer[error]
		check := func(ctx context.Context) error {
			asked.Add(1)
			if _, ok := ctx.Deadline(); !ok {
				t.Error("a check has no time limit")
			}
			if err := state.Load(); err != nil {
				return *err
			}
			return nil
		}
		s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo),
			Observe: runtime.ObserveOptions{Readiness: map[string]func(context.Context) error{
				"database": check, "fine": func(context.Context) error { return nil }}}},
			directory(&desk{}))
		defer s.Shutdown(context.Background())
		ready := asksReady(s)
		broken := errors.New("dial postgres://app:t0psecret@db/: connection refused")
		for i, step := range []struct {
			wait   time.Duration
			state  error
			status int
			asked  int32 // in all
			failed int   // lines of the log
			passed int
		}{
			{0, nil, 200, 1, 0, 0},
			{999 * time.Millisecond, broken, 200, 1, 0, 0}, // an answer counts for a second
			{time.Millisecond, broken, 503, 2, 1, 0},
			{0, broken, 503, 2, 1, 0},
			{time.Second, broken, 503, 3, 1, 0}, // callText once
			{0, nil, 503, 3, 1, 0},
			{time.Second, nil, 200, 4, 1, 1},
			{time.Second, nil, 200, 5, 1, 1},
			{time.Second, broken, 503, 6, 2, 1},
		} {
			time.Sleep(step.wait)
			if state.Store(nil); step.state != nil {
				state.Store(&step.state)
			}
			status, body := ready()
			if want := map[int]string{200: "ready",
				503: "not ready"}[step.status]; status != step.status || body != want {
				t.Errorf("%d: %d %q", i, status, body)
			}
			failed, passed := log.of(t, "the server is not ready"),
				log.of(t, "a readiness check passes again")
			if asked.Load() != step.asked || len(failed) != step.failed ||
				len(passed) != step.passed {
				t.Errorf("%d: asked %d times, %v, %v", i, asked.Load(), failed, passed)
			}
			for _, line := range append(failed, passed...) {
				if line["check"] != "database" {
					t.Errorf("%v", line)
				}
			}
		}
		if strings.Contains(log.String(), "t0psecret") || !strings.Contains(log.String(),
			"connection refused") {
			t.Error(log.String())
		}
	})
}

func TestServerWithoutIdentityOrThatShutsDownIsNotReady(t *testing.T) {
	t.Parallel()
	asked := false
	checks := map[string]func(context.Context) error{"db": func(context.Context) error { asked = true; return nil }}
	closed, err := runtime.New(runtime.Options{Logger: quiet(),
		Observe: runtime.ObserveOptions{Readiness: checks}},
		directory(&desk{}))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := asksReady(closed)(); status != 503 || asked {
		t.Errorf("nobody can be admitted: %d, asked %v", status, asked)
	}
	s := newServer(t, runtime.Options{
		Observe: runtime.ObserveOptions{Readiness: checks}}, directory(&desk{}))
	ready := asksReady(s)
	if status, _ := ready(); status != 200 || !asked {
		t.Errorf("%d, asked %v", status, asked)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if status, body := ready(); status != 503 || body != "not ready" {
		t.Errorf("%d %s", status, body)
	}
}

// readySink is a sink that reports what a test says.
type readySink struct {
	keeper
	state atomic.Pointer[error]
}

func (s *readySink) Ready(context.Context) error {
	if err := s.state.Load(); err != nil {
		return *err
	}
	return nil
}

// TestAuditSinkIsACheckOfReadiness has no check by the author of the server.
func TestAuditSinkIsACheckOfReadiness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		sink, full := new(readySink), errors.New("no space left on device")
		s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo),
			Audit: runtime.AuditOptions{Sink: audit.Multi(sink)}},
			directory(&desk{}))
		defer s.Shutdown(context.Background())
		ready := asksReady(s)
		for i, step := range []struct {
			state  error
			status int
		}{{nil, 200}, {full, 503}, {full, 503}, {nil, 200}} {
			time.Sleep(time.Second)
			if sink.state.Store(nil); step.state != nil {
				sink.state.Store(&step.state)
			}
			if status, _ := ready(); status != step.status {
				t.Errorf("%d: %d", i, status)
			}
		}
		failed, passed := log.of(t, "the server is not ready"),
			log.of(t, "a readiness check passes again")
		if len(failed) != 1 || failed[0]["check"] != "Options.Audit.Sink" ||
			failed[0]["error"] != full.Error() || len(passed) != 1 {
			t.Errorf("%v, %v", failed, passed)
		}
	})
}
