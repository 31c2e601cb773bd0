package stored_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var engines = testdb.Migrated(store.Open)

var ada = audit.Event{Principal: "ada"}

// stores runs a test with an empty store of each engine.
func stores(t *testing.T, try func(t *testing.T, url string, s *store.Store)) {
	t.Helper()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			url := engine(t)
			try(t, url, open(t, url))
		})
	}
}

// TestRevocationCountsForTheNextQuestionOnEveryReplica asks one replica all the time, and the
// moment that the other has granted or revoked, once more: that answer is of after it.
func TestRevocationCountsForTheNextQuestionOnEveryReplica(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		k, other := stored.New(s, stored.Options{}), stored.New(open(t, url), stored.Options{})
		var asking sync.WaitGroup
		ended := make(chan bool)
		defer asking.Wait()
		defer close(ended)
		for range 3 {
			asking.Go(func() {
				for {
					select {
					case <-ended:
						return
					default:
						if _, _, err := other.Grants(context.Background(), "i", "x"); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		for range 40 {
			give(t, k, "x", "file.read a/**")
			want(t, has(t, other, "i", "x"), "file.read a/**")
			must(k.Revoke(t.Context(), grant.Revocation{
				Issuer: "i", Client: "x", Type: "file.read", Resource: "a/**"}))
			want(t, has(t, other, "i", "x"))
		}
	})
}

// raw opens a store's database past it.
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

// TestRevokedGrantDoesNotCountInARestoredDatabase has one that comes to the revision it was at by
// another change.
func TestRevokedGrantDoesNotCountInARestoredDatabase(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		k, db := stored.New(s, stored.Options{}), raw(t, url)
		give(t, k, "x", "file.read a/**")
		backup := must(s.Revision(t.Context()))
		give(t, k, "other", "file.read a/**")
		before := must(s.Revision(t.Context()))
		want(t, has(t, k, "i", "x"), "file.read a/**")
		must(db.Exec(`DELETE FROM grants WHERE client = 'other'`))
		must(db.Exec(`UPDATE store_revision SET revision = $1, epoch = $2`, backup.Number,
			backup.Epoch))
		must(k.Revoke(t.Context(), grant.Revocation{Issuer: "i", Client: "x", Type: "file.read"}))
		if after := must(s.Revision(t.Context())); after.Number != before.Number {
			t.Fatalf("%+v after %+v", after, before)
		}
		want(t, has(t, k, "i", "x"))
	})
}

func TestRevisionOfAClientIsItsOwn(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		k := stored.New(s, stored.Options{})
		at := func(client string) uint64 {
			t.Helper()
			_, revision, err := k.Grants(t.Context(), "i", client)
			if err != nil {
				t.Fatal(err)
			}
			return revision
		}
		give(t, k, "x", "file.read a/**")
		x, y := at("x"), at("y")
		give(t, k, "y", "db.read t k=v")
		ask(t, k, "x", "file.read b/**")
		if err := s.SwitchTool(t.Context(), "tool", true, ada); err != nil {
			t.Fatal(err)
		}
		if at("x") != x {
			t.Error("what others have is another set of this one's")
		}
		if at("y") == y {
			t.Error("a grant is no other set")
		}
		y = at("y")
		give(t, k, "x", "file.read a/**") // anew, at another time
		if at("x") == x || at("y") != y {
			t.Error("a renewal is no other set of its client, or another of the other's")
		}
	})
}

