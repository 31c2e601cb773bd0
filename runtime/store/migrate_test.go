package store_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// raw opens a database past the store.
func raw(t *testing.T, url string) *sql.DB {
	t.Helper()
	driver, source := "pgx", url
	if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, source = "sqlite", file
	}
	db := must(sql.Open(driver, source))
	t.Cleanup(func() { db.Close() })
	return db
}

func isSQLite(url string) bool { return strings.HasPrefix(url, "sqlite:") }

// schema is all that a database has been told of its tables.
func schema(t *testing.T, db *sql.DB, url string) string {
	t.Helper()
	query := `
		SELECT table_name || ' ' || ordinal_position || ' ' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') || ' ' || coalesce(collation_name, '') || ' ' || is_identity
			FROM information_schema.columns WHERE table_schema = current_schema()
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
		UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
		ORDER BY 1`
	if isSQLite(url) {
		query = `SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1`
	}
	return strings.Join(column(t, db, query), "\n")
}

func column(t *testing.T, db *sql.DB, query string) (values []string) {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}

// rowsOf is what is put into a database at each version, by the version that brought the table, and
// what to ask to see whether it is there.
var rowsOf = [][][2]string{
	1: {
		{`INSERT INTO organizations (name, created_at, updated_at) VALUES ('acme', NOW, NOW)`,
			`SELECT name FROM organizations`},
		{`INSERT INTO teams (org_id, name, created_at, updated_at) VALUES (1, 'lab', NOW, NOW)`,
			`SELECT name FROM teams`},
		{`INSERT INTO memberships (team_id, issuer, subject, standing, created_at, updated_at) VALUES (1, '', 'bob', 'lead', NOW, NOW)`, `SELECT subject FROM memberships`},
	},
	2: {
		{`INSERT INTO tool_catalogs (name, description, team_id, is_active, created_at, updated_at) VALUES ('kit', '', 1, TRUE, NOW, NOW)`, `SELECT name FROM tool_catalogs`},
		{`INSERT INTO tool_catalog_entries (catalog_id, tool_name, module_id, created_at) VALUES (1, 'tool', '', NOW)`, `SELECT tool_name FROM tool_catalog_entries`},
	},
	3: {{`INSERT INTO tool_switches (name, is_off, updated_at) VALUES ('tool', TRUE, NOW)`,
		`SELECT name FROM tool_switches`}},
	4: {
		{`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event) VALUES (NOW, 't', 'ok', 'r', '', 'bob', '{"request_id":"r"}')`, `SELECT event FROM audit_events`}},
	5: {{`INSERT INTO audit_cuts (upto, at) VALUES (0, NOW)`, `SELECT upto FROM audit_cuts`}},
	6: {
		{`INSERT INTO grants (issuer, client, type, resource, restricted, params, digest, granted_by, reason, created_at) VALUES ('', 'bob', 'file.read', 'a/**', FALSE, '{}', 'sha256:0', '', '', NOW)`, `SELECT resource FROM grants`},
		{`INSERT INTO grant_requests (issuer, client, type, resource, restricted, params, digest, principal, tool, reason, status, created_at, decided_by, note) VALUES ('', 'bob', 'file.read', 'b/**', FALSE, '{}', 'sha256:0', '', '', '', 'open', NOW, '', '')`, `SELECT resource FROM grant_requests`},
	},
	7: {}, // the column params becomes parameters
	8: {{`INSERT INTO resource_updates (place, number, uri) VALUES (1, 1, 'team://people/1')`,
		`SELECT uri FROM resource_updates`}},
	9:  {{`INSERT INTO tasks (id, issuer, subject, client, expires_at, record) VALUES ('t', '', 'bob', '', NOW, '{}')`, `SELECT subject FROM tasks`}},
	10: {}, // indexes
	11: {
		{`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, updated_at) VALUES ('', 'bot', '', '', '{}', NOW, NOW)`, `SELECT client FROM boundaries`},
		{`INSERT INTO seen_clients (issuer, client, first_at, last_at) VALUES ('', 'seen', NOW, NOW)`, `SELECT client FROM seen_clients`},
	},
}

var newest = int64(len(rowsOf) - 1)

