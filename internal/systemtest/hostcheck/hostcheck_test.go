package hostcheck_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/internal/hostcheck"
	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

var engines = []struct {
	dialect dialect.Dialect
	open    func(testing.TB) *testdb.Database
}{
	{dialect.SQLite, testdb.SQLite},
	{dialect.PostgreSQL, testdb.PostgreSQL},
}

// TestMissingTablesAndColumnsAreThoseThatAQueryMisses compares the catalog with queries.
func TestMissingTablesAndColumnsAreThoseThatAQueryMisses(t *testing.T) {
	const tables = `
CREATE TABLE "Odd ""name"" <é>" (id integer PRIMARY KEY, "Two Words" integer,
	twice integer GENERATED ALWAYS AS (id * 2) STORED);
CREATE VIEW seen AS SELECT id AS number FROM "Odd ""name"" <é>";`
	for _, engine := range engines {
		t.Run(engine.dialect.String(), func(t *testing.T) {
			db := engine.open(t)
			if _, err := db.Exec(tables); err != nil {
				t.Fatal(err)
			}
			names := []string{`Odd "name" <é>`, `odd "name" <é>`, "seen", "none", ""}
			for _, name := range names {
				for _, column := range []string{
					"id", "ID", "Two Words", "two words", "twice", "number", "none", "",
				} {
					table := hostcheck.Table{Name: name, Columns: hostcheck.Columns(column)}
					c, err := hostcheck.Read(t.Context(), db.DB, engine.dialect, table)
					if err != nil {
						t.Fatal(err)
					}
					rows, queried := db.Query("SELECT x." + hostcheck.Quote(column) +
						" FROM " + hostcheck.Quote(name) + " x")
					if queried == nil {
						rows.Close()
					}
					if missing := c.Missing(table); (len(missing) == 0) != (queried == nil) ||
						c.Has(name, column) != (queried == nil) || len(c.Denied(table)) != 0 {
						t.Errorf("%q of %q: %q, and a query: %v", column, name, missing, queried)
					}
				}
			}
		})
	}
}

// TestTableIsMissingWithoutTheRightToItsSchema has every other right.
func TestTableIsMissingWithoutTheRightToItsSchema(t *testing.T) {
	db := testdb.PostgreSQL(t)
	account, reader := db.Account(t)
	table := hostcheck.Table{Name: "seen", Columns: hostcheck.Columns("id")}
	for _, step := range []struct {
		statement string
		missing   []string
		denied    []string
	}{
		{"CREATE TABLE seen (id integer)", nil, []string{
			`the account may not read table "seen": run GRANT SELECT ("id") ON "seen" TO the account`,
		}},
		{"GRANT SELECT ON seen TO " + account, nil, nil},
		{
			"REVOKE USAGE ON SCHEMA public FROM PUBLIC",
			[]string{`no table "seen" in the schemas that the account may use`}, nil,
		},
	} {
		if _, err := db.Exec(step.statement); err != nil {
			t.Fatal(err)
		}
		c, err := hostcheck.Read(t.Context(), reader, dialect.PostgreSQL, table)
		if missing, denied := c.Missing(table), c.Denied(table); err != nil ||
			!slices.Equal(missing, step.missing) || !slices.Equal(denied, step.denied) {
			t.Errorf("after %s: %q, %q, %v", step.statement, missing, denied, err)
		}
	}
}

func TestKeyIsThePrimaryKeyOfATable(t *testing.T) {
	for _, engine := range engines {
		db := engine.open(t)
		if _, err := db.Exec(`
CREATE TABLE one (name varchar(9) UNIQUE, number integer PRIMARY KEY);
CREATE TABLE two (a integer, b integer, c integer, PRIMARY KEY (a, b));
CREATE VIEW none AS SELECT number FROM one;`); err != nil {
			t.Fatal(err)
		}
		c, err := hostcheck.Read(t.Context(), db.DB, engine.dialect,
			hostcheck.Table{Name: "one"}, hostcheck.Table{Name: "two"},
			hostcheck.Table{Name: "none"})
		if err != nil {
			t.Fatal(err)
		}
		for table, want := range map[string][]string{
			"one": {"number"}, "two": {"a", "b"}, "none": nil, "unread": nil,
		} {
			if got := c.Key(table); !slices.Equal(got, want) {
				t.Errorf("%s: key of %s: %q, want %q", engine.dialect, table, got, want)
			}
		}
		if !c.IsKey("one", "number") || c.IsKey("one", "name") || c.IsKey("none", "number") {
			t.Errorf("%s", engine.dialect)
		}
	}
}

func TestErrorOfNoProblemsIsNil(t *testing.T) {
	if err := hostcheck.Error("x"); err != nil {
		t.Error(err)
	}
	err := hostcheck.Error("x", "no table a", "no table b")
	const want = "x: the database of the host: no table a; no table b"
	if !errors.As(err, new(*capability.ConfigurationError)) || err.Error() != want {
		t.Errorf("%v", err)
	}
}
