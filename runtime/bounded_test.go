package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"pgregory.net/rapid"
)

func TestBoundedContextEndsAtItsTime(t *testing.T) {
	for name, look := range map[string]func(*bounded) error{
		"asked afterwards": func(c *bounded) error { time.Sleep(time.Second); return c.Err() },
		"waited for":       func(c *bounded) error { <-c.Done(); return c.Err() },
		"by a derived context": func(c *bounded) error {
			derived, cancel := context.WithCancel(c)
			defer cancel()
			<-derived.Done()
			return derived.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &bounded{values: t.Context(), deadline: time.Now().Add(time.Second)}
				if err := c.Err(); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if err := look(c); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(begun); took != time.Second {
					t.Errorf("ended after %s", took)
				}
				<-c.Done()
			})
		})
	}
}

func TestBoundedContextEndsOnce(t *testing.T) {
	c := &bounded{values: t.Context(), deadline: time.Now().Add(time.Hour)}
	ran := make(chan struct{})
	stopped := context.AfterFunc(c, func() { t.Error("ran although it was stopped") })
	context.AfterFunc(c, func() { close(ran) })
	if !stopped() || stopped() {
		t.Error("a function is stopped once")
	}
	c.end(context.Canceled)
	c.end(context.DeadlineExceeded)
	<-ran
	<-c.Done()
	if c.Err() != context.Canceled {
		t.Errorf("ended with %v", c.Err())
	}
	late := make(chan struct{})
	stop := context.AfterFunc(c, func() { close(late) })
	<-late
	if stop() {
		t.Error("what has run was stopped")
	}
}

func TestBoundedContextHidesTheToken(t *testing.T) {
	type key struct{}
	rec := &record{}
	parent := context.WithValue(context.WithValue(t.Context(), key{}, "kept"), recordKey{}, &auth.TokenInfo{})
	c := &bounded{values: parent, record: rec}
	if c.Value(key{}) != "kept" || c.Value(recordKey{}) != rec {
		t.Error("values are lost")
	}
	if v := (&bounded{values: parent}).Value(recordKey{}); v != nil {
		t.Errorf("a token shows: %v", v)
	}
}

func TestCauseOfABoundedContextIsItsOwnError(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	c := &bounded{values: parent, deadline: time.Now().Add(time.Hour)}
	below, stop := context.WithCancel(context.WithValue(c, recordKey{}, nil))
	defer stop()
	cancel(errors.New("of the parent"))
	if cause := context.Cause(c); cause != nil {
		t.Errorf("before its end: %v", cause)
	}
	c.end(context.DeadlineExceeded)
	<-below.Done()
	for name, ctx := range map[string]context.Context{"bounded": c, "derived": below} {
		if cause := context.Cause(ctx); cause != context.DeadlineExceeded {
			t.Errorf("%s: %v", name, cause)
		}
	}
}

// TestBoundedContextBehavesLikeTheOneOfPackageContext runs the same steps on a bounded context and on
// one of package context, each by a clock of its own, and compares all that can be seen. One thing is
// not the same: a limit that passed while nobody looked is not known until somebody does, so that each is
// looked at before it is cancelled, and given a moment to end.
func TestBoundedContextBehavesLikeTheOneOfPackageContext(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := time.Duration(rapid.IntRange(0, 4).Draw(rt, "limit")) * time.Second
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"wait", "err", "done", "derive", "after", "stop", "cancel"}), 1, 12).Draw(rt, "steps")
		var ours, theirs []string
		synctest.Test(t, func(t *testing.T) {
			c := &bounded{values: context.Background(), deadline: time.Now().Add(limit)}
			ours = lived(c, func() { c.end(context.Canceled) }, steps)
		})
		synctest.Test(t, func(t *testing.T) {
			c, cancel := context.WithTimeout(context.Background(), limit)
			theirs = lived(c, cancel, steps)
		})
		if !slices.Equal(ours, theirs) {
			rt.Fatalf("%v within %s:\nours   %v\ntheirs %v", steps, limit, ours, theirs)
		}
	})
}

// lived is what can be seen of a context as the steps are taken, and at its end.
func lived(c context.Context, cancel func(), steps []string) (seen []string) {
	var ran atomic.Int32
	stops := []func() bool{}
	derived := c
	see := func(format string, values ...any) { seen = append(seen, fmt.Sprintf(format, values...)) }
	for _, step := range steps {
		switch step {
		case "wait":
			time.Sleep(time.Second + time.Millisecond)
			synctest.Wait()
		case "err":
			err := c.Err()
			synctest.Wait()
			see("err %v %v", err, context.Cause(c))
		case "done":
			ended := c.Done()
			synctest.Wait()
			select {
			case <-ended:
				see("done")
			default:
				see("not done")
			}
		case "derive":
			var end context.CancelFunc
			derived, end = context.WithCancel(derived)
			defer end()
			synctest.Wait()
			see("derived %v", derived.Err())
		case "after":
			stops = append(stops, context.AfterFunc(c, func() { ran.Add(1) }))
			synctest.Wait()
			see("ran %d", ran.Load())
		case "stop":
			if len(stops) > 0 {
				see("stopped %t", stops[len(stops)-1]())
			}
		case "cancel":
			see("canceled after %v", c.Err())
			cancel()
			synctest.Wait()
		}
	}
	see("last %v", c.Err())
	cancel()
	synctest.Wait()
	see("%v, derived %v, ran %d", c.Err(), derived.Err(), ran.Load())
	<-c.Done()
	return seen
}