func fill(t *testing.T, db *sql.DB, url string, version int64) (want []string) {
	t.Helper()
	now := "now()"
	if isSQLite(url) {
		now = "1"
	}
	for _, rows := range rowsOf[:version+1] {
		for _, row := range rows {
			insert := strings.ReplaceAll(row[0], "NOW", now)
			if version >= 7 {
				insert = strings.Replace(insert, " params,", " parameters,", 1)
			}
			if _, err := db.Exec(insert); err != nil {
				t.Fatal(err)
			}
		}
	}
	return kept(t, db, version)
}

func kept(t *testing.T, db *sql.DB, version int64) (found []string) {
	t.Helper()
	for _, rows := range rowsOf[:version+1] {
		for _, row := range rows {
			found = append(found, column(t, db, row[1])...)
		}
	}
	return found
}

func TestEveryVersionMigratesForwardAndBackAndKeepsWhatItHas(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, db := t.Context(), raw(t, url)
		to := func(version int64) {
			t.Helper()
			if err := store.Migrate(ctx, url, version); err != nil {
				t.Fatalf("to version %d: %v", version, err)
			}
		}
		schemas := map[int64]string{}
		for version := int64(0); version <= newest; version++ {
			to(version)
			schemas[version] = schema(t, db, url)
			for before := range version {
				if schemas[before] == schemas[version] {
					t.Errorf("versions %d and %d are alike", before, version)
				}
			}
		}
		for version := int64(0); version <= newest; version++ {
			to(0)
			to(version)
			want := fill(t, db, url, version)
			s, err := store.Open(ctx, url)
			if err != nil {
				t.Fatalf("from version %d: %v", version, err)
			}
			if version > 0 {
				if m := must(s.Memberships(ctx, "", "bob")); len(m) != 1 || m[0].Version != 1 {
					t.Errorf("from version %d: %+v", version, m)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if got := schema(t, db, url); got != schemas[newest] {
				t.Errorf("from version %d:\n%s\nwant\n%s", version, got, schemas[newest])
			}
			if got := kept(t, db, version); !slices.Equal(got, want) || len(got) < int(version) {
				t.Errorf("from version %d: %q, want %q", version, got, want)
			}
			to(version)
			if got := schema(t, db, url); got != schemas[version] {
				t.Errorf("back at version %d:\n%s\nwant\n%s", version, got, schemas[version])
			}
			if got := kept(t, db, version); !slices.Equal(got, want) {
				t.Errorf("back at version %d: %q, want %q", version, got, want)
			}
		}
		for _, version := range []int64{-1, newest + 1} {
			if err := store.Migrate(ctx, url, version); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%d: %v", version, err)
			}
		}
	})
}

func TestEnginesHaveTheSameMigrations(t *testing.T) {
	names := func(url string) []string {
		return must(fs.Glob(must(store.Migrations(url)), "*"))
	}
	sqlite, postgres := names("sqlite:x"), names("postgres://h/d")
	if !slices.Equal(sqlite, postgres) || len(sqlite) != int(newest) {
		t.Errorf("%q, %q", sqlite, postgres)
	}
	for _, name := range sqlite {
		for _, url := range []string{"sqlite:x", "postgres://h/d"} {
			if text := string(must(fs.ReadFile(
				must(store.Migrations(url)), name))); !strings.Contains(text, "+goose Up") ||
				!strings.Contains(text, "+goose Down") {
				t.Errorf("%s: %s has one way only", url, path.Base(name))
			}
		}
	}
}

func TestProcessesThatMigrateAtOnceDoSoOnce(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		children := make([]*child, 4)
		for i := range children {
			children[i] = newChild(t, "open", url)
		}
		for _, c := range children {
			c.start()
		}
		for _, c := range children {
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		}
		db := raw(t, url)
		if got := column(t, db, `SELECT version_id FROM store_version ORDER BY id`); strings.Join(
			got, " ") != "0 1 2 3 4 5 6 7 8 9 10 11" {
			t.Error(got)
		}
		if got := column(t, db, `SELECT name FROM organizations`); len(got) != len(children) {
			t.Error(got)
		}
	})
}

