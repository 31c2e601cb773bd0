package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestNamesAreUniqueInEachScopeAndFreeInOthers(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		a, b := must(s.CreateOrg(ctx, "a", ada)), must(s.CreateOrg(ctx, "b", ada))
		ta, tb := must(s.CreateTeam(ctx, a.ID, "team", ada)), must(s.CreateTeam(ctx, b.ID, "team", ada))
		if _, err := s.CreateOrg(ctx, "a", ada); !errors.Is(err, store.ErrExists) {
			t.Error(err)
		}
		if _, err := s.RenameOrg(ctx, b.ID, 1, "a", ada); !errors.Is(err, store.ErrExists) {
			t.Error(err)
		}
		if _, err := s.CreateTeam(ctx, a.ID, "team", ada); !errors.Is(err, store.ErrExists) {
			t.Error(err)
		}
		for _, in := range []store.Scope{store.Global, store.InOrg(a.ID), store.InOrg(b.ID), store.InTeam(ta.ID), store.InTeam(tb.ID)} {
			c := must(s.CreateCatalog(ctx, in, "kit", "", true, ada))
			other := must(s.CreateCatalog(ctx, in, "Kit", "", true, ada))
			if _, err := s.CreateCatalog(ctx, in, "kit", "", false, ada); !errors.Is(err, store.ErrExists) {
				t.Errorf("%s: %v", in, err)
			}
			name := "kit"
			if _, err := s.UpdateCatalog(ctx, in, other.ID, 1, store.CatalogPatch{Name: &name}, ada); !errors.Is(err, store.ErrExists) {
				t.Errorf("%s: %v", in, err)
			}
			must(s.AddEntry(ctx, in, c.ID, "tool", "", ada))
			if _, err := s.AddEntry(ctx, in, c.ID, "tool", "other module", ada); !errors.Is(err, store.ErrExists) {
				t.Errorf("%s: %v", in, err)
			}
			if in == store.Global {
				continue
			}
			must(s.AddMember(ctx, in, "", "bob", access.Member, ada))
			must(s.AddMember(ctx, in, "https://id.example", "bob", access.Member, ada))
			if _, err := s.AddMember(ctx, in, "", "bob", access.Owner, ada); !errors.Is(err, store.ErrExists) {
				t.Errorf("%s: %v", in, err)
			}
		}
		if n := len(catalogs(t, s)); n != 10 {
			t.Error(n)
		}
	})
}

