package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestStatementsThatAreKeptAnswerAsAnyDo asks the same questions from many goroutines, more of them
// than are kept, while the tables change beneath.
func TestStatementsThatAreKeptAnswerAsAnyDo(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s, db := open(t, url), raw(t, url)
		var names []string
		for i := range 10 {
			names = append(names, fmt.Sprint("org ", i))
			must(s.CreateOrg(t.Context(), names[i], ada))
		}
		for i := range 60 {
			names = append(names, fmt.Sprint("none ", i))
		}
		ask := func(n int) {
			if found, _, err := s.ScopesNamed(context.Background(), names[:n], nil); err != nil || len(found) != min(n, 10) {
				t.Errorf("%d: %v, %v", n, found, err)
			}
		}
		var asking sync.WaitGroup
		for range 2 {
			asking.Go(func() {
				for n := range names {
					ask(n)
				}
			})
		}
		asking.Wait()
		if kept := s.Kept(); isSQLite(url) && (kept < 64 || kept > 64+2) || !isSQLite(url) && kept != 0 {
			t.Errorf("%d statements are kept", kept)
		}
		must(db.Exec("ALTER TABLE organizations ADD COLUMN more integer"))
		if isSQLite(url) { // where nobody reads any more, all of the log can go
			var busy, pages, moved int
			if err := db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved); err != nil || busy != 0 {
				t.Errorf("%d, %v", busy, err)
			}
		}
		for n := 1; n < len(names); n += 9 {
			ask(n)
		}
	})
}

func TestStoreThatIsClosedAnswersNothing(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := must(store.Open(t.Context(), url))
		must(s.Revision(t.Context()))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if at, err := s.Revision(t.Context()); err == nil {
			t.Error(at)
		}
		if all, err := s.Org(t.Context(), 1); err == nil {
			t.Error(all)
		}
	})
}
