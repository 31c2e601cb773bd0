package store_test

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// writers is how many goroutines of the child change something at once.
const writers = 8

// writeUntilKilled makes catalogs with an entry each, and grants something to a client of each
// one's name. It says what was acknowledged as it comes, and never ends by itself.
func writeUntilKilled(ctx context.Context, url string) error {
	s, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var line sync.Mutex
	errs := make(chan error, writers)
	for w := range writers {
		wg.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%d-%d", w, i)
				c, err := s.CreateCatalog(ctx, store.Global, name, "", true, ada)
				if err == nil {
					line.Lock()
					fmt.Println("created", name)
					line.Unlock()
					_, err = s.AddEntry(ctx, store.Global, c.ID, "tool", "", ada)
				}
				if err == nil {
					line.Lock()
					fmt.Println("filled", name)
					line.Unlock()
					_, err = s.Grant(ctx, grant.Grant{Permission: readA, Client: name}, ada)
				}
				if err == nil {
					line.Lock()
					fmt.Println("granted", name)
					line.Unlock()
					_, err = s.CreateBound(ctx, boundary.Party{Client: name},
						boundary.Boundary{Items: []string{"tool:a"}}, ada)
				}
				if err == nil {
					line.Lock()
					fmt.Println("bounded", name)
					line.Unlock()
				} else {
					errs <- err
					return
				}
			}
		})
	}
	return <-errs
}

func TestKilledProcessLosesNothingThatWasAcknowledgedAndLeavesNothingElse(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		open(t, url) // what is migrated is not what this is about
		for range 2 {
			crash(t, url)
		}
	})
}

func crash(t *testing.T, url string) {
	t.Helper()
	before := open(t, url)
	had := catalogs(t, before)
	for _, c := range had {
		if err := before.DeleteCatalog(t.Context(), store.Global, c.ID, 0, ada); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range must(before.Grants(t.Context(), grant.Filter{})) {
		must(before.RevokeGrants(t.Context(), grant.Revocation{Client: g.Client, Type: g.Type}, ada))
	}
	for _, b := range must(before.AllBounds(t.Context())) {
		must(0, before.DeleteBound(t.Context(), b.ID, 0, ada))
	}
	events := len(trail(t, before))

	c := newChild(t, "write", url)
	c.start()
	acknowledged := map[string]bool{}
	lines := bufio.NewScanner(c.stdout)
	for lines.Scan() {
		acknowledged[lines.Text()] = true
		if len(acknowledged) == 1000 {
			if err := c.Process.Kill(); err != nil { // SIGKILL
				t.Fatal(err)
			}
		}
	}
	if len(acknowledged) < 1000 {
		t.Fatalf("%d changes before the child ended", len(acknowledged))
	}

	s := open(t, url)
	changes := 0
	highest := map[string]int{}
	for _, catalog := range catalogs(t, s) {
		changes++
		var w, i int
		if _, err := fmt.Sscanf(catalog.Name, "%d-%d", &w, &i); err != nil {
			t.Errorf("nobody asked for %q", catalog.Name)
		}
		key := fmt.Sprint(w)
		highest[key] = max(highest[key], i)
		tools := must(s.Tools(t.Context(), catalog.ID))
		changes += len(tools)
		if !slices.Equal(tools, []string{"tool"}) && acknowledged["filled "+catalog.Name] {
			t.Errorf("%s was filled and has %q", catalog.Name, tools)
		}
		delete(acknowledged, "created "+catalog.Name)
		delete(acknowledged, "filled "+catalog.Name)
		granted := must(s.GrantsOf(t.Context(), "", catalog.Name))
		if changes += len(granted); len(granted) > 0 {
			delete(acknowledged, "granted "+catalog.Name)
		}
	}
	for _, b := range must(s.AllBounds(t.Context())) {
		changes++
		if !slices.Equal(b.Boundary.Items, []string{"tool:a"}) {
			t.Errorf("%+v", b)
		}
		delete(acknowledged, "bounded "+b.Party.Client)
	}
	if len(acknowledged) != 0 {
		t.Errorf("lost: %v", acknowledged)
	}
	// Each writer had one change under way, which may stand or not: its catalogs have no gap.
	total := 0
	for _, n := range highest {
		total += n + 1
	}
	if n := len(catalogs(t, s)); n != total {
		t.Errorf("%d catalogs where %d are without a gap", n, total)
	}
	if recorded := len(trail(t, s)) - events; recorded != changes {
		t.Errorf("%d records of %d changes", recorded, changes)
	}
	if isSQLite(url) {
		if got := column(t, raw(t, url), "PRAGMA integrity_check"); strings.Join(got, "") != "ok" {
			t.Error(got)
		}
	}
}

func catalogs(t *testing.T, s *store.Store) (found []store.Catalog) {
	t.Helper()
	return walk(t, func(after int64) ([]store.Catalog, bool, error) {
		return s.Catalogs(t.Context(), store.Anywhere, store.Page[int64]{After: after, Limit: 700})
	}, func(c store.Catalog) int64 { return c.ID })
}

func trail(t *testing.T, s *store.Store) []store.Recorded {
	t.Helper()
	return walk(t, func(after int64) ([]store.Recorded, bool, error) {
		return s.Events(t.Context(), store.Page[int64]{After: after, Limit: 700})
	}, func(r store.Recorded) int64 { return r.ID })
}

// walk reads all pages.
func walk[T any, K any](t *testing.T, page func(after K) ([]T, bool, error), key func(T) K) (all []T) {
	t.Helper()
	var after K
	for {
		some, more, err := page(after)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
		if !more {
			return all
		}
		after = key(some[len(some)-1])
	}
}