// TestDatabaseItselfAdmitsNoDuplicatesAndNoOrphans goes past the store: a writer to its
// tables meets the same walls.
func TestDatabaseItselfAdmitsNoDuplicatesAndNoOrphans(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		open(t, url)
		db, now := raw(t, url), "now()"
		if isSQLite(url) {
			now = "1"
			db.SetMaxOpenConns(1)
			if _, err := db.Exec("PRAGMA foreign_keys = ON"); err != nil {
				t.Fatal(err)
			}
		}
		do := func(statement string) error {
			statement = strings.Replace(statement, " params,", " parameters,", 1) // since version 7
			_, err := db.Exec(strings.ReplaceAll(statement, "NOW", now))
			return err
		}
		for _, rows := range rowsOf {
			for _, row := range rows {
				if err := do(row[0]); err != nil {
					t.Fatal(err)
				}
			}
		}
		catalog := `INSERT INTO tool_catalogs (name, description, org_id, team_id, is_active, created_at, updated_at) VALUES ('kit', '', %s, %s, TRUE, NOW, NOW)`
		for _, scope := range [][2]string{{"NULL", "NULL"}, {"1", "NULL"}} {
			if err := do(fmt.Sprintf(catalog, scope[0], scope[1])); err != nil {
				t.Fatal(err)
			}
		}
		member := `INSERT INTO memberships (org_id, team_id, issuer, subject, standing, created_at, updated_at) VALUES (%s, %s, '', %s, %s, NOW, NOW)`
		for _, statement := range []string{
			// duplicates
			fmt.Sprintf(catalog, "NULL", "NULL"), fmt.Sprintf(catalog, "1", "NULL"),
			fmt.Sprintf(catalog, "NULL", "1"),
			fmt.Sprintf(catalog, "1", "1"), fmt.Sprintf(catalog, "7", "NULL"), fmt.Sprintf(catalog, "NULL", "7"),
			fmt.Sprintf(member, "NULL", "1", "'bob'", "'owner'"), // a duplicate
			fmt.Sprintf(member, "NULL", "NULL", "'x'", "'owner'"), fmt.Sprintf(member, "1", "1", "'x'", "'owner'"),
			fmt.Sprintf(member, "1", "NULL", "'x'", "'king'"), fmt.Sprintf(member, "1", "NULL", "''", "'owner'"),
			`INSERT INTO tool_catalog_entries (catalog_id, tool_name, module_id, created_at) VALUES (1, 'tool', 'm', NOW)`,
			`INSERT INTO tool_catalog_entries (catalog_id, tool_name, module_id, created_at) VALUES (77, 'tool', 'm', NOW)`,
			`INSERT INTO organizations (name, created_at, updated_at) VALUES ('acme', NOW, NOW)`,
			`INSERT INTO organizations (name, created_at, updated_at) VALUES ('', NOW, NOW)`,
			`INSERT INTO teams (org_id, name, created_at, updated_at) VALUES (1, 'lab', NOW, NOW)`,
			`INSERT INTO teams (org_id, name, created_at, updated_at) VALUES (7, 'lab', NOW, NOW)`,
			`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, updated_at) VALUES ('', 'bot', '', '', '{}', NOW, NOW)`,
			`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, updated_at) VALUES ('', '', '', '', '{}', NOW, NOW)`,
			`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, updated_at) VALUES ('', 'a', '', 'a', '{}', NOW, NOW)`,
			`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, updated_at) VALUES ('', '*', 'bob', '', '{}', NOW, NOW)`,
			`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, updated_at) VALUES ('', '', 'bob', 'a', '{}', NOW, NOW)`,
			`INSERT INTO boundaries (issuer, client, subject, actor, boundary, created_at, updated_at) VALUES ('', 'a', '', '', '[]', NOW, NOW)`,
			`INSERT INTO seen_clients (issuer, client, first_at, last_at) VALUES ('', 'seen', NOW, NOW)`,
			`INSERT INTO seen_clients (issuer, client, first_at, last_at) VALUES ('', '', NOW, NOW)`,
			`INSERT INTO store_revision (id, revision) VALUES (2, 0)`,
			`UPDATE audit_events SET status = 'denied'`, `DELETE FROM audit_events`,
		} {
			if err := do(statement); err == nil {
				t.Errorf("taken: %s", statement)
			}
		}
		if err := do(`DELETE FROM organizations`); err != nil {
			t.Fatal(err)
		}
		for _, table := range []string{"teams", "memberships", "tool_catalog_entries"} {
			if got := column(t, db, "SELECT id FROM "+table); len(got) != 0 {
				t.Errorf("%s: %v", table, got)
			}
		}
		if got := column(t, db, "SELECT name FROM tool_catalogs"); len(got) != 1 {
			t.Errorf("%v where the global one stays", got)
		}
	})
}

