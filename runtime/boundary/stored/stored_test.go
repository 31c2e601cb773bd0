package stored_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/stored"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var (
	engines = testdb.Migrated(store.Open)
	ada     = audit.Event{Principal: "ada"}
	agent   = boundary.Party{Issuer: "i", Client: "agent"}
	one     = boundary.Boundary{Items: []string{"tool:one"}}
	two     = boundary.Boundary{Items: []string{"tool:two"}}
)

// The server calls such a source in the goroutine of the message.
var _ identity.MemoryReader = (*stored.Source)(nil)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func open(t testing.TB, url string) *store.Store {
	t.Helper()
	s := must(store.Open(t.Context(), url))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// items are the items of a party's boundary, or a word.
func items(t *testing.T, s *stored.Source, p boundary.Party) string {
	t.Helper()
	b, found, err := s.Boundary(t.Context(), p)
	switch {
	case err != nil:
		return "error"
	case !found:
		return "none"
	}
	return strings.Join(b.Items, " ")
}

// caughtUp waits until a source has the boundaries of the store's revision.
func caughtUp(t testing.TB, source *stored.Source, s *store.Store) {
	t.Helper()
	for now := must(s.Revision(t.Context())); source.At() != now; {
		runtime.Gosched()
	}
}

// next is the next change, which a test's own deadline bounds.
func next(t testing.TB, changes <-chan boundary.Party) boundary.Party {
	t.Helper()
	select {
	case p, open := <-changes:
		if !open {
			t.Fatal("the changes have ended")
		}
		return p
	case <-time.After(time.Minute):
		t.Fatal("no notification")
	}
	return boundary.Party{}
}

// TestSourceFindsWhatAModelFinds changes boundaries by one replica, and compares the answers of
// another with a list of rules in words.
func TestSourceFindsWhatAModelFinds(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			url := engine(t)
			s := open(t, url)
			other := s // SQLite belongs to one process
			if name == "postgresql" {
				other = open(t, url)
			}
			source := stored.New(other)
			rapid.Check(t, func(r *rapid.T) { play(r, t, s, source) })
		})
	}
}

func play(r *rapid.T, t *testing.T, s *store.Store, source *stored.Source) {
	ctx := t.Context()
	for _, b := range must(s.AllBounds(ctx)) {
		must(0, s.DeleteBound(ctx, b.ID, 0, ada))
	}
	model := map[boundary.Party]store.Bound{}
	names := []string{"", "a", "b", "*"}
	party := rapid.Custom(func(r *rapid.T) boundary.Party {
		name := func(field string) string { return rapid.SampledFrom(names).Draw(r, field) }
		return boundary.Party{Issuer: name("issuer"), Client: name("client"),
			Subject: name("subject"), Actor: name("actor")}
	})
	serial := 0
	r.Repeat(map[string]func(*rapid.T){
		"create": func(r *rapid.T) {
			p := party.Draw(r, "party")
			serial++
			b, err := s.CreateBound(ctx, p, boundary.Boundary{
				Items: []string{fmt.Sprint("tool:t", serial)}}, ada)
			_, taken := model[p]
			valid := (p.Client != "") != (p.Actor != "") &&
				(p.Subject == "" || p.Client == "a" || p.Client == "b")
			switch {
			case !valid && !errors.Is(err, store.ErrInvalid), valid && taken && !errors.Is(err,
				store.ErrExists), valid && !taken && err != nil:
				r.Fatalf("%+v: %v", p, err)
			case err == nil:
				model[p] = b
			}
		},
		"update": func(r *rapid.T) {
			for p, b := range model {
				serial++
				model[p] = must(s.UpdateBound(ctx, b.ID, b.Version, boundary.Boundary{
					Items: []string{fmt.Sprint("tool:t", serial)}, Blocked: serial%2 == 0}, ada))
				return
			}
		},
		"delete": func(r *rapid.T) {
			for p, b := range model {
				must(0, s.DeleteBound(ctx, b.ID, b.Version, ada))
				delete(model, p)
				return
			}
		},
		"": func(r *rapid.T) {
			caughtUp(t, source, s)
			for _, issuer := range names {
				for _, client := range names {
					for _, subject := range names {
						p := boundary.Party{Issuer: issuer, Client: client, Subject: subject}
						want, found := expected(model, p)
						compare(r, t, source, p, want, found)
					}
				}
				for _, actor := range names[1:] {
					p := boundary.Party{Issuer: issuer, Actor: actor}
					b, found := model[p]
					compare(r, t, source, p, b.Boundary, found)
				}
			}
		},
	})
}

