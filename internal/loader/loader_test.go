package loader_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/mcpgen/mcpgen/internal/loader"
)

var (
	errDown = errors.New("down")
	errNone = errors.New("no such thing") // is kept for a short time
)

const noneTTL = 5 * time.Second

type (
	config = loader.Config[string, string]
	load   = func(context.Context, string) (string, error)
)

// counting returns a loader with a timeout of 1 s, and the number of its loads.
func counting(
	ttl time.Duration, size int, f load, change ...func(*config),
) (*loader.Loader[string, string], *atomic.Int64) {
	var loads atomic.Int64
	c := config{
		Key: func(in string) string { return in },
		Load: func(ctx context.Context, in string) (string, error) {
			loads.Add(1)
			return f(ctx, in)
		},
		Keep: func(_, _ string, err error) time.Duration {
			switch {
			case err == nil:
				return ttl
			case errors.Is(err, errNone):
				return min(ttl, noneTTL)
			}
			return 0
		},
		Size: size, Timeout: time.Second,
		RetryJoined: func(err error) bool { return !errors.Is(err, errNone) },
	}
	for _, f := range change {
		f(&c)
	}
	return loader.New(c), &loads
}

func fine(_ context.Context, in string) (string, error) { return in, nil }

// get fails the test if there is no value.
func get(t *testing.T, l *loader.Loader[string, string], in string) *loader.Entry[string, string] {
	t.Helper()
	e, err := l.Get(context.Background(), in)
	if err != nil {
		t.Error(err)
	}
	return e
}

func TestLoadsOnceForEachKeyAndPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(time.Minute, 10, fine)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { get(t, l, "a") })
		}
		wg.Wait()
		time.Sleep(59 * time.Second)
		if get(t, l, "a"); loads.Load() != 1 {
			t.Errorf("%d loads within the period", loads.Load())
		}
		time.Sleep(time.Second)
		if get(t, l, "a"); loads.Load() != 2 {
			t.Errorf("%d loads after the period", loads.Load())
		}
		if get(t, l, "b"); loads.Load() != 3 {
			t.Errorf("%d loads for another key", loads.Load())
		}
	})
}

func TestBoundRemovesTheLeastRecentlyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(time.Minute, 3, fine)
		for _, in := range []string{"1", "2", "3", "1", "4"} {
			get(t, l, in)
			if n, cost := l.Len(); n > 3 || cost != n {
				t.Fatalf("%d entries, cost %d", n, cost)
			}
		}
		before := loads.Load()
		for _, in := range []string{"1", "3", "4"} {
			get(t, l, in)
		}
		if loads.Load() != before {
			t.Error("a recently used entry was removed")
		}
		if get(t, l, "2"); loads.Load() != before+1 {
			t.Error("the least recently used entry was kept")
		}
	})
}

func TestBoundIsOfCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(loader.Forever, 10, fine, func(c *config) {
			c.Cost = func(_, v string) int { n, _ := strconv.Atoi(v); return n }
		})
		for _, step := range []struct {
			in            string
			entries, cost int
		}{{"4", 1, 4}, {"5", 2, 9}, {"4", 2, 9}, {"6", 2, 10}, {"11", 2, 10}, {"10", 1, 10},
			{"1", 1, 1}} {
			get(t, l, step.in)
			if n, cost := l.Len(); n != step.entries || cost != step.cost {
				t.Errorf("after %s: %d entries, cost %d", step.in, n, cost)
			}
		}
		if l.Invalidate(nil); loads.Load() != 6 {
			t.Errorf("%d loads", loads.Load())
		}
		if n, cost := l.Len(); n != 0 || cost != 0 {
			t.Errorf("%d entries, cost %d", n, cost)
		}
	})
}

// Callers without a right to a value, who may be any number, remove no value of others.
func TestRunningAndFailedLoadsRemoveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(time.Minute, 2, func(_ context.Context, in string) (string, error) {
			if len(in) > 1 {
				return "", errDown
			}
			return in, nil
		})
		get(t, l, "a")
		get(t, l, "b")
		for i := range 10 {
			if _, err := l.Get(context.Background(), fmt.Sprint("x", i)); err == nil {
				t.Error("a value")
			}
		}
		before := loads.Load()
		get(t, l, "a")
		if get(t, l, "b"); loads.Load() != before {
			t.Error("a value was removed")
		}
	})
}

func TestFailedLoadIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		for name, test := range map[string]struct {
			load load
			want string
		}{
			"an error": {func(context.Context, string) (string, error) {
				return "", errDown
			}, "down"},
			"a panic": {func(context.Context, string) (string, error) {
				panic("boom")
			}, "panicked: boom"},
			"Goexit": {func(context.Context, string) (string, error) {
				runtime.Goexit()
				return "", nil
			}, "Goexit"},
			"too late": {func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			}, ""},
			"too late, context unheeded": {func(context.Context, string) (string, error) {
				<-release
				return "x", nil
			}, "no answer in time"},
		} {
			l, loads := counting(time.Minute, 10, test.load)
			start := time.Now()
			for n := range int64(2) {
				e, err := l.Get(context.Background(), "a")
				if err == nil || e != nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v, want %s", name, err, test.want)
				}
				synctest.Wait()
				if entries, _ := l.Len(); loads.Load() != n+1 || entries != 0 {
					t.Errorf("%s: a failure was kept", name)
				}
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s: took %s", name, took)
			}
		}
		close(release)
	})
}

func TestErrorIsKeptForItsOwnPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(time.Minute, 10, func(context.Context, string) (string, error) {
			return "", errNone
		})
		for range 3 {
			if _, err := l.Get(context.Background(), "a"); !errors.Is(err, errNone) {
				t.Errorf("%v", err)
			}
		}
		if loads.Load() != 1 {
			t.Errorf("%d loads", loads.Load())
		}
		time.Sleep(noneTTL)
		if _, _ = l.Get(context.Background(), "a"); loads.Load() != 2 {
			t.Error("kept for too long")
		}
	})
}

// A load that does not return counts until it does, though nobody waits for it. One load more
// waits for its turn, or fails at once if no Timeout bounds the wait.
func TestLoadsAtATimeAreBounded(t *testing.T) {
	for timeout, want := range map[time.Duration]error{
		time.Second: loader.ErrTimeout, 0: loader.ErrBusy} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			l, loads := counting(time.Minute, 10, func(context.Context, string) (string, error) {
				<-release
				return "x", nil
			}, func(c *config) { c.MaxLoads, c.Timeout = 20, timeout })
			for i := range 20 {
				go l.Get(t.Context(), strconv.Itoa(i))
			}
			synctest.Wait()
			for i := range 10 {
				if _, err := l.Get(t.Context(), strconv.Itoa(20+i)); !errors.Is(err, want) {
					t.Errorf("%v, not %v", err, want)
				}
			}
			if n, _ := l.Len(); loads.Load() != 20 || l.Loading() != 20 || timeout > 0 && n > 0 {
				t.Errorf("%d loads, %d running, %d entries", loads.Load(), l.Loading(), n)
			}
			close(release)
			synctest.Wait()
			if get(t, l, "a"); l.Loading() != 0 {
				t.Errorf("%d running", l.Loading())
			}
		})
	}
}

// Loads that wait for their turn begin in the order of their callers. A caller that comes meanwhile
// joins such a load, also if the loader is fresh, and an invalidation does not void it. A load
// whose callers have gone does not begin.
func TestLoadsWaitForTheirTurn(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var order []string // one load at a time writes it
			l, _ := counting(0, 10, func(_ context.Context, in string) (string, error) {
				order = append(order, in)
				time.Sleep(300 * time.Millisecond)
				return in, nil
			}, func(c *config) { c.Fresh, c.MaxLoads = fresh, 1 })
			var wg sync.WaitGroup
			call := func(in string) {
				wg.Go(func() {
					if e := get(t, l, in); e != nil && e.Value != in {
						t.Errorf("%s got %s", in, e.Value)
					}
				})
				synctest.Wait()
			}
			call("a")
			gone, cancel := context.WithCancel(t.Context())
			wg.Go(func() { _, _ = l.Get(gone, "gone") })
			synctest.Wait()
			call("b")
			call("c")
			call("b")
			cancel()
			l.Invalidate(func(in string) bool { return in != "a" })
			wg.Wait()
			if got := fmt.Sprint(order); got != "[a b c]" {
				t.Errorf("fresh %v: %s", fresh, got)
			}
			if n, _ := l.Len(); n != 0 || l.Loading() != 0 {
				t.Errorf("%d entries, %d loads", n, l.Loading())
			}
		})
	}
}