func TestWhatBelongsToAnOrganizationOrATeamGoesWithIt(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		org := must(s.CreateOrg(ctx, "a", ada))
		lab, desk := must(s.CreateTeam(ctx, org.ID, "lab", ada)), must(s.CreateTeam(ctx, org.ID, "desk", ada))
		scopes := []store.Scope{store.Global, store.InOrg(org.ID), store.InTeam(lab.ID), store.InTeam(desk.ID)}
		var made []store.Catalog
		for _, in := range scopes {
			c := must(s.CreateCatalog(ctx, in, "kit", "", true, ada))
			must(s.AddEntry(ctx, in, c.ID, "tool", "", ada))
			made = append(made, c)
			if in != store.Global {
				must(s.AddMember(ctx, in, "", "bob", access.Member, ada))
			}
		}
		remains := func(members int, want ...store.Catalog) {
			t.Helper()
			got := catalogs(t, s)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, want %v", got, want)
			}
			for _, c := range made {
				if tools := must(s.Tools(ctx, c.ID)); len(tools) != strings.Count(fmt.Sprint(want), fmt.Sprint(c)) {
					t.Errorf("catalog %d has %v", c.ID, tools)
				}
			}
			if got := must(s.Memberships(ctx, "", "bob")); len(got) != members {
				t.Errorf("%+v", got)
			}
		}
		remains(3, made...)
		if err := s.DeleteTeam(ctx, store.Anywhere, lab.ID, 0, ada); err != nil {
			t.Fatal(err)
		}
		remains(2, made[0], made[1], made[3])
		if err := s.DeleteOrg(ctx, org.ID, 0, ada); err != nil {
			t.Fatal(err)
		}
		remains(0, made[0])
		again := must(s.CreateOrg(ctx, "a", ada))
		if again.ID <= org.ID {
			t.Errorf("the id %d is given again", again.ID)
		}
	})
}

func TestThingOfAnotherTenantIsAsUnknownAsOneThatNeverWas(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		mine, theirs := must(s.CreateOrg(ctx, "mine", ada)), must(s.CreateOrg(ctx, "theirs", ada))
		team := must(s.CreateTeam(ctx, theirs.ID, "team", ada))
		catalog := must(s.CreateCatalog(ctx, store.InTeam(team.ID), "kit", "", true, ada))
		must(s.AddEntry(ctx, store.InTeam(team.ID), catalog.ID, "tool", "", ada))
		member := must(s.AddMember(ctx, store.InTeam(team.ID), "", "bob", access.Member, ada))
		events := len(trail(t, s))
		name := "taken"
		asks := map[string]func(in store.Scope, id int64) error{
			"catalog": func(in store.Scope, id int64) error { _, err := s.Catalog(ctx, in, id); return err },
			"update": func(in store.Scope, id int64) error {
				_, err := s.UpdateCatalog(ctx, in, id, 1, store.CatalogPatch{Name: &name}, ada)
				return err
			},
			"update of a version that is not": func(in store.Scope, id int64) error {
				_, err := s.UpdateCatalog(ctx, in, id, 9, store.CatalogPatch{}, ada)
				return err
			},
			"delete": func(in store.Scope, id int64) error { return s.DeleteCatalog(ctx, in, id, 0, ada) },
			"entries": func(in store.Scope, id int64) error {
				_, _, err := s.Entries(ctx, in, id, store.Page[string]{})
				return err
			},
			"add": func(in store.Scope, id int64) error {
				_, err := s.AddEntry(ctx, in, id, "tool", "", ada)
				return err
			},
			"remove": func(in store.Scope, id int64) error { return s.RemoveEntry(ctx, in, id, "tool", ada) },
		}
		for name, ask := range asks {
			for _, in := range []store.Scope{store.InOrg(mine.ID), store.InOrg(theirs.ID), store.InTeam(team.ID + 1), store.Global, {}} {
				hidden, unknown := ask(in, catalog.ID), ask(in, 999)
				if !errors.Is(hidden, store.ErrNotFound) || strings.ReplaceAll(hidden.Error(), fmt.Sprint(catalog.ID), "999") != unknown.Error() {
					t.Errorf("%s, %s: %v, but %v", name, in, hidden, unknown)
				}
			}
		}
		for name, ask := range map[string]func(in store.Scope, id int64) error{
			"team": func(in store.Scope, _ int64) error { _, err := s.Team(ctx, in, team.ID); return err },
			"rename team": func(in store.Scope, _ int64) error {
				_, err := s.RenameTeam(ctx, in, team.ID, 1, name, ada)
				return err
			},
			"delete team": func(in store.Scope, _ int64) error { return s.DeleteTeam(ctx, in, team.ID, 0, ada) },
			"member":      func(in store.Scope, id int64) error { _, err := s.Member(ctx, in, id); return err },
			"update member": func(in store.Scope, id int64) error {
				_, err := s.UpdateMember(ctx, in, id, 1, access.Owner, ada)
				return err
			},
			"remove member": func(in store.Scope, id int64) error { return s.RemoveMember(ctx, in, id, 0, ada) },
		} {
			if err := ask(store.InOrg(mine.ID), member.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if n := len(trail(t, s)); n != events {
			t.Errorf("%d records of what did not happen", n-events)
		}
		if got := must(s.Catalog(ctx, store.InTeam(team.ID), catalog.ID)); got != catalog {
			t.Errorf("%+v", got)
		}
		if got := must(s.Member(ctx, store.Anywhere, member.ID)); got != member {
			t.Errorf("%+v", got)
		}
		found := must(s.ActiveCatalogs(ctx, "kit", store.Global, store.InOrg(mine.ID), store.InOrg(theirs.ID), store.InTeam(team.ID+1)))
		if len(found) != 0 {
			t.Errorf("%+v", found)
		}
	})
}

