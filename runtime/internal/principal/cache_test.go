package principal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

func ada(role string) access.Principal {
	return access.Principal{Issuer: "i", Subject: "ada", Client: "c", User: "ada",
		Roles: []string{role}}
}

type query = func(context.Context, access.Principal) (capability.Set, error)

// source is a host whose permissions are a func, and that knows the user ada.
type source struct {
	query   query
	queried atomic.Int64
}

func (s *source) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	s.queried.Add(1)
	return s.query(ctx, p)
}

func (s *source) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	if p.User != "ada" {
		return capability.User{}, capability.ErrNoUser
	}
	return capability.User{ID: "7", Name: "ada"}, nil
}

func (s *source) MapAction(permission string) (string, error) { return "host:" + permission, nil }

// Check passes, so that the host is queried by its tests alone.
func (s *source) Check(context.Context) error { return nil }

// table has rules for which the host has permissions a.view_b and a.change_b.
func table() access.Table {
	return access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{
		{Tool: "change", Permission: access.Permission{App: "a", Action: "change", Object: "b"}},
		{Tool: "view", Constrained: true,
			Permission: access.Permission{App: "a", Action: "view", Object: "b"}},
	}}.Aware()
}

const queryTimeout = 10 * time.Second

// hostOf returns a host with queryTimeout, and its number of queries.
func hostOf(
	t *testing.T, ttl time.Duration, size int, q query, change ...func(*HostConfig),
) (*Host, *atomic.Int64) {
	t.Helper()
	pool := worker.NewPool()
	t.Cleanup(pool.Close)
	s := &source{query: q}
	c := HostConfig{
		Source: s, Timeout: queryTimeout, TTL: ttl, Max: size, Table: table(),
		Pool: pool, Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&c)
	}
	h, err := NewHost(c)
	if err != nil {
		t.Fatal(err)
	}
	return h, &s.queried
}

func fine(context.Context, access.Principal) (capability.Set, error) {
	return capability.Set{}, nil
}

func (h *Host) get(p access.Principal) (*entry, error) {
	return h.cached(context.Background(), &p, h.cache.Get)
}

