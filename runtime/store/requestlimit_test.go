package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestRequestsOfAllClientsThatAreOpenAreBounded(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		s.Limit(3)
		ask := func(client string) (grant.Request, error) {
			return s.RequestGrant(t.Context(), grant.Request{Permission: readA, Client: client}, 20,
				ada)
		}
		for _, client := range []string{"a", "b", "c"} {
			must(ask(client))
		}
		_, err := ask("d")
		if want := "store: request permission: all clients together have 3 open requests, which is " +
			"the maximum: approve or deny some first"; !errors.Is(err, grant.ErrTooMany) ||
			err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if again, err := ask("b"); err != nil || again.ID != "2" {
			t.Error(again, err)
		}
		must(s.DenyRequest(t.Context(), "1", grant.Verdict{}, ada))
		if _, err := ask("d"); err != nil {
			t.Error(err)
		}
		if _, err := ask("e"); !errors.Is(err, grant.ErrTooMany) {
			t.Error(err)
		}
	})
}

// TestClientThatGoesOnAskingHoldsUpNoChange has the database's one turn taken by another, so that
// whatever begins to write waits.
func TestClientThatGoesOnAskingHoldsUpNoChange(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		must(s.RequestGrant(t.Context(), grant.Request{Permission: readA, Client: "x"}, 1, ada))
		hanging := must(s.Writes().BeginTx(t.Context(), nil))
		defer hanging.Rollback()
		must(hanging.Exec(`UPDATE store_revision SET revision = revision`))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.RequestGrant(ctx,
			grant.Request{Permission: must(grant.Parse("file.read b/** restricted")),
				Client: "x"}, 1,
			ada); !errors.Is(err, grant.ErrTooMany) {
			t.Error(err)
		}
	})
}

func TestRequestsOfLongAgoAreDeletedSomeAtATime(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s, db := open(t, url), raw(t, url)
		many := func(n, days int, status string) {
			at := fmt.Sprintf(`now() - interval '%d days'`, days)
			if isSQLite(url) {
				at = fmt.Sprint(time.Now().Add(-time.Duration(days) * 24 * time.Hour).UnixMicro())
			}
			decided := "NULL"
			if status == "denied" {
				decided = at
			}
			must(
				db.Exec(
					fmt.Sprintf(
						`INSERT INTO grant_requests (issuer, client, type, resource, restricted, parameters, digest, principal, tool, reason, status, created_at, decided_at, decided_by, note)
				WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT '', 'old', 'file.read', 'a', FALSE, '{}', 'sha256:%d' || i, '', '', '', '%s', %s, %s, '', '' FROM n`, n, days, status, at, decided)))
		}
		many(150, 200, "denied")
		many(20, 121, "open")
		many(20, 119, "denied")
		left := func() string {
			return column(t, db, `SELECT count(*) FROM grant_requests WHERE client = 'old'`)[0]
		}
		for i, want := range []string{"90", "20", "20"} {
			must(s.RequestGrant(t.Context(), grant.Request{Permission: readA,
				Client: fmt.Sprint("c", i)}, 20, ada))
			if got := left(); got != want {
				t.Errorf("%s are left, want %s", got, want)
			}
		}
		// What is younger stays, whichever caller requests its deletion.
		many(1, 89, "denied")
		for _, statement := range []string{`DELETE FROM grant_requests WHERE digest = 'sha256:891'`,
			`DELETE FROM grant_requests WHERE status = 'open'`} {
			if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(),
				"requests are kept for 90 days") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	})
}