func TestScopesThatNothingCanBeInAreRefused(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		var errs []error
		add := func(_ any, err error) { errs = append(errs, err) }
		for _, in := range []store.Scope{{}, store.Anywhere} {
			add(s.CreateCatalog(ctx, in, "kit", "", true, ada))
			add(s.AddMember(ctx, in, "", "bob", access.Member, ada))
			add(s.ActiveCatalogs(ctx, "kit", in))
		}
		for _, in := range []store.Scope{{}, store.Global, store.InTeam(1)} {
			add(s.Team(ctx, in, 1))
			_, _, err := s.Teams(ctx, in, store.Page[int64]{})
			add(nil, err)
			add(s.RenameTeam(ctx, in, 1, 1, "x", ada))
			add(nil, s.DeleteTeam(ctx, in, 1, 0, ada))
		}
		for _, in := range []store.Scope{{}, store.Global} {
			add(s.AddMember(ctx, in, "", "bob", access.Member, ada))
			add(s.Member(ctx, in, 1))
			_, _, err := s.Members(ctx, in, store.Page[int64]{})
			add(nil, err)
			add(s.UpdateMember(ctx, in, 1, 1, access.Owner, ada))
			add(nil, s.RemoveMember(ctx, in, 1, 0, ada))
		}
		for i, err := range errs {
			if !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%d: %v", i, err)
			}
		}
		must(s.CreateCatalog(ctx, store.Global, "kit", "", true, ada))
		if got, _, err := s.Catalogs(ctx, store.Scope{}, store.Page[int64]{}); len(got) != 0 || err != nil {
			t.Errorf("the zero scope has %v, %v", got, err)
		}
		if got := must(s.ActiveCatalogs(ctx, "kit")); len(got) != 0 {
			t.Errorf("no scope has %v", got)
		}
		for _, in := range []store.Scope{store.InOrg(9), store.InTeam(9)} {
			if _, err := s.CreateCatalog(ctx, in, "kit", "", true, ada); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", in, err)
			}
			if _, err := s.AddMember(ctx, in, "", "bob", access.Member, ada); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: %v", in, err)
			}
		}
		if _, err := s.CreateTeam(ctx, 9, "team", ada); !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
	})
}

