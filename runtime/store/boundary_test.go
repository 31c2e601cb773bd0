package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var dnsAgent = boundary.Party{Issuer: "https://id.example", Client: "dns-agent"}

func TestBoundariesAreCreatedReadUpdatedAndDeleted(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		until := time.Date(2030, 1, 2, 3, 4, 5, 678_901, time.FixedZone("", 3600))
		limits := boundary.Boundary{Roles: []string{"Member"}, Items: []string{"tool:a", "tool:b c=d"},
			ReadOnly: true, Until: until, Where: "not kept"}
		made := must(s.CreateBound(ctx, dnsAgent, limits, ada))
		limits.Until = until.UTC().Truncate(time.Microsecond)
		limits.Where = fmt.Sprint("boundary ", made.ID)
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
		other := must(s.CreateBound(ctx, boundary.Party{Actor: "bot"}, boundary.Boundary{}, ada))
		all, more, err := s.Bounds(ctx, store.Page[int64]{Limit: 1})
		if err != nil || !more || !reflect.DeepEqual(all, []store.Bound{want}) {
			t.Errorf("%+v, %v, %v", all, more, err)
		}
		all, more, err = s.Bounds(ctx, store.Page[int64]{After: want.ID})
		if err != nil || more || !reflect.DeepEqual(all, []store.Bound{other}) {
			t.Errorf("%+v, %v, %v", all, more, err)
		}
		must(0, s.DeleteBound(ctx, made.ID, 2, ada))
		if all := must(s.AllBounds(ctx)); !reflect.DeepEqual(all, []store.Bound{other}) {
			t.Errorf("%+v", all)
		}
	})
}

// TestBoundaryThatIsWrongIsRefused has each fault of a party and of a boundary, with its text.
func TestBoundaryThatIsWrongIsRefused(t *testing.T) {
	long := strings.Repeat("x", store.MaxIdentity+1)
	many := func(n, length int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("tool:%0*d", length, i))
		}
		return list
	}
	none := boundary.Boundary{}
	items := func(list ...string) boundary.Boundary { return boundary.Boundary{Items: list} }
	roles := func(list ...string) boundary.Boundary { return boundary.Boundary{Roles: list} }
	opened(t, func(t *testing.T, s *store.Store) {
		kept := must(s.CreateBound(t.Context(), boundary.Party{Client: "kept"}, none, ada))
		before := must(s.Revision(t.Context()))
		for want, wrong := range map[string]struct {
			party    boundary.Party
			boundary boundary.Boundary
		}{
			"the boundary has none or both of client and actor: write one of them": {boundary.Party{
				Issuer: "i"}, none},
			"has none or both":             {boundary.Party{Client: "a", Actor: "b"}, none},
			"has a subject without one":    {boundary.Party{Client: "*", Subject: "ada"}, none},
			"subject without one client":   {boundary.Party{Actor: "a", Subject: "ada"}, none},
			"the issuer has 513 bytes":     {boundary.Party{Issuer: long, Client: "a"}, none},
			"the client has 513 bytes":     {boundary.Party{Client: long}, none},
			"the subject has 513 bytes":    {boundary.Party{Client: "a", Subject: long}, none},
			"the actor has 513 bytes":      {boundary.Party{Actor: long}, none},
			"the client is not all":        {boundary.Party{Client: "a\x00"}, none},
			"role 1 is no role":            {dnsAgent, roles("")},
			"role 2 is no role":            {dnsAgent, roles("a", "*")},
			"role 2 is in its list twice":  {dnsAgent, roles("a", "a")},
			"role 1 is not all printable":  {dnsAgent, roles("a\u202eb")},
			"has 65 roles, more than 64":   {dnsAgent, roles(many(65, 1)...)},
			"item 1 is wrong: the item":    {dnsAgent, items("tol:a")},
			`item 2 is wrong: the item "*`: {dnsAgent, items("tool:a", "*")},
			"item 2 is in its list twice":  {dnsAgent, items("tool:a", "tool:a")},
			"item 1 is not all printable":  {dnsAgent, items("tool:a\n")},
			"item 1 has 1029 bytes":        {dnsAgent, items(many(1, 1024)...)},
			"has 1001 items":               {dnsAgent, items(many(1001, 1)...)},
			"bytes, more than 65536: list": {dnsAgent, items(many(100, 700)...)},
			"until is not a time of RFC": {dnsAgent, boundary.Boundary{
				Until: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		} {
			_, err := s.CreateBound(t.Context(), wrong.party, wrong.boundary, ada)
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "store: create boundary: ") {
				t.Errorf("%v, want %s", err, want)
			}
			if wrong.party != dnsAgent {
				continue
			}
			_, err = s.UpdateBound(t.Context(), kept.ID, 1, wrong.boundary, ada)
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), want) ||
				!strings.HasPrefix(err.Error(), "store: update boundary: ") {
				t.Errorf("%v, want %s", err, want)
			}
		}
		if after := must(s.Revision(t.Context())); after != before {
			t.Errorf("%d changes", after.Number-before.Number)
		}
	})
}

