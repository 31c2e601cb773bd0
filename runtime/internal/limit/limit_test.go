package limit

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func client(id string) isolate.Client {
	return isolate.Client{Issuer: "https://id.example", ID: id}
}

func perSecond(calls int) toolset.Limits {
	return toolset.Limits{Rate: toolset.Rate{Calls: calls, Per: time.Second}}
}

// limitOf returns the name of the limit of an error, or "" for another error and none.
func limitOf(err error) string {
	var limit toolset.LimitError
	if errors.As(err, &limit) {
		return limit.Reached()
	}
	return ""
}

func TestConcurrencyIsPerClientAndTool(t *testing.T) {
	var c Calls
	one := toolset.Limits{Concurrency: 1}
	leave, err := c.Enter(client("a"), "x", one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Enter(client("a"), "x", one); limitOf(err) != "calls at a time" ||
		err.Error() != "the tool reached its limit on calls at a time (1)" {
		t.Errorf("a second call: %v", err)
	}
	for _, other := range []pair{{client("a"), "y"}, {client("b"), "x"},
		{isolate.Client{ID: "a"}, "x"}, {isolate.Client{}, "x"}} {
		if _, err := c.Enter(other.client, other.tool, one); err != nil {
			t.Errorf("%+v: %v", other, err)
		}
	}
	leave()
	if _, err := c.Enter(client("a"), "x", one); err != nil {
		t.Errorf("the first call is over: %v", err)
	}
}

func TestRateReportsWhenToCallAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Calls
		for range 2 {
			if _, err := c.Enter(client("a"), "x", perSecond(2)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := c.Enter(client("a"), "x", perSecond(2))
		if limitOf(err) != "rate" || err.Error() !=
			"the limit on the rate (2 a second) is reached: try again after 500ms" {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		if _, err := c.Enter(client("a"), "x", perSecond(2)); err != nil {
			t.Error(err)
		}
		if _, err := c.Enter(client("a"), "x", perSecond(2)); limitOf(err) != "rate" {
			t.Errorf("one too many: %v", err)
		}
	})
}

func TestRateIsWrittenAsDeclared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Calls
		for want, per := range map[string]time.Duration{"(2 a second)": time.Second,
			"(2 a minute)": time.Minute, "(2 an hour)": time.Hour, "(2 in 5m0s)": 5 * time.Minute} {
			l := toolset.Limits{Rate: toolset.Rate{Calls: 2, Per: per}}
			for range 2 {
				if _, err := c.Enter(client("a"), want, l); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Enter(client("a"), want, l); err == nil ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
	})
}

// In any time, no more calls start than the rate allows, and after a pause of its period all of
// them do.
func TestRateIsNeitherExceededNorWithheld(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := toolset.Rate{Calls: rapid.IntRange(1, 50).Draw(rt, "calls"),
			Per: time.Duration(rapid.IntRange(1, 5000).Draw(rt, "per")) * time.Millisecond}
		pauses := rapid.SliceOfN(rapid.IntRange(0, 2000), 1, 200).Draw(rt, "pauses")
		synctest.Test(t, func(t *testing.T) {
			c := Calls{most: 3}
			enter := func() bool {
				leave, err := c.Enter(client("a"), "x", toolset.Limits{Rate: rate})
				if err != nil {
					return false
				}
				leave()
				return true
			}
			begin, in := time.Now(), 0
			for _, pause := range pauses {
				time.Sleep(time.Duration(pause) * time.Millisecond)
				// Others come and go, so that pairs are pruned.
				if leave, err := c.Enter(client(fmt.Sprint(pause)), "y", perSecond(1000)); err == nil {
					leave()
				}
				if enter() {
					in++
				}
			}
			perNano := float64(rate.Calls) / float64(rate.Per)
			if most := float64(rate.Calls) + perNano*float64(time.Since(begin)); float64(in) > most+1e-6 {
				rt.Fatalf("%d started, %v may have", in, most)
			}
			time.Sleep(rate.Per + time.Duration(rate.Calls))
			for i := range rate.Calls {
				if !enter() {
					rt.Fatalf("call %d of %d after a pause is refused", i+1, rate.Calls)
				}
			}
			if enter() {
				rt.Fatalf("%d calls started at once", rate.Calls+1)
			}
		})
	})
}

func TestRefusedCallsDoNotCountForTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Calls
		l := perSecond(2)
		l.Concurrency = 1
		leave, err := c.Enter(client("a"), "x", l)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if _, err := c.Enter(client("a"), "x", l); limitOf(err) != "calls at a time" {
				t.Fatal(err)
			}
		}
		leave()
		if _, err := c.Enter(client("a"), "x", l); err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryOfPairsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Calls{most: 10}
		for i := range 10 {
			if _, err := c.Enter(client(fmt.Sprint(i)), "x", perSecond(1)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Enter(client("new"), "x", perSecond(1)); err == nil || limitOf(err) != "" {
			t.Errorf("an eleventh pair: %v", err)
		}
		if _, err := c.Enter(client("3"), "x", perSecond(1)); limitOf(err) != "rate" {
			t.Errorf("a pair lost its used rate: %v", err)
		}
		// These calls still run, so their pairs stay.
		time.Sleep(time.Minute)
		if _, err := c.Enter(client("new"), "x", perSecond(1)); err == nil {
			t.Error("a pair with a running call was removed")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := Calls{most: 10}
		for i := range 1000 {
			leave, err := c.Enter(client(fmt.Sprint(i)), "x", perSecond(1))
			if err != nil {
				t.Fatalf("pair %d: %v", i, err)
			}
			leave()
			time.Sleep(time.Second)
		}
	})
}

func TestNoMoreCallsRunUnderContention(t *testing.T) {
	var c Calls
	var now, most atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 2000 {
				leave, err := c.Enter(client("a"), "x", toolset.Limits{Concurrency: 3})
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

func BenchmarkEnter(b *testing.B) {
	var c Calls
	l := toolset.Limits{Concurrency: 3, Rate: toolset.Rate{Calls: 1e9, Per: time.Hour}}
	b.ReportAllocs()
	for b.Loop() {
		leave, err := c.Enter(client("a"), "x", l)
		if err != nil {
			b.Fatal(err)
		}
		leave()
	}
}
