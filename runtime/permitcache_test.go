package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
)

func ada(role string) access.Principal {
	return access.Principal{Issuer: "i", Subject: "ada", Client: "c", User: "ada", Role: role}
}

// answering is a cache over a host that counts what it is asked.
func answering(ttl time.Duration, max int, answer func(context.Context, access.Principal) (*said, error)) (*permitCache, *atomic.Int64) {
	var asked atomic.Int64
	return newPermitCache(time.Second, ttl, max, func(ctx context.Context, p access.Principal) (*said, error) {
		asked.Add(1)
		return answer(ctx, p)
	}), &asked
}

func fine(context.Context, access.Principal) (*said, error) { return &said{}, nil }

func TestHostIsAskedOnceForEachIdentityAndPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, asked := answering(time.Minute, 10, fine)
		get := func(p access.Principal) {
			if _, err := c.get(context.Background(), p); err != nil {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { get(ada("Viewer")) })
		}
		wg.Wait()
		time.Sleep(59 * time.Second)
		get(ada("Viewer"))
		if n := asked.Load(); n != 1 {
			t.Errorf("asked %d times within the period", n)
		}
		time.Sleep(time.Second)
		get(ada("Viewer"))
		if n := asked.Load(); n != 2 {
			t.Errorf("asked %d times after the period", n)
		}
	})
}

func TestPrincipalsThatDifferInAnyFieldAreAskedForApart(t *testing.T) {
	c, asked := answering(time.Minute, 100, fine)
	all := []access.Principal{
		{Subject: "a"}, {Issuer: "a"}, {Client: "a"}, {User: "a"}, {Role: "a"}, {Scopes: []string{"a"}}, {Groups: []string{"a"}}, {Scopes: []string{"", "a"}},
		{Orgs: []access.Membership{{Name: "a"}}}, {Teams: []access.Membership{{Name: "a"}}}, {Teams: []access.Membership{{Name: "a", Standing: access.Lead}}},
		{Subject: "a", Issuer: "b"}, {Subject: "ab"}, {Issuer: "ab"}, {},
	}
	for range 2 {
		for _, p := range all {
			if _, err := c.get(context.Background(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := asked.Load(); n != int64(len(all)) {
		t.Errorf("asked %d times for %d principals", n, len(all))
	}
}

// Whoever looks again has the last answer in its hands. The host is asked without it, and the cache does
// not keep it.
func TestHostIsAskedWithoutWhatItSaidBefore(t *testing.T) {
	c, _ := answering(time.Minute, 10, func(_ context.Context, p access.Principal) (*said, error) {
		if p.Permits != nil {
			t.Error("the question holds an answer")
		}
		return &said{}, nil
	})
	p := ada("")
	p.Permits = &access.Permits{}
	for name, ask := range map[string]func(context.Context, access.Principal) (*hostAnswer, error){"a request": c.get, "a look": c.look} {
		c.invalidate(nil)
		e, err := ask(context.Background(), p)
		if err != nil || e.principal.Permits != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCacheOfCapabilitiesHasABound(t *testing.T) {
	c, asked := answering(time.Minute, 3, fine)
	get := func(role string) {
		if _, err := c.get(context.Background(), ada(role)); err != nil {
			t.Fatal(err)
		}
	}
	for _, role := range []string{"1", "2", "3", "1", "4"} { // 2 is the one that was not used for longest
		get(role)
		if n := len(c.entries); n > 3 || n != c.order.Len() {
			t.Fatalf("%d entries, %d in order", n, c.order.Len())
		}
	}
	before := asked.Load()
	for _, role := range []string{"1", "3", "4"} {
		get(role)
	}
	if asked.Load() != before {
		t.Error("what was used last was dropped")
	}
	if get("2"); asked.Load() != before+1 {
		t.Error("the one that was not used was kept")
	}
}

func TestHostThatMisbehavesIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		for name, test := range map[string]struct {
			answer func(context.Context, access.Principal) (*said, error)
			want   string
		}{
			"an error":                {func(context.Context, access.Principal) (*said, error) { return nil, errors.New("down") }, "down"},
			"a panic":                 {func(context.Context, access.Principal) (*said, error) { panic("boom") }, "it panicked: boom"},
			"the end of a goroutine":  {func(context.Context, access.Principal) (*said, error) { runtime.Goexit(); return nil, nil }, "its goroutine ended"},
			"an error that panics":    {func(context.Context, access.Principal) (*said, error) { return nil, (*brokenError)(nil) }, "it panicked"},
			"no answer, ctx heeded":   {func(ctx context.Context, _ access.Principal) (*said, error) { <-ctx.Done(); return nil, ctx.Err() }, ""},
			"no answer, ctx unheeded": {func(context.Context, access.Principal) (*said, error) { <-release; return &said{}, nil }, "no answer in time"},
		} {
			c, asked := answering(time.Minute, 10, test.answer)
			start := time.Now()
			for n := range int64(2) {
				e, err := c.get(context.Background(), ada(""))
				if err == nil || e != nil && e.said != nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, capability.ErrNoUser) {
					t.Errorf("%s: %v, want %s", name, err, test.want)
				}
				synctest.Wait()
				if asked.Load() != n+1 {
					t.Errorf("%s: a failure was kept", name)
				}
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s: took %s", name, took)
			}
		}
		close(release)
		synctest.Wait()
	})
}

type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

func TestHostThatDoesNotAnswerHoldsBoundedGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c, asked := answering(time.Minute, 10, func(context.Context, access.Principal) (*said, error) {
			<-release
			return &said{}, nil
		})
		var wg sync.WaitGroup
		for i := range maxAsking + 50 {
			wg.Go(func() {
				if _, err := c.get(context.Background(), ada(fmt.Sprint(i))); err == nil {
					t.Error("an answer")
				}
			})
		}
		wg.Wait()
		if n := asked.Load(); n != maxAsking {
			t.Errorf("%d questions at a time", n)
		}
		close(release)
		synctest.Wait()
		if _, err := c.get(context.Background(), ada("")); err != nil {
			t.Errorf("once it answers again: %v", err)
		}
	})
}