func TestOfTwoWhoEditAtOnceOneHasToReadAgain(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		org := must(s.CreateOrg(ctx, "org", ada))
		team := must(s.CreateTeam(ctx, org.ID, "team", ada))
		member := must(s.AddMember(ctx, store.InTeam(team.ID), "", "bob", access.Member, ada))
		catalog := must(s.CreateCatalog(ctx, store.InTeam(team.ID), "kit", "", true, ada))
		bound := must(s.CreateBound(ctx, dnsAgent, boundary.Boundary{}, ada))
		for name, edit := range map[string]func(version int64, i int) (int64, error){
			"org": func(version int64, i int) (int64, error) {
				o, err := s.RenameOrg(ctx, org.ID, version, fmt.Sprint("org ", i), ada)
				return o.Version, err
			},
			"team": func(version int64, i int) (int64, error) {
				o, err := s.RenameTeam(ctx, store.InOrg(org.ID), team.ID, version, fmt.Sprint("team ", i), ada)
				return o.Version, err
			},
			"member": func(version int64, i int) (int64, error) {
				o, err := s.UpdateMember(ctx, store.InTeam(team.ID), member.ID, version, access.Lead, ada)
				return o.Version, err
			},
			"catalog": func(version int64, i int) (int64, error) {
				text := fmt.Sprint(i)
				o, err := s.UpdateCatalog(ctx, store.InTeam(team.ID), catalog.ID, version, store.CatalogPatch{Description: &text}, ada)
				return o.Version, err
			},
			"boundary": func(version int64, i int) (int64, error) {
				o, err := s.UpdateBound(ctx, bound.ID, version, boundary.Boundary{Blocked: i == 0}, ada)
				return o.Version, err
			},
		} {
			for version := int64(1); version <= 5; version++ {
				var wg sync.WaitGroup
				var won, lost atomic.Int32
				for i := range 4 {
					wg.Go(func() {
						switch got, err := edit(version, i); {
						case err == nil && got == version+1:
							won.Add(1)
						case errors.Is(err, store.ErrConflict) && got == 0:
							lost.Add(1)
						default:
							t.Errorf("%s: %d, %v", name, got, err)
						}
					})
				}
				wg.Wait()
				if won.Load() != 1 || lost.Load() != 3 {
					t.Errorf("%s, version %d: %d won", name, version, won.Load())
				}
			}
			if _, err := edit(0, 0); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, remove := range map[string]func(version int64) error{
			"org": func(version int64) error { return s.DeleteOrg(ctx, org.ID, version, ada) },
			"team": func(version int64) error {
				return s.DeleteTeam(ctx, store.Anywhere,
					team.ID, version, ada)
			},
			"member": func(version int64) error {
				return s.RemoveMember(ctx, store.Anywhere,
					member.ID, version, ada)
			},
			"catalog": func(version int64) error {
				return s.DeleteCatalog(ctx, store.Anywhere,
					catalog.ID, version, ada)
			},
			"boundary": func(version int64) error { return s.DeleteBound(ctx, bound.ID, version, ada) },
		} {
			if err := remove(5); !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s: %v", name, err)
			}
			if err := remove(-1); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestPagesHoldAllInOrderAndNothingTwice(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		org := must(s.CreateOrg(ctx, "org 0", ada))
		in := store.InOrg(org.ID)
		catalog := must(s.CreateCatalog(ctx, in, "kit", "", true, ada))
		for i := 1; i < 7; i++ {
			must(s.CreateOrg(ctx, fmt.Sprint("org ", i), ada))
			must(s.CreateTeam(ctx, org.ID, fmt.Sprint("team ", i), ada))
			must(s.AddMember(ctx, in, "", fmt.Sprint("member ", i), access.Member, ada))
			must(s.AddEntry(ctx, in, catalog.ID, fmt.Sprint("tool", 9-i), "", ada))
		}
		for limit := 1; limit < 9; limit++ {
			page := func(after int64) store.Page[int64] { return store.Page[int64]{After: after, Limit: limit} }
			orgs := walk(t, func(after int64) ([]store.Org, bool, error) { return s.Orgs(ctx, page(after)) }, func(o store.Org) int64 { return o.ID })
			teams := walk(t, func(after int64) ([]store.Team, bool, error) { return s.Teams(ctx, in, page(after)) }, func(o store.Team) int64 { return o.ID })
			members := walk(t, func(after int64) ([]store.Membership, bool, error) { return s.Members(ctx, in, page(after)) }, func(o store.Membership) int64 { return o.ID })
			entries := walk(t, func(after string) ([]store.Entry, bool, error) {
				return s.Entries(ctx, in, catalog.ID, store.Page[string]{After: after, Limit: limit})
			}, func(e store.Entry) string { return e.Tool })
			var got []string
			for i, o := range orgs {
				got = append(got, strings.TrimPrefix(o.Name, "org "))
				if i > 0 {
					got = append(got, strings.TrimPrefix(teams[i-1].Name, "team "), strings.TrimPrefix(members[i-1].Subject, "member "), strings.TrimPrefix(entries[i-1].Tool, "tool"))
				}
			}
			if len(orgs) != 7 || len(teams) != 6 || len(members) != 6 || len(entries) != 6 || strings.Join(got, "") != "0111322243335444655576668" {
				t.Errorf("limit %d: %q", limit, got)
			}
		}
	})
}

