package worker

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// worked runs a func and waits for its end.
func worked(p *Pool, do func()) Outcome[int] {
	return Run(p, Job[int]{Context: context.Background(), Do: func(context.Context) int { do(); return 0 }})
}

// waiting returns the number of idle workers.
func (p *Pool) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// busy starts n jobs that end when release is closed. ended is done when they have.
func busy(p *Pool, n int) (release chan struct{}, ended *sync.WaitGroup) {
	release, ended = make(chan struct{}), &sync.WaitGroup{}
	for range n {
		ended.Go(func() { worked(p, func() { <-release }) })
	}
	synctest.Wait()
	return release, ended
}

// In a bubble a worker that never left would fail the test, whose end waits for all goroutines.
func TestWorkersThatAreNotNeededLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		release, ended := busy(p, 10)
		close(release)
		ended.Wait()
		synctest.Wait()
		if n := p.waiting(); n != 10 {
			t.Fatalf("%d of 10 workers are kept", n)
		}
		time.Sleep(idleFor / 2)
		worked(p, func() {})
		time.Sleep(idleFor/2 + time.Second)
		if n := p.waiting(); n != 1 {
			t.Errorf("%d workers are idle, want the one that was used", n)
		}
		time.Sleep(idleFor)
		if n := p.waiting(); n != 0 {
			t.Errorf("%d workers stay", n)
		}
	})
}

func TestWorkersAreFewAndEndWithTheirPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		release, ended := busy(p, maxIdle+5)
		last, lastEnded := busy(p, 1)
		close(release)
		ended.Wait()
		synctest.Wait()
		if n := p.waiting(); n != maxIdle {
			t.Errorf("%d workers are kept, want %d", n, maxIdle)
		}
		p.Close()
		close(last)
		lastEnded.Wait()
		synctest.Wait()
		if n := p.waiting(); n != 0 {
			t.Errorf("%d workers outlive their pool", n)
		}
	})
}

func TestWorkerIsUsedAgainUnlessItsGoroutineEnded(t *testing.T) {
	for name, test := range map[string]struct {
		do    func()
		kept  int
		crash *Crash
	}{
		"returned": {func() {}, 1, nil},
		"panicked": {func() { panic("at the disco") }, 1, &Crash{Panicked: true, Value: "at the disco"}},
		"ended":    {runtime.Goexit, 0, &Crash{}},
		"panicked while it ended": {func() {
			defer func() { panic("at the exit") }()
			runtime.Goexit()
		}, 0, &Crash{}},
		"ended in the words of its panic": {func() { panic(lastWords{}) }, 0, &Crash{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPool()
				defer p.Close()
				switch c := worked(p, test.do).Crash; {
				case (c == nil) != (test.crash == nil):
					t.Fatalf("it crashed: %+v", c)
				case c != nil && (c.Panicked != test.crash.Panicked || c.Value != test.crash.Value ||
					c.Panicked != strings.Contains(c.Stack, "pool_test.go")):
					t.Errorf("it crashed: %+v", c)
				}
				synctest.Wait()
				if n := p.waiting(); n != test.kept {
					t.Errorf("%d workers are kept, want %d", n, test.kept)
				}
				ran := false
				worked(p, func() { ran = true })
				synctest.Wait()
				if n := p.waiting(); n != 1 || !ran {
					t.Errorf("%d workers afterwards, ran: %t", n, ran)
				}
			})
		})
	}
}

type lastWords struct{}

func (lastWords) Error() string { runtime.Goexit(); return "" }

func TestWorkersHaveTheLabelsOfTheirJob(t *testing.T) {
	p := NewPool()
	defer p.Close()
	labels := func(user string) (profile string) {
		pprof.Do(t.Context(), pprof.Labels("user", user), func(ctx context.Context) {
			profile = Run(p, Job[string]{
				Context: ctx, Timeout: time.Minute,
				Do: func(context.Context) string {
					var b strings.Builder
					if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
						t.Error(err)
					}
					return b.String()
				},
			}).Value
		})
		return profile
	}
	if !strings.Contains(labels("ada"), `"user":"ada"`) {
		t.Fatal("a profile does not show the first job's labels")
	}
	for p.waiting() == 0 { // the first worker still has its labels
		runtime.Gosched()
	}
	profile := labels("bob")
	if strings.Contains(profile, `"user":"ada"`) || strings.Count(profile, `"user":"bob"`) != 2 {
		t.Errorf("the second job has the labels of the first, or not its own:\n%s", profile)
	}
}

