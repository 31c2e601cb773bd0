package transport

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

type checks = map[string]func(context.Context) error

// ready returns the readiness of some checks, and its log.
func ready(t *testing.T, of checks) (*Readiness, *bytes.Buffer) {
	var log bytes.Buffer
	pool := worker.NewPool()
	t.Cleanup(pool.Close)
	return NewReadiness(of, pool, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func TestServerWithoutChecksIsReady(t *testing.T) {
	r, _ := ready(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if !r.Holds(ctx) {
		t.Error("it is not")
	}
}

// The period begins with the end of a round, or slow checks would run all the time.
func TestRoundCountsForASecondFromItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds atomic.Int32
		r, _ := ready(t, checks{"slow": func(context.Context) error {
			rounds.Add(1)
			time.Sleep(1500 * time.Millisecond)
			return nil
		}})
		for i, step := range []struct {
			wait   time.Duration
			rounds int32
		}{{0, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 2}, {0, 2}} {
			time.Sleep(step.wait)
			if !r.Holds(t.Context()) || rounds.Load() != step.rounds {
				t.Errorf("%d: %d rounds", i, rounds.Load())
			}
		}
	})
}

func TestOneRoundRunsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rounds, running atomic.Int32
		r, _ := ready(t, checks{"slow": func(context.Context) error {
			rounds.Add(1)
			if running.Add(1) > 1 {
				t.Error("two rounds at a time")
			}
			defer running.Add(-1)
			time.Sleep(time.Second)
			return nil
		}})
		started := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if r.Holds(ctx) || time.Since(started) != time.Millisecond {
			t.Errorf("a caller who has left waited for %s", time.Since(started))
		}
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if !r.Holds(t.Context()) {
					t.Error("not ready")
				}
			})
		}
		wg.Wait()
		if rounds.Load() != 1 || time.Since(started) != time.Second {
			t.Errorf("%d rounds in %s", rounds.Load(), time.Since(started))
		}
	})
}

func TestEachCheckIsLoggedWhenItsResultChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second error
		r, log := ready(t, checks{
			"b": func(context.Context) error { return second },
			"a": func(context.Context) error { return first },
		})
		down := errors.New("down")
		for i, step := range []struct {
			first, second error
			holds         bool
			want          string
		}{
			{nil, nil, true, ""},
			{down, down, false, `not ready" check=a error=down; not ready" check=b error=down`},
			{down, nil, false, `passes again" check=b`},
			{down, nil, false, ``},
			{nil, down, false, `passes again" check=a; not ready" check=b error=down`},
			{nil, nil, true, `passes again" check=b`},
		} {
			first, second = step.first, step.second
			if log.Reset(); r.Holds(t.Context()) != step.holds {
				t.Errorf("%d: holds %t", i, !step.holds)
			}
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			for j, want := range strings.Split(step.want, "; ") {
				if j >= len(lines) || !strings.HasSuffix(lines[j], want) || want == "" && lines[j] != "" {
					t.Errorf("%d: %q, want %q", i, lines, want)
				}
			}
			time.Sleep(readinessTTL)
		}
	})
}

func TestCheckThatStillRunsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		hold := make(chan struct{})
		r, log := ready(t, checks{"stuck": func(context.Context) error {
			runs.Add(1)
			<-hold
			return nil
		}})
		for range 3 {
			if r.Holds(t.Context()) {
				t.Error("it holds")
			}
			time.Sleep(readinessTTL)
		}
		text := log.String()
		if runs.Load() != 1 || strings.Count(text, `error="no response in time"`) != 1 {
			t.Errorf("%d runs, %s", runs.Load(), text)
		}
		close(hold)
		synctest.Wait()
		if !r.Holds(t.Context()) || runs.Load() != 2 {
			t.Errorf("%d runs", runs.Load())
		}
	})
}
