package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// nextUpdate returns the next update.
func nextUpdate(t *testing.T, updates <-chan string) string {
	t.Helper()
	select {
	case uri, ok := <-updates:
		if !ok {
			t.Fatal("the updates have ended")
		}
		return uri
	case <-time.After(time.Minute):
		t.Fatal("no update")
	}
	return ""
}

// followUpdates follows updates from now on.
func followUpdates(t *testing.T, s *store.Store) <-chan string {
	t.Helper()
	updates := s.FollowUpdates(t.Context())
	if uri := nextUpdate(t, updates); uri != "" {
		t.Fatalf("%q comes first", uri)
	}
	return updates
}

func TestUpdatesReachEveryFollowerOfADatabaseInOrder(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		one, other := open(t, url), open(t, url)
		followers := []<-chan string{followUpdates(t, one), followUpdates(t, one),
			followUpdates(t, other)}
		want := []string{"team://people/1", "it's \"quoted\"", "", "team://people/2"}
		for i, uri := range want {
			from := one
			if i%2 == 1 {
				from = other
			}
			if err := from.PublishUpdate(t.Context(), uri); err != nil {
				t.Fatal(err)
			}
		}
		for i, updates := range followers {
			var got []string
			for range want {
				got = append(got, nextUpdate(t, updates))
			}
			if !slices.Equal(got, want) {
				t.Errorf("follower %d got %q, want %q", i, got, want)
			}
		}
		if at := must(one.Revision(t.Context())); at.Number != 0 {
			t.Errorf("updates have changed the revision to %d, which discards caches", at.Number)
		}
	})
}

// A follower that was away for more updates than are kept, and one of a restored database, get an
// empty URI. The table does not grow.
func TestFollowerThatMissesUpdatesGetsAnEmptyURI(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s, db := open(t, url), raw(t, url)
		updates := followUpdates(t, s)
		exec := func(statement string) {
			t.Helper()
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		exec(`UPDATE resource_update_count SET number = 5000`)
		if err := s.PublishUpdate(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		for uri := "b"; uri != ""; { // b is published until the gap is noticed
			uri = nextUpdate(t, updates)
		}
		exec(`DELETE FROM resource_updates`)
		exec(`UPDATE resource_update_count SET number = 3`)
		if err := s.PublishUpdate(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if uri := nextUpdate(t, updates); uri != "" {
			t.Errorf("after a restore %q comes first", uri)
		}
		exec(fmt.Sprintf(`UPDATE resource_update_count SET number = %d`, store.MaxUpdates-2))
		for range 5 {
			if err := s.PublishUpdate(t.Context(), "c"); err != nil {
				t.Fatal(err)
			}
		}
		rows := column(t, db, `SELECT place FROM resource_updates ORDER BY place`)
		if want := []string{"0", "1", "2", "3", "4", "1023"}; !slices.Equal(rows, want) {
			t.Errorf("places %q, want %q", rows, want)
		}
	})
}

// A follower that could not read the database, or not connect to it, gets what was published since.
func TestFollowerGetsTheUpdatesThatItMissedInAnOutage(t *testing.T) {
	db := testdb.PostgreSQL(t)
	one, other := open(t, postgresURL(db, db.User)), open(t, postgresURL(db, db.User))
	other.Hasten(time.Millisecond)
	updates := followUpdates(t, other)
	admin := raw(t, strings.Replace(postgresURL(db, db.User), "/"+db.Name+"?", "/postgres?", 1))
	must(admin.Exec("ALTER DATABASE " + db.Name + " ALLOW_CONNECTIONS false"))
	must(admin.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`,
		db.Name))
	if err := one.PublishUpdate(t.Context(), "a"); err == nil {
		t.Error("an update is published without a database")
	}
	must(admin.Exec("ALTER DATABASE " + db.Name + " ALLOW_CONNECTIONS true"))
	for _, uri := range []string{"a", "b"} {
		if err := one.PublishUpdate(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a", "b"} {
		if uri := nextUpdate(t, updates); uri != want {
			t.Errorf("%q, want %q", uri, want)
		}
	}
}

// A follower that reads the database after Close would hold its files open.
func TestFollowersHaveEndedWhenTheStoreIsClosed(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		updates, changes := followUpdates(t, s), s.Changes(t.Context())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		select {
		case _, open := <-updates:
			if open {
				t.Error("an update follows")
			}
		default:
			t.Error("a follower of updates has not ended")
		}
		select {
		case _, open := <-changes:
			if open {
				t.Error("a change follows")
			}
		default:
			t.Error("a follower of changes has not ended")
		}
		for range s.Changes(t.Context()) { // one of a closed store ends as well
		}
		if err := s.PublishUpdate(t.Context(), "a"); err == nil {
			t.Error("a closed store publishes")
		}
	})
}
