package stored_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const issuer = "https://id.example"

func text(err error) string { return fmt.Sprint(err) }

// page is all that there is, of little.
func page() store.Page[int64] { return store.Page[int64]{Limit: 1000} }

// drawn is a principal who may be a member in the store, and claims memberships of its own.
func drawn(r *rapid.T) access.Principal {
	memberships := func(label string, names ...string) (all []access.Membership) {
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(r, label) {
			all = append(all, access.Membership{Name: name, Standing: access.Member})
		}
		return all
	}
	return access.Principal{
		Issuer: issuer, Subject: rapid.SampledFrom([]string{"", "bob", "carol"}).Draw(r, "subject"),
		Orgs: memberships("orgs", "acme", "rival", "acme 2"), Teams: memberships("teams", "lab", "desk", "lab 2"),
	}
}

// TestAnswersOfACacheAreThoseOfTheDatabase makes changes of all kinds on one replica and asks
// another, which keeps what it has resolved, and one that has never resolved anything.
func TestAnswersOfACacheAreThoseOfTheDatabase(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx, replica := t.Context(), open(t, w.url)
		name, tool := rapid.SampledFrom([]string{"kit", "kit", "set"}), rapid.SampledFrom([]string{"a", "b", "c"})
		kinds := map[string]stored.Memberships{"stored": stored.Stored, "claimed": stored.Claimed(issuer)}
		large, small := map[string]*stored.Source{}, map[string]*stored.Source{}
		for kind, memberships := range kinds {
			// which is full all the time
			large[kind], small[kind] = stored.New(replica, memberships),
				stored.NewKeeping(replica, memberships, 2, 4)
		}
		scopes := slices.Sorted(maps.Keys(w.scopes))
		compare := func(t rapid.TB, caller access.Principal, ref catalog.Ref) (note string) {
			for kind, memberships := range kinds {
				want, wantErr := stored.New(w.Store, memberships).Catalog(ctx, caller, ref)
				for size, source := range map[string]*stored.Source{"large": large[kind], "small": small[kind]} {
					got, err := source.Catalog(ctx, caller, ref)
					if !reflect.DeepEqual(got, want) || text(err) != text(wantErr) || errors.Is(err, catalog.ErrUnknown) != errors.Is(wantErr, catalog.ErrUnknown) {
						t.Fatalf("%s %s, %+v asks for %+v: %+v, %v\nwant %+v, %v", size, kind, caller, ref, got, err, want, wantErr)
					}
				}
				note += want.Note
			}
			return note
		}
		w.add("lab", "kit", true)
		w.add("desk", "kit", true)
		both := w.member("dora", "acme", "lab", "desk")
		for range 2 { // the second time from what is kept
			if compare(t, both, catalog.Ref{Name: "kit"}) == "" {
				t.Error("an ambiguous name has no note")
			}
		}
		rapid.Check(t, func(r *rapid.T) {
			scope := func() store.Scope { return w.scopes[rapid.SampledFrom(scopes).Draw(r, "scope")] }
			some := func() store.Catalog {
				all, _, err := w.Catalogs(ctx, store.Anywhere, page())
				if err != nil {
					r.Fatal(err)
				}
				return rapid.SampledFrom(append(all, store.Catalog{ID: 1_000_000, Version: 1})).Draw(r, "catalog")
			}
			// wrong is the end of a change that failed for another reason than that it cannot be made.
			wrong := func(_ any, err error) {
				if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrExists) {
					r.Fatal(err)
				}
			}
			ask := func(r *rapid.T) {
				caller, ref := drawn(r), catalog.Ref{Name: name.Draw(r, "name")}
				if rapid.Bool().Draw(r, "by id") {
					ref.ID = fmt.Sprint(some().ID)
				}
				compare(r, caller, ref)
			}
			create := func(r *rapid.T) { wrong(w.CreateCatalog(ctx, scope(), name.Draw(r, "name"), "", true, ada)) }
			r.Repeat(map[string]func(*rapid.T){
				"ask": ask, "ask again": ask, "ask once more": ask,
				"create": create, "create another": create,
				"switch": func(r *rapid.T) {
					c := some()
					active := !c.Active
					wrong(w.UpdateCatalog(ctx, store.Anywhere, c.ID, c.Version, store.CatalogPatch{Active: &active}, ada))
				},
				"rename": func(r *rapid.T) {
					c, name := some(), name.Draw(r, "name")
					wrong(w.UpdateCatalog(ctx, store.Anywhere, c.ID, c.Version, store.CatalogPatch{Name: &name}, ada))
				},
				"delete": func(r *rapid.T) { wrong(nil, w.DeleteCatalog(ctx, store.Anywhere, some().ID, 0, ada)) },
				"add":    func(r *rapid.T) { wrong(w.AddEntry(ctx, store.Anywhere, some().ID, tool.Draw(r, "tool"), "", ada)) },
				"remove": func(r *rapid.T) {
					wrong(nil, w.RemoveEntry(ctx, store.Anywhere, some().ID, tool.Draw(r, "tool"), ada))
				},
				"join": func(r *rapid.T) {
					if in := scope(); in != store.Global {
						wrong(w.AddMember(ctx, in, issuer, rapid.SampledFrom([]string{"bob", "carol"}).Draw(r, "subject"), access.Member, ada))
					}
				},
				"leave": func(r *rapid.T) {
					all, _, err := w.Members(ctx, store.Anywhere, page())
					if wrong(nil, err); len(all) > 0 {
						wrong(nil, w.RemoveMember(ctx, store.Anywhere, rapid.SampledFrom(all).Draw(r, "member").ID, 0, ada))
					}
				},
				"rename an organization": func(r *rapid.T) {
					org, err := w.Org(ctx, w.acme.ID)
					wrong(nil, err)
					wrong(w.RenameOrg(ctx, org.ID, org.Version, rapid.SampledFrom([]string{"acme", "acme 2"}).Draw(r, "name"), ada))
				},
				"rename a team": func(r *rapid.T) {
					team, err := w.Team(ctx, store.Anywhere, w.lab.ID)
					wrong(nil, err)
					wrong(w.RenameTeam(ctx, store.Anywhere, team.ID, team.Version, rapid.SampledFrom([]string{"lab", "lab 2"}).Draw(r, "name"), ada))
				},
				"replace a team": func(r *rapid.T) {
					wrong(nil, w.DeleteTeam(ctx, store.Anywhere, w.scopes["desk"].Team(), 0, ada))
					team, err := w.CreateTeam(ctx, w.acme.ID, "desk", ada)
					wrong(nil, err)
					w.scopes["desk"] = store.InTeam(team.ID)
				},
			})
		})
	})
}

