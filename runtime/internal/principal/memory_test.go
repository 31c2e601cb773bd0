package principal

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
)

func wide(t *testing.T, tools int) access.Table {
	t.Helper()
	part := access.Part{Table: access.NewTable()}
	for i := range tools {
		part.Table.Rules = append(part.Table.Rules, access.Rule{Tool: fmt.Sprintf("tool_%05d", i),
			Permission: access.Permission{App: "a", Action: "view", Object: fmt.Sprint("b", i)}})
	}
	table, err := access.Compose(part)
	if err != nil {
		t.Fatal(err)
	}
	return table.Aware()
}

// heap is the number of bytes that are in use after a collection.
func heap() int {
	var m runtime.MemStats
	for range 2 { // the first one runs cleanups
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// half gives each principal a half of the permissions that no other principal has.
func half(tools int) query {
	return func(_ context.Context, p access.Principal) (set capability.Set, _ error) {
		var n int
		_, _ = fmt.Sscan(p.Subject, &n)
		for i := range tools {
			if i%13 < 12 && n>>(i%13)&1 != 0 {
				set.Add(fmt.Sprintf("host:a.view_b%d", i))
			}
		}
		return set, nil
	}
}

func principalNumber(n int) access.Principal {
	return access.Principal{Issuer: "https://id.example", Subject: fmt.Sprint(n), Client: "agent",
		User: fmt.Sprint("user", n), Roles: []string{"Member"}, Scopes: []string{"mcp"}}
}

// Permissions are sets of bits: the bound of each case is in bytes, for 4,096 principals of whom no
// two have equal permissions.
func TestPermissionsOfManyPrincipalsAreSmall(t *testing.T) {
	cases := map[int]int{1_000: 8 << 20, 10_000: 40 << 20}
	if testing.Short() {
		cases = map[int]int{1_000: 8 << 20}
	}
	for tools, most := range cases {
		h, queried := hostOf(t, time.Hour, 4_096, half(tools), func(c *HostConfig) {
			c.Table = wide(t, tools)
		})
		before := heap()
		see := func(n int) {
			p := principalNumber(n)
			if _, err := h.cached(t.Context(), &p, h.cache.Get); err != nil {
				t.Fatal(err)
			}
			h.Table.Visible(p) // which is kept with the permissions
		}
		for n := range 4_096 {
			see(n)
		}
		grown := heap() - before
		t.Logf("%d tools: %d bytes", tools, grown)
		if _, cost := h.cache.Len(); grown > most || grown > cost {
			t.Errorf("%d tools: %d bytes, counted as %d, of at most %d", tools, grown, cost, most)
		}
		for n := range 4_096 {
			see(n)
		}
		if n := queried.Load(); n != 4_096 {
			t.Errorf("%d tools: %d queries: some were evicted", tools, n)
		}
		runtime.KeepAlive(h)
	}
}

// One principal more evicts one that was not used for long, and no other.
func TestAFullCacheEvictsOne(t *testing.T) {
	h, queried := hostOf(t, time.Hour, 100, fine)
	for n := range 101 {
		_, _ = h.get(principalNumber(n))
	}
	for n := 100; n > 0; n-- {
		_, _ = h.get(principalNumber(n))
	}
	if n := queried.Load(); n != 101 {
		t.Errorf("%d queries", n)
	}
	if _, _ = h.get(principalNumber(0)); queried.Load() != 102 {
		t.Error("the oldest one is still there")
	}
}

// Whatever makes an entry large counts: names and groups of its key, and constraints. Go allocates
// up to an eighth more than a text has.
func TestLargePrincipalsAreWithinTheBound(t *testing.T) {
	large := strings.Repeat("x", 64<<10)
	constrained := func(context.Context, access.Principal) (set capability.Set, _ error) {
		set.Add("host:a.view_b", capability.Constraint(`"`+strings.Clone(large)+`"`))
		return set, nil
	}
	unknown := func(context.Context, access.Principal) (capability.Set, error) {
		return capability.Set{}, capability.ErrNoUser
	}
	for name, test := range map[string]struct {
		query
		of func(int) access.Principal
	}{
		"constraints": {constrained, principalNumber},
		"groups": {fine, func(n int) access.Principal {
			p := principalNumber(n)
			for i := range 1_000 {
				p.Groups = append(p.Groups, fmt.Sprint("a group with some name ", n, i))
			}
			return p
		}},
		"no user": {unknown, func(n int) access.Principal {
			p := principalNumber(n)
			p.User = strings.Clone(large)
			return p
		}},
	} {
		h, _ := hostOf(t, time.Hour, 4_096, test.query)
		before := heap()
		for n := range 1_500 {
			_, _ = h.get(test.of(n))
		}
		if grown := heap() - before; grown > MaxBytes+MaxBytes/4 || grown < MaxBytes/2 {
			t.Errorf("%s: %d bytes of at most %d", name, grown, MaxBytes)
		}
		runtime.KeepAlive(h)
	}
}

// Principals with equal permissions share them while somebody has them, and no longer.
func TestEqualPermissionsAreKeptOnce(t *testing.T) {
	h, _ := hostOf(t, time.Hour, 10, func(_ context.Context, p access.Principal) (
		set capability.Set, _ error) {
		if slices.Contains(p.Roles, "Admin") {
			set.Add("host:a.change_b")
		}
		set.Add("host:a.view_b")
		return set, nil
	})
	permits := map[*access.Permits]bool{}
	for n := range 9 {
		p := principalNumber(n)
		if n%3 == 0 {
			p.Roles = []string{"Admin"}
		}
		if e, err := h.get(p); err != nil || !e.Value.permits.Equal(e.Value.permits) {
			t.Fatal(err)
		} else {
			permits[e.Value.permits] = true
		}
	}
	if len(permits) != 2 || len(h.equal.by) != 2 {
		t.Errorf("%d permits for 2 kinds of principals, %d known", len(permits), len(h.equal.by))
	}
	h.Invalidate(nil)
	clear(permits)
	for range 100 { // cleanups have a goroutine of their own
		runtime.GC()
		h.equal.mu.Lock()
		n := len(h.equal.by)
		h.equal.mu.Unlock()
		if n == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("permits of nobody are still known")
}

// A million principals need no more memory than those of the bound.
func TestMemoryIsFlatForAnyNumberOfPrincipals(t *testing.T) {
	many := 1_000_000
	if testing.Short() {
		many = 50_000
	}
	h, _ := hostOf(t, time.Hour, 4_096, fine)
	before, most := heap(), 0
	for n := range many {
		if _, err := h.get(principalNumber(n)); err != nil {
			t.Fatal(err)
		}
		if n == 4_096 || n%(many/10) == 0 {
			most = max(most, heap()-before)
		}
	}
	kept, cost := h.cache.Len()
	t.Logf("%d kept, at most %d bytes", kept, most)
	if kept > 4_096 || cost > MaxBytes || most > 8<<20 {
		t.Errorf("%d kept, counted as %d, %d bytes", kept, cost, most)
	}
}
