package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// lastObject is what the audit names last.
func lastObject(t *testing.T, s *store.Store) string {
	t.Helper()
	all := trail(t, s)
	return all[len(all)-1].Object
}

func TestAuditHasWhatAnUpdateOfACatalogHasChanged(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		org := must(s.CreateOrg(ctx, "acme", ada))
		in := store.InOrg(org.ID)
		c := must(s.CreateCatalog(ctx, in, "kit", "", true, ada))
		kit := fmt.Sprintf(`catalog %d "kit" of organization %d`, c.ID, org.ID)
		name, text, on, off := "kit 2", "a secret text", true, false
		for _, step := range []struct {
			patch store.CatalogPatch
			want  string
		}{
			{store.CatalogPatch{}, kit},
			{store.CatalogPatch{Active: &on}, kit},
			{store.CatalogPatch{Active: &off}, kit + ", made not active"},
			{store.CatalogPatch{Active: &on, Description: &text}, kit +
				", made active, with a new description"},
			{store.CatalogPatch{Name: &name}, fmt.Sprintf(`catalog %d "kit" → "kit 2" of organization %d`, c.ID, org.ID)},
		} {
			c = must(s.UpdateCatalog(ctx, in, c.ID, c.Version, step.patch, ada))
			if got := lastObject(t, s); got != step.want {
				t.Errorf("%s, want %s", got, step.want)
			}
		}
	})
}

func TestAuditHasHowMuchWentWithWhatWasDeleted(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		acme, other := must(s.CreateOrg(ctx, "acme", ada)), must(s.CreateOrg(ctx, "other", ada))
		lab, net := must(s.CreateTeam(ctx, acme.ID, "lab", ada)), must(s.CreateTeam(ctx, acme.ID, "net", ada))
		elsewhere := must(s.CreateTeam(ctx, other.ID, "lab", ada))
		for i, in := range []store.Scope{store.InOrg(acme.ID), store.InTeam(lab.ID), store.InTeam(lab.ID), store.InTeam(net.ID), store.InTeam(elsewhere.ID), store.InOrg(other.ID)} {
			must(s.AddMember(ctx, in, "", fmt.Sprint("user ", i), access.Member, ada))
			c := must(s.CreateCatalog(ctx, in, fmt.Sprint("kit ", i), "", true, ada))
			must(s.AddEntry(ctx, in, c.ID, "one", "", ada))
			must(s.AddEntry(ctx, in, c.ID, "two", "", ada))
			if i == 3 {
				if err := s.DeleteCatalog(ctx, in, c.ID, 1, ada); err != nil {
					t.Fatal(err)
				}
				if got, want := lastObject(t, s), fmt.Sprintf(`catalog %d "kit 3" of team %d, with 2 entries`, c.ID, net.ID); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		}
		if err := s.DeleteTeam(ctx, store.InOrg(acme.ID), lab.ID, 1, ada); err != nil {
			t.Fatal(err)
		}
		if got, want := lastObject(t, s), fmt.Sprintf(`team %d "lab" of organization %d, with 2 members and 2 catalogs`, lab.ID, acme.ID); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if err := s.DeleteOrg(ctx, acme.ID, 1, ada); err != nil {
			t.Fatal(err)
		}
		if got, want := lastObject(t, s), fmt.Sprintf(`organization %d "acme", with 1 team, 2 members and 1 catalog`, acme.ID); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// TestWhatIsDeletedIsCountedWhileNothingIsAdded adds teams until there is no organisation: each
// that was added went with it and is in the record.
func TestWhatIsDeletedIsCountedWhileNothingIsAdded(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		org := must(s.CreateOrg(t.Context(), "acme", ada))
		var adding sync.WaitGroup
		var added atomic.Int64
		enough := make(chan bool)
		for w := range 4 {
			adding.Go(func() {
				for i := 0; ; i++ {
					_, err := s.CreateTeam(context.Background(), org.ID, fmt.Sprint(w, "-", i), ada)
					if err != nil {
						// PostgreSQL keeps no order among those who wait, and some may have filled it before others
						// had a turn.
						if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrLimit) {
							t.Error(err)
						}
						return
					}
					if added.Add(1) == 12 {
						close(enough)
					}
				}
			})
		}
		<-enough
		if err := s.DeleteOrg(t.Context(), org.ID, 0, ada); err != nil {
			t.Fatal(err)
		}
		adding.Wait()
		if got, want := lastObject(t, s), fmt.Sprintf(`organization %d "acme", with %d teams, 0 members and 0 catalogs`, org.ID, added.Load()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestNameInTheAuditForgesNoOtherObjectAndIsBounded(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, s := t.Context(), open(t, url)
		forged := `a" → "b" of organization 7, with 1 team`
		org := must(s.CreateOrg(ctx, forged, ada))
		if got, want := lastObject(t, s), fmt.Sprintf(`organization %d "a\" → \"b\" of organization 7, with 1 team"`, org.ID); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		subject := strings.Repeat(`"`, store.MaxIdentity)
		m := must(s.AddMember(ctx, store.InOrg(org.ID), subject, subject, access.Owner, ada))
		if got := lastObject(t, s); strings.Count(got, `\"`) != 2*store.MaxIdentity || !strings.HasSuffix(got, `" as owner`) {
			t.Error(got)
		}
		// What came past the store is neither trusted nor kept whole.
		if _, err := raw(t, url).Exec(`UPDATE memberships SET issuer = $1`, "\x1b\n"+strings.Repeat("ö", store.MaxIdentity)); err != nil {
			t.Fatal(err)
		}
		if err := s.RemoveMember(ctx, store.Anywhere, m.ID, 0, ada); err != nil {
			t.Fatal(err)
		}
		if got := lastObject(t, s); len(got) > 4096 || strings.ContainsAny(got, "\x1b\n") || !strings.Contains(got, `of issuer "\x1b\nö`) || !strings.Contains(got, `ö"… as owner`) {
			t.Error(got)
		}
	})
}