// ran runs a func with a time limit and a grace period, and returns how long that took.
func ran(ctx context.Context, p *Pool, limit time.Duration, do func(context.Context) string) (Outcome[string], time.Duration) {
	begun := time.Now()
	o := Run(p, Job[string]{Context: ctx, Timeout: limit, Grace: Grace, Do: do})
	return o, time.Since(begun)
}

func TestDeadlineOfAnEarlierJobDoesNotEndALaterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		defer p.Close()
		for _, test := range []struct {
			limit, takes, took time.Duration
			ended              error
		}{
			{time.Second, time.Millisecond, time.Millisecond, nil},
			{time.Minute, 50 * time.Second, 50 * time.Second, nil}, // past the deadline of the first
			{time.Second, time.Minute, time.Second, context.DeadlineExceeded},
			{3 * time.Second, 2 * time.Second, 2 * time.Second, nil},
			{3 * time.Second, time.Minute, 3 * time.Second, context.DeadlineExceeded},
		} {
			o, took := ran(t.Context(), p, test.limit, func(ctx context.Context) string {
				select {
				case <-time.After(test.takes):
				case <-ctx.Done():
				}
				return "returned"
			})
			if o.Ended != test.ended || o.Value != "returned" || took != test.took {
				t.Errorf("%s of %s: %+v after %s", test.takes, test.limit, o, took)
			}
			synctest.Wait()
			if p.waiting() != 1 {
				t.Fatalf("%d workers are idle, want the same one each time", p.waiting())
			}
		}
	})
}

func TestJobRunsWhileAllWorkersAreStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		defer p.Close()
		release := make(chan struct{})
		outcomes := make(chan Outcome[string])
		const many = 2 * maxIdle
		for range many {
			go func() {
				o, took := ran(t.Context(), p, time.Second, func(context.Context) string { <-release; return "" })
				if took != time.Second+Grace {
					t.Errorf("abandoned after %s", took)
				}
				outcomes <- o
			}()
		}
		synctest.Wait()
		o, took := ran(t.Context(), p, time.Second, func(context.Context) string { return "ok" })
		if o.Value != "ok" || o.Ended != nil || took != 0 {
			t.Errorf("%+v after %s", o, took)
		}
		for range many {
			o := <-outcomes
			if !o.Abandoned || o.Ended != context.DeadlineExceeded || !errors.Is(o.Err(), ErrNoResponse) {
				t.Errorf("a stuck job ended as %+v", o)
			}
		}
		// The stuck ones return after all, without a caller, and leave.
		close(release)
		synctest.Wait()
		if p.waiting() != 1 {
			t.Errorf("%d workers are idle, want the one of the job in between", p.waiting())
		}
	})
}

func TestEndOfTheContextAndStopEndJobs(t *testing.T) {
	for name, deadline := range map[string]time.Duration{"with a deadline": time.Hour, "without": 0} {
		for cause, stopped := range map[string]bool{"cancelled": false, "stopped": true} {
			t.Run(name+", "+cause, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := NewPool()
					defer p.Close()
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					stop := make(chan struct{})
					time.AfterFunc(time.Second, func() {
						if stopped {
							close(stop)
						} else {
							cancel()
						}
					})
					j := Job[error]{Context: ctx, Timeout: deadline, Stop: stop, Grace: Grace}
					j.Do = func(ctx context.Context) error {
						select {
						case <-ctx.Done():
						case <-time.After(time.Second + Grace/2): // has no deadline of its own to see a stop by
						}
						return ctx.Err()
					}
					begun := time.Now()
					o := Run(p, j)
					if o.Abandoned || o.Ended != context.Canceled || time.Since(begun) > time.Second+Grace/2 {
						t.Errorf("%+v after %s", o, time.Since(begun))
					}
				})
			})
		}
	}
}

func TestJobWithoutGraceIsAbandonedAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		defer p.Close()
		late := make(chan *Crash, 1)
		begun := time.Now()
		o := Run(p, Job[int]{
			Context: t.Context(), Timeout: time.Second,
			Do:   func(context.Context) int { time.Sleep(time.Hour); panic("long after") },
			Late: func(c *Crash) { late <- c },
		})
		if !o.Abandoned || time.Since(begun) != time.Second {
			t.Fatalf("%+v after %s", o, time.Since(begun))
		}
		if c := <-late; c == nil || !c.Panicked || c.Value != "long after" {
			t.Errorf("it ended late with %+v", c)
		}
	})
}