// A message may keep its entry for long. The entries of later loads are garbage meanwhile.
func TestFreshEntryDoesNotKeepLaterOnes(t *testing.T) {
	var first *loader.Entry[string, *[64]byte]
	var later weak.Pointer[[64]byte]
	came, began, release := make(chan bool, 2), make(chan struct{}), make(chan struct{})
	l := loader.New(loader.Config[string, *[64]byte]{
		Key: func(in string) string { return in }, Size: 1, Fresh: true,
		Looked: func(hit bool) { came <- hit },
		Load: func(context.Context, string) (*[64]byte, error) {
			began <- struct{}{}
			<-release
			return new([64]byte), nil
		},
		Keep: func(string, *[64]byte, error) time.Duration { return 0 },
	})
	var wg sync.WaitGroup
	wg.Go(func() { first, _ = l.Get(t.Context(), "a") })
	<-came
	<-began
	wg.Go(func() {
		e, _ := l.Get(t.Context(), "a")
		later = weak.Make(e.Value)
	})
	<-came
	release <- struct{}{}
	<-began
	release <- struct{}{}
	wg.Wait()
	runtime.GC()
	if later.Value() != nil {
		t.Error("the entry of a later load is kept")
	}
	runtime.KeepAlive(first)
}

// A caller that joins a load that is about to fail is not refused by it if the cause has gone. It
// loads once more, within its own time.
func TestCallerThatJoinsAFailingLoadRetries(t *testing.T) {
	for _, well := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var down atomic.Bool
			down.Store(true)
			l, loads := counting(time.Minute, 10,
				func(ctx context.Context, _ string) (string, error) {
					if down.Load() {
						<-ctx.Done()
						return "", errDown
					}
					return "x", nil
				})
			first := make(chan error)
			go func() {
				_, err := l.Get(context.Background(), "a")
				first <- err
			}()
			time.Sleep(990 * time.Millisecond) // of a timeout of 1 s
			down.Store(!well)
			start := time.Now()
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					if _, err := l.Get(context.Background(), "a"); (err == nil) != well {
						t.Errorf("the cause has gone, %v: %v", well, err)
					}
				})
			}
			if err := <-first; err == nil {
				t.Error("the first caller got a value")
			}
			wg.Wait()
			if took := time.Since(start); took > time.Second || loads.Load() != 2 {
				t.Errorf("%d loads in %s", loads.Load(), took)
			}
			time.Sleep(time.Second) // until no load runs
		})
	}
}

// A caller of a fresh loader gets no value of a load that began before it came. Callers that come
// while a load runs share the next one, so that a key never has two loads.
func TestFreshLoadBeginsAfterItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var value, running, most atomic.Int64
		fresh := func(c *config) { c.Fresh = true }
		l, loads := counting(0, 10, func(context.Context, string) (string, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			v := fmt.Sprint(value.Load())
			time.Sleep(100 * time.Millisecond)
			return v, nil
		}, fresh)
		var wg sync.WaitGroup
		for at := range int64(25) { // in ten at a time, 10 ms apart
			value.Store(at)
			for range 10 {
				wg.Go(func() {
					e := get(t, l, "a")
					if n, _ := strconv.ParseInt(e.Value, 10, 64); n < at {
						t.Errorf("a caller of %d got %d", at, n)
					}
				})
			}
			time.Sleep(10 * time.Millisecond)
		}
		wg.Wait()
		// The first one, those of the ten steps behind it, those of the next ten, and the rest.
		if loads.Load() != 4 || most.Load() != 1 {
			t.Errorf("%d loads, %d at a time", loads.Load(), most.Load())
		}
		if n, cost := l.Len(); n != 0 || cost != 0 {
			t.Errorf("%d entries are kept", n)
		}
		e := get(t, l, "a")
		if get(t, l, "a"); loads.Load() != 6 || !l.Current(e) {
			t.Errorf("%d loads", loads.Load())
		}
		of := func(key string) func(string) bool {
			return func(in string) bool { return in == key }
		}
		for range 64 { // as many as it remembers
			if l.Invalidate(of("b")); !l.Current(e) {
				t.Fatal("not current after an invalidation of another")
			}
		}
		if l.Invalidate(of("b")); l.Current(e) {
			t.Error("current after more invalidations than the loader remembers")
		}
		for name, match := range map[string]func(string) bool{"its own": of("a"), "all": nil} {
			e := get(t, l, "a")
			if l.Invalidate(of("b")); !l.Current(e) {
				t.Errorf("%s: not current before", name)
			}
			if l.Invalidate(match); l.Current(e) {
				t.Errorf("%s: current after", name)
			}
		}
	})
}

