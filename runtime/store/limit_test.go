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
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// filling is what is put into each place, as the nth.
func filling(s *store.Store, org, team, catalog int64) map[string]func(n int) error {
	ctx := context.Background()
	return map[string]func(n int) error{
		fmt.Sprintf("organization %d has %%d teams", org): func(n int) error {
			_, err := s.CreateTeam(ctx, org, fmt.Sprint("team ", n), ada)
			return err
		},
		fmt.Sprintf("organization %d has %%d members", org): func(n int) error {
			_, err := s.AddMember(ctx, store.InOrg(org), "", fmt.Sprint("bob ", n), access.Member, ada)
			return err
		},
		fmt.Sprintf("team %d has %%d members", team): func(n int) error {
			_, err := s.AddMember(ctx, store.InTeam(team), "", fmt.Sprint("bob ", n), access.Member, ada)
			return err
		},
		fmt.Sprintf("organization %d has %%d catalogs", org): func(n int) error {
			_, err := s.CreateCatalog(ctx, store.InOrg(org), fmt.Sprint("kit ", n), "", true, ada)
			return err
		},
		fmt.Sprintf("team %d has %%d catalogs", team): func(n int) error {
			_, err := s.CreateCatalog(ctx, store.InTeam(team), fmt.Sprint("kit ", n), "", n%2 == 0, ada)
			return err
		},
		"global has %d catalogs": func(n int) error {
			_, err := s.CreateCatalog(ctx, store.Global, fmt.Sprint("kit ", n), "", true, ada)
			return err
		},
		"global has %d boundaries": func(n int) error {
			_, err := s.CreateBound(ctx, boundary.Party{Client: fmt.Sprint("bot ", n)},
				boundary.Boundary{}, ada)
			return err
		},
		fmt.Sprintf("catalog %d has %%d entries", catalog): func(n int) error {
			_, err := s.AddEntry(ctx, store.Anywhere, catalog, fmt.Sprint("tool", n), "", ada)
			return err
		},
	}
}

func global(place string) bool { return strings.HasPrefix(place, "global") }

// TestNobodyFillsAPlaceWithoutEnd has a place beside each, which is full and takes no room in it.
func TestNobodyFillsAPlaceWithoutEnd(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		org, beside := must(s.CreateOrg(ctx, "acme", ada)), must(s.CreateOrg(ctx, "rival", ada))
		in, other := must(s.CreateTeam(ctx, org.ID, "lab", ada)), must(s.CreateTeam(ctx, beside.ID, "lab", ada))
		kit, set := must(s.CreateCatalog(ctx, store.Global, "kit", "", true, ada)), must(s.CreateCatalog(ctx, store.InTeam(other.ID), "set", "", true, ada))
		must(s.CreateBound(ctx, dnsAgent, boundary.Boundary{}, ada))
		const most = 3
		s.Limit(most)
		has := func(place string) int { // already
			switch {
			case strings.HasSuffix(place, "teams"), place == fmt.Sprintf("team %d has %%d catalogs",
				other.ID), global(place):
				return 1
			}
			return 0
		}
		for _, places := range []map[string]func(n int) error{filling(s, beside.ID, other.ID, set.ID), filling(s, org.ID, in.ID, kit.ID)} {
			for place, put := range places {
				room := most
				if global(place) {
					room++
				}
				for n := range room - has(place) {
					if err := put(n); err != nil && !global(place) {
						t.Errorf("the %dth: %v", n, err)
					}
				}
				before := must(s.Revision(ctx))
				want := fmt.Sprintf(place+", which is the most: remove one first", room)
				if err := put(most + 7); !errors.Is(err, store.ErrLimit) || !strings.HasSuffix(err.Error(), want) {
					t.Errorf("%v, want %s", err, want)
				}
				if err := put(0); !errors.Is(err, store.ErrExists) { // also in a full place
					t.Error(err)
				}
				if after := must(s.Revision(ctx)); after != before {
					t.Errorf("%s: %d changes", place, after.Number-before.Number)
				}
			}
		}
		if err := s.RemoveEntry(ctx, store.Global, kit.ID, "tool0", ada); err != nil {
			t.Fatal(err)
		}
		must(s.AddEntry(ctx, store.Global, kit.ID, "another", "", ada))
	})
}

// TestManyWhoFillAPlaceAtOnceFillNoMore has more of them than there is room for, on two replicas
// where there are any.
func TestManyWhoFillAPlaceAtOnceFillNoMore(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		replicas := []*store.Store{open(t, url)}
		if !isSQLite(url) {
			replicas = append(replicas, open(t, url))
		}
		s, ctx := replicas[0], t.Context()
		org := must(s.CreateOrg(ctx, "acme", ada))
		in := must(s.CreateTeam(ctx, org.ID, "lab", ada))
		kit := must(s.CreateCatalog(ctx, store.InTeam(in.ID), "kit", "", true, ada))
		const most = 4
		for _, s := range replicas {
			s.Limit(most)
		}
		for place := range filling(s, org.ID, in.ID, kit.ID) {
			if global(place) {
				continue
			}
			var putting sync.WaitGroup
			var stand atomic.Int64
			for n := range 3 * most {
				putting.Go(func() {
					err := filling(replicas[n%len(replicas)], org.ID, in.ID, kit.ID)[place](n)
					if err == nil {
						stand.Add(1)
					} else if !errors.Is(err, store.ErrLimit) {
						t.Errorf("%s: %v", place, err)
					}
				})
			}
			putting.Wait()
			had := int64(0)
			if strings.HasSuffix(place, "teams") || place == fmt.Sprintf("team %d has %%d catalogs", in.ID) {
				had = 1
			}
			if got := stand.Load() + had; got != most {
				t.Errorf("%s: %d", place, got)
			}
		}
	})
}
