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
			if status, body := ready(); status != step.status ||
				body != map[int]string{200: "ready", 503: "not ready"}[status] {
				t.Errorf("%d: %d %s", i, status, body)
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