// A fresh load that no caller waits for does not begin. A load that hangs is an error of its own
// callers alone.
func TestFreshLoadsEndWithTheirCallersAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		l, loads := counting(0, 10, func(ctx context.Context, in string) (string, error) {
			if hang.Load() {
				<-ctx.Done()
			}
			time.Sleep(600 * time.Millisecond) // more than half of the timeout
			return in, ctx.Err()
		}, func(c *config) { c.Fresh, c.MaxLoads, c.RetryJoined = true, 1, nil })
		var wg sync.WaitGroup
		start := time.Now()
		wg.Go(func() { get(t, l, "a") })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := l.Get(ctx, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that has gone: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		if synctest.Wait(); loads.Load() != 1 || l.Loading() != 0 {
			t.Errorf("%d loads, %d running", loads.Load(), l.Loading())
		}
		wg.Go(func() { get(t, l, "a") })
		synctest.Wait()
		wg.Go(func() { get(t, l, "a") }) // it waits for longer than the timeout
		synctest.Wait()
		wg.Wait()
		if took := time.Since(start); loads.Load() != 3 || took != 1800*time.Millisecond {
			t.Errorf("%d loads in %s", loads.Load(), took)
		}
		hang.Store(true)
		for range 2 {
			wg.Go(func() {
				if _, err := l.Get(t.Context(), "a"); err == nil {
					t.Error("a value")
				}
			})
			synctest.Wait()
		}
		start = time.Now()
		wg.Wait()
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %s", took)
		}
		time.Sleep(2 * time.Second) // until no load runs
	})
}

// An invalidation voids the load in flight. The next one begins at once.
func TestInvalidationStartsTheNextFreshLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := make(chan struct{})
		var loads atomic.Int64
		l, _ := counting(0, 10, func(context.Context, string) (string, error) {
			if loads.Add(1) == 1 {
				<-old
				return "before", nil
			}
			return "after", nil
		}, func(c *config) { c.Fresh = true })
		var first, second *loader.Entry[string, string]
		var wg sync.WaitGroup
		wg.Go(func() { first = get(t, l, "a") })
		synctest.Wait()
		waiting := make(chan struct{})
		go func() {
			defer close(waiting)
			second = get(t, l, "a")
		}()
		synctest.Wait()
		l.Invalidate(nil)
		<-waiting
		close(old)
		wg.Wait()
		if first.Value != "after" || second.Value != "after" || loads.Load() != 3 {
			t.Errorf("%s and %s by %d loads", first.Value, second.Value, loads.Load())
		}
	})
}

// A value may be as old as the start of its load, so its period begins there.
func TestPeriodBeginsWithTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(time.Second, 10, func(context.Context, string) (string, error) {
			time.Sleep(900 * time.Millisecond)
			return "x", nil
		})
		for _, step := range []struct {
			wait  time.Duration
			loads int64
		}{{0, 1}, {99 * time.Millisecond, 1}, {time.Millisecond, 2}} {
			time.Sleep(step.wait)
			if get(t, l, "a"); loads.Load() != step.loads {
				t.Errorf("after another %s: %d loads", step.wait, loads.Load())
			}
		}
	})
}

func TestInvalidationRemovesWhatMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(time.Minute, 10, fine)
		one, two := get(t, l, "1"), get(t, l, "2")
		l.Invalidate(func(in string) bool { return in == "1" })
		if l.Current(one) || !l.Current(two) {
			t.Error("the wrong one is current")
		}
		get(t, l, "1")
		if get(t, l, "2"); loads.Load() != 3 {
			t.Errorf("%d loads", loads.Load())
		}
		l.Invalidate(nil)
		get(t, l, "1")
		if get(t, l, "2"); loads.Load() != 5 {
			t.Errorf("%d loads", loads.Load())
		}
	})
}

// A value from before an invalidation does not come in after it, whether it is kept or in flight.
func TestInvalidationVoidsLoadsInFlight(t *testing.T) {
	for _, size := range []int{10, 1} {
		synctest.Test(t, func(t *testing.T) {
			old, current := make(chan struct{}), atomic.Pointer[string]{}
			before, after := "before", "after"
			current.Store(&before)
			l, loads := counting(time.Minute, size,
				func(_ context.Context, in string) (string, error) {
					v := current.Load()
					if v == &before && in == "a" {
						<-old
					}
					return *v, nil
				})
			var got [20]*loader.Entry[string, string]
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() { got[i] = get(t, l, "a") })
			}
			synctest.Wait()
			get(t, l, "other")
			current.Store(&after)
			l.Invalidate(func(in string) bool { return in != "another" })
			if e := get(t, l, "a"); e.Value != after {
				t.Errorf("size %d: a Get after the invalidation got the old value", size)
			}
			close(old)
			wg.Wait()
			for _, e := range got {
				if e == nil || e.Value != after {
					t.Fatalf("size %d: a Get that waited got the old value", size)
				}
			}
			if e := get(t, l, "a"); e.Value != after {
				t.Errorf("size %d: the old value came in", size)
			}
			if n := loads.Load(); n > 4 {
				t.Errorf("size %d: %d loads", size, n)
			}
		})
	}
}

func TestEndlessInvalidationsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l *loader.Loader[string, string]
		l, _ = counting(time.Minute, 10, func(context.Context, string) (string, error) {
			time.Sleep(100 * time.Millisecond)
			go l.Invalidate(nil)
			time.Sleep(time.Millisecond)
			return "x", nil
		})
		start := time.Now()
		_, err := l.Get(context.Background(), "a")
		if !errors.Is(err, loader.ErrTimeout) || time.Since(start) > 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		time.Sleep(time.Second) // until no load runs
	})
}

func TestWaitEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, loads := counting(time.Minute, 10, func(context.Context, string) (string, error) {
			time.Sleep(10 * time.Millisecond)
			return "x", nil
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := l.Get(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if get(t, l, "a"); loads.Load() != 1 {
			t.Errorf("%d loads: the first ended with its caller", loads.Load())
		}
	})
}

func TestLoadIsCancelledWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled atomic.Int64
		l, loads := counting(time.Minute, 10, func(ctx context.Context, _ string) (string, error) {
			select {
			case <-ctx.Done():
				cancelled.Add(1)
				return "", ctx.Err()
			case <-time.After(time.Second):
				return "x", nil
			}
		}, func(c *config) { c.Cancel, c.Timeout = true, 0 })
		wait := func() (leave func()) {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { _, _ = l.Get(ctx, "a") }()
			synctest.Wait()
			return func() { cancel(); synctest.Wait() }
		}
		first, second := wait(), wait()
		if first(); cancelled.Load() != 0 {
			t.Error("cancelled while a caller waits")
		}
		if second(); cancelled.Load() != 1 || l.Loading() != 0 {
			t.Errorf("%d loads outlive their callers", l.Loading())
		}
		if get(t, l, "a"); loads.Load() != 2 {
			t.Errorf("%d loads", loads.Load())
		}
		kept, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := l.Get(kept, "a"); err != nil || loads.Load() != 2 {
			t.Errorf("a kept value: %v", err)
		}
	})
}

// Loaded is called for loads that a Get waited for, and that are kept.
func TestLoadedAndLookedAreOfGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var loaded, hits, misses atomic.Int64
		delay, fail := time.Duration(0), error(nil)
		l, _ := counting(time.Minute, 10, func(context.Context, string) (string, error) {
			err := fail
			time.Sleep(delay)
			return "", err
		}, func(c *config) {
			c.Loaded = func(string) { loaded.Add(1) }
			c.Looked = func(hit bool) {
				if hit {
					hits.Add(1)
				} else {
					misses.Add(1)
				}
			}
		})
		peek := func() { _, _ = l.Peek(context.Background(), "a") }
		ask := func() { _, _ = l.Get(context.Background(), "a") }
		want := func(what string, l, h, m int64) {
			t.Helper()
			synctest.Wait()
			if loaded.Load() != l || hits.Load() != h || misses.Load() != m {
				t.Errorf("%s: %d loaded, %d hits, %d misses", what, loaded.Load(), hits.Load(),
					misses.Load())
			}
		}
		peek()
		want("a peek loads", 0, 0, 0)
		ask()
		ask()
		want("the first get of what a peek has loaded", 1, 2, 0)
		l.Invalidate(nil)
		ask()
		peek()
		want("a get loads", 2, 2, 1)
		l.Invalidate(nil)
		delay = 100 * time.Millisecond
		go peek()
		time.Sleep(time.Millisecond)
		ask()
		want("a get joins a peek", 3, 3, 1)
		l.Invalidate(nil)
		fail = errNone
		ask()
		want("a kept error", 4, 3, 2)
		l.Invalidate(nil)
		fail = errDown
		ask()
		want("an error that is not kept", 4, 3, 3)
		fail = nil
		go ask()
		time.Sleep(time.Millisecond)
		go l.Invalidate(nil)
		time.Sleep(time.Second)
		want("a load that was invalidated, and the next one", 5, 3, 4)
	})
}

func BenchmarkHit(b *testing.B) {
	l := loader.New(config{
		Key: func(in string) string { return in }, Load: fine, Size: 10,
		Keep: func(_, _ string, _ error) time.Duration { return loader.Forever },
	})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Get(b.Context(), "a"); err != nil {
			b.Fatal(err)
		}
	}
}
