package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// What is true of grants and requests in every keeper is tried by the tests of package
// grant/stored. This is of the store.

var readA = must(grant.Parse("file.read a/** unrestricted"))

func TestEachChangeOfGrantsIsRecordedWithWhatItWas(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx, until := t.Context(), time.Date(2126, 3, 4, 12, 0, 0, 0, time.UTC)
		by := audit.Event{Principal: "ada", Issuer: "https://id.example", RequestID: "r7",
			Roles: []string{"Admin"}}
		x := grant.Grant{Permission: readA, Issuer: "i", Client: "x", By: "ada",
			Reason: `it "needs" it`, Expires: until}
		did := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		did(s.Grant(ctx, x, by))
		x.Reason, x.Expires, x.Issuer = "", time.Time{}, "i"
		did(s.Grant(ctx, x, by))
		// A pattern reads like nothing else.
		did(s.Grant(ctx, grant.Grant{Permission: grant.Permission{
			Type: "db.read", Resource: `t to client "root"`}, Client: "y"}, by))
		did(s.RevokeGrants(ctx, grant.Revocation{
			Issuer: "i", Client: "x", Type: "file.read", Resource: "a/**", Reason: "no longer"},
			by))
		did(s.RevokeGrants(ctx, grant.Revocation{Client: "y", Type: "db.read"}, by))
		did(s.RevokeGrants(ctx, grant.Revocation{Client: "y", Type: "db.read"}, by))
		ask := func(client string) grant.Request {
			t.Helper()
			return must(s.RequestGrant(ctx, grant.Request{
				Permission: readA, Client: client, Reason: "please"}, 5, by))
		}
		first := ask("x")
		ask("x") // is no change
		_, _, err := s.ApproveRequest(ctx, first.ID,
			grant.Verdict{By: "ada", Note: "less",
				Permission: must(grant.Parse("file.read a/b restricted"))}, by)
		did(nil, err)
		did(s.DenyRequest(ctx, ask("y").ID, grant.Verdict{By: "ada", Note: "no"}, by))
		var got []string
		for _, r := range trail(t, s) {
			if r.Type != audit.Changed || r.Status != audit.Success ||
				r.Principal != by.Principal || r.Issuer != by.Issuer ||
				r.RequestID != by.RequestID || !slices.Equal(r.Roles, by.Roles) {
				t.Errorf("%+v", r)
			}
			got = append(got, r.Action+": "+r.Object)
		}
		want := []string{
			`grant permission: grant 1: file.read a/** unrestricted to client "x" of issuer "i" until 2126-03-04T12:00:00Z, because "it \"needs\" it"`,
			`grant permission: grant 1 anew: file.read a/** unrestricted to client "x" of issuer "i"`,
			"grant permission: grant 2: db.read `t to client \"root\"` restricted to client \"y\"",
			`revoke permission: "file.read" "a/**" of client "x" of issuer "i": grant 1, because "no longer"`,
			`revoke permission: all of "db.read" of client "y": grant 2`,
			`revoke permission: all of "db.read" of client "y": none`,
			`request permission: request 1: file.read a/** unrestricted to client "x", because "please"`,
			`approve request: request 1: grant 3: file.read a/b restricted to client "x", because "less"`,
			`request permission: request 2: file.read a/** unrestricted to client "y", because "please"`,
			`deny request: request 2: file.read a/** unrestricted to client "y", because "no"`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("recorded are\n%s\nwant\n%s", strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
		if n := must(s.Revision(ctx)).Number; n != int64(len(want)) {
			t.Errorf("the revision is %d after %d changes", n, len(want))
		}
	})
}