// TestAChangeIsInTheNextAnswerOfEveryReplica asks while a catalog is being filled: an answer has at
// least the changes that were acknowledged before its request.
func TestAChangeIsInTheNextAnswerOfEveryReplica(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		kit := must(w.CreateCatalog(t.Context(), w.scopes["lab"], "kit", "", true, ada))
		caller := w.member("bob", "acme", "lab")
		other := open(t, w.url)
		var acknowledged atomic.Int64
		var ready, asking sync.WaitGroup
		const n = 60
		for _, s := range []*store.Store{w.Store, other} {
			for _, memberships := range []stored.Memberships{stored.Stored, stored.Claimed(issuer)} {
				r := stored.New(s, memberships)
				for range 2 {
					ready.Add(1)
					asking.Go(func() {
						answered := sync.OnceFunc(ready.Done)
						defer answered()
						for least := int64(0); least < n; {
							least = acknowledged.Load()
							got, err := r.Catalog(context.Background(), caller, catalog.Ref{Name: "kit"})
							if err != nil || int64(len(got.Tools)) < least {
								t.Errorf("%d tools and not %d: %v", len(got.Tools), least, err)
								return
							}
							answered()
						}
					})
				}
			}
		}
		ready.Wait()
		for i := range n {
			must(w.AddEntry(t.Context(), store.Anywhere, kit.ID, fmt.Sprint("tool", i), "", ada))
			acknowledged.Add(1)
		}
		asking.Wait()
	})
}