func TestWhatIsKeptIsBoundedAndRight(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		k := stored.NewKeeping(s, 4, 6)
		for client := range 8 {
			for i := range client {
				give(t, k, fmt.Sprint("x", client), fmt.Sprint("db.read t", i))
			}
		}
		seen := map[uint64]string{}
		for round := range 3 {
			for client := range 8 {
				name := fmt.Sprint("x", client)
				got, revision, err := k.Grants(t.Context(), "i", name)
				if err != nil || len(got) != client {
					t.Fatalf("%s has %v, %v", name, got, err)
				}
				if before, found := seen[revision]; found && before != name {
					t.Errorf("revision %d is of %s and of %s", revision, before, name)
				}
				seen[revision] = name
				if clients, grants := k.Kept(); clients > 4 || grants > 6 {
					t.Errorf("%d clients, %d grants", clients, grants)
				}
			}
			if err := s.SwitchTool(t.Context(), "tool", round%2 == 0, ada); err != nil {
				t.Fatal(err)
			}
		}
		if got, revision, err := k.Grants(t.Context(), "i",
			strings.Repeat("x", grant.MaxIdentity+1)); len(got) != 0 || revision != 0 ||
			err != nil {
			t.Error(got, revision, err)
		}
	})
}

func TestOpenRequestsAreAsManyAsTheKeeperAllows(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		k := stored.New(s, stored.Options{OpenRequests: 2})
		ask(t, k, "x", "db.read a")
		ask(t, k, "x", "db.read b")
		if _, err := k.Ask(t.Context(), grant.Request{
			Permission: permission("db.read c"), Issuer: "i", Client: "x"}); !errors.Is(
			err, grant.ErrTooMany) {
			t.Error(err)
		}
	})
}

func TestFollowersHearOfGrantsAndOfNothingElse(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		k := stored.New(s, stored.Options{})
		changes := k.Changes(ctx)
		heard := func(what string) {
			t.Helper()
			select {
			case c, ok := <-changes:
				if !ok || c != (grant.Change{}) {
					t.Fatalf("%s: %+v, %v", what, c, ok)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: no notification", what)
			}
		}
		heard("the start")
		if err := s.SwitchTool(ctx, "tool", true, ada); err != nil {
			t.Fatal(err)
		}
		r := ask(t, k, "x", "file.read a/**")
		must(k.Deny(ctx, r.ID, grant.Verdict{}))
		r = ask(t, k, "x", "file.read a/**")
		if _, _, err := k.Approve(ctx, r.ID, grant.Verdict{}); err != nil {
			t.Fatal(err)
		}
		heard("an approval")
		give(t, k, "x", "file.read b/**")
		heard("a grant")
		must(k.Revoke(ctx, grant.Revocation{Issuer: "i", Client: "x", Type: "file.read"}))
		heard("a revocation")
		select {
		case c := <-changes:
			t.Errorf("%+v of nothing", c)
		default:
		}
		give(t, k, "x", "file.read c/**") // is offered, and nobody takes it
		cancel()
		for range changes {
		}
	})
}