// expected is the most specific boundary of a client.
func expected(model map[boundary.Party]store.Bound, p boundary.Party) (boundary.Boundary, bool) {
	best, found := store.Bound{}, false
	for e, b := range model {
		own := e.Client == p.Client && e.Client != "" && e.Client != "*" &&
			(e.Subject == p.Subject || e.Subject == "")
		if e.Issuer != p.Issuer || e.Actor != "" || !own && e.Client != "*" {
			continue
		}
		rank := func(p boundary.Party) string { return fmt.Sprint(p.Client != "*", p.Subject != "") }
		if !found || rank(e) > rank(best.Party) {
			best, found = b, true
		}
	}
	of := model[boundary.Party{Issuer: p.Issuer, Client: p.Client}].Boundary
	best.Boundary.Blocked = best.Boundary.Blocked || p.Client != "*" && of.Blocked
	return best.Boundary, found
}

func compare(r *rapid.T, t *testing.T, source *stored.Source, p boundary.Party,
	want boundary.Boundary, has bool) {
	got, found, err := source.Boundary(t.Context(), p)
	if err != nil || found != has || got.Where != want.Where || got.Blocked != want.Blocked ||
		!slices.Equal(got.Items, want.Items) {
		r.Fatalf("%+v: %+v %v %v, want %+v %v", p, got, found, err, want, has)
	}
}

// TestChangeReachesTheOtherReplica blocks a client by one replica. The other one is notified, and
// then has the new boundary.
func TestChangeReachesTheOtherReplica(t *testing.T) { reach(t, 10) }

// BenchmarkChangeReachesTheOtherReplica measures a change until the other replica has it.
func BenchmarkChangeReachesTheOtherReplica(b *testing.B) { reach(b, b.N) }

func reach(t testing.TB, times int) {
	url := engines["postgresql"](t)
	s := open(t, url)
	source := stored.NewListening(open(t, url))
	changes := source.Changes(t.Context())
	if p := next(t, changes); p != (boundary.Party{}) {
		t.Errorf("%+v comes first", p)
	}
	b := must(s.CreateBound(t.Context(), agent, one, ada))
	caughtUp(t, source, s)
	if b, ok := t.(*testing.B); ok {
		b.ResetTimer()
	}
	blocked := one
	for i := range times {
		blocked.Blocked = i%2 == 0
		b = must(s.UpdateBound(t.Context(), b.ID, b.Version, blocked, ada))
		for p := next(t, changes); p != agent || source.At() != must(s.Revision(t.Context())); {
			p = next(t, changes) // of the creation
		}
		got, _, err := source.Boundary(t.Context(), agent)
		if got.Blocked != blocked.Blocked || err != nil {
			t.Errorf("%d: %+v, %v", i, got, err)
		}
	}
}

// database is a store that a test interrupts.
type database struct {
	*store.Store
	silent, down, hung atomic.Bool
	bounds             atomic.Int32 // reads
	seen               atomic.Pointer[[]store.SeenClient]
}

func (d *database) wait(ctx context.Context) error {
	if d.hung.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if d.down.Load() {
		return errors.New("the database is away")
	}
	return nil
}

func (d *database) Revision(ctx context.Context) (store.Revision, error) {
	if err := d.wait(ctx); err != nil {
		return store.Revision{}, err
	}
	return d.Store.Revision(ctx)
}

func (d *database) AllBounds(ctx context.Context) ([]store.Bound, error) {
	d.bounds.Add(1)
	if err := d.wait(ctx); err != nil {
		return nil, err
	}
	return d.Store.AllBounds(ctx)
}

