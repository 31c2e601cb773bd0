package runtime

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// worked runs a func on a worker and waits for its end.
func worked(p *workers, do func()) *worker {
	w := p.take(&task{ctx: context.Background(), do: do})
	<-w.done
	p.give(w)
	return w
}

// kept is how many workers are idle.
func kept(p *workers) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// In a bubble a worker that never left would fail the test: its end waits for all goroutines.
func TestWorkersThatAreNotNeededLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p workers
		release := make(chan struct{})
		var taken []*worker
		for range 10 {
			taken = append(taken, p.take(&task{ctx: context.Background(), do: func() { <-release }}))
		}
		close(release)
		for _, w := range taken {
			<-w.done
			p.give(w)
		}
		if kept(&p) != 10 {
			t.Fatalf("%d of 10 workers were kept", kept(&p))
		}
		// One of them has work in every period, between two sweeps; the others have none.
		time.Sleep(idleFor / 2)
		for range 3 {
			worked(&p, func() {})
			time.Sleep(idleFor)
		}
		synctest.Wait()
		if kept(&p) != 1 {
			t.Errorf("%d workers are idle, want the one that is needed", kept(&p))
		}
		time.Sleep(2 * idleFor)
		synctest.Wait()
		if kept(&p) != 0 {
			t.Errorf("%d workers stay", kept(&p))
		}
		worked(&p, func() {})
		if kept(&p) != 1 {
			t.Error("nobody is kept after a rest")
		}
		p.close()
	})
}

func TestWorkersAreFewAndEndWithTheirServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p workers
		release := make(chan struct{})
		var taken []*worker
		for range maxIdle + 5 {
			taken = append(taken, p.take(&task{ctx: context.Background(), do: func() { <-release }}))
		}
		close(release)
		for _, w := range taken[1:] {
			<-w.done
			p.give(w)
		}
		if kept(&p) != maxIdle {
			t.Errorf("%d workers are kept, want %d", kept(&p), maxIdle)
		}
		p.close()
		<-taken[0].done
		p.give(taken[0])
		if kept(&p) != 0 {
			t.Errorf("%d workers outlive their server", kept(&p))
		}
	})
}

func TestWorkerIsUsedAgainUnlessItsGoroutineEnded(t *testing.T) {
	for name, test := range map[string]struct {
		do    func()
		again bool
		crash *crash
	}{
		"returned": {func() {}, true, nil},
		"panicked": {func() { panic("at the disco") }, true, &crash{panicked: true, value: "at the disco"}},
		"ended":    {runtime.Goexit, false, &crash{}},
		"panicked while it ended": {func() {
			defer func() { panic("at the exit") }()
			runtime.Goexit()
		}, false, &crash{}},
		"ended in the words of its panic": {func() { panic(lastWords{}) }, false, &crash{}},
	} {
		t.Run(name, func(t *testing.T) {
			var p workers
			defer p.close()
			job := &task{ctx: t.Context(), do: test.do}
			first := p.take(job)
			<-first.done
			p.give(first)
			switch c := job.crash; {
			case (c == nil) != (test.crash == nil):
				t.Fatalf("it crashed: %+v", c)
			case c != nil && (c.panicked != test.crash.panicked || c.value != test.crash.value || c.panicked != strings.Contains(c.stacktrace, "workers_test.go")):
				t.Errorf("it crashed: %+v", c)
			}
			ran := false
			if second := worked(&p, func() { ran = true }); (second == first) != test.again || !ran {
				t.Errorf("used again: %t, ran: %t", second == first, ran)
			}
		})
	}
}

type lastWords struct{}

func (lastWords) Error() string { runtime.Goexit(); return "" }

func TestWorkersBearTheLabelsOfTheirJob(t *testing.T) {
	s := lonely(nil)
	defer s.workers.close()
	labels := func(user string) (profile string) {
		pprof.Do(t.Context(), pprof.Labels("user", user), func(ctx context.Context) {
			ranOnce(ctx, s, &record{}, time.Minute, func(context.Context) toolAnswer {
				var b strings.Builder
				if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
					t.Error(err)
				}
				profile = b.String()
				return toolAnswer{outcome: audit.OK}
			})
		})
		return profile
	}
	if !strings.Contains(labels("ada"), `"user":"ada"`) {
		t.Fatal("a profile does not show the first job's labels")
	}
	if profile := labels("bob"); strings.Contains(profile, `"user":"ada"`) || strings.Count(profile, `"user":"bob"`) != 2 {
		t.Errorf("the second job bears the labels of the first, or not its own:\n%s", profile)
	}
}

func TestPanicsAfterTheAnswerAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := lonely(nil)
		s.log = slog.New(slog.NewTextHandler(&log, nil))
		s.adopted = true // or nothing is contained
		defer s.workers.close()
		late := func(ctx context.Context) { <-ctx.Done(); time.Sleep(time.Hour); panic("long after") }
		a, _ := ranOnce(t.Context(), s, &record{}, time.Second, func(ctx context.Context) toolAnswer { late(ctx); return toolAnswer{} })
		if a.outcome == audit.OK {
			t.Fatal("it was answered")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		inner := func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) { late(ctx); return nil, nil }
		if _, err := s.contained(inner)(ctx, "ping", nil); !errors.Is(err, errAbandoned) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if n := strings.Count(log.String(), `panic="long after" stack=`); n != 2 {
			t.Errorf("%d of 2 panics were logged:\n%s", n, log.String())
		}
	})
}

// lonely is a server as far as running handlers needs one.
func lonely(sink audit.Sink) *Server {
	s := &Server{log: slog.New(slog.DiscardHandler), recording: make(chan struct{}, 2)}
	s.closing, s.close = context.WithCancel(context.Background())
	s.opts.Audit, s.opts.AuditTimeout = sink, 2*time.Second
	return s
}

// ranOnce runs do as a handler with a time limit and says how long that took.
func ranOnce(ctx context.Context, s *Server, rec *record, limit time.Duration, do func(context.Context) toolAnswer) (toolAnswer, time.Duration) {
	begun := time.Now()
	rec.started, rec.recorded = begun, false
	a := within(ctx, s, work{"tool", "t", limit}, rec, crashedTool, do)
	return a, time.Since(begun)
}

func TestAlarmOfAnEarlierCallDoesNotEndALaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, rec := lonely(nil), &record{}
		defer s.workers.close()
		takes := func(d time.Duration) func(context.Context) toolAnswer {
			return func(ctx context.Context) toolAnswer {
				select {
				case <-time.After(d):
					return toolAnswer{outcome: audit.OK}
				case <-ctx.Done():
					return toolAnswer{failure: ctx.Err()}
				}
			}
		}
		for _, test := range []struct {
			limit, takes, took time.Duration
			outcome            audit.Status
		}{
			{time.Second, time.Millisecond, time.Millisecond, audit.OK},
			{time.Minute, 50 * time.Second, 50 * time.Second, audit.OK}, // past the alarm of the first
			{time.Second, time.Minute, time.Second, audit.Timeout},      // before any alarm of the second
			{3 * time.Second, 2 * time.Second, 2 * time.Second, audit.OK},
			{3 * time.Second, time.Minute, 3 * time.Second, audit.Timeout},
		} {
			a, took := ranOnce(t.Context(), s, rec, test.limit, takes(test.takes))
			if a.outcome != test.outcome || took != test.took {
				t.Errorf("a handler that takes %s of %s: %s after %s", test.takes, test.limit, a.outcome, took)
			}
			if kept(&s.workers) != 1 {
				t.Fatalf("%d workers are idle, want the same one each time", kept(&s.workers))
			}
		}
	})
}

func TestCallIsAnsweredWhereAllWorkersAreStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lonely(nil)
		defer s.workers.close()
		release := make(chan struct{})
		answers := make(chan toolAnswer)
		const many = 2 * maxIdle
		for range many {
			go func() {
				a, took := ranOnce(t.Context(), s, &record{}, time.Second, func(context.Context) toolAnswer { <-release; return toolAnswer{outcome: audit.OK} })
				if took != time.Second+grace {
					t.Errorf("answered after %s", took)
				}
				answers <- a
			}()
		}
		synctest.Wait()
		if a, took := ranOnce(t.Context(), s, &record{}, time.Second, func(context.Context) toolAnswer { return toolAnswer{outcome: audit.OK} }); a.outcome != audit.OK || took != 0 {
			t.Errorf("%+v after %s", a, took)
		}
		for range many {
			if a := <-answers; a.outcome != audit.Timeout {
				t.Errorf("a stuck handler got %+v", a)
			}
		}
		// Those that come back after all have nobody to answer to, and leave.
		close(release)
		synctest.Wait()
		if kept(&s.workers) != 1 {
			t.Errorf("%d workers are idle, want the one of the call in between", kept(&s.workers))
		}
	})
}