// FuzzBoundaries compares what the store keeps with what it was given, and the rules with those of
// a file in other words.
func FuzzBoundaries(f *testing.F) {
	for i, text := range odd {
		f.Add(text, odd[len(odd)-1-i], "tool:"+text, text)
	}
	f.Add("i", "*", "*", "*")
	f.Add("", "a", "tool:a b=c", "Member")
	url := engines["sqlite"](f)
	s := hasty(f, open(f, url), url)
	name := func(text string) bool {
		return text == "" || len(text) <= 512 && fits("x"+text[:min(len(text), 200)]+"x") &&
			fits("x"+text[max(0, len(text)-200):]+"x") && !strings.ContainsRune(text, 0xfffd)
	}
	f.Fuzz(func(t *testing.T, issuer, client, item, role string) {
		if len(issuer) > 200 || len(client) > 200 || len(item) > 200 || len(role) > 200 {
			return // [TestBoundaryThatIsWrongIsRefused] has the lengths
		}
		limits := boundary.Boundary{Items: []string{item}, Roles: []string{role}}
		_, wrong := boundaryitem.Parse(item)
		want := client != "" && role != "" && (wrong == nil || item == "*")
		for _, text := range []string{issuer, client, item, role} {
			want = want && name(text)
		}
		b, err := s.CreateBound(t.Context(), boundary.Party{Issuer: issuer, Client: client}, limits, ada)
		if (err == nil) != want || err != nil && !errors.Is(err, store.ErrInvalid) {
			t.Fatalf("%q %q %q %q: %v", issuer, client, item, role, err)
		}
		if err != nil {
			return
		}
		got := must(s.Bound(t.Context(), b.ID))
		limits.Where = fmt.Sprint("boundary ", b.ID)
		if !reflect.DeepEqual(got, b) || !reflect.DeepEqual(got.Boundary, limits) ||
			got.Party != (boundary.Party{Issuer: issuer, Client: client}) {
			t.Errorf("%+v, want %+v", got, limits)
		}
		must(0, s.DeleteBound(t.Context(), b.ID, 0, ada))
	})
}

// TestBoundaryThatThisVersionCannotReadAllowsNothing has rows of a later version, which narrows a
// boundary by a key that this one does not know, and rows that no version writes.
func TestBoundaryThatThisVersionCannotReadAllowsNothing(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		s, db := open(t, url), raw(t, url)
		b := must(s.CreateBound(t.Context(), dnsAgent, boundary.Boundary{Items: []string{"*"}}, ada))
		other := must(s.CreateBound(t.Context(), boundary.Party{Client: "other"},
			boundary.Boundary{Items: []string{"*"}}, ada))
		for _, text := range []string{`{"items":["*"],"hours":"9-17"}`, `{"items":"*"}`,
			`{"items":["*"]} {}`, `{"items":["*"]}}`, `{"items":["*"}`, `{"until":"soon"}`} {
			must(db.Exec(`UPDATE boundaries SET boundary = $1 WHERE id = $2`, text, b.ID))
			want := boundary.Boundary{
				Where: fmt.Sprintf("boundary %d, which this version cannot read", b.ID)}
			all := must(s.AllBounds(t.Context()))
			if len(all) != 2 || !reflect.DeepEqual(all[0].Boundary, want) ||
				!reflect.DeepEqual(all[1], other) {
				t.Errorf("%s: %+v", text, all)
			}
			if got := must(s.Bound(t.Context(), b.ID)); !reflect.DeepEqual(got.Boundary, want) {
				t.Errorf("%s: %+v", text, got)
			}
		}
	})
}

func TestAuditHasTheDifferencesOfABoundary(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		var many []string
		for i := range 60 {
			many = append(many, fmt.Sprintf("tool:t%02d", i))
		}
		until := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		party := boundary.Party{Issuer: "i", Client: `a", blocked`, Subject: "ada"}
		b := must(s.CreateBound(ctx, party, boundary.Boundary{}, ada))
		for i, limits := range []boundary.Boundary{
			{Roles: []string{"A", "B"}, Items: []string{"tool:a", "tool:b"}, ReadOnly: true},
			{Roles: []string{"A", "C"}, Items: []string{"*"}, Blocked: true, Until: until},
			{Items: many, Until: until.Add(time.Second)},
			{Items: slices.Insert(slices.Clone(many), 3, "prompt:p")},
		} {
			b = must(s.UpdateBound(ctx, b.ID, int64(i+1), limits, ada))
		}
		must(0, s.DeleteBound(ctx, b.ID, 0, ada))
		of := fmt.Sprintf(`boundary %d of client "a\", blocked" of issuer "i" for subject "ada"`, b.ID)
		named := `"` + strings.Join(many[:50], `", "`) + `" and 10 more`
		var want []string
		for _, text := range []string{"",
			`, with the roles "A", "B", with the items "tool:a", "tool:b", readonly`,
			`, with the role "C", without the role "B", with the item "*", ` +
				`without the items "tool:a", "tool:b", no longer readonly, blocked, ` +
				`until 2030-01-02T03:04:05Z`,
			`, without the roles "A", "C", with the items ` + named + `, without the item "*", ` +
				`no longer blocked, until 2030-01-02T03:04:06Z`,
			`, with the item "prompt:p", without an end`,
			`, with the items ` + strings.Replace(named, `"tool:t03"`, `"prompt:p", "tool:t03"`, 1),
		} {
			want = append(want, of+text)
		}
		want[5] = strings.Replace(want[5], `, "tool:t49" and 10 more`, ` and 11 more`, 1)
		for i, r := range trail(t, s) {
			if r.Object != want[i] {
				t.Errorf("%s\nwant\n%s", r.Object, want[i])
			}
		}
		must(s.CreateBound(ctx, boundary.Party{Actor: "bot"}, boundary.Boundary{}, ada))
		if all := trail(t, s); !strings.HasSuffix(all[len(all)-1].Object,
			` of actor "bot" of issuer ""`) {
			t.Errorf("%+v", all)
		}
	})
}

