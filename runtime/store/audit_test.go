package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestEveryChangeIsRecordedWithWhoAskedForIt(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx, began := t.Context(), time.Now().Truncate(time.Millisecond)
		by := audit.Event{
			Issuer: "https://id.example", Principal: "ada", Client: "console", Roles: []string{"Admin"},
			RequestID: "r7",
			// not for the caller to say
			Type: audit.ToolCalled, Status: audit.Failed, Failure: audit.Denied, Action: "nothing",
			Object: "nobody",
			Arguments: []audit.Argument{{Name: "name", Bytes: 5,
				Digest: audit.DigestOf([]byte(`"org"`))}},
		}
		org := must(s.CreateOrg(ctx, "org", by))
		must(s.RenameOrg(ctx, org.ID, 1, "other", by))
		team := must(s.CreateTeam(ctx, org.ID, "team", by))
		must(s.RenameTeam(ctx, store.Anywhere, team.ID, 1, "other", by))
		member := must(s.AddMember(ctx, store.InTeam(team.ID), "", "bob", access.Member, by))
		must(s.UpdateMember(ctx, store.Anywhere, member.ID, 1, access.Lead, by))
		catalog := must(s.CreateCatalog(ctx, store.Global, "kit", "", true, by))
		must(s.UpdateCatalog(ctx, store.Global, catalog.ID, 1, store.CatalogPatch{}, by))
		must(s.AddEntry(ctx, store.Global, catalog.ID, "tool", "", by))
		bound := must(s.CreateBound(ctx, dnsAgent, boundary.Boundary{Items: []string{"tool:a"}}, by))
		must(s.UpdateBound(ctx, bound.ID, 1, boundary.Boundary{Blocked: true}, by))
		for _, err := range []error{
			s.DeleteBound(ctx, bound.ID, 2, by),
			s.RemoveEntry(ctx, store.Global, catalog.ID, "tool", by),
			s.SwitchTool(ctx, "tool", true, by), s.SwitchTool(ctx, "tool", false, by),
			s.DeleteCatalog(ctx, store.Global, catalog.ID, 0, by),
			s.RemoveMember(ctx, store.Anywhere, member.ID, 0, by),
			s.DeleteTeam(ctx, store.Anywhere, team.ID, 0, by), s.DeleteOrg(ctx, org.ID, 0, by),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		var did []string
		ended := time.Now()
		for _, r := range trail(t, s) {
			did = append(did, r.Action+": "+r.Object)
			if r.Time.Before(began) || r.Time.After(ended) {
				t.Errorf("%s is not from %s to %s", r.Time, began, ended)
			}
			want := by
			want.Type, want.Status, want.Action, want.Object, want.Time = audit.Changed,
				audit.Success, r.Action, r.Object, r.Time
			if !reflect.DeepEqual(r.Event, want) {
				t.Errorf("%+v, want %+v", r.Event, want)
			}
		}
		want := fmt.Sprintf(`create organization: organization %[1]d "org"
update organization: organization %[1]d "org" → "other"
create team: team %[2]d "team" of organization %[1]d
update team: team %[2]d "team" → "other" of organization %[1]d
create member: member %[3]d of team %[2]d: "bob" of issuer "" as member
update member: member %[3]d of team %[2]d: "bob" of issuer "" as member → lead
create catalog: catalog %[4]d "kit", global
update catalog: catalog %[4]d "kit", global
create entry: entry tool of catalog %[4]d
create boundary: boundary %[5]d of client "dns-agent" of issuer "https://id.example", with the item "tool:a"
update boundary: boundary %[5]d of client "dns-agent" of issuer "https://id.example", without the item "tool:a", blocked
delete boundary: boundary %[5]d of client "dns-agent" of issuer "https://id.example", blocked
delete entry: entry tool of catalog %[4]d
switch tool off: tool tool
switch tool on: tool tool
delete catalog: catalog %[4]d "kit", global, with 0 entries
delete member: member %[3]d of team %[2]d: "bob" of issuer "" as lead
delete team: team %[2]d "other" of organization %[1]d, with 0 members and 0 catalogs
delete organization: organization %[1]d "other", with 0 teams, 0 members and 0 catalogs`, org.ID, team.ID, member.ID, catalog.ID, bound.ID)
		if got := strings.Join(did, "\n"); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}

func TestChangeThatCannotBeRecordedDoesNotHappen(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		bad := ada
		bad.Milliseconds = math.NaN() // which has no JSON
		if o, err := s.CreateOrg(t.Context(), "org", bad); err == nil || o != (store.Org{}) {
			t.Errorf("%+v, %v", o, err)
		}
		if _, err := raw(t, url).Exec("ALTER TABLE audit_events RENAME TO gone"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateOrg(t.Context(), "org", ada); err == nil {
			t.Error("made")
		}
		if err := s.SwitchTool(t.Context(), "tool", true, ada); err == nil {
			t.Error("switched")
		}
		if _, err := s.CreateBound(t.Context(), dnsAgent, boundary.Boundary{}, ada); err == nil {
			t.Error("bounded")
		}
		if err := s.Audit().Record(t.Context(), ada); err == nil {
			t.Error("recorded")
		}
		if got, _, err := s.Orgs(t.Context(), store.Page[int64]{}); len(got) != 0 || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		if got := must(s.ToolsOff(t.Context())); len(got) != 0 {
			t.Error(got)
		}
		if got := must(s.AllBounds(t.Context())); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		if got := column(t, raw(t, url), "SELECT revision FROM store_revision"); got[0] != "0" {
			t.Error(got)
		}
	})
}

