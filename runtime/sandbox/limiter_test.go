package sandbox

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func limitOfErr(err error) limitName {
	var limit *limitError
	if errors.As(err, &limit) {
		return limit.Limit
	}
	return ""
}

func TestConcurrencyIsPerClientAndTool(t *testing.T) {
	var l limiter
	b := bounds{Concurrency: 1}
	leave, err := l.Enter("a", "x", b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Enter("a", "x", b); limitOfErr(err) != limitCalls {
		t.Errorf("a second call: %v", err)
	}
	for _, other := range [][2]string{{"a", "y"}, {"b", "x"}} {
		if _, err := l.Enter(other[0], other[1], b); err != nil {
			t.Errorf("%v: %v", other, err)
		}
	}
	leave()
	leave() // more often changes nothing
	if _, err := l.Enter("a", "x", b); err != nil {
		t.Errorf("after the first has left: %v", err)
	}
	if _, err := l.Enter("a", "x", b); limitOfErr(err) != limitCalls {
		t.Errorf("leaving twice let two in: %v", err)
	}
}

func TestRateReportsWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		b := bounds{Rate: 2, Burst: 3}
		for range 3 {
			if _, err := l.Enter("a", "x", b); err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.Enter("a", "x", b)
		var limit *limitError
		if !errors.As(err, &limit) || limit.Limit != limitRate || limit.After != 500*time.Millisecond {
			t.Fatalf("%v, %+v", err, limit)
		}
		time.Sleep(limit.After)
		if _, err := l.Enter("a", "x", b); err != nil {
			t.Error(err)
		}
		if _, err := l.Enter("a", "x", b); limitOfErr(err) != limitRate {
			t.Errorf("one too many: %v", err)
		}
	})
}

func TestNoMoreThanTheRateGetsIn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		perSecond := rapid.Float64Range(0.1, 50).Draw(rt, "rate")
		burst := rapid.IntRange(1, 20).Draw(rt, "burst")
		pauses := rapid.SliceOfN(rapid.IntRange(0, 2000), 1, 200).Draw(rt, "pauses")
		synctest.Test(t, func(t *testing.T) {
			l := limiter{Pairs: 3}
			begin, in := time.Now(), 0
			for _, pause := range pauses {
				time.Sleep(time.Duration(pause) * time.Millisecond)
				// Others come and go, so that what is remembered has to be forgotten.
				l.Enter(fmt.Sprint(pause), "y", bounds{Rate: 1000})
				if leave, err := l.Enter("a", "x", bounds{Rate: perSecond, Burst: burst}); err == nil {
					in++
					leave()
				}
			}
			if most := float64(burst) + perSecond*time.Since(begin).Seconds(); float64(in) > most+1e-6 {
				rt.Fatalf("%d got in, %v may have", in, most)
			}
		})
	})
}

func TestMemoryOfPairsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter{Pairs: 10}
		b := bounds{Rate: 1}
		for i := range 10 {
			if _, err := l.Enter(fmt.Sprint(i), "x", b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Enter("new", "x", b); err == nil {
			t.Error("an eleventh pair was remembered")
		}
		if _, err := l.Enter("3", "x", b); limitOfErr(err) != limitRate {
			t.Errorf("a pair was forgotten that had spent: %v", err)
		}
		// These calls still run, so nobody forgets them; those that ended are forgotten.
		time.Sleep(time.Minute)
		if _, err := l.Enter("new", "x", b); err == nil {
			t.Error("a running pair was forgotten")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		l := limiter{Pairs: 10}
		for i := range 1000 {
			leave, err := l.Enter(fmt.Sprint(i), "x", bounds{Rate: 1})
			if err != nil {
				t.Fatalf("pair %d: %v", i, err)
			}
			leave()
			time.Sleep(time.Second)
		}
	})
}

func TestBoundsMayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		if _, err := l.Enter("a", "x", bounds{Rate: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Enter("a", "x", bounds{Rate: 2, Burst: 1}); limitOfErr(err) != limitRate {
			t.Errorf("what was spent was forgotten: %v", err)
		}
		if _, err := l.Enter("a", "x", bounds{Concurrency: 5}); err != nil {
			t.Errorf("without a rate: %v", err)
		}
		if _, err := l.Enter("a", "x", bounds{}); err != nil {
			t.Errorf("without bounds: %v", err)
		}
		for _, b := range []bounds{{Rate: -1}, {Concurrency: -1}, {Burst: -1}, {Rate: math.Inf(1)}, {Rate: math.NaN()}} {
			if _, err := l.Enter("a", "x", b); err == nil {
				t.Errorf("%+v was taken", b)
			}
		}
	})
}

func TestLimiterUnderContention(t *testing.T) {
	var l limiter
	var now, most atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 2000 {
				leave, err := l.Enter("a", "x", bounds{Concurrency: 3})
				if err != nil {
					continue
				}
				n := now.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				now.Add(-1)
				leave()
			}
		})
	}
	wait.Wait()
	if most.Load() > 3 {
		t.Errorf("%d ran at a time", most.Load())
	}
}

func BenchmarkLimiter(b *testing.B) {
	var l limiter
	b.ReportAllocs()
	for b.Loop() {
		leave, err := l.Enter("a", "x", bounds{Concurrency: 3, Rate: 1e9})
		if err != nil {
			b.Fatal(err)
		}
		leave()
	}
}