// A request that comes while an older question is about to fail is not refused by it, where the host is
// well again. It asks anew once, and within its own time.
func TestRequestThatJoinsAQuestionThatFailsAsksAnew(t *testing.T) {
	for _, well := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var down atomic.Bool
			down.Store(true)
			c, asked := answering(time.Minute, 10, func(ctx context.Context, _ access.Principal) (*said, error) {
				if down.Load() {
					<-ctx.Done()
					return nil, errors.New("down")
				}
				return &said{}, nil
			})
			first := make(chan error)
			go func() {
				_, err := c.get(context.Background(), ada(""))
				first <- err
			}()
			time.Sleep(990 * time.Millisecond) // of a time limit of 1 s
			down.Store(!well)
			start := time.Now()
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					if _, err := c.get(context.Background(), ada("")); (err == nil) != well {
						t.Errorf("a host that is well, %v: %v", well, err)
					}
				})
			}
			if err := <-first; err == nil {
				t.Error("the one that asked was answered")
			}
			wg.Wait()
			if took := time.Since(start); took > time.Second || asked.Load() != 2 {
				t.Errorf("asked %d times in %s", asked.Load(), took)
			}
			time.Sleep(time.Second) // until nobody asks any more
		})
	}
}

// An answer may be of the moment in which it was asked for, so its period begins there.
func TestPeriodOfAnAnswerBeginsWithItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, asked := answering(time.Second, 10, func(context.Context, access.Principal) (*said, error) {
			time.Sleep(900 * time.Millisecond)
			return &said{}, nil
		})
		for _, step := range []struct {
			wait  time.Duration
			asked int64
		}{{0, 1}, {99 * time.Millisecond, 1}, {time.Millisecond, 2}} {
			time.Sleep(step.wait)
			if _, err := c.get(context.Background(), ada("")); err != nil || asked.Load() != step.asked {
				t.Errorf("after another %s: asked %d times, %v", step.wait, asked.Load(), err)
			}
		}
	})
}

func TestStrangersAreRememberedBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, asked := answering(time.Minute, 10, func(context.Context, access.Principal) (*said, error) {
			return nil, fmt.Errorf("user ada: %w", capability.ErrNoUser)
		})
		for range 3 {
			if _, err := c.get(context.Background(), ada("")); !errors.Is(err, capability.ErrNoUser) || err.Error() != "user ada: no such user in the host" {
				t.Errorf("%v", err)
			}
		}
		if asked.Load() != 1 {
			t.Errorf("asked %d times", asked.Load())
		}
		time.Sleep(strangerTTL)
		if _, _ = c.get(context.Background(), ada("")); asked.Load() != 2 {
			t.Error("remembered for too long")
		}
	})
}

func TestInvalidationForgetsWhatMatches(t *testing.T) {
	c, asked := answering(time.Minute, 10, fine)
	get := func(role string) *hostAnswer {
		e, err := c.get(context.Background(), ada(role))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	one, two := get("1"), get("2")
	c.invalidate(func(p access.Principal) bool { return p.Role == "1" && p.Permits == nil })
	if c.current(one) || !c.current(two) {
		t.Error("the wrong one is current")
	}
	get("1")
	get("2")
	if asked.Load() != 3 {
		t.Errorf("asked %d times", asked.Load())
	}
	c.invalidate(nil)
	get("1")
	get("2")
	if asked.Load() != 5 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// What the host said before an invalidation does not come in after it, whether it is in the cache,
// on its way, or on its way without a place in the cache.
func TestInvalidationDuringAQueryDoesNotLetTheOldAnswerIn(t *testing.T) {
	for _, max := range []int{10, 1} {
		synctest.Test(t, func(t *testing.T) {
			old, answer := make(chan struct{}), atomic.Pointer[said]{}
			before, after := &said{}, &said{}
			answer.Store(before)
			c, asked := answering(time.Minute, max, func(_ context.Context, p access.Principal) (*said, error) {
				said := answer.Load()
				if said == before && p.Role == "" {
					<-old
				}
				return said, nil
			})
			var got [20]*hostAnswer
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() {
					e, err := c.get(context.Background(), ada(""))
					if err != nil {
						t.Error(err)
					}
					got[i] = e
				})
			}
			synctest.Wait()
			if _, err := c.get(context.Background(), ada("other")); err != nil {
				t.Error(err)
			}
			answer.Store(after)
			c.invalidate(func(p access.Principal) bool { return p.Subject == "ada" })
			e, err := c.get(context.Background(), ada(""))
			if err != nil || e.said != after {
				t.Errorf("max %d: a request after the invalidation got the old answer: %v", max, err)
			}
			close(old)
			wg.Wait()
			for _, e := range got {
				if e == nil || e.said != after {
					t.Fatalf("max %d: a request that waited got the old answer", max)
				}
			}
			if e, err := c.get(context.Background(), ada("")); err != nil || e.said != after {
				t.Errorf("max %d: the old answer came in: %v", max, err)
			}
			if n := asked.Load(); n > 4 {
				t.Errorf("max %d: asked %d times", max, n)
			}
		})
	}
}

func TestEndlessInvalidationsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *permitCache
		c, _ = answering(time.Minute, 10, func(context.Context, access.Principal) (*said, error) {
			time.Sleep(100 * time.Millisecond)
			go c.invalidate(nil)
			time.Sleep(time.Millisecond)
			return &said{}, nil
		})
		start := time.Now()
		if _, err := c.get(context.Background(), ada("")); err == nil || time.Since(start) > 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		time.Sleep(time.Second)
	})
}

func TestWaitForTheHostEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := answering(time.Minute, 10, func(ctx context.Context, _ access.Principal) (*said, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if _, err := c.get(ctx, ada("")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Second) // until nobody asks any more
	})
}

func TestSuggestionsAreNear(t *testing.T) {
	host := []string{"dcim.view_device", "dcim.change_device", "dcim.napalm_read_device", "ipam.view_prefix"}
	for name, want := range map[string]string{
		"dcim.view_devise": "dcim.view_device", "dcim.napalm_raed_device": "dcim.napalm_read_device", "dcim.view_devices": "dcim.view_device",
		"extras.run_script": "", "": "", "x": "", "icim.view_device": "dcim.view_device",
	} {
		if got := nearest(name, host, len(name)/3); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