func TestChangeIsRecordedByWhoeverActs(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		k := stored.New(s, stored.Options{})
		act := func(ctx context.Context) {
			t.Helper()
			p := permission("file.read a/**")
			r, err := k.Ask(ctx, grant.Request{
				Permission: p, Issuer: "i", Client: "x", Principal: "bob", Tool: "read"})
			if err == nil {
				_, _, err = k.Approve(ctx, r.ID, grant.Verdict{By: "ada"})
			}
			if err == nil {
				r, err = k.Ask(ctx, grant.Request{
					Permission: p, Issuer: "i", Client: "x", Principal: "bob", Tool: "read"})
			}
			if err == nil {
				_, err = k.Deny(ctx, r.ID, grant.Verdict{By: "eve"})
			}
			if err == nil {
				_, err = k.Revoke(ctx, grant.Revocation{
					Issuer: "i", Client: "x", Type: "file.read", By: "ada"})
			}
			if err == nil {
				_, err = k.Grant(ctx, grant.Grant{Permission: p, Client: "x", By: "ada"})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		act(t.Context())
		act(audit.Acting(t.Context(), audit.Event{
			Issuer: "https://id.example", Principal: "carol", RequestID: "r7", Roles: []string{"Admin"}}))
		events, _, err := s.Events(t.Context(), store.Page[int64]{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			got = append(got, strings.Join([]string{
				e.Action, e.Issuer, e.Principal, e.Client, e.Tool, e.RequestID,
				strings.Join(e.Roles, " ")}, ","))
		}
		want := []string{
			"request permission,i,bob,x,read,,", "approve request,,ada,,,,",
			"request permission,i,bob,x,read,,", "deny request,,eve,,,,",
			"revoke permission,,ada,,,,", "grant permission,,ada,,,,",
		}
		for _, action := range []string{"request permission", "approve request",
			"request permission", "deny request", "revoke permission", "grant permission"} {
			want = append(want, action+",https://id.example,carol,,,r7,Admin")
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestStoreThatDoesNotAnswerDenies(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		own := must(store.Open(t.Context(), url))
		k := stored.New(own, stored.Options{})
		give(t, k, "x", "file.read a/**")
		if _, _, err := k.Grants(t.Context(), "i", "x"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got, _, err := k.Grants(ctx, "i", "x"); !errors.Is(err, context.Canceled) ||
			len(got) > 0 {
			t.Errorf("%v, %v", got, err)
		}
		if err := own.Close(); err != nil {
			t.Fatal(err)
		}
		if got, _, err := k.Grants(t.Context(), "i", "x"); err == nil || len(got) > 0 {
			t.Errorf("%v, %v: what is kept is no answer", got, err)
		}
	})
}

// TestManyAskWhileGrantsChange has readers who must never see a set under a revision that had
// another.
func TestManyAskWhileGrantsChange(t *testing.T) {
	stores(t, func(t *testing.T, url string, s *store.Store) {
		k := stored.NewKeeping(s, 3, 20)
		var asking sync.WaitGroup
		var stop atomic.Bool
		for range 4 {
			asking.Go(func() {
				sets := map[uint64]string{}
				for i := 0; !stop.Load(); i++ {
					grants, revision, err := k.Grants(
						context.Background(), "i", fmt.Sprint("x", i%4))
					if err != nil {
						t.Error(err)
						return
					}
					text := fmt.Sprint(i%4, grants)
					if before, found := sets[revision]; found && before != text {
						t.Errorf("revision %d is of %s and of %s", revision, before, text)
						return
					}
					sets[revision] = text
				}
			})
		}
		for i := range 60 {
			client := fmt.Sprint("x", i%4)
			give(t, k, client, fmt.Sprint("db.read t", i%3))
			if i%5 == 0 {
				must(k.Revoke(t.Context(), grant.Revocation{
					Issuer: "i", Client: client, Type: "db.read"}))
			}
		}
		stop.Store(true)
		asking.Wait()
	})
}

// BenchmarkGrants asks for the grants of one of a hundred clients, of which each has ten. Warm is
// at the same revision of the store all the time; moved is after another change of it each time,
// which is not measured.
func BenchmarkGrants(b *testing.B) {
	for name, engine := range engines {
		b.Run(name, func(b *testing.B) {
			s := open(b, engine(b))
			k := stored.New(s, stored.Options{})
			for client := range 100 {
				for i := range 10 {
					g := grant.Grant{Permission: permission(
						fmt.Sprint("file.read root/folder", i, "/**")),
						Issuer: "https://id.example", Client: fmt.Sprint("client ", client)}
					must(k.Grant(b.Context(), g))
				}
			}
			for _, state := range []string{"warm", "moved"} {
				b.Run(state, func(b *testing.B) {
					names := make([]string, 100)
					for i := range names {
						names[i] = fmt.Sprint("client ", i)
						must2(k.Grants(b.Context(), "https://id.example", names[i]))
					}
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						if state == "moved" {
							b.StopTimer()
							must(0, s.SwitchTool(b.Context(), "tool", i%2 == 0, ada))
							b.StartTimer()
						}
						if got := must2(k.Grants(
							b.Context(), "https://id.example", names[i%100])); len(got) != 10 {
							b.Fatal(got)
						}
					}
				})
			}
		})
	}
}

func must2[T, U any](v T, _ U, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