func (d *database) Changes(ctx context.Context) <-chan storechange.Change {
	changes := d.Store.Changes(ctx)
	if !d.silent.Load() {
		return changes
	}
	out := make(chan storechange.Change)
	go func() {
		defer close(out)
		for range changes {
		}
	}()
	return out
}

func (d *database) SawClients(ctx context.Context, clients []store.SeenClient) error {
	d.seen.Store(&clients)
	if err := d.wait(ctx); err != nil {
		return err
	}
	return d.Store.SawClients(ctx, clients)
}

// begin opens an SQLite store in a bubble. Its end ends the source: a bubble fails if goroutines
// stay.
func begin(t *testing.T) *database {
	return &database{Store: open(t, engines["sqlite"](t))}
}

// TestBoundariesOutliveAnOutageFor30Seconds interrupts the store in each way.
func TestBoundariesOutliveAnOutageFor30Seconds(t *testing.T) {
	for name, outage := range map[string]func(d *database, down bool){
		"down": func(d *database, down bool) { d.down.Store(down) },
		"hung": func(d *database, down bool) { d.hung.Store(down) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := begin(t)
				b := must(d.CreateBound(t.Context(), agent, one, ada))
				source := stored.NewFrom(d)
				changes := source.Changes(t.Context())
				next(t, changes)
				outage(d, true)
				time.Sleep(29 * time.Second)
				synctest.Wait()
				before := time.Now()
				if got := items(t, source, agent); got != "tool:one" || !time.Now().Equal(before) {
					t.Errorf("%s, after %s", got, time.Since(before))
				}
				select {
				case p := <-changes:
					t.Errorf("%+v", p)
				default:
				}
				time.Sleep(time.Second)
				if got := items(t, source, agent); got != "error" {
					t.Error(got)
				}
				if p := next(t, changes); p != (boundary.Party{}) {
					t.Errorf("%+v", p)
				}
				must(d.UpdateBound(t.Context(), b.ID, b.Version, two, ada))
				outage(d, false)
				if p := next(t, changes); p != (boundary.Party{}) {
					t.Errorf("%+v", p)
				}
				if got := items(t, source, agent); got != "tool:two" {
					t.Error(got)
				}
			})
		})
	}
}

// A read of an outage that is over counts from its beginning.
func TestShortOutageExtendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t)
		must(d.CreateBound(t.Context(), agent, one, ada))
		source := stored.NewFrom(d)
		for range 5 {
			d.down.Store(true)
			time.Sleep(29 * time.Second)
			d.down.Store(false)
			time.Sleep(2 * time.Second)
			if got := items(t, source, agent); got != "tool:one" {
				t.Error(got)
			}
		}
	})
}

func TestSourceThatCannotReadAtItsStartDeniesUntilItCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t)
		must(d.CreateBound(t.Context(), agent, one, ada))
		d.down.Store(true)
		source := stored.NewFrom(d)
		_, _, err := source.Boundary(t.Context(), agent)
		if err == nil || !strings.Contains(err.Error(), "the database is away") {
			t.Error(err)
		}
		d.down.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := items(t, source, agent); got != "tool:one" {
			t.Error(got)
		}
	})
}

func TestClosedStoreCountsAsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t)
		must(d.CreateBound(t.Context(), agent, one, ada))
		source := stored.NewFrom(d)
		must(0, d.Close())
		time.Sleep(29 * time.Second)
		if got := items(t, source, agent); got != "tool:one" {
			t.Error(got)
		}
		time.Sleep(time.Second)
		if _, _, err := source.Boundary(t.Context(), agent); !errors.Is(err, store.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestChangeWithoutANotificationIsSeenWithinASecond has a store whose notifications are lost.
func TestChangeWithoutANotificationIsSeenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t)
		d.silent.Store(true)
		source := stored.NewFrom(d)
		changes := source.Changes(t.Context())
		next(t, changes)
		begun := time.Now()
		must(d.CreateBound(t.Context(), agent, one, ada))
		if p := next(t, changes); p != agent || time.Since(begun) > time.Second {
			t.Errorf("%+v after %s", p, time.Since(begun))
		}
		time.Sleep(time.Minute)
		if n := d.bounds.Load(); n != 2 {
			t.Errorf("read %d times: want twice, at the start and after the change", n)
		}
	})
}