func TestWhatIsKeptIsReadOnceAndBounded(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for i := range 9 {
			c := w.add("global", fmt.Sprint("kit ", i), true)
			for k := range i {
				must(w.AddEntry(t.Context(), store.Global, c.ID, fmt.Sprint("tool", k), "", ada))
			}
		}
		r := stored.NewKeeping(w.Store, stored.Stored, 3, 8)
		kept := func(callers, answers, tools int) {
			t.Helper()
			if a, b, c := r.Kept(); a != callers || b != answers || c > tools || (c == 0) != (tools == 0) {
				t.Errorf("%d callers, %d answers, %d names", a, b, c)
			}
		}
		ask := func(subject string, ref catalog.Ref) (catalog.Found, error) {
			return r.Catalog(t.Context(), access.Principal{Issuer: issuer, Subject: subject}, ref)
		}
		kept(0, 0, 0)
		first := must(ask("bob", catalog.Ref{Name: "kit 3"}))
		kept(1, 1, 4)
		// The same catalog for somebody else in the same places, of whom only these are read.
		if again := must(ask("carol", catalog.Ref{Name: "kit 3"})); &again.Tools[0] != &first.Tools[0] {
			t.Error("read twice")
		}
		kept(2, 1, 4)
		if _, err := ask("bob", catalog.Ref{Name: "no such kit"}); !errors.Is(err, catalog.ErrUnknown) {
			t.Error(err)
		}
		kept(2, 2, 4)
		for i := range 30 {
			if got := must(ask(fmt.Sprint("bob ", i), catalog.Ref{Name: fmt.Sprint("kit ", i%9)})); len(got.Tools) != 1+i%9 {
				t.Errorf("%+v", got)
			}
			if a, b, c := r.Kept(); a > 3 || b > 3 || c > 8 {
				t.Fatalf("%d callers, %d answers, %d names", a, b, c)
			}
		}
		// What no store can hold is not kept either, however much of it a caller sends.
		long := strings.Repeat("x", 1<<20)
		before := fmt.Sprint(r.Kept())
		for _, a := range []catalog.Ref{{Name: long}, {ID: long}} {
			if _, err := ask(long, a); !errors.Is(err, catalog.ErrUnknown) {
				t.Error(err)
			}
		}
		if after := fmt.Sprint(r.Kept()); after != before {
			t.Errorf("%s, then %s", before, after)
		}
		// Any change drops all of it at the next request.
		if err := w.SwitchTool(t.Context(), "tool", true, ada); err != nil {
			t.Fatal(err)
		}
		must(ask("bob", catalog.Ref{Name: "kit 1"}))
		kept(1, 1, 2)
	})
}

// TestErrorIsNotKept asks with a context that ends a little later each time: after the first errors
// comes the answer, as if there had been none.
func TestErrorIsNotKept(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		c := w.add("lab", "kit", true)
		caller := w.member("bob", "acme", "lab")
		for kind, r := range w.resolvers() {
			for _, ref := range []catalog.Ref{{ID: fmt.Sprint(c.ID)}, {Name: "kit"}} {
				// Drops all that is kept.
				if err := w.SwitchTool(t.Context(), "tool", true, ada); err != nil {
					t.Fatal(err)
				}
				failures := 0
				for after := int64(1); ; after++ {
					got, err := r.Catalog(&ending{Context: t.Context(), left: after}, caller, ref)
					if err == nil {
						if got.ID != fmt.Sprint(c.ID) || len(got.Tools) != 1 {
							t.Errorf("%+v", got)
						}
						break
					}
					if failures++; errors.Is(err, catalog.ErrUnknown) {
						t.Errorf("%s: %v", kind, err)
					}
				}
				if failures < 4 {
					t.Errorf("%s: %d failures", kind, failures)
				}
			}
		}
	})
}

// ending is a context that ends after some calls of Err.
type ending struct {
	context.Context
	left int64
}

func (c *ending) Err() error {
	if atomic.AddInt64(&c.left, -1) < 0 {
		return context.Canceled
	}
	return nil
}

func (c *ending) Done() <-chan struct{} {
	if c.Err() != nil {
		done := make(chan struct{})
		close(done)
		return done
	}
	return nil
}

// TestCatalogThatIsGoneIsNotFoundInARestoredDatabase has one that comes to the revision it was at
// by another change.
func TestCatalogThatIsGoneIsNotFoundInARestoredDatabase(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		driver, source := "pgx", w.url
		if file, ok := strings.CutPrefix(w.url, "sqlite:"); ok {
			driver, source = "sqlite", file
		}
		db := must(sql.Open(driver, source))
		defer db.Close()
		c := w.add("global", "kit", true)
		backup := must(w.Revision(t.Context()))
		if err := w.SwitchTool(t.Context(), "tool", true, ada); err != nil {
			t.Fatal(err)
		}
		sources := w.resolvers()
		for kind, r := range sources {
			if _, err := r.Catalog(t.Context(), access.Principal{}, catalog.Ref{Name: "kit"}); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		must(db.Exec(`DELETE FROM tool_switches`))
		must(db.Exec(`UPDATE store_revision SET revision = $1, epoch = $2`, backup.Number, backup.Epoch))
		if err := w.DeleteCatalog(t.Context(), store.Global, c.ID, 0, ada); err != nil {
			t.Fatal(err)
		}
		for kind, r := range sources {
			if got, err := r.Catalog(t.Context(), access.Principal{}, catalog.Ref{Name: "kit"}); !errors.Is(err, catalog.ErrUnknown) {
				t.Errorf("%s: %+v, %v", kind, got, err)
			}
		}
	})
}