func TestChangeOfGrantsThatFailsLeavesNoRecord(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		s.Limit(1)
		g := grant.Grant{Permission: readA, Client: "x"}
		must(s.Grant(ctx, g, ada))
		r := must(s.RequestGrant(ctx, grant.Request{
			Permission: must(grant.Parse("file.read b/** unrestricted")), Client: "x"}, 1, ada))
		g.Resource = "c/**"
		_, err := s.Grant(ctx, g, ada)
		_, err2 := s.RequestGrant(ctx, grant.Request{Permission: g.Permission, Client: "x"}, 1, ada)
		_, _, err3 := s.ApproveRequest(ctx, r.ID, grant.Verdict{}, ada)
		_, err4 := s.DenyRequest(ctx, "7", grant.Verdict{}, ada)
		for i, want := range map[int]error{0: grant.ErrFull, 1: grant.ErrTooMany, 2: grant.ErrFull,
			3: grant.ErrUnknown} {
			if got := []error{err, err2, err3, err4}[i]; !errors.Is(got, want) {
				t.Errorf("%d: %v", i, got)
			}
		}
		if events := trail(t, s); len(events) != 2 {
			t.Errorf("%+v", events)
		}
	})
}

// TestRequestThatIsOpenForTooLongIsWithdrawn has the time go by in the database.
func TestRequestThatIsOpenForTooLongIsWithdrawn(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, s, db := t.Context(), open(t, url), raw(t, url)
		ask := func() (grant.Request, error) {
			return s.RequestGrant(ctx, grant.Request{Permission: readA, Client: "x"}, 1, ada)
		}
		first := must(ask())
		age := func(text string) {
			t.Helper()
			statement := `UPDATE grant_requests SET created_at = created_at - interval '` + text +
				`' WHERE status = 'open'`
			if isSQLite(url) {
				d := map[string]time.Duration{
					"29 days": 29 * 24 * time.Hour, "1 day": 24 * time.Hour}[text]
				statement = fmt.Sprintf(
					`UPDATE grant_requests SET created_at = created_at - %d WHERE status = 'open'`,
					d.Microseconds())
			}
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		age("29 days")
		if again := must(ask()); again.ID != first.ID || again.Status != grant.Open {
			t.Errorf("%+v", again)
		}
		age("1 day")
		old := must(s.GrantRequest(ctx, first.ID))
		if old.Status != grant.Withdrawn || !old.Decided.Equal(old.Created.Add(grant.Waits)) {
			t.Errorf("%+v", old)
		}
		_, _, err := s.ApproveRequest(ctx, first.ID, grant.Verdict{}, ada)
		_, err2 := s.DenyRequest(ctx, first.ID, grant.Verdict{}, ada)
		if !errors.Is(err, grant.ErrDecided) || !errors.Is(err2, grant.ErrDecided) {
			t.Error(err, err2)
		}
		listed := func(want string) {
			t.Helper()
			var got []string
			for _, status := range []grant.Status{grant.Open, grant.Withdrawn} {
				for _, r := range must(s.GrantRequests(ctx, grant.Filter{Status: status})) {
					got = append(got, r.ID+" "+string(r.Status))
				}
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		listed("1 withdrawn")
		if again, err := ask(); err != nil || again.ID == first.ID {
			t.Fatal(again, err)
		}
		listed("2 open, 1 withdrawn")
		if now := must(s.GrantRequest(ctx, first.ID)); fmt.Sprint(now) != fmt.Sprint(old) {
			t.Errorf("%+v, want %+v", now, old)
		}
	})
}

// TestDatabaseTakesNoGrantAndNoRequestThatIsNone has what comes past the store.
func TestDatabaseTakesNoGrantAndNoRequestThatIsNone(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, s, db := t.Context(), open(t, url), raw(t, url)
		must(s.Grant(ctx, grant.Grant{Permission: readA, Issuer: "i", Client: "x"}, ada))
		decided := must(s.RequestGrant(ctx, grant.Request{Permission: readA, Client: "x"}, 5, ada))
		must(s.DenyRequest(ctx, decided.ID, grant.Verdict{}, ada))
		must(s.RequestGrant(ctx, grant.Request{Permission: readA, Client: "x"}, 5, ada))
		const granted = `INSERT INTO grants (issuer, client, type, resource, restricted, parameters, digest, granted_by, reason, created_at) SELECT `
		const asked = `INSERT INTO grant_requests (issuer, client, type, resource, restricted, parameters, digest, principal, tool, reason, status, created_at, decided_at, decided_by, note, grant_id) SELECT `
		for _, statement := range []string{
			// the same permission
			granted +
				`issuer, client, type, 'b', restricted, parameters, digest, '', '', created_at FROM grants`,
			granted +
				`issuer, '', type, resource, restricted, parameters, digest, '', '', created_at FROM grants`,
			granted +
				`'j', client, type, '', restricted, parameters, digest, '', '', created_at FROM grants`,
			granted +
				`'j', client, '', resource, restricted, parameters, digest, '', '', created_at FROM grants`,
			granted +
				`'j', client, type, resource, restricted, '', digest, '', '', created_at FROM grants`,
			granted +
				`'j', client, type, resource, restricted, parameters, '', '', '', created_at FROM grants`,
			// one is open
			asked +
				`issuer, client, type, resource, restricted, parameters, digest, '', '', '', 'open', created_at, NULL, '', '', NULL FROM grant_requests WHERE id = 1`,
			asked +
				`issuer, client, type, resource, restricted, parameters, digest, '', '', '', 'waiting', created_at, NULL, '', '', NULL FROM grant_requests WHERE id = 1`,
			asked +
				`issuer, client, type, resource, restricted, parameters, digest, '', '', '', 'denied', created_at, NULL, '', '', NULL FROM grant_requests WHERE id = 1`,
			asked +
				`issuer, client, type, resource, restricted, parameters, digest, '', '', '', 'withdrawn', created_at, created_at, '', '', NULL FROM grant_requests WHERE id = 1`,
			asked +
				`issuer, client, type, resource, restricted, parameters, digest, '', '', '', 'approved', created_at, created_at, '', '', NULL FROM grant_requests WHERE id = 1`,
			asked +
				`issuer, client, type, resource, restricted, parameters, digest, '', '', '', 'denied', created_at, created_at, '', '', 1 FROM grant_requests WHERE id = 1`,
			// denied before
			`UPDATE grant_requests SET status = 'approved', grant_id = 1 WHERE id = 1`,
			`UPDATE grant_requests SET status = 'open', decided_at = NULL WHERE id = 1`,
		} {
			if _, err := db.Exec(statement); err == nil {
				t.Errorf("taken: %s", statement)
			}
		}
	})
}

