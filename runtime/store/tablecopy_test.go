package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// documented returns the statements of docs/howto/catalogs.md between two markers, for an engine.
func documented(t *testing.T, marker string, sqlite bool) string {
	t.Helper()
	page := string(must(os.ReadFile(filepath.Join("..", "..", "docs", "howto", "catalogs.md"))))
	_, rest, found := strings.Cut(page, "<!-- "+marker+" -->\n```sql\n")
	text, _, closed := strings.Cut(rest, "```\n<!-- /"+marker+" -->")
	if !found || !closed {
		t.Fatalf("docs/howto/catalogs.md has no statements %q", marker)
	}
	if sqlite {
		text = strings.NewReplacer(` COLLATE "C"`, "",
			"now()", "CAST(strftime('%s', 'now') AS INTEGER) * 1000000").Replace(text)
	}
	return text
}

// hostTables makes the tables of a host beside a store, and returns one connection to both.
func hostTables(t *testing.T, url string) *sql.DB {
	t.Helper()
	db := raw(t, url)
	// SQLite attaches to a connection, and a failed transaction is rolled back
	db.SetMaxOpenConns(1)
	host := `CREATE SCHEMA host`
	if isSQLite(url) {
		host = fmt.Sprintf("ATTACH '%s' AS host", filepath.Join(t.TempDir(), "host.db"))
	}
	for _, statement := range []string{
		host,
		`CREATE TABLE host.organizations (id bigint PRIMARY KEY, name text NOT NULL)`,
		`CREATE TABLE host.teams (id bigint PRIMARY KEY, org_id bigint NOT NULL, name text NOT NULL)`,
		`CREATE TABLE host.tool_catalogs (id bigint PRIMARY KEY, name text NOT NULL, description text,
			org_id bigint, team_id bigint, is_active boolean NOT NULL, UNIQUE (name, org_id, team_id))`,
		`CREATE TABLE host.tool_catalog_entries (id bigint PRIMARY KEY, catalog_id bigint NOT NULL,
			tool_name text NOT NULL, module_id text)`,
		`INSERT INTO host.organizations VALUES (70, 'Acme'), (71, 'Umbrella')`,
		`INSERT INTO host.teams VALUES (80, 70, 'lab'), (81, 71, 'lab')`,
		// Team 80's has the team's organization as well.
		`INSERT INTO host.tool_catalogs VALUES (90, 'kit', 'for all', NULL, NULL, true),
			(91, 'kit', NULL, 70, NULL, true), (92, 'kit', NULL, 70, 80, true),
			(93, 'kit', NULL, NULL, 81, false), (94, 'Kit', NULL, NULL, NULL, true)`,
		`INSERT INTO host.tool_catalog_entries VALUES (1, 90, 'get', 'm'), (2, 91, 'get', NULL),
			(3, 92, 'put', NULL), (4, 93, 'get', NULL), (5, 93, 'put', NULL)`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	return db
}

// unfit returns the statements of the page that find rows which do not fit.
func unfit(t *testing.T, db *sql.DB, url string) (finding []int) {
	t.Helper()
	statements := strings.Split(strings.TrimSpace(documented(t, "fits", isSQLite(url))), ";\n")
	for i, statement := range statements {
		rows, err := db.Query(strings.TrimSuffix(statement, ";"))
		if err != nil {
			t.Fatal(statement, err)
		}
		if rows.Next() {
			finding = append(finding, i)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return finding
}

func TestDocumentedCopyOfAHostsCatalogs(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		db := hostTables(t, url)
		if found := unfit(t, db, url); found != nil {
			t.Fatalf("rows do not fit, by the statements %v", found)
		}
		if _, err := db.Exec(documented(t, "copy", isSQLite(url))); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range all(s.Catalogs(t.Context(), store.Anywhere, store.Page[int64]{})) {
			var tools []string
			for _, e := range all(s.Entries(t.Context(), store.Anywhere, c.ID,
				store.Page[string]{})) {
				tools = append(tools, e.Tool+e.Module)
			}
			got = append(got, fmt.Sprintf("%s %q %s %t %v", c.Name, c.Description,
				place(t, s, c.Scope),
				c.Active, tools))
		}
		slices.Sort(got)
		want := []string{`Kit "" global true []`, `kit "" of Acme true [get]`,
			`kit "" of Acme/lab true [put]`, `kit "" of Umbrella/lab false [get put]`,
			`kit "for all" global true [getm]`}
		if !slices.Equal(got, want) {
			t.Errorf("the store has\n%s", strings.Join(got, "\n"))
		}
		if got := column(t, db, "SELECT revision FROM store_revision"); got[0] != "1" {
			t.Errorf("revision %s", got[0])
		}
	})
}

// place names a scope by what the host called it.
func place(t *testing.T, s *store.Store, in store.Scope) string {
	t.Helper()
	switch {
	case in.Team() != 0:
		team := must(s.Team(t.Context(), store.Anywhere, in.Team()))
		return "of " + must(s.Org(t.Context(), team.Org)).Name + "/" + team.Name
	case in.Org() != 0:
		return "of " + must(s.Org(t.Context(), in.Org())).Name
	}
	return in.String()
}

func TestDocumentedCopyOfRowsThatDoNotFit(t *testing.T) {
	for name, test := range map[string]struct {
		row  string
		find []int // the statements that find it
		copy bool  // the row is left out, and others are copied
	}{
		"two of one name, global": {
			`INSERT INTO host.tool_catalogs VALUES (95, 'kit', NULL, NULL, NULL, true)`, []int{0},
			false},
		"two of one name in an organization": {
			`INSERT INTO host.tool_catalogs VALUES (95, 'kit', NULL, 70, NULL, true)`, []int{0},
			false},
		"two of one name in a team, one with its organization": {
			`INSERT INTO host.tool_catalogs VALUES (95, 'kit', NULL, NULL, 80, true)`, []int{0},
			false},
		"the team of another organization": {
			`INSERT INTO host.tool_catalogs VALUES (95, 'other', NULL, 71, 80, true)`, []int{1},
			true},
		"a missing organization": {
			`INSERT INTO host.tool_catalogs VALUES (95, 'other', NULL, 72, NULL, true)`, []int{2},
			true},
		"a missing team": {
			`INSERT INTO host.tool_catalogs VALUES (95, 'other', NULL, NULL, 82, true)`, []int{2},
			true},
		"two organizations": {`INSERT INTO host.organizations VALUES (72, 'Acme')`, []int{3},
			false},
		"two teams": {`INSERT INTO host.teams VALUES (82, 70, 'lab')`, []int{4}, false},
		"two entries": {
			`INSERT INTO host.tool_catalog_entries VALUES (6, 90, 'get', 'n')`, []int{5}, false},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, url string) {
				s := open(t, url)
				db := hostTables(t, url)
				if _, err := db.Exec(test.row); err != nil {
					t.Fatal(err)
				}
				if found := unfit(t, db, url); !slices.Equal(found, test.find) {
					t.Errorf("the statements %v find it", found)
				}
				_, err := db.Exec(documented(t, "copy", isSQLite(url)))
				if (err == nil) != test.copy {
					t.Fatalf("the copy: %v", err)
				}
				if err != nil {
					if _, err := db.Exec("ROLLBACK"); err != nil {
						t.Fatal(err)
					}
				}
				catalogs := all(s.Catalogs(t.Context(), store.Anywhere, store.Page[int64]{}))
				if (len(catalogs) > 0) != test.copy {
					t.Errorf("the store has %d catalogs", len(catalogs))
				}
				for _, c := range catalogs {
					if c.Name == "other" && c.Scope == store.Global {
						t.Errorf("%v became global", c)
					}
				}
			})
		})
	}
}

// all is a page that was to be had without an error.
func all[T any](page []T, _ bool, err error) []T { return must(page, err) }