func TestMigrationWaitsForItsTurnAndNoLongerThanItsContext(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		db := raw(t, url)
		holder := must(db.Conn(t.Context()))
		defer holder.Close()
		lock := []string{
			"BEGIN", `SELECT pg_advisory_xact_lock(hashtextextended('mcpgen store public', 0))`}
		if isSQLite(url) {
			lock = []string{"BEGIN IMMEDIATE"}
		}
		for range 2 { // an empty database, and one that has been migrated
			for _, statement := range lock {
				if _, err := holder.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			if err := impatiently(t, url); !errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "wait for the migration lock") {
				t.Errorf("%v", err)
			}
			waited := make(chan error, 1)
			go func() { waited <- store.Migrate(t.Context(), url, newest) }()
			if _, err := holder.ExecContext(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			if err := <-waited; err != nil {
				t.Error(err)
			}
		}
	})
}

// impatiently migrates within a moment, and within a longer one where that was too short to even
// ask for the turn.
func impatiently(t *testing.T, url string) (err error) {
	for moment := 50 * time.Millisecond; moment < time.Minute; moment *= 3 {
		ctx, cancel := context.WithTimeout(t.Context(), moment)
		err = store.Migrate(ctx, url, newest)
		cancel()
		if err == nil || strings.Contains(err.Error(), "wait for the migration lock") {
			break
		}
	}
	return err
}

// script is a migration of a test's.
func script(up, down string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte("-- +goose Up\n" + up + "\n-- +goose Down\n" + down + "\n")}
}

func TestMigrationThatFailsLeavesTheDatabaseAsItWas(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, db := t.Context(), raw(t, url)
		good := fstest.MapFS{"00001_a.sql": script(
			"CREATE TABLE a (id integer PRIMARY KEY);\nINSERT INTO a VALUES (1);", "DROP TABLE a;")}
		if err := store.MigrateBy(ctx, url, good, 1); err != nil {
			t.Fatal(err)
		}
		before := schema(t, db, url)
		bad := fstest.MapFS{
			"00001_a.sql": good["00001_a.sql"],
			"00002_b.sql": script("CREATE TABLE b (id integer);\nDELETE FROM a;", "DROP TABLE b;"),
			"00003_c.sql": script("CREATE TABLE c (id integer);\nCREATE TABLE c (id integer);",
				"DROP TABLE c;"),
		}
		if err := store.MigrateBy(ctx, url, bad, 3); err == nil ||
			!strings.Contains(err.Error(), "version:3") {
			t.Errorf("%v", err)
		}
		if got := schema(t, db, url); got != before {
			t.Errorf("%s\nwant\n%s", got, before)
		}
		if got := column(t, db, "SELECT id FROM a"); len(got) != 1 {
			t.Error(got)
		}
		if got := column(t, db, `SELECT version_id FROM store_version ORDER BY id`); strings.Join(
			got, " ") != "0 1" {
			t.Error(got)
		}
	})
}

func TestMigrationThatOrphansRowsIsRefused(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		bad := fstest.MapFS{
			"00001_a.sql": script(
				"CREATE TABLE a (id integer PRIMARY KEY);\nCREATE TABLE b (a integer REFERENCES "+
					"a (id));\nINSERT INTO a VALUES (1);\nINSERT INTO b VALUES (1);",
				"DROP TABLE b;\nDROP TABLE a;"),
			"00002_b.sql": script("DELETE FROM a;", "INSERT INTO a VALUES (1);"),
		}
		if err := store.MigrateBy(t.Context(), url, bad, 1); err != nil {
			t.Fatal(err)
		}
		if err := store.MigrateBy(t.Context(), url, bad, 2); err == nil {
			t.Error("migrated")
		}
		if got := column(t, raw(t, url), "SELECT id FROM a"); len(got) != 1 {
			t.Error(got)
		}
	})
}