func TestSeenClientsAreKeptOnce(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		at := func(second int) time.Time { return time.Unix(int64(1_000_000+second), 0).UTC() }
		saw := func(clients ...store.SeenClient) { must(0, s.SawClients(ctx, clients)) }
		saw()
		saw(store.SeenClient{Client: "a", First: at(1), Last: at(2)},
			store.SeenClient{Issuer: "i", Client: "a", First: at(3), Last: at(3)},
			store.SeenClient{Client: "a", First: at(0), Last: at(1)},
			store.SeenClient{Issuer: "i", Client: "b\x00", First: at(3), Last: at(3)},
			store.SeenClient{Issuer: "i", Client: "*", First: at(3), Last: at(3)},
			store.SeenClient{Issuer: "i", First: at(3), Last: at(3)})
		saw(store.SeenClient{Client: "a", First: at(7), Last: at(9)})
		saw(store.SeenClient{Client: "b", First: at(5), Last: at(8)},
			store.SeenClient{Client: "b", First: at(6), Last: at(7)})
		saw(store.SeenClient{Client: "a", First: at(4), Last: at(5)}) // another replica is late
		var got []string
		walk(t, func(after int64) ([]store.SeenClient, bool, error) {
			some, more, err := s.SeenClients(ctx, store.Page[int64]{After: after, Limit: 1})
			for _, c := range some {
				got = append(got, fmt.Sprint(c.Issuer, "/", c.Client, " ", c.First.Unix()-1_000_000, " ",
					c.Last.Unix()-1_000_000))
			}
			return some, more, err
		}, func(c store.SeenClient) int64 { return c.ID })
		if text := strings.Join(got, ", "); text != "/b 5 8, i/a 3 3, /a 0 9" {
			t.Error(text)
		}
		if now := must(s.Revision(ctx)).Number; now != 0 || len(trail(t, s)) != 0 {
			t.Errorf("%d changes", now)
		}
	})
}

// TestClientsThatWereSeenTheLongestAgoAreDeleted has more of them than a statement takes.
func TestClientsThatWereSeenTheLongestAgoAreDeleted(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		s.Limit(3)
		old := time.Unix(1_000_000, 0)
		kept := store.SeenClient{Client: "kept", First: old, Last: old.Add(time.Hour)}
		must(0, s.SawClients(ctx, []store.SeenClient{kept}))
		var many []store.SeenClient
		for i := range 2100 {
			at := old.Add(time.Duration(i) * time.Second)
			many = append(many, store.SeenClient{Client: fmt.Sprintf("%04d", i), First: at, Last: at})
		}
		must(0, s.SawClients(ctx, many))
		var got []string
		found, more, err := s.SeenClients(ctx, store.Page[int64]{})
		for _, c := range found {
			got = append(got, c.Client)
		}
		if text := strings.Join(got, " "); err != nil || more || text != "2099 2098 kept" {
			t.Errorf("%s, %v, %v", text, more, err)
		}
	})
}

// TestReplicasThatSeeTheSameClientsDoNotWaitInARing writes the same clients from several stores,
// which also delete some.
func TestReplicasThatSeeTheSameClientsDoNotWaitInARing(t *testing.T) {
	url := engines["postgresql"](t)
	var writing sync.WaitGroup
	for replica := range 4 {
		s := open(t, url)
		s.Limit(40)
		writing.Go(func() {
			for round := range 20 {
				var clients []store.SeenClient
				for i := range 60 {
					at := time.Unix(int64(1000*round+i*(replica+1)), 0)
					clients = append(clients, store.SeenClient{Client: fmt.Sprint((i*7 + replica*13) % 60),
						First: at, Last: at})
				}
				if err := s.SawClients(t.Context(), clients); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	found, _, err := open(t, url).SeenClients(t.Context(), store.Page[int64]{})
	if err != nil || len(found) > 60 {
		t.Errorf("%d, %v", len(found), err)
	}
}
