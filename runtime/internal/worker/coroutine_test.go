package worker

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// idleCoroutines returns how many coroutines a pool keeps.
func (p *Pool) idleCoroutines() int {
	p.coroutines.mu.Lock()
	defer p.coroutines.mu.Unlock()
	return len(p.coroutines.idle)
}

// Each job of the table runs on a worker and on a coroutine, and in the latter also with a caller
// that is locked to its thread. In a bubble a coroutine or goroutine that stayed would fail the
// test, whose end waits for all.
func TestInlineEndsAsARunOnAWorkerDoes(t *testing.T) {
	type key struct{}
	for name, do := range map[string]func(context.Context) string{
		"returned": func(context.Context) string { return "value" },
		"read its context": func(ctx context.Context) string {
			return fmt.Sprint(ctx.Value(key{}), ctx.Err())
		},
		"panicked":          func(context.Context) string { panic("at the disco") },
		"panicked with nil": func(context.Context) string { panic(nil) },
		"had a fault":       func(context.Context) string { return (*[1]string)(nil)[0] },
		"ended":             func(context.Context) string { runtime.Goexit(); return "" },
		"ended after a recover": func(context.Context) string {
			defer runtime.Goexit()
			defer func() { _ = recover() }()
			panic(1)
		},
		"panicked while it ended": func(context.Context) string {
			defer func() { panic("at the exit") }()
			runtime.Goexit()
			return ""
		},
		"ended in the words of its panic": func(context.Context) string { panic(lastWords{}) },
		"kept its thread": func(context.Context) string {
			runtime.LockOSThread()
			return "locked"
		},
		"ended with its thread": func(context.Context) string {
			runtime.LockOSThread()
			runtime.LockOSThread()
			runtime.Goexit()
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPool()
				defer p.Close()
				ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
				cancel()
				want := Run(p, Job[string]{Context: context.WithoutCancel(ctx),
					Do: func(context.Context) string { return do(ctx) }})
				check := func(value string, crash *Crash) {
					t.Helper()
					if value != want.Value || (crash == nil) != (want.Crash == nil) {
						t.Fatalf("%q, %+v\nwant %+v", value, crash, want)
					}
					if crash != nil && (crash.Panicked != want.Crash.Panicked ||
						crash.Value != want.Crash.Value || crash.Error() != want.Crash.Error() ||
						crash.Panicked != strings.Contains(crash.Stack, "coroutine_test.go")) {
						t.Errorf("%+v\nwant %+v", crash, want.Crash)
					}
				}
				locked := make(chan struct{})
				go func() {
					defer close(locked)
					runtime.LockOSThread()
					check(Inline(p, ctx, do))
				}()
				<-locked
				if n := p.idleCoroutines(); n != 0 {
					t.Fatalf("a caller that is locked to its thread used one of %d coroutines", n)
				}
				for range 3 { // the second time on the first coroutine, unless that ended
					check(Inline(p, ctx, do))
					kept := 1
					if want.Crash != nil && !want.Crash.Panicked {
						kept = 0
					}
					if n := p.idleCoroutines(); n != kept {
						t.Errorf("%d coroutines are kept, want %d", n, kept)
					}
				}
				next := func(context.Context) string { return "next" }
				if value, crash := Inline(p, ctx, next); value != "next" || crash != nil {
					t.Errorf("the next call: %q, %v", value, crash)
				}
			})
		})
	}
}

func TestCoroutinesAreFewAndEndWithTheirPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		start := func(n int) (release chan struct{}, ended *sync.WaitGroup) {
			release, ended = make(chan struct{}), &sync.WaitGroup{}
			for range n {
				ended.Go(func() {
					Inline(p, t.Context(), func(context.Context) int { <-release; return 0 })
				})
			}
			synctest.Wait()
			return release, ended
		}
		release, ended := start(maxCoroutines + 5)
		last, lastEnded := start(1)
		close(release)
		ended.Wait()
		if n := p.idleCoroutines(); n != maxCoroutines {
			t.Errorf("%d coroutines are kept, want %d", n, maxCoroutines)
		}
		p.Close()
		close(last)
		lastEnded.Wait()
		value, crash := Inline(p, t.Context(), func(context.Context) int { return 1 })
		if n := p.idleCoroutines(); n != 0 || value != 1 || crash != nil {
			t.Errorf("%d coroutines outlive their pool; %d, %v", n, value, crash)
		}
	})
}

func TestInlineMayRunInAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool()
		defer p.Close()
		value, _ := Inline(p, t.Context(), func(ctx context.Context) string {
			_, crash := Inline(p, ctx, func(context.Context) int { runtime.Goexit(); return 0 })
			return crash.Error()
		})
		if value != ErrGoexit.Error() {
			t.Errorf("the outer job returned %q", value)
		}
	})
}

func TestCoroutinesRunForManyCallers(t *testing.T) {
	p := NewPool()
	defer p.Close()
	var count atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 500 {
				value, crash := Inline(p, t.Context(), func(context.Context) int {
					count.Add(1)
					switch n % 50 {
					case 20:
						panic(n)
					case 40:
						runtime.Goexit()
					}
					return i*1000 + n
				})
				if crashes := n%50 == 20 || n%50 == 40; (crash != nil) != crashes ||
					!crashes && value != i*1000+n {
					t.Errorf("%d, %d: %d, %v", i, n, value, crash)
				}
			}
		})
	}
	all.Wait()
	if count.Load() != 8*500 {
		t.Errorf("%d jobs ran", count.Load())
	}
}

func TestCoroutinesHaveTheLabelsOfTheirJob(t *testing.T) {
	p := NewPool()
	defer p.Close()
	labels := func(user string) (profile string) {
		pprof.Do(t.Context(), pprof.Labels("user", user), func(ctx context.Context) {
			profile, _ = Inline(p, ctx, func(context.Context) string {
				var b strings.Builder
				if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
					t.Error(err)
				}
				return b.String()
			})
		})
		return profile
	}
	for _, user := range []string{"ada", "bob"} {
		// Its caller and the coroutine have it.
		profile := labels(user)
		if strings.Count(profile, `"user":`) != strings.Count(profile, `"user":"`+user+`"`) ||
			!strings.Contains(profile, `"user":"`+user+`"`) {
			t.Errorf("the job of %s has other labels:\n%s", user, profile)
		}
	}
}

func TestInlineAllocatesItsJobAlone(t *testing.T) {
	p := NewPool()
	defer p.Close()
	do := func(context.Context) int { return 1 }
	if n := testing.AllocsPerRun(100, func() { Inline(p, context.Background(), do) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSupervisedCall(b *testing.B) {
	do := func(context.Context) int { return 1 }
	for name, call := range map[string]func(*Pool){
		"worker": func(p *Pool) {
			Run(p, Job[int]{Context: context.Background(), Timeout: time.Minute,
				Grace: Grace, Do: do})
		},
		"inline": func(p *Pool) { Inline(p, context.Background(), do) },
	} {
		b.Run(name, func(b *testing.B) {
			p := NewPool()
			defer p.Close()
			b.ReportAllocs()
			for b.Loop() {
				call(p)
			}
		})
		b.Run(name+" of 64 callers", func(b *testing.B) {
			p := NewPool()
			defer p.Close()
			b.ReportAllocs()
			b.SetParallelism(64 / runtime.GOMAXPROCS(0))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					call(p)
				}
			})
		})
	}
}