func TestDatabaseOfANewerProgramIsRefused(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		newer := fstest.MapFS{}
		own := must(store.Migrations(url))
		for _, name := range must(fs.Glob(own, "*")) {
			newer[name] = &fstest.MapFile{Data: must(fs.ReadFile(own, name))}
		}
		newer[fmt.Sprintf("%05d_more.sql", newest+1)] = script(
			"CREATE TABLE more (id integer);", "DROP TABLE more;")
		if err := store.MigrateBy(t.Context(), url, newer, newest+1); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := store.Open(t.Context(), url)
			if !errors.Is(err, store.ErrNewer) {
				t.Fatalf("%v, %v", s, err)
			}
		}
		if err := store.MigrateBy(t.Context(), url, newer, newest); err != nil {
			t.Fatal(err)
		}
		open(t, url)
	})
}

func TestTablesOfOthersAreLeftAloneAndASchemaIsTheCure(t *testing.T) {
	url := engines["postgresql"](t)
	db := raw(t, url)
	if _, err := db.Exec("CREATE TABLE organizations (id integer)"); err != nil {
		t.Fatal(err)
	}
	if s, err := store.Open(t.Context(), url); err == nil ||
		!strings.Contains(err.Error(), "search_path=mcpgen") {
		t.Fatalf("%v, %v", s, err)
	}
	own := url + "&search_path=mcpgen"
	if s, err := store.Open(t.Context(), own); err == nil ||
		!strings.Contains(err.Error(), "CREATE SCHEMA mcpgen AUTHORIZATION postgres") {
		t.Fatalf("%v, %v", s, err)
	}
	if _, err := db.Exec("CREATE SCHEMA mcpgen"); err != nil {
		t.Fatal(err)
	}
	s := open(t, own)
	must(s.CreateOrg(t.Context(), "acme", ada))
	if got := column(t, db, "SELECT name FROM mcpgen.organizations"); len(got) != 1 {
		t.Error(got)
	}
	if got := column(t, db, "SELECT id FROM organizations"); len(got) != 0 {
		t.Error(got)
	}
}

// TestRoleThatMayMakeNoTablesGetsTheCureAtOnce looks for the words that goose has once it has
// tried for some seconds, and are not said of what ended it at once.
func TestRoleThatMayMakeNoTablesGetsTheCureAtOnce(t *testing.T) {
	db := testdb.PostgreSQL(t)
	role, _ := db.Account(t)
	s, err := store.Open(t.Context(), postgresURL(db, role))
	if err == nil || !strings.Contains(err.Error(), "permission denied for schema public") ||
		!strings.Contains(err.Error(), "CREATE SCHEMA mcpgen AUTHORIZATION") {
		t.Fatalf("%v, %v", s, err)
	}
	if errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "create version table") {
		t.Error(err)
	}
	// The cure.
	if _, err := db.Exec("CREATE SCHEMA mcpgen AUTHORIZATION " + role); err != nil {
		t.Fatal(err)
	}
	must(open(t, postgresURL(db, role)+"&search_path=mcpgen").CreateOrg(t.Context(), "acme", ada))
}

func TestRoleThatMayMakeNoTablesServesADatabaseThatAnotherHasMigrated(t *testing.T) {
	db := testdb.PostgreSQL(t)
	role, _ := db.Account(t)
	if err := store.Migrate(t.Context(), postgresURL(db, db.User), newest); err != nil {
		t.Fatal(err)
	}
	if s, err := store.Open(t.Context(), postgresURL(db, role)); err == nil ||
		!strings.Contains(err.Error(), "GRANT SELECT, INSERT, UPDATE, DELETE ON") {
		t.Fatalf("%v, %v", s, err)
	}
	if _, err := db.Exec("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " +
		role); err != nil {
		t.Fatal(err)
	}
	s := open(t, postgresURL(db, role))
	changes := follow(t, s)
	must(s.CreateOrg(t.Context(), "acme", ada))
	if c := next(t, changes); c.Kind != storechange.Org {
		t.Errorf("%+v", c)
	}
	if _, err := db.Exec("REVOKE ALL ON store_version FROM " + role); err != nil {
		t.Fatal(err)
	}
	if err := store.Migrate(t.Context(), postgresURL(db, role), newest); err == nil ||
		errors.Is(err, context.Canceled) || !strings.Contains(
		err.Error(), "permission denied for table store_version") {
		t.Error(err)
	}
}