func TestEndedContextEndsAChangeAndAQuestion(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.CreateOrg(ctx, "org", ada); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := s.Org(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := s.Audit().Record(ctx, ada); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := s.Ping(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}

		// A change that waits for another one.
		busy := must(s.Writes().BeginTx(t.Context(), nil))
		defer busy.Rollback()
		if _, err := busy.Exec(`UPDATE store_revision SET revision = revision`); err != nil {
			t.Fatal(err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		ended, waited := make(chan error), s.Writes().Stats().WaitCount
		go func() {
			_, err := s.CreateOrg(ctx, "org", ada)
			ended <- err
		}()
		// It waits for SQLite's only connection, or for a lock.
		for locks := 0; locks == 0 && s.Writes().Stats().WaitCount == waited; runtime.Gosched() {
			_ = s.Reads().QueryRow(`SELECT count(*) FROM pg_locks WHERE NOT granted`).Scan(&locks)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		// Questions do not wait for it.
		if got, _, err := s.Orgs(t.Context(), store.Page[int64]{}); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func TestSQLiteIsSetUpToLoseNothing(t *testing.T) {
	s := open(t, engines["sqlite"](t))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"} {
		if got := column(t, s.Writes(), "PRAGMA "+pragma); strings.Join(got, "") != want {
			t.Errorf("%s is %v", pragma, got)
		}
	}
	if n := s.Writes().Stats().MaxOpenConnections; n != 1 {
		t.Errorf("%d writers", n)
	}
	if _, err := s.Reads().Exec("DELETE FROM organizations"); err == nil {
		t.Error("a reader writes")
	}
}

// TestScopesOfNamesAreFoundInTheirOrganizations has two organisations with a team of one name.
func TestScopesOfNamesAreFoundInTheirOrganizations(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		a, b := must(s.CreateOrg(ctx, "a", ada)), must(s.CreateOrg(ctx, "b", ada))
		ta, tb := must(s.CreateTeam(ctx, a.ID, "t", ada)), must(s.CreateTeam(ctx, b.ID, "t", ada))
		inA, inB, inTA, inTB := store.InOrg(a.ID), store.InOrg(b.ID), store.InTeam(ta.ID), store.InTeam(tb.ID)
		type orgs = map[string]store.Scope
		type teams = map[[2]string]store.Scope
		ofA, ofB := [2]string{"a", "t"}, [2]string{"b", "t"}
		for _, c := range []struct {
			orgs      []string
			teams     [][2]string
			wantOrgs  orgs
			wantTeams teams
		}{
			{nil, nil, nil, nil}, {nil, [][2]string{ofA}, nil, nil}, {[]string{"no", "A"},
				[][2]string{ofA}, nil, nil},
			{[]string{"a"}, nil, orgs{"a": inA}, nil}, {[]string{"a"}, [][2]string{{"a", "T"},
				{"a", "u"}, {"A", "t"}}, orgs{"a": inA}, nil},
			{[]string{"a", "no"}, [][2]string{ofA, ofA, ofB}, orgs{"a": inA}, teams{ofA: inTA}},
			{[]string{"b", "b"}, [][2]string{ofB}, orgs{"b": inB}, teams{ofB: inTB}},
			{[]string{"b", "a"}, [][2]string{ofB}, orgs{"a": inA, "b": inB}, teams{ofB: inTB}},
			{[]string{"b", "a"}, [][2]string{ofB, ofA}, orgs{"a": inA, "b": inB}, teams{ofA: inTA,
				ofB: inTB}},
		} {
			gotOrgs, gotTeams, err := s.ScopesNamed(ctx, c.orgs, c.teams)
			if !maps.Equal(gotOrgs, c.wantOrgs) || !maps.Equal(gotTeams, c.wantTeams) || err != nil {
				t.Errorf("%q, %q: %v, %v, %v, want %v, %v", c.orgs, c.teams, gotOrgs, gotTeams, err, c.wantOrgs, c.wantTeams)
			}
		}
		for scope, want := range map[store.Scope]string{{}: "no scope", store.Anywhere: "anywhere", store.Global: "global", inA: fmt.Sprint("organization ", a.ID), inTB: fmt.Sprint("team ", tb.ID)} {
			if scope.String() != want {
				t.Errorf("%s, want %s", scope, want)
			}
		}
	})
}

func TestClosedStoreAnswersWithAnError(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s, err := store.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		ctx, name := t.Context(), "x"
		var errs []error
		add := func(_ any, err error) { errs = append(errs, err) }
		list := func(_ any, _ bool, err error) { errs = append(errs, err) }
		add(s.CreateOrg(ctx, name, ada))
		add(s.Org(ctx, 1))
		add(s.RenameOrg(ctx, 1, 1, name, ada))
		list(s.Orgs(ctx, store.Page[int64]{}))
		add(s.CreateTeam(ctx, 1, name, ada))
		list(s.Teams(ctx, store.Anywhere, store.Page[int64]{}))
		add(s.AddMember(ctx, store.InOrg(1), "", name, access.Lead, ada))
		add(s.Memberships(ctx, "", name))
		add(s.CreateCatalog(ctx, store.Global, name, "", true, ada))
		add(s.ActiveCatalogs(ctx, name, store.Global))
		_, _, named := s.ScopesNamed(ctx, []string{name}, nil)
		add(nil, named)
		add(s.AddEntry(ctx, store.Global, 1, name, "", ada))
		list(s.Entries(ctx, store.Global, 1, store.Page[string]{}))
		add(s.Tools(ctx, 1))
		add(nil, s.SwitchTool(ctx, name, true, ada))
		add(s.ToolsOff(ctx))
		list(s.Switches(ctx, store.Page[string]{}))
		add(s.CreateBound(ctx, dnsAgent, boundary.Boundary{}, ada))
		add(s.UpdateBound(ctx, 1, 1, boundary.Boundary{}, ada))
		add(nil, s.DeleteBound(ctx, 1, 0, ada))
		add(s.Bound(ctx, 1))
		list(s.Bounds(ctx, store.Page[int64]{}))
		add(s.AllBounds(ctx))
		add(nil, s.SawClients(ctx, []store.SeenClient{{Client: name}}))
		list(s.SeenClients(ctx, store.Page[int64]{}))
		add(s.EntryCounts(ctx, []int64{1}))
		add(s.Revision(ctx))
		list(s.Events(ctx, store.Page[int64]{}))
		add(nil, s.Ping(ctx))
		for i, err := range errs {
			if err == nil || !strings.HasPrefix(err.Error(), "store: ") {
				t.Errorf("%d: %v", i, err)
			}
		}
		var sink audit.Sink = s.Audit()
		if err := sink.Record(t.Context(), ada); err == nil {
			t.Error("recorded")
		}
	})
}