func TestCrashesAreErrors(t *testing.T) {
	p := NewPool()
	defer p.Close()
	for want, do := range map[string]func(context.Context) int{
		"it panicked: at the disco": func(context.Context) int { panic("at the disco") },
		ErrGoexit.Error():           func(context.Context) int { runtime.Goexit(); return 0 },
	} {
		o := Run(p, Job[int]{Context: t.Context(), Timeout: time.Minute, Do: do})
		if err := o.Err(); err == nil || err.Error() != want || errors.Is(err, ErrGoexit) == o.Crash.Panicked {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestGroupDrainsWhenItsWorkHasEnded(t *testing.T) {
	g := NewGroup()
	if !g.Begin() || !g.Open() {
		t.Fatal("an open group admits nothing")
	}
	g.Enter()
	drained := g.Drain()
	if g.Begin() || g.Open() {
		t.Error("a draining group admits a request")
	}
	g.End()
	select {
	case <-drained:
		t.Error("drained while work is active")
	default:
	}
	g.Enter() // of a request that was admitted before
	g.End()
	g.End()
	<-drained
	<-g.Drain()
}

func TestNewestIdleWorkerGetsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		defer p.Close()
		var releases []chan struct{}
		for range 4 {
			release, _ := busy(p, 1)
			releases = append(releases, release)
		}
		for _, i := range []int{2, 0, 3, 1} {
			close(releases[i])
			synctest.Wait()
			time.Sleep(time.Second)
		}
		idle := slices.Clone(p.idle)
		for i := range idle[1:] {
			if !idle[i].since.Before(idle[i+1].since) {
				t.Errorf("worker %d waits since %s, and the next one since %s", i, idle[i].since,
					idle[i+1].since)
			}
		}
		release, _ := busy(p, 1)
		if !slices.Equal(p.idle, idle[:3]) {
			t.Error("another worker than the newest has got the job")
		}
		close(release)
		time.Sleep(idleFor - 4*time.Second + time.Millisecond) // the first came four seconds before
		synctest.Wait()
		if n := p.waiting(); n != 3 {
			t.Errorf("%d workers are left when the first has waited for %s", n, idleFor)
		}
	})
}

// kept is a value that a job has. Nothing refers to it after the job.
type kept struct{ text [1 << 10]byte }

// Workers and coroutines that wait for a job refer to nothing of the last one.
func TestNothingOfAJobStaysInThePool(t *testing.T) {
	p := NewPool()
	defer p.Close()
	type use struct {
		name string
		run  func(context.Context, func(context.Context) *kept)
	}
	crashes := func(ctx context.Context) {
		switch ctx.Value(contextKey{}).(*kept).text[0] {
		case 1:
			panic("at the disco")
		case 2:
			runtime.Goexit()
		}
	}
	for _, u := range []use{
		{"a worker", func(ctx context.Context, do func(context.Context) *kept) {
			Run(p, Job[*kept]{Context: ctx, Timeout: time.Hour, Grace: Grace, Do: do})
		}},
		{"a worker without a limit", func(ctx context.Context, do func(context.Context) *kept) {
			Run(p, Job[*kept]{Context: ctx, Do: do})
		}},
		{"a coroutine", func(ctx context.Context, do func(context.Context) *kept) {
			Inline(p, ctx, do)
		}},
		{"a worker that computes", func(ctx context.Context, do func(context.Context) *kept) {
			Await(p, ctx, do)
		}},
	} {
		for fate, outcome := range []string{"returns", "panics", "ends its goroutine"} {
			left := make(chan string, 3)
			func() {
				parts := map[string]*kept{"context": {}, "closure": {}, "value": {}}
				for name, part := range parts {
					part.text[0] = byte(fate)
					runtime.AddCleanup(part, func(name string) { left <- name }, name)
				}
				ctx := context.WithValue(context.Background(), contextKey{}, parts["context"])
				captured, value := parts["closure"], parts["value"]
				u.run(ctx, func(ctx context.Context) *kept {
					crashes(ctx)
					captured.text[1]++
					return value
				})
			}()
			for limit := 0; len(left) < cap(left) && limit < 100; limit++ {
				runtime.GC()
				runtime.Gosched()
			}
			if len(left) < cap(left) {
				t.Errorf("%s: %d of its %d values stay when a job %s", u.name,
					cap(left)-len(left), cap(left), outcome)
			}
		}
	}
}
