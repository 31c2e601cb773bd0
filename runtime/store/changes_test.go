package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// next is the next change, which a test's own deadline bounds.
func next(t *testing.T, changes <-chan storechange.Change) storechange.Change {
	t.Helper()
	select {
	case c, ok := <-changes:
		if !ok {
			t.Fatal("the changes have ended")
		}
		return c
	case <-time.After(time.Minute):
		t.Fatal("no notification")
	}
	return storechange.Change{}
}

// follow follows changes from now on.
func follow(t *testing.T, s *store.Store) <-chan storechange.Change {
	t.Helper()
	changes := s.Changes(t.Context())
	if c := next(t, changes); c.Kind != storechange.Everything {
		t.Fatalf("%+v comes first", c)
	}
	return changes
}

func TestEveryChangeIsSentInOrder(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		changes := follow(t, s)
		org := must(s.CreateOrg(ctx, "org", ada))
		must(s.RenameOrg(ctx, org.ID, 1, "org 2", ada))
		team := must(s.CreateTeam(ctx, org.ID, "team", ada))
		must(s.RenameTeam(ctx, store.Anywhere, team.ID, 1, "team 2", ada))
		in := store.InTeam(team.ID)
		member := must(s.AddMember(ctx, in, "https://id.example", "bob", access.Member, ada))
		must(s.UpdateMember(ctx, store.Anywhere, member.ID, 1, access.Lead, ada))
		catalog := must(s.CreateCatalog(ctx, in, "kit", "", true, ada))
		must(s.UpdateCatalog(ctx, store.Anywhere, catalog.ID, 1, store.CatalogPatch{}, ada))
		must(s.AddEntry(ctx, store.Anywhere, catalog.ID, "tool", "", ada))
		if err := s.RemoveEntry(ctx, store.Anywhere, catalog.ID, "tool", ada); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateCatalog(ctx, in, "kit", "", true, ada); err == nil {
			t.Fatal("made twice")
		}
		bound := must(s.CreateBound(ctx, dnsAgent, boundary.Boundary{}, ada))
		must(s.UpdateBound(ctx, bound.ID, 1, boundary.Boundary{}, ada))
		for _, err := range []error{
			s.DeleteBound(ctx, bound.ID, 0, ada),
			s.SwitchTool(ctx, "tool", true, ada), s.DeleteCatalog(ctx, store.Anywhere, catalog.ID,
				0, ada), s.RemoveMember(ctx, store.Anywhere, member.ID, 0, ada),
			s.DeleteTeam(ctx, store.Anywhere, team.ID, 0, ada), s.DeleteOrg(ctx, org.ID, 0, ada),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		whole, part, bob, kit, tool, bot := storechange.Org, storechange.Team, storechange.Member,
			storechange.Catalog, storechange.Entry, storechange.Boundary
		for i, want := range []storechange.Kind{whole, whole, part, part, bob, bob, kit, kit, tool, tool,
			bot, bot, bot, storechange.Tool, kit, bob, part, whole} {
			if got := next(t, changes); got != (storechange.Change{Kind: want, Revision: int64(i + 1)}) {
				t.Errorf("%+v, want %s as the %dth", got, want, i+1)
			}
		}
	})
}

func TestChangesReachTheOtherReplicas(t *testing.T) {
	url := engines["postgresql"](t)
	one, two := open(t, url), open(t, url)
	ofOne, ofTwo := follow(t, one), follow(t, two)
	org := must(one.CreateOrg(t.Context(), "org", ada))
	must(two.CreateTeam(t.Context(), org.ID, "team", ada))
	for _, changes := range []<-chan storechange.Change{ofOne, ofTwo} {
		if c := next(t, changes); c.Kind != storechange.Org || c.Revision != 1 {
			t.Errorf("%+v", c)
		}
		if c := next(t, changes); c.Kind != storechange.Team || c.Revision != 2 {
			t.Errorf("%+v", c)
		}
	}
}

func TestStoresOfOneDatabaseInTwoSchemasHearTheirOwn(t *testing.T) {
	url := engines["postgresql"](t)
	if _, err := raw(t, url).Exec("CREATE SCHEMA a; CREATE SCHEMA b"); err != nil {
		t.Fatal(err)
	}
	a, b := open(t, url+"&search_path=a"), open(t, url+"&search_path=b")
	ofA := follow(t, a)
	must(b.CreateOrg(t.Context(), "of b", ada))
	must(b.CreateOrg(t.Context(), "of b too", ada))
	must(a.CreateOrg(t.Context(), "of a", ada))
	if c := next(t, ofA); c.Kind != storechange.Org || c.Revision != 1 {
		t.Errorf("%+v", c)
	}
}