// olderGrant is a grant as version 6 has stored it, with the line that its digest is of.
type olderGrant struct {
	kind, resource, params, line string
	restricted                   bool
}

// olderGrants are restricted and unrestricted permissions of each family.
func olderGrants() (all []olderGrant) {
	for _, restricted := range []bool{false, true} {
		word := ""
		if restricted {
			word = " restricted"
		}
		for _, g := range []olderGrant{
			{"file.read", "docs/**", "{}", "file.read docs/**%s", false},
			{"system.command", "git log *", "{}", `system.command "git log *"%s`, false},
			{"net.connect", "api.example.com:443", "{}", "net.connect api.example.com:443%s",
				false},
			{"db.read", "unrestricted", `{"k":"v","rows":"100","s":"\u003ca b"}`,
				`db.read unrestricted%s k=v rows=100 s="<a b"`, false},
		} {
			g.line, g.restricted = fmt.Sprintf(g.line, word), restricted
			all = append(all, g)
		}
	}
	return all
}

// fillOlder stores them at version 6: for a client "only N" each, for the client "all" together,
// and as open requests of the client "asks".
func fillOlder(t *testing.T, db *sql.DB, url string) {
	t.Helper()
	now := "now()"
	if isSQLite(url) {
		now = fmt.Sprint(time.Now().UnixMicro())
	}
	quote := func(s string) string { return "'" + s + "'" }
	for i, g := range olderGrants() {
		columns := strings.Join([]string{quote(g.kind), quote(g.resource),
			strings.ToUpper(fmt.Sprint(g.restricted)), quote(g.params),
			quote(audit.DigestOf([]byte(g.line)).String())}, ", ")
		for _, client := range []string{fmt.Sprint("only ", i), "all"} {
			if _,
				err := db.Exec(
				`INSERT INTO grants (issuer, client, type, resource, restricted, params, digest, granted_by, reason, created_at) VALUES ('', '` +
					client + `', ` + columns + `, '', '', ` + now + `)`); err != nil {
				t.Fatal(err)
			}
		}
		if _,
			err := db.Exec(
			`INSERT INTO grant_requests (issuer, client, type, resource, restricted, params, digest, principal, tool, reason, status, created_at, decided_by, note) VALUES ('', 'asks', ` +
				columns + `, '', '', '', 'open', ` + now + `, '', '')`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGrantsOfTheVersionBeforeDecideAsBefore(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, db := t.Context(), raw(t, url)
		if err := store.Migrate(ctx, url, 6); err != nil {
			t.Fatal(err)
		}
		fillOlder(t, db, url)
		s := open(t, url)
		older := olderGrants()
		queries := map[string]grant.Query{
			"file.read":      {Kind: "file.read", Resource: "docs/a"},
			"system.command": {Kind: "system.command", Argv: []string{"git", "log", "x"}},
			"net.connect":    {Kind: "net.connect", Resource: "api.example.com:443"},
			"db.read":        {Kind: "db.read", Resource: "unrestricted"},
		}
		decide := func(client string, query grant.Query, isolated bool) grant.Decision {
			query.Isolated = isolated
			return must(grant.NewSet(must(s.GrantsOf(ctx, "", client))...)).Decide(time.Now(), query)
		}
		for i, was := range older {
			client := fmt.Sprint("only ", i)
			for kind, query := range queries {
				for _, isolated := range []bool{false, true} {
					got := decide(client, query, isolated)
					if want := kind == was.kind &&
						(isolated || !was.restricted); got.Allowed != want {
						t.Errorf("%s, %s, isolated %v: %+v", was.line, kind, isolated, got)
					}
				}
			}
			// The digest is of the same permission: it is renewed, and its request is the same one.
			has := must(s.GrantsOf(ctx, "", client))[0]
			if bool(has.Unrestricted) == was.restricted {
				t.Errorf("%s is %s", was.line, has.Permission)
			}
			if was.params != "{}" && (len(has.Parameters) != 3 ||
				string(has.Parameters["rows"]) != `"100"` ||
				string(has.Parameters["s"]) != `"<a b"`) {
				t.Errorf("%s has %s", was.line, has.Parameters)
			}
			again := must(s.Grant(ctx, grant.Grant{Permission: has.Permission, Client: client},
				ada))
			if again.ID != has.ID {
				t.Errorf("%s is kept again, as %s", has.Permission, again.ID)
			}
			asked := must(s.RequestGrant(ctx,
				grant.Request{Permission: has.Permission, Client: "asks"}, 1, ada))
			if asked.ID != fmt.Sprint(i+1) {
				t.Errorf("%s is requested again, by %s", has.Permission, asked.ID)
			}
			_, given, err := s.ApproveRequest(ctx, asked.ID, grant.Verdict{}, ada)
			if err != nil || !given.Equal(has.Permission) {
				t.Errorf("%s is approved as %s, %v", has.Permission, given.Permission, err)
			}
		}
		for kind, query := range queries {
			for _, isolated := range []bool{false, true} {
				if got := decide("all", query, isolated); !got.Allowed {
					t.Errorf("%s, isolated %v: %+v", kind, isolated, got)
				}
			}
		}
		fresh := must(s.Grant(ctx, grant.Grant{Client: "new",
			Permission: grant.Permission{Type: "db.read", Resource: "unrestricted"}}, ada))
		if got := decide("new", queries["db.read"], false); bool(fresh.Unrestricted) || got.Allowed ||
			got.Cause != grant.Restricted || !decide("new", queries["db.read"], true).Allowed {
			t.Errorf("%+v", got)
		}
	})
}

// What is granted under this version keeps its meaning when the database goes back.
func TestVersionBeforeReadsParametersAsStrings(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, db, s := t.Context(), raw(t, url), open(t, url)
		p := grant.Permission{Type: "db.read", Resource: "a",
			Parameters: map[string]json.RawMessage{
				"n": []byte("1e400"), "o.o": []byte(`{"a":["<",null]}`), "s": []byte(`"x"`),
				"z": []byte("null")}}
		g := must(s.Grant(ctx, grant.Grant{Permission: p, Client: "x"}, ada))
		q := must(s.RequestGrant(ctx, grant.Request{Permission: p, Client: "x"}, 1, ada))
		must(s.DenyRequest(ctx, q.ID, grant.Verdict{}, ada))
		if back := must(s.GrantsOf(ctx, "", "x"))[0]; !back.Equal(p) || !g.Equal(p) {
			t.Errorf("%s, %s", back.Permission, g.Permission)
		}
		if back := must(s.GrantRequest(ctx, q.ID)); !back.Equal(p) {
			t.Error(back.Permission)
		}
		must(0, s.Close())
		must(0, store.Migrate(ctx, url, 6))
		for _, table := range []string{"grants", "grant_requests"} {
			text := column(t, db, `SELECT params FROM `+table)[0]
			var strings map[string]string
			if err := json.Unmarshal([]byte(text), &strings); err != nil ||
				strings["n"] != "1e400" || strings["s"] != "x" || strings["z"] != "null" ||
				strings["o.o"] != `{"a":["\u003c",null]}` {
				t.Errorf("%s: %s, %v", table, text, err)
			}
		}
		s = open(t, url)
		if back := must(s.GrantsOf(ctx, "", "x"))[0]; bool(back.Unrestricted) ||
			string(back.Parameters["n"]) != `"1e400"` {
			t.Error(back.Permission)
		}
		must(s.Grant(ctx, grant.Grant{Permission: p, Client: "x"}, ada))
		if has := must(s.GrantsOf(ctx, "", "x")); len(has) != 1 || !has[0].Equal(p) {
			t.Errorf("%s is granted as %+v", p, has)
		}
	})
}

