package bench

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// manyCatalogs is how many a large server has.
const manyCatalogs = 10_000

func shelves(t testing.TB) *store.Store { return shelvesOf(t, manyCatalogs) }

// shelvesOf is an SQLite store of so many global catalogs of ten tools each, but for "all", which
// has every tool of manyToolset.
func shelvesOf(t testing.TB, catalogs int) *store.Store {
	t.Helper()
	file := filepath.Join(t.TempDir(), "store.db")
	s, err := store.Open(t.Context(), "sqlite:"+file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	db, err := sql.Open("sqlite", file) // by API each would be a transaction of its own
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", max(catalogs-2, many))
	for _, statement := range []string{
		`INSERT INTO tool_catalogs (name, description, is_active, created_at, updated_at) ` + numbers + `SELECT 'kit ' || i, '', 1, 1, 1 FROM n WHERE i < ` + fmt.Sprint(catalogs-1),
		`INSERT INTO tool_catalogs (name, description, is_active, created_at, updated_at) VALUES ('all', '', 1, 1, 1)`,
		`INSERT INTO tool_catalog_entries (catalog_id, tool_name, module_id, created_at) ` + numbers + `SELECT c.id, printf('book_%04d', i), '', 1 FROM n, tool_catalogs c WHERE i < 10 AND c.name <> 'all'`,
		`INSERT INTO tool_catalog_entries (catalog_id, tool_name, module_id, created_at) ` + numbers + `SELECT c.id, printf('book_%04d', i), '', 1 FROM n, tool_catalogs c WHERE i < 1000 AND c.name = 'all'`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return s
}

// touch changes something in the store, so that what was resolved counts no longer.
func touch(t testing.TB, s *store.Store) {
	if err := s.SwitchTool(t.Context(), "no_tool_of_anybody", false, audit.Event{}); err != nil {
		t.Fatal(err)
	}
}

// catalogued serves manyToolset beside a store.
func catalogued(t testing.TB, s *store.Store) *client {
	return dial(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		o := options()
		o.Catalogs.Source, o.Catalogs.Strict = stored.New(s, stored.Stored), true
		server, err := runtime.New(o, manyToolset(many))
		if err != nil {
			return err
		}
		defer server.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is under way
		return server.RunIO(ctx, in, out, member)
	})
}

var allParams = json.RawMessage(`{"catalog":"all"}`)

func TestCatalogOfAllToolsListsWhatIsVisible(t *testing.T) {
	w := catalogued(t, shelves(t))
	whole := string(w.call(t, "tools/list", noParams))
	if got := string(w.call(t, "tools/list", allParams)); len(got) < 1000 || len(got) != len(whole) {
		t.Errorf("%d bytes with the catalog, %d without", len(got), len(whole))
	}
}

// BenchmarkCatalog measures what a catalog of all tools adds to one tools/list of 1,000 tools over
// a pipe, and the time to find one of 10,000 catalogs in SQLite: at one revision of the store, and
// with a change before each.
func BenchmarkCatalog(b *testing.B) {
	s := shelves(b)
	lists := func(params json.RawMessage, before func()) func(*testing.B) {
		return func(b *testing.B) {
			w := catalogued(b, s)
			measured(b, before, func(int) { w.call(b, "tools/list", params) })
		}
	}
	b.Run("on=list/peer=mcpgen", lists(allParams, nil))
	b.Run("on=list/peer=none", lists(noParams, nil))
	b.Run("on=list/peer=changed", lists(allParams, func() { touch(b, s) }))
	finds := func(before func()) func(*testing.B) {
		return func(b *testing.B) {
			source := stored.New(s, stored.Stored)
			measured(b, before, func(i int) {
				if _, err := source.Catalog(b.Context(), member, catalog.Ref{Name: fmt.Sprint("kit ", i*7%(manyCatalogs-1))}); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	b.Run("on=find/peer=mcpgen", finds(nil))
	b.Run("on=find/peer=changed", finds(func() { touch(b, s) }))
}

// measured reports the mean and the 99th percentile of what was done, without what was done before
// it.
func measured(b *testing.B, before func(), do func(i int)) {
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		if before != nil {
			before()
		}
		start := b.Elapsed()
		do(i)
		took = append(took, b.Elapsed()-start)
	}
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	slices.SortFunc(took, cmp.Compare[time.Duration])
	b.ReportMetric(float64(sum.Nanoseconds())/float64(len(took)), "ns/op")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-us")
}