func TestSinkKeepsEventsAsTheyAre(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		var want []audit.Event
		for i, odd := range []string{"plain", "", "nul \x00 in it", "größe 世界 \U0001F600",
			"line\nend\ttab \x1b[31m", `quote " ' \ \u0000`, "  \u202e",
			strings.Repeat("long ", 5000)} {
			e := audit.Event{
				Time: time.Date(2026, 5, 4, 3, 2, 1, 123456789, time.UTC), Type: audit.ToolCalled,
				RequestID: fmt.Sprint(i),
				Issuer:    odd, Principal: odd, Client: odd, Roles: []string{odd}, Tool: odd, Missing: odd,
				Status: audit.Success, Milliseconds: 1.5,
				Arguments: []audit.Argument{{
					Name: odd, Bytes: 3, Digest: audit.DigestOf([]byte(odd))}},
			}
			if err := s.Audit().Record(t.Context(), e); err != nil {
				t.Errorf("%q: %v", odd, err)
			}
			want = append(want, e)
		}
		// What is no UTF-8 is replaced, as in every JSON, and does not refuse the call.
		if err := s.Audit().Record(t.Context(),
			audit.Event{Principal: "\xff", Tool: "\xff"}); err != nil {
			t.Error(err)
		}
		want = append(want, audit.Event{Principal: "\uFFFD", Tool: "\uFFFD"})
		var got []audit.Event
		for _, r := range trail(t, s) {
			got = append(got, r.Event)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nwant\n%+v", got, want)
		}
	})
}

func TestSinkTakesManyAtOnceAndChangesMeanwhile(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 25 {
					if err := s.Audit().Record(
						context.Background(),
						audit.Event{RequestID: fmt.Sprint(w, "-", i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range 20 {
			must(s.CreateOrg(t.Context(), fmt.Sprint(i), ada))
		}
		wg.Wait()
		seen := map[string]int{}
		for _, r := range trail(t, s) {
			seen[r.RequestID]++
		}
		if len(seen) != 201 || seen["r1"] != 20 {
			t.Errorf("%d, %v", len(seen), seen)
		}
	})
}

func TestRecordsAreNeitherChangedNorDeleted(t *testing.T) {
	statements := map[bool][]string{ // of SQLite or not
		true: {
			"REPLACE INTO audit_events SELECT * FROM audit_events",
			"INSERT OR REPLACE INTO audit_events SELECT * FROM audit_events",
			"UPDATE OR REPLACE audit_events SET id = 2",
			"INSERT INTO audit_events SELECT * FROM audit_events WHERE TRUE ON CONFLICT (id) DO " +
				"UPDATE SET event = '{}'",
		},
		false: {
			"TRUNCATE audit_events", "TRUNCATE audit_events CASCADE",
			"INSERT INTO audit_events OVERRIDING SYSTEM VALUE SELECT * FROM audit_events ON " +
				"CONFLICT (id) DO UPDATE SET event = '{}'",
			"MERGE INTO audit_events USING (SELECT 1) AS one ON TRUE WHEN MATCHED THEN DELETE",
		},
	}
	both(t, func(t *testing.T, url string) {
		s := open(t, url)
		must(s.CreateOrg(t.Context(), "org", ada))
		db := raw(t, url)
		for _, statement := range append(statements[isSQLite(url)],
			"UPDATE audit_events SET event = '{}'", "DELETE FROM audit_events") {
			if _, err := db.Exec(statement); err == nil ||
				!strings.Contains(err.Error(), "audit events are append only") {
				t.Errorf("%s: %v", statement, err)
			}
		}
		if got := trail(t, s); len(got) != 1 || got[0].Principal != "ada" {
			t.Errorf("%+v", got)
		}
	})
}

// TestEventThatIsKeptWithOthersIsNotHeldByOneWhoLeaves has many record at once while the database
// is busy: a caller that gives up gets an error, and the others' events are kept.
func TestEventThatIsKeptWithOthersIsNotHeldByOneWhoLeaves(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		busy := must(s.Writes().BeginTx(t.Context(), nil))
		if _, err := busy.Exec(`UPDATE store_revision SET revision = revision`); err != nil {
			t.Fatal(err)
		}
		if s.Writes().Stats().MaxOpenConnections > 1 {
			if _, err := busy.Exec(`LOCK TABLE audit_events`); err != nil {
				t.Fatal(err)
			}
		}
		leaving, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		left := make(chan error, 8)
		for i := range 4 {
			all.Go(func() {
				left <- s.Audit().Record(
					leaving, audit.Event{RequestID: fmt.Sprint("left ", i)})
			})
			all.Go(func() {
				if err := s.Audit().Record(context.Background(),
					audit.Event{RequestID: fmt.Sprint("stays ", i)}); err != nil {
					t.Error(err)
				}
			})
		}
		leave()
		for range 4 {
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
		if err := busy.Rollback(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		stay := 0
		for _, r := range trail(t, s) {
			if strings.HasPrefix(r.RequestID, "stays ") {
				stay++
			}
		}
		if stay != 4 {
			t.Errorf("%d events of those who waited", stay)
		}
	})
}

func TestErrorsOfTheSinkAreDistinctFromRefusals(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		err := s.Audit().Record(t.Context(), audit.Event{Milliseconds: math.Inf(1)})
		if err == nil || errors.Is(err, store.ErrInvalid) ||
			!strings.Contains(err.Error(), "audit event") {
			t.Error(err)
		}
	})
}