// The program of the version before does not open the database, and neither it nor one that was
// interrupted changes a grant.
func TestInterruptedMigrationOfGrantsLeavesThemAsTheyWere(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, db := t.Context(), raw(t, url)
		own, older, broken := must(store.Migrations(url)), fstest.MapFS{}, fstest.MapFS{}
		for _, name := range must(fs.Glob(own, "*")) {
			file := &fstest.MapFile{Data: must(fs.ReadFile(own, name))}
			if broken[name] = file; name < "00007" {
				older[name] = file
			}
		}
		broken["00008_broken.sql"] = script(
			"CREATE TABLE c (id integer);\nCREATE TABLE c (id integer);", "DROP TABLE c;")
		must(0, store.MigrateBy(ctx, url, older, 6))
		fillOlder(t, db, url)
		before := column(t, db, `SELECT digest || params FROM grants ORDER BY id`)
		if err := store.MigrateBy(ctx, url, broken, 8); err == nil {
			t.Error("migrated")
		}
		if got := column(t, db, `SELECT digest || params FROM grants ORDER BY id`); !slices.Equal(
			got, before) {
			t.Error(got)
		}
		must(0, open(t, url).Close())
		if got := column(
			t, db, `SELECT digest || parameters FROM grants ORDER BY id`); !slices.Equal(
			got, before) {
			t.Error(got)
		}
		if err := store.MigrateBy(ctx, url, older, 6); !errors.Is(err, store.ErrNewer) {
			t.Error(err)
		}
	})
}