func TestFollowersGetTheDifferencesAndSlowOnesTheZeroParty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t)
		source := stored.NewFrom(d)
		ctx, cancel := context.WithCancel(t.Context())
		quick, slow := source.Changes(t.Context()), source.Changes(ctx)
		next(t, quick)
		next(t, slow)
		synctest.Wait() // the store is followed
		all := map[boundary.Party]bool{}
		for i := range stored.Backlog + 2 {
			p := boundary.Party{Issuer: "i", Client: fmt.Sprint(i)}
			must(d.CreateBound(t.Context(), p, one, ada))
			if got := next(t, quick); got != p {
				t.Errorf("%+v, want %+v", got, p)
			}
			all[p] = true
		}
		must(0, d.SwitchTool(t.Context(), "tool", true, ada)) // another kind
		synctest.Wait()
		first := must(d.AllBounds(t.Context()))[0]
		must(0, d.DeleteBound(t.Context(), first.ID, 0, ada))
		if got := next(t, quick); got != first.Party {
			t.Errorf("%+v", got)
		}
		for p := next(t, slow); p != (boundary.Party{}); p = next(t, slow) {
			if !all[p] || p != first.Party { // the one that it was about to send
				t.Errorf("%+v", p)
			}
		}
		cancel()
		for range slow {
		}
	})
}

func TestSeenClientsAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t)
		source := stored.NewFrom(d)
		begun := time.Now()
		for _, p := range []boundary.Party{
			{Issuer: "i", Client: "a", Subject: "ada"}, {Issuer: "i", Client: "a", Subject: "bob"},
			{Issuer: "j", Client: "a"}, {Issuer: "i"}, {Issuer: "i", Actor: "x"},
			{Issuer: "i", Client: "*"}, {Issuer: "i", Client: strings.Repeat("x", 513)},
		} {
			items(t, source, p)
			time.Sleep(time.Second)
		}
		if got := seenClients(t, d); len(got) != 0 {
			t.Errorf("written at once: %+v", got)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		got := seenClients(t, d)
		want := map[boundary.Party]int{{Issuer: "i", Client: "a"}: 1, {Issuer: "j", Client: "a"}: 0}
		for _, c := range got {
			took := c.Last.Sub(c.First)
			if seconds, ok := want[boundary.Party{Issuer: c.Issuer, Client: c.Client}]; !ok ||
				took != time.Duration(seconds)*time.Second || c.First.Before(begun.Truncate(time.Microsecond)) {
				t.Errorf("%+v", c)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%+v", got)
		}
		d.seen.Store(nil)
		time.Sleep(time.Minute)
		if d.seen.Load() != nil {
			t.Error("written without a client")
		}
	})
}

// TestManyClientsHoldUpNoDecision has more clients than a write takes, while the store responds to
// nothing.
func TestManyClientsHoldUpNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := begin(t)
		must(d.CreateBound(t.Context(), boundary.Party{Issuer: "i", Client: "*"}, one, ada))
		source := stored.NewFrom(d)
		d.hung.Store(true)
		begun := time.Now()
		seen := func(from int) {
			for i := range stored.MaxSeen + 500 {
				if got := items(t, source, boundary.Party{Issuer: "i",
					Client: fmt.Sprint(from + i)}); got != "tool:one" {
					t.Fatal(got)
				}
			}
		}
		seen(0)
		if time.Since(begun) != 0 {
			t.Errorf("decisions took %s", time.Since(begun))
		}
		time.Sleep(11 * time.Second)
		if n := len(*d.seen.Load()); n != stored.MaxSeen {
			t.Errorf("%d clients in a write", n)
		}
		d.hung.Store(false)
		time.Sleep(10 * time.Second)
		seen(10_000)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if n := len(seenClients(t, d)); n != stored.MaxSeen {
			t.Errorf("%d clients are kept", n)
		}
	})
}

func seenClients(t *testing.T, d *database) []store.SeenClient {
	t.Helper()
	found, more, err := d.SeenClients(t.Context(), store.Page[int64]{Limit: 1000})
	if err != nil || more {
		t.Fatal(more, err)
	}
	return found
}

