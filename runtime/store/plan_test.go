package store_test

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestEveryStatementOfTheResolvingPathUsesAnIndex asks the engines how they would answer what is
// asked for each list of tools and each call: by no look at all rows of a table, however many there
// will be.
func TestEveryStatementOfTheResolvingPathUsesAnIndex(t *testing.T) {
	for name, engine := range map[string]struct {
		database func(testing.TB) *testdb.Database
		url      func(*testdb.Database) string
		looks    func(t *testing.T, db *testdb.Database, q testdb.Query) (plan string, atAll bool)
	}{
		"sqlite":     {testdb.SQLite, func(db *testdb.Database) string { return "sqlite:" + db.File }, sqliteLooks},
		"postgresql": {testdb.PostgreSQL, func(db *testdb.Database) string { return postgresURL(db, db.User) }, postgresLooks},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, db := t.Context(), engine.database(t)
			s, err := store.Open(ctx, engine.url(db))
			if err != nil {
				t.Fatal(err)
			}
			reads, probe := s.Reads(), db.Probe(t)
			s.ReadBy(probe.DB)
			defer func() {
				s.ReadBy(reads)
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			org := must(s.CreateOrg(ctx, "acme", ada))
			scopes := []store.Scope{store.Global, store.InOrg(org.ID), store.InOrg(9), store.InTeam(1), store.InTeam(2)}
			kit := must(s.CreateCatalog(ctx, store.Global, "kit", "", true, ada))
			must(s.Revision(ctx))
			must(s.Memberships(ctx, "https://id.example", "bob"))
			if _, _, err := s.ScopesNamed(ctx, []string{"acme", "rival"}, [][2]string{{"acme",
				"lab"}, {"rival", "desk"}}); err != nil {
				t.Fatal(err)
			}
			must(s.ActiveCatalogs(ctx, "kit", scopes...))
			must(s.Catalog(ctx, store.Anywhere, kit.ID))
			must(s.Tools(ctx, kit.ID))
			must(s.GrantsOf(ctx, "https://id.example", "x"))
			asked := probe.Recorded()
			if len(asked) != 8 {
				t.Errorf("%d statements", len(asked))
			}
			for _, q := range asked {
				if plan, all := engine.looks(t, db, q); all {
					t.Errorf("%s\nlooks at all rows:\n%s", q.Text, plan)
				}
			}
			if plan, all := engine.looks(t, db, testdb.Query{Text: "SELECT id FROM tool_catalogs WHERE description = 'x'"}); !all {
				t.Errorf("what no index is for passes:\n%s", plan)
			}
		})
	}
}

func plan(t *testing.T, db *testdb.Database, explain string, q testdb.Query, read func(scan func(...any) error) (string, error)) string {
	t.Helper()
	var lines []string
	rows, err := db.Query(explain+q.Text, q.Args...)
	if err != nil {
		t.Fatalf("%s: %v", q.Text, err)
	}
	defer rows.Close()
	for rows.Next() {
		line, err := read(rows.Scan)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// sqliteLooks reports whether there is a table that is not searched (SQLite documentation, EXPLAIN
// QUERY PLAN).
func sqliteLooks(t *testing.T, db *testdb.Database, q testdb.Query) (string, bool) {
	text := plan(t, db, "EXPLAIN QUERY PLAN ", q, func(scan func(...any) error) (line string, err error) {
		var id, parent, unused int
		return line, scan(&id, &parent, &unused, &line)
	})
	return text, strings.Contains(text, "SCAN ") || !strings.Contains(text, "SEARCH ")
}

// postgresLooks reports whether there is a scan without a condition that an index answers. With so
// few rows reading all of them is quicker, and so made to look dear.
func postgresLooks(t *testing.T, db *testdb.Database, q testdb.Query) (string, bool) {
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("SET enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	text := plan(t, db, "EXPLAIN ", q, func(scan func(...any) error) (line string, err error) { return line, scan(&line) })
	scans := strings.Count(text, "Index Scan") + strings.Count(text, "Index Only Scan")
	return text, scans == 0 || scans != strings.Count(text, "Index Cond:") || strings.Contains(text, "Seq Scan")
}