func TestCancelledAndClosingServersStopHandlers(t *testing.T) {
	for name, stop := range map[string]func(context.CancelFunc, *Server){
		"cancelled": func(cancel context.CancelFunc, _ *Server) { cancel() },
		"closing":   func(_ context.CancelFunc, s *Server) { s.close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := lonely(nil)
				defer s.workers.close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(time.Second, func() { stop(cancel, s) })
				a, took := ranOnce(ctx, s, &record{}, time.Hour, func(ctx context.Context) toolAnswer {
					<-ctx.Done()
					return toolAnswer{failure: ctx.Err()}
				})
				if took != time.Second || a.outcome != audit.Failed || a.failure.Error() != "the call was cancelled" {
					t.Errorf("%+v after %s", a, took)
				}
			})
		})
	}
}

// The record of a call is written by the worker that ran its handler, which must not make the
// call depend on the sink any more than before.
func TestSinkOnAHandlersWorker(t *testing.T) {
	stuck := make(chan struct{})
	for name, test := range map[string]struct {
		record func(context.Context, audit.Event) error
		want   string // of the error
		took   time.Duration
		idle   int // workers afterwards
	}{
		"takes it":                   {func(context.Context, audit.Event) error { return nil }, "", 0, 1},
		"errs":                       {func(context.Context, audit.Event) error { return errors.New("disk full") }, "disk full", 0, 1},
		"panics":                     {func(context.Context, audit.Event) error { panic("hunter2") }, "the audit sink panicked: hunter2", 0, 1},
		"ends its goroutine":         {func(context.Context, audit.Event) error { runtime.Goexit(); return nil }, errGoexit.Error(), 0, 0},
		"blocks":                     {func(context.Context, audit.Event) error { <-stuck; return nil }, errSinkSilent.Error(), 2 * time.Second, 0},
		"blocks until its time ends": {func(ctx context.Context, _ audit.Event) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded.Error() + "|" + errSinkSilent.Error(), 2 * time.Second, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck = make(chan struct{})
				s := lonely(audit.SinkFunc(test.record))
				defer s.workers.close()
				rec := &record{awaited: &audit.Event{Tool: "t"}, principal: access.Principal{Subject: "mel"}}
				ctx, cancel := context.WithCancel(t.Context())
				cancel() // the record is written even where the caller has gone away
				a, took := ranOnce(ctx, s, rec, time.Hour, func(context.Context) toolAnswer {
					return finishedAnswer()
				})
				got := ""
				if rec.unrecorded != nil {
					got = rec.unrecorded.Error()
				}
				if !rec.recorded || a.outcome != audit.OK || took != test.took || got != test.want && !strings.Contains("|"+test.want+"|", "|"+got+"|") {
					t.Errorf("recorded: %t, %q after %s, answer %+v", rec.recorded, got, took, a)
				}
				if test.idle >= 0 && kept(&s.workers) != test.idle {
					t.Errorf("%d workers are idle, want %d", kept(&s.workers), test.idle)
				}
				close(stuck)
				synctest.Wait()
				if len(s.recording) != 0 {
					t.Error("the record's place is not given back")
				}
			})
		})
	}
}

// finishedAnswer is an answer that may be recorded at once.
func finishedAnswer() toolAnswer {
	b := newBody([]byte("{}"))
	return toolAnswer{outcome: audit.OK, body: &b}
}

func TestRecordsThatFindNoPlaceAreLeftToTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		s := lonely(audit.SinkFunc(func(context.Context, audit.Event) error { asked++; return nil }))
		defer s.workers.close()
		s.recording <- struct{}{}
		s.recording <- struct{}{}
		rec := &record{awaited: &audit.Event{}}
		a, _ := ranOnce(t.Context(), s, rec, time.Hour, func(context.Context) toolAnswer { return finishedAnswer() })
		if a.outcome != audit.OK || rec.recorded || asked != 0 {
			t.Errorf("recorded: %t, asked %d times", rec.recorded, asked)
		}
		begun := time.Now()
		if err := s.write(t.Context(), audit.Event{}, rec); !errors.Is(err, errAuditBusy) || time.Since(begun) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		time.AfterFunc(time.Second, func() { <-s.recording })
		if err := s.write(t.Context(), audit.Event{}, rec); err != nil || asked != 1 {
			t.Errorf("%v, asked %d times", err, asked)
		}
	})
}