func TestConnectionThatIsLostIsMadeAnewAndNothingIsMissed(t *testing.T) {
	url := engines["postgresql"](t)
	s, db := open(t, url), raw(t, url)
	s.Hasten(time.Millisecond)
	changes := follow(t, s)
	for i := range 3 {
		if _, err := db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' OR query LIKE '%store_revision%' AND pid <> pg_backend_pid() AND datname = current_database()`); err != nil {
			t.Fatal(err)
		}
		var err error
		for range 3 { // the pool's own connections are lost as well
			if _, err = s.CreateOrg(t.Context(), fmt.Sprint("org ", i), ada); err == nil {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for { // whether by its own word or as Everything
			if c := next(t, changes); c.Revision > int64(i) {
				break
			}
		}
	}
}

// TestConnectionThatIsLostWithoutQueriesIsReported ends a follower's connection and lets nobody
// connect: the follower says once that it receives nothing, however often it tries, and that
// everything may have changed once it receives changes again.
func TestConnectionThatIsLostWithoutQueriesIsReported(t *testing.T) {
	db := testdb.PostgreSQL(t)
	s := open(t, postgresURL(db, db.User))
	s.Hasten(time.Millisecond)
	changes := follow(t, s)
	admin := raw(t, strings.Replace(postgresURL(db, db.User), "/"+db.Name+"?", "/postgres?", 1))
	for range 2 {
		must(admin.Exec("ALTER DATABASE " + db.Name + " ALLOW_CONNECTIONS false"))
		must(admin.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`,
			db.Name))
		if c := next(t, changes); c != (storechange.Change{Kind: storechange.Deaf}) {
			t.Errorf("%+v", c)
		}
		late := s.Changes(t.Context()) // of which nothing is ever heard
		if c := next(t, late); c.Kind != storechange.Deaf {
			t.Errorf("%+v", c)
		}
		must(admin.Exec("ALTER DATABASE " + db.Name + " ALLOW_CONNECTIONS true"))
		for _, changes := range []<-chan storechange.Change{changes, late} {
			if c := next(t, changes); c.Kind != storechange.Everything {
				t.Errorf("%+v", c)
			}
		}
	}
}

// TestChangeThatNobodyAnnouncedIsNoticed changes the database past the store, as another process
// does beside SQLite, or behind a pooler that drops notifications.
func TestChangeThatNobodyAnnouncedIsNoticed(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		s.Hasten(time.Millisecond)
		changes := follow(t, s)
		if _, err := raw(t, url).Exec(`UPDATE store_revision SET revision = 7`); err != nil {
			t.Fatal(err)
		}
		if c := next(t, changes); c != (storechange.Change{Kind: storechange.Everything, Revision: 7}) {
			t.Errorf("%+v", c)
		}
		must(s.CreateOrg(t.Context(), "org", ada))
		if c := next(t, changes); c.Revision != 8 {
			t.Errorf("%+v", c)
		}
	})
}

// TestChangeAfterOneThatWasNotReceivedMeansEverything has a follower that does not look by itself.
func TestChangeAfterOneThatWasNotReceivedMeansEverything(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		changes := follow(t, s)
		must(s.CreateOrg(t.Context(), "org", ada))
		if c := next(t, changes); c.Kind != storechange.Org || c.Revision != 1 {
			t.Errorf("%+v", c)
		}
		if _, err := raw(t, url).Exec(`UPDATE store_revision SET revision = 2`); err != nil {
			t.Fatal(err)
		}
		must(s.CreateOrg(t.Context(), "org 2", ada))
		if c := next(t, changes); c != (storechange.Change{Kind: storechange.Everything, Revision: 3}) {
			t.Errorf("%+v", c)
		}
	})
}

// forge announces something as a role that may connect to the database, and no more.
func forge(t *testing.T, poor *sql.DB, payload string) {
	t.Helper()
	if _, err := poor.Exec(`SELECT pg_notify('mcpgen_' || md5('public'), $1)`,
		payload); err != nil {
		t.Fatal(err)
	}
}

// switched waits until a follower is notified that switches have changed, as such or as Everything.
func switched(t *testing.T, changes <-chan storechange.Change) {
	t.Helper()
	for c := next(t, changes); c.Kind != storechange.Tool &&
		c.Kind != storechange.Everything; c = next(t, changes) {
	}
}

// TestWordOfSomebodyElseOnTheChannelHidesNoChange forges notifications before each of some changes,
// of which the follower is notified nonetheless: by their own words, since it does not look in the
// time that this takes.
func TestWordOfSomebodyElseOnTheChannelHidesNoChange(t *testing.T) {
	db := testdb.PostgreSQL(t)
	s := open(t, postgresURL(db, db.User))
	_, poor := db.Account(t)
	if _, err := poor.Exec(`SELECT 1 FROM tool_switches`); err == nil {
		t.Fatal("the role has rights")
	}
	changes := follow(t, s)
	for _, payload := range []string{
		"", "{", "null", `{"revision":"x"}`, `{"kind":"org"}`, `{"kind":"deaf","revision":NEXT}`,
		`{"kind":"everything","revision":NEXT}`, `{"kind":"lab","revision":NEXT}`,
		`{"kind":"everything","revision":9000000000000000000}`,
		`{"kind":"org","revision":9000000000000000000}`,
		`{"kind":"org","revision":-9000000000000000000}`,
		`{"kind":"org","revision":NEXT}`, `{"kind":"org","revision":LAST}`,
	} {
		last := must(s.Revision(t.Context())).Number
		forge(t, poor, strings.NewReplacer("NEXT", fmt.Sprint(last+1), "LAST",
			fmt.Sprint(last)).Replace(payload))
		if err := s.SwitchTool(t.Context(), "tool", true, ada); err != nil {
			t.Fatal(err)
		}
		for c := next(t, changes); c.Revision != last+1 || c.Kind != storechange.Tool &&
			c.Kind != storechange.Everything; c = next(t, changes) {
			if c.Revision > last+1 || c.Kind == storechange.Deaf {
				t.Errorf("after %s: %+v", payload, c)
			}
		}
	}
}

// TestKindThatIsForgedForAChangeToComeHidesNothing has the forged word heard once the change stands
// and before its own.
func TestKindThatIsForgedForAChangeToComeHidesNothing(t *testing.T) {
	db := testdb.PostgreSQL(t)
	s := open(t, postgresURL(db, db.User))
	_, poor := db.Account(t)
	changes := follow(t, s)
	db.SetMaxOpenConns(1)
	// a switch, of which nobody has been told yet
	must(db.Exec(`UPDATE store_revision SET revision = revision + 1`))
	forge(t, poor, `{"kind":"org","revision":1}`)
	if c := next(t, changes); c.Kind != storechange.Org {
		t.Fatalf("%+v", c)
	}
	must(db.Exec(`SELECT pg_notify('mcpgen_' || md5('public'), '{"kind":"tool","revision":1}')`))
	if c := next(t, changes); c != (storechange.Change{Kind: storechange.Everything, Revision: 1}) {
		t.Errorf("%+v", c)
	}
}

// TestKindOfALaterVersionMeansEverything has a change by a process of a later version, of a kind
// that this one does not know.
func TestKindOfALaterVersionMeansEverything(t *testing.T) {
	db := testdb.PostgreSQL(t)
	s := open(t, postgresURL(db, db.User))
	changes := follow(t, s)
	must(db.Exec(`WITH change AS (UPDATE store_revision SET revision = 1 RETURNING 1)
		SELECT pg_notify('mcpgen_' || md5('public'), '{"kind":"later","revision":1}') FROM change`))
	if c := next(t, changes); c != (storechange.Change{Kind: storechange.Everything, Revision: 1}) {
		t.Errorf("%+v", c)
	}
	must(s.CreateBound(t.Context(), dnsAgent, boundary.Boundary{}, ada))
	if c := next(t, changes); c != (storechange.Change{Kind: storechange.Boundary, Revision: 2}) {
		t.Errorf("%+v", c)
	}
}

// TestNoiseOnTheChannelDoesNotKeepAFollowerFromLooking changes the database past the store, while
// somebody announces without end.
func TestNoiseOnTheChannelDoesNotKeepAFollowerFromLooking(t *testing.T) {
	db := testdb.PostgreSQL(t)
	s := open(t, postgresURL(db, db.User))
	s.Hasten(50 * time.Millisecond)
	_, poor := db.Account(t)
	changes := follow(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var noise sync.WaitGroup
	noise.Go(func() {
		for ctx.Err() == nil {
			poor.ExecContext(ctx, `SELECT pg_notify('mcpgen_' || md5('public'), '')`)
		}
	})
	must(db.Exec(`UPDATE store_revision SET revision = 7`))
	if c := next(t, changes); c != (storechange.Change{Kind: storechange.Everything, Revision: 7}) {
		t.Errorf("%+v", c)
	}
	cancel()
	noise.Wait()
}

// TestRestoredDatabaseIsReported lowers the revision, as a backup does, and goes on from there.
func TestRestoredDatabaseIsReported(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		switching := func() {
			t.Helper()
			if err := s.SwitchTool(t.Context(), "tool", true, ada); err != nil {
				t.Fatal(err)
			}
		}
		for range 10 {
			switching()
		}
		changes := follow(t, s)
		restore := func(to int) {
			must(s.Writes().Exec(fmt.Sprint("UPDATE store_revision SET revision = ", to)))
		}
		restore(2)
		switching() // which says so, since nobody looks in the time that this takes
		if c := next(t, changes); c != (storechange.Change{Kind: storechange.Everything, Revision: 3}) {
			t.Errorf("%+v", c)
		}
		switching()
		if c := next(t, changes); c != (storechange.Change{Kind: storechange.Tool, Revision: 4}) {
			t.Errorf("%+v", c)
		}
		other := open(t, url)
		other.Hasten(time.Millisecond)
		looking := follow(t, other)
		restore(1)
		if c := next(t, looking); c != (storechange.Change{Kind: storechange.Everything, Revision: 1}) {
			t.Errorf("%+v", c)
		}
		switching()
		switched(t, looking)
	})
}

// TestNotificationNamesNobodyAndNothing listens as a role that may connect to the database, and no
// more.
func TestNotificationNamesNobodyAndNothing(t *testing.T) {
	db := testdb.PostgreSQL(t)
	s := open(t, postgresURL(db, db.User))
	_, poor := db.Account(t)
	conn := must(poor.Conn(t.Context()))
	defer conn.Close()
	must(conn.ExecContext(t.Context(),
		`DO $$ BEGIN EXECUTE 'LISTEN mcpgen_' || md5('public'); END $$`))
	org := must(s.CreateOrg(t.Context(), "org", ada))
	in := store.InOrg(org.ID)
	must(s.AddMember(t.Context(), in, "https://id.example", "bob", access.Owner, ada))
	kit := must(s.CreateCatalog(t.Context(), in, "kit", "", true, ada))
	must(s.AddEntry(t.Context(), in, kit.ID, "tool", "", ada))
	err := conn.Raw(func(c any) error {
		for i, kind := range []storechange.Kind{storechange.Org, storechange.Member,
			storechange.Catalog, storechange.Entry} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			n, err := c.(*stdlib.Conn).Conn().WaitForNotification(ctx)
			cancel()
			if err != nil {
				return err
			}
			if want := fmt.Sprintf(`{"kind":%q,"revision":%d}`, kind, i+1); n.Payload != want {
				t.Errorf("%s, want %s", n.Payload, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFollowerThatIsSlowHoldsNobodyUpAndGetsEverything has a follower that takes nothing while
// there are more changes than are held back for it, and more again where the word of them was
// slower still.
func TestFollowerThatIsSlowHoldsNobodyUpAndGetsEverything(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		slow, quick := follow(t, s), follow(t, s)
		for n := int64(300); n <= 6000; n += 300 {
			for i := range 300 {
				if err := s.SwitchTool(t.Context(), "tool", i%2 == 0, ada); err != nil {
					t.Fatal(err)
				}
				next(t, quick)
			}
			c := next(t, slow)
			for c.Kind != storechange.Everything && c.Revision < n {
				c = next(t, slow)
			}
			if c.Kind == storechange.Everything {
				return
			}
		}
		t.Error("told each of thousands")
	})
}

// TestWhatIsReadAfterANotificationIsAsNew has followers read what each change says, while others
// change it: what they keep at the end is what is there.
func TestWhatIsReadAfterANotificationIsAsNew(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		stores := []*store.Store{open(t, url)}
		if !isSQLite(url) {
			stores = append(stores, open(t, url))
		}
		const writers, each = 4, 25
		var followers, changing sync.WaitGroup
		kept := make([]string, len(stores))
		for i, s := range stores {
			changes := follow(t, s)
			followers.Go(func() {
				for {
					c := next(t, changes)
					kept[i] = strings.Join(must(s.ToolsOff(context.Background())), " ")
					if c.Revision >= writers*each {
						return
					}
				}
			})
		}
		for w := range writers {
			changing.Go(func() {
				for i := range each {
					if err := stores[w%len(stores)].SwitchTool(context.Background(),
						fmt.Sprintf("tool%d-%d", w, i%5), i%3 != 0, ada); err != nil {
						t.Error(err)
					}
				}
			})
		}
		changing.Wait()
		followers.Wait()
		want := strings.Join(must(stores[0].ToolsOff(t.Context())), " ")
		for _, got := range kept {
			if got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	})
}

func TestChangesEndWithTheirContextAndWithTheStore(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s, err := store.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		first := s.Changes(ctx)
		next(t, first)
		second := follow(t, s)
		cancel()
		for range first {
		}
		must(s.CreateOrg(t.Context(), "org", ada))
		if c := next(t, second); c.Kind != storechange.Org {
			t.Errorf("%+v", c)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for c := range second {
			if c.Kind == storechange.Deaf {
				t.Error("the end of the store is reported as a lost connection")
			}
		}
		for range s.Changes(t.Context()) {
		}
	})
}