// indexesOf are the names of the valid indexes of audit_events, sorted.
func indexesOf(t *testing.T, db *sql.DB, url string) string {
	t.Helper()
	query := `SELECT relname FROM pg_index JOIN pg_class c ON c.oid = indexrelid
		WHERE indrelid = 'audit_events'::regclass AND indisvalid AND NOT indisprimary ORDER BY 1`
	if isSQLite(url) {
		query = `SELECT name FROM sqlite_schema WHERE type = 'index'
			AND tbl_name = 'audit_events' ORDER BY 1`
	}
	return strings.Join(column(t, db, query), " ")
}

// TestServersRecordEventsWhileIndexesAreMade has servers of the version before record while
// several processes migrate.
func TestServersRecordEventsWhileIndexesAreMade(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		must(0, store.Migrate(t.Context(), url, 9))
		many(t, url, 20_000)
		ended, source := make(chan struct{}), url
		if isSQLite(url) {
			source += "?_pragma=busy_timeout(5000)" // as the store's own connections have it
		}
		db := raw(t, source)
		now := map[bool]string{true: "1", false: "now()"}[isSQLite(url)]
		var servers, processes sync.WaitGroup
		var recorded atomic.Int64
		for range 2 {
			servers.Go(func() {
				for {
					if _, err := db.Exec(`INSERT INTO audit_events (at, type, status, request_id,
						issuer, principal, event) VALUES (` + now + `, 't', 'ok', 'r', '', 'bob',
						'{}')`); err != nil {
						t.Error(err)
						return
					}
					recorded.Add(1)
					select {
					case <-ended:
						return
					default:
					}
				}
			})
		}
		for range 3 {
			processes.Go(func() {
				if s, err := store.Open(t.Context(), url); err != nil {
					t.Error(err)
				} else if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		processes.Wait()
		close(ended)
		servers.Wait()
		if got := column(t, db, `SELECT count(*) FROM audit_events`); got[0] != fmt.Sprint(
			20_000+recorded.Load()) {
			t.Errorf("%s events, %d recorded", got, recorded.Load())
		}
		if got := indexesOf(t, db, url); strings.Count(got, "audit_events_by_") != 7 ||
			strings.Count(got, " ") != 6 {
			t.Error(got)
		}
	})
}

// TestIndexThatWasInterruptedIsMadeAgain when the next process opens the database.
func TestIndexThatWasInterruptedIsMadeAgain(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		must(0, open(t, url).Close())
		db := raw(t, url)
		want, whole := indexesOf(t, db, url), schema(t, db, url)
		must(db.Exec(`CREATE INDEX audit_events_tool ON audit_events (tool)`))
		must(db.Exec(`CREATE INDEX audit_events_type ON audit_events (type)`))
		must(db.Exec(`DROP INDEX audit_events_by_type`))
		if !isSQLite(url) { // an interrupted build leaves this
			must(db.Exec(`UPDATE pg_index SET indisvalid = false
				WHERE indexrelid = 'audit_events_by_client'::regclass`))
		}
		must(0, open(t, url).Close())
		if got := indexesOf(t, db, url); got != want || schema(t, db, url) != whole {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
