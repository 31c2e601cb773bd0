package store_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var dnsAgent = boundary.Party{Issuer: "https://id.example", Client: "dns-agent"}

func TestBoundariesAreCreatedReadUpdatedAndDeleted(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		until := time.Date(2030, 1, 2, 3, 4, 5, 678_000, time.FixedZone("", 3600))
		limits := boundary.Boundary{Roles: []string{"Member"}, Items: []string{"tool:a", "tool:b c=d"},
			ReadOnly: true, Until: until, Where: "not kept"}
		made := must(s.CreateBound(ctx, dnsAgent, limits, ada))
		limits.Until, limits.Where = until.UTC(), fmt.Sprint("boundary ", made.ID)
		want := store.Bound{ID: made.ID, Version: 1, Party: dnsAgent, Boundary: limits,
			Created: made.Created, Updated: made.Created}
		if !reflect.DeepEqual(made, want) {
			t.Errorf("%+v, want %+v", made, want)
		}
		if got := must(s.Bound(ctx, made.ID)); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		changed := must(s.UpdateBound(ctx, made.ID, 1,
			boundary.Boundary{Items: []string{"*"}, Blocked: true}, ada))
		want.Version, want.Updated = 2, changed.Updated
		want.Boundary = boundary.Boundary{Items: []string{"*"}, Blocked: true, Where: limits.Where}
		if !reflect.DeepEqual(changed, want) || changed.Updated.Before(made.Created) {
			t.Errorf("%+v, want %+v", changed, want)
		}
		all, more, err := s.Bounds(ctx, store.Page[int64]{})
		if err != nil || more || !reflect.DeepEqual(all, []store.Bound{want}) {
			t.Errorf("%+v, %v, %v", all, more, err)
		}
		must(0, s.DeleteBound(ctx, made.ID, 2, ada))
		if all := must(s.AllBounds(ctx)); len(all) != 0 {
			t.Errorf("%+v", all)
		}
	})
}