func TestPrincipalsThatDifferInAnyFieldAreLoadedApart(t *testing.T) {
	h, queried := hostOf(t, time.Minute, 100, fine)
	all := []access.Principal{
		{Subject: "a"}, {Issuer: "a"}, {Client: "a"}, {User: "a"}, {Roles: []string{"a"}},
		{Scopes: []string{"a"}}, {Groups: []string{"a"}}, {Scopes: []string{"", "a"}},
		{Orgs: []access.Membership{{Name: "a"}}}, {Teams: []access.Membership{{Name: "a"}}},
		{Teams: []access.Membership{{Name: "a", Standing: access.Lead}}},
		{Subject: "a", Issuer: "b"}, {Subject: "ab"}, {Issuer: "ab"}, {},
	}
	for range 2 {
		for _, p := range all {
			if _, err := h.get(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := queried.Load(); n != int64(len(all)) {
		t.Errorf("%d queries for %d principals", n, len(all))
	}
}

// A subscriber has the last permissions. The query does not contain them.
func TestHostIsQueriedWithoutItsEarlierPermissions(t *testing.T) {
	h, queried := hostOf(t, time.Minute, 10,
		func(_ context.Context, p access.Principal) (capability.Set, error) {
			if p.Permits != nil {
				t.Error("the query contains permissions")
			}
			return capability.Set{}, nil
		})
	p := ada("")
	p.Permits = &access.Permits{}
	h.Invalidate(func(access.Principal) bool { return true })
	if _, err := h.get(p); err != nil {
		t.Error(err)
	}
	h.Invalidate(func(p access.Principal) bool { return p.Permits == nil })
	if seen, err := h.Peek(context.Background(), p); err != nil || seen.Permits == p.Permits {
		t.Error(err)
	}
	if n := queried.Load(); n != 2 {
		t.Errorf("%d queries", n)
	}
}

func TestHostThatMisbehavesGivesNoPermissions(t *testing.T) {
	synctest.Test(t, testMisbehaviour)
}

func testMisbehaviour(t *testing.T) {
	release := make(chan struct{})
	for name, test := range map[string]struct {
		query query
		want  string
	}{
		"an error": {func(context.Context, access.Principal) (capability.Set, error) {
			return capability.Set{}, errors.New("down")
		}, "down"},
		"a panic": {func(context.Context, access.Principal) (capability.Set, error) {
			panic("boom")
		}, "it panicked: boom"},
		"the end of a goroutine": {func(context.Context, access.Principal) (capability.Set, error) {
			runtime.Goexit()
			return capability.Set{}, nil
		}, "its goroutine ended"},
		"an error that panics": {func(context.Context, access.Principal) (capability.Set, error) {
			return capability.Set{}, (*brokenError)(nil)
		}, "it panicked"},
		"no answer, ctx heeded": {func(ctx context.Context, _ access.Principal) (
			capability.Set, error) {
			<-ctx.Done()
			return capability.Set{}, ctx.Err()
		}, ""},
		"no answer, ctx unheeded": {func(context.Context, access.Principal) (
			capability.Set, error) {
			<-release
			return capability.Set{}, nil
		}, "the host returned no response in time"},
	} {
		h, queried := hostOf(t, time.Minute, 10, test.query)
		start := time.Now()
		for n := range int64(2) {
			e, err := h.get(ada(""))
			if err == nil || e != nil || !strings.Contains(err.Error(), test.want) ||
				errors.Is(err, capability.ErrNoUser) {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
			synctest.Wait()
			if queried.Load() != n+1 {
				t.Errorf("%s: a failure was kept", name)
			}
		}
		if took := time.Since(start); took > 2*queryTimeout {
			t.Errorf("%s: took %s", name, took)
		}
	}
	close(release)
}

type brokenError struct{ text string }

func (e *brokenError) Error() string { return e.text }

func TestHostThatDoesNotAnswerHoldsBoundedGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h, queried := hostOf(t, time.Minute, 10,
			func(context.Context, access.Principal) (capability.Set, error) {
				<-release
				return capability.Set{}, nil
			})
		var wg sync.WaitGroup
		for i := range maxQueries + 50 {
			wg.Go(func() {
				if _, err := h.get(ada(fmt.Sprint(i))); err == nil {
					t.Error("an answer")
				}
			})
		}
		wg.Wait()
		if n := queried.Load(); n != maxQueries || h.Queries() != maxQueries {
			t.Errorf("%d queries at a time, %d still run", n, h.Queries())
		}
		close(release)
		synctest.Wait()
		if _, err := h.get(ada("")); err != nil {
			t.Errorf("once it answers again: %v", err)
		}
	})
}

func TestMorePrincipalsThanQueriesWaitForTheHost(t *testing.T) {
	for _, ttl := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			h, queried := hostOf(t, ttl, 1000, func(context.Context, access.Principal) (
				capability.Set, error) {
				time.Sleep(400 * time.Millisecond)
				return capability.Set{}, nil
			})
			var wg sync.WaitGroup
			for i := range 2 * maxQueries {
				p := ada("Member")
				p.Subject = fmt.Sprint("p", i)
				wg.Go(func() {
					if _, err := h.get(p); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if n := queried.Load(); n != 2*maxQueries {
				t.Errorf("%d queries", n)
			}
			synctest.Wait()
		})
	}
}

func TestStrangersAreRememberedBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, queried := hostOf(t, time.Minute, 10,
			func(context.Context, access.Principal) (capability.Set, error) {
				return capability.Set{}, fmt.Errorf("user ada: %w", capability.ErrNoUser)
			})
		for range 3 {
			_, err := h.get(ada(""))
			if !errors.Is(err, capability.ErrNoUser) ||
				err.Error() != "user ada: no such user in the host" {
				t.Errorf("%v", err)
			}
		}
		if queried.Load() != 1 {
			t.Errorf("%d queries", queried.Load())
		}
		time.Sleep(unknownTTL)
		if _, _ = h.get(ada("")); queried.Load() != 2 {
			t.Error("remembered for too long")
		}
	})
}