func TestGrantThatIsBrokenInTheDatabaseIsAnError(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, s, db := t.Context(), open(t, url), raw(t, url)
		must(s.Grant(ctx, grant.Grant{Permission: readA, Client: "x"}, ada))
		if _, err := db.Exec(`UPDATE grants SET parameters = '{"k":}'`); err != nil {
			t.Fatal(err)
		}
		if got, err := s.GrantsOf(ctx, "", "x"); err == nil {
			t.Errorf("%+v", got)
		}
		if got, err := s.RevokeGrants(ctx, grant.Revocation{Client: "x", Type: "file.read"},
			ada); err == nil {
			t.Errorf("%+v", got)
		}
	})
}

// TestParametersAreReadAsTheyWereKept: rows contain six bytes for each "<", so a limit on the text
// of a row would make all grants of the client unusable.
func TestParametersAreReadAsTheyWereKept(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s, p := open(t, url), readA
		for _, value := range []string{strings.Repeat("<", 4000), strings.Repeat(`\"`, 4000)} {
			p.Type, p.Resource, p.Parameters = "db.read", "a", map[string]json.RawMessage{
				"k": json.RawMessage(`"` + value + `"`)}
			must(s.Grant(t.Context(), grant.Grant{Permission: p, Client: "x"}, ada))
			has := must(s.GrantsOf(t.Context(), "", "x"))
			if _, err := grant.NewSet(has...); err != nil || !has[len(has)-1].Equal(p) {
				t.Errorf("%.20s: %v", value, err)
			}
		}
	})
}