func BenchmarkDecision(b *testing.B) {
	s := open(b, engines["sqlite"](b))
	for i := range 100 {
		must(s.CreateBound(b.Context(), boundary.Party{Issuer: "i", Client: fmt.Sprint(i)}, one, ada))
	}
	source := stored.New(s)
	p := boundary.Party{Issuer: "i", Client: "50", Subject: "ada"}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			source.Boundary(context.Background(), p)
		}
	})
}

// The boundary has the tools that an active global catalog has at present. A catalog of an
// organization adds none, and neither does one that does not exist.
func TestBoundaryHasTheToolsOfAGlobalCatalog(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), open(t, engine(t))
			org := must(s.CreateOrg(ctx, "acme", ada))
			of := must(s.CreateCatalog(ctx, store.InOrg(org.ID), "own", "", true, ada))
			must(s.AddEntry(ctx, store.InOrg(org.ID), of.ID, "secret", "", ada))
			kit := must(s.CreateCatalog(ctx, store.Global, "kit", "", true, ada))
			must(s.CreateBound(ctx, agent, boundary.Boundary{Items: []string{"tool:own",
				fmt.Sprint("catalog:", kit.ID), fmt.Sprint("catalog:", of.ID), "catalog:999",
				"catalog:kit"}}, ada))
			source := stored.New(s)
			changes := source.Changes(ctx)
			want := func(step string, want ...string) {
				t.Helper()
				for {
					b, _, err := source.Boundary(ctx, agent)
					if err == nil && slices.Equal(b.Items, want) {
						return
					}
					t.Logf("%s: %q, %v", step, b.Items, err)
					next(t, changes)
				}
			}
			want("without entries", "tool:own", "catalog:kit")
			must(s.AddEntry(ctx, store.Global, kit.ID, "look", "", ada))
			want("with an entry", "tool:own", "tool:look", "catalog:kit")
			for item, has := range map[string]bool{fmt.Sprint("catalog:", kit.ID): true,
				"catalog:kit":                 false,
				fmt.Sprint("catalog:", of.ID): false, "catalog:999": false, fmt.Sprint("tool:",
					kit.ID): false} {
				if source.HasCatalog(item) != has {
					t.Errorf("%s: %t", item, !has)
				}
			}
			must(s.UpdateCatalog(ctx, store.Global, kit.ID, 1, store.CatalogPatch{Active: new(bool)}, ada))
			want("that is not active", "tool:own", "catalog:kit")
			late := must(s.CreateCatalog(ctx, store.Global, "late", "", true, ada))
			if item := fmt.Sprint("catalog:", late.ID); !source.HasCatalog(item) {
				t.Errorf("%s: a new catalog is not found", item)
			}
		})
	}
}

// A client or an actor whose name the store cannot have may use nothing: nobody could block it.
func TestNamesThatNoEntryCanHaveMayUseNothing(t *testing.T) {
	s := open(t, engines["sqlite"](t))
	for _, p := range []boundary.Party{{Issuer: "i", Client: "*"}, {Issuer: "i", Actor: "robot"}} {
		must(s.CreateBound(t.Context(), p, one, ada))
	}
	source := stored.New(s)
	for _, name := range []string{strings.Repeat("a", 513), "agent\u200b", "agent\u202e"} {
		for _, p := range []boundary.Party{{Issuer: "i", Client: name, Subject: "ada"},
			{Issuer: "i", Actor: name}} {
			entry := p
			entry.Subject = ""
			if _, err := s.CreateBound(t.Context(), entry, one, ada); err == nil {
				t.Errorf("the store has an entry of %q", name)
			}
			b, found, err := source.Boundary(t.Context(), p)
			if !found || err != nil || len(b.Items) > 0 {
				t.Errorf("%q: %v, %v, %v", name, b, found, err)
			}
		}
	}
	if b, _, err := source.Boundary(t.Context(), boundary.Party{Issuer: "i",
		Client: strings.Repeat("é", 256)}); err != nil || len(b.Items) != 1 {
		t.Errorf("%v, %v", b, err)
	}
}
