package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"modernc.org/sqlite"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestFileThatIsNoDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.txt")
	text := strings.Repeat("not a database\n", 100)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), "sqlite:"+file)
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "not a database") {
		t.Fatalf("%v, %v", s, err)
	}
	if got := string(must(os.ReadFile(file))); got != text {
		t.Errorf("%q", got)
	}
}

// migrationBegun is called by the function begun() of SQLite, which returns 1.
var migrationBegun atomic.Pointer[context.CancelFunc]

func init() {
	sqlite.MustRegisterScalarFunction("begun", 0,
		func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
			(*migrationBegun.Load())()
			return int64(1), nil
		})
}

// TestMigrationThatIsEndedHalfwayLeavesTheDatabaseAsItWas has one that takes much longer than its
// context lasts.
func TestMigrationThatIsEndedHalfwayLeavesTheDatabaseAsItWas(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		endless := `INSERT INTO a (id) WITH RECURSIVE n (i) AS
			(SELECT begun() UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n WHERE i < 0;`
		if !isSQLite(url) {
			endless = "INSERT INTO a (id) SELECT 1 FROM (SELECT pg_sleep(3600)) x;"
		}
		migrations := fstest.MapFS{
			"00001_a.sql": script("CREATE TABLE a (id integer);", "DROP TABLE a;"),
			"00002_b.sql": script("CREATE TABLE b (id integer);\n"+endless, "DROP TABLE b;"),
		}
		if err := store.MigrateBy(t.Context(), url, migrations, 1); err != nil {
			t.Fatal(err)
		}
		db := raw(t, url)
		before := schema(t, db, url)
		ctx, cancel := context.WithCancel(t.Context())
		if isSQLite(url) {
			migrationBegun.Store(&cancel)
		} else {
			go func() {
				for running := 0; running == 0; runtime.Gosched() {
					_ = db.QueryRow(`SELECT count(*) FROM pg_stat_activity
						WHERE query LIKE '%pg_sleep(3600)%' AND datname = current_database()
						AND pid <> pg_backend_pid()`).Scan(&running)
				}
				cancel()
			}()
		}
		if err := store.MigrateBy(ctx, url, migrations, 2); !errors.Is(err, context.Canceled) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
		if got := schema(t, db, url); got != before {
			t.Errorf("%s\nwant\n%s", got, before)
		}
	})
}

func TestURLOfNoEngineIsNotMigrated(t *testing.T) {
	if err := store.Migrate(t.Context(), "mysql://h/d", 0); !errors.Is(err, store.ErrInvalid) {
		t.Error(err)
	}
}

// TestFailuresOfTheDatabaseAreReportedAsThat has the store's tables taken away: nothing that it
// says about that is one of the answers that a caller decides on.
func TestFailuresOfTheDatabaseAreReportedAsThat(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, s := t.Context(), open(t, url)
		org := must(s.CreateOrg(ctx, "acme", ada))
		kit := must(s.CreateCatalog(ctx, store.Global, "kit", "", true, ada))
		asked := must(s.RequestGrant(ctx, grant.Request{Permission: readA, Client: "x"}, 1, ada))
		db := raw(t, url)
		for _, table := range []string{"teams", "tool_catalog_entries", "memberships", "tool_switches", "audit_events", "grant_requests"} {
			if _, err := db.Exec("ALTER TABLE " + table + " RENAME TO taken_" + table); err != nil {
				t.Fatal(err)
			}
		}
		var errs []error
		add := func(_ any, err error) { errs = append(errs, err) }
		add(s.CreateOrg(ctx, "rival", ada)) // without its record
		add(s.CreateTeam(ctx, org.ID, "lab", ada))
		add(s.AddMember(ctx, store.InOrg(org.ID), "", "bob", access.Member, ada))
		add(s.Memberships(ctx, "", "bob"))
		_, _, named := s.ScopesNamed(ctx, []string{"acme"}, [][2]string{{"acme", "lab"}})
		add(nil, named)
		add(s.AddEntry(ctx, store.Global, kit.ID, "tool", "", ada))
		add(nil, s.RemoveEntry(ctx, store.Global, kit.ID, "tool", ada))
		add(s.Tools(ctx, kit.ID))
		add(s.EntryCounts(ctx, []int64{kit.ID}))
		add(nil, s.SwitchTool(ctx, "tool", true, ada))
		add(nil, s.Audit().Record(ctx, ada))
		add(s.Grant(ctx, grant.Grant{Permission: readA, Client: "x"}, ada)) // without its record
		add(s.RequestGrant(ctx, grant.Request{Permission: readA, Client: "x"}, 1, ada))
		add(s.GrantRequest(ctx, asked.ID))
		add(s.GrantRequests(ctx, grant.Filter{}))
		add(s.DenyRequest(ctx, asked.ID, grant.Verdict{}, ada))
		must(db.Exec("ALTER TABLE grants RENAME TO taken_grants"))
		add(s.Grant(ctx, grant.Grant{Permission: readA, Client: "x"}, ada))
		add(s.RevokeGrants(ctx, grant.Revocation{Client: "x", Type: "file.read"}, ada))
		add(s.GrantsOf(ctx, "", "x"))
		add(s.Grants(ctx, grant.Filter{}))
		for i, err := range errs {
			if err == nil || !strings.HasPrefix(err.Error(), "store: ") {
				t.Errorf("%d: %v", i, err)
			}
			for _, answer := range []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrInvalid, grant.ErrUnknown, grant.ErrDecided, grant.ErrInvalid} {
				if errors.Is(err, answer) {
					t.Errorf("%d: %v", i, err)
				}
			}
		}
		if all := must(orgsOf(s, t)); len(all) != 1 {
			t.Errorf("%+v", all)
		}
	})
}

// TestChangeThatIsInADeadlockIsMadeAgain holds what a change needs last and then asks for what it
// has got: PostgreSQL ends one of the two, and it is the one that looks first.
func TestChangeThatIsInADeadlockIsMadeAgain(t *testing.T) {
	url := engines["postgresql"](t)
	s, db := open(t, url), raw(t, url)
	org := must(s.CreateOrg(t.Context(), "acme", ada))
	holder := must(db.BeginTx(t.Context(), nil))
	defer holder.Rollback() // nothing once it is committed
	for _, statement := range []string{`SET LOCAL deadlock_timeout = '1h'`, `UPDATE store_revision SET revision = revision`} {
		must(holder.Exec(statement))
	}
	type answer struct {
		store.Org
		error
	}
	renamed := make(chan answer, 1)
	go func() {
		got, err := s.RenameOrg(t.Context(), org.ID, 1, "acme 2", ada)
		renamed <- answer{got, err}
	}()
	for waiting := ""; waiting != "1"; { // for the revision, with the organisation
		waiting = strings.Join(column(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`), "")
	}
	must(holder.Exec(`UPDATE organizations SET name = 'acme 1'`))
	if err := holder.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := <-renamed; got.error != nil || got.Name != "acme 2" || got.Version != 2 {
		t.Errorf("%+v", got)
	}
	if events := trail(t, s); len(events) != 2 {
		t.Errorf("%d records of two changes", len(events))
	}
}
