package principal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// fence is a source whose boundaries allow all, until the test blocks a client or lets it fail.
type fence struct {
	mu      sync.Mutex
	blocked string
	fails   error
	follow  []chan boundary.Party
}

func (f *fence) Boundary(_ context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return boundary.Boundary{Roles: []string{"*"}, Items: []string{"*"},
			Blocked: p.Client == f.blocked},
		p.Client != "", f.fails
}

func (f *fence) Changes(context.Context) <-chan boundary.Party {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow = append(f.follow, make(chan boundary.Party, 1))
	return f.follow[len(f.follow)-1]
}

func (f *fence) set(blocked string, fails error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blocked, f.fails = blocked, fails
}

func (f *fence) following() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.follow)
}

// fenced returns the boundaries of a source, which are followed until the test ends, and their log.
func fenced(t *testing.T, f *fence) (Rights, *bytes.Buffer) {
	t.Helper()
	log, pool := &bytes.Buffer{}, worker.NewPool()
	b, err := NewBoundaries(BoundariesConfig{Source: f, Pool: pool,
		Log:   slog.New(slog.NewTextHandler(log, nil)),
		Table: access.NewTable(access.Rule{Tool: "a", Public: true})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		pool.Close()
	})
	go b.Follow(ctx, func(func(access.Principal) bool) {})
	synctest.Wait()
	return Rights{Boundaries: b}, log
}

func messageOf(client string) *request.Info {
	return request.New(identity.Identity{Principal: access.Principal{Subject: "ada", Client: client}})
}

// A block ends what runs, also if it comes between the decision about a message and its begin, and
// also if the source fails at that time. What has ended leaves nothing behind.
func TestBlockIsNotMissed(t *testing.T) {
	for _, when := range []string{"before the begin", "during the run", "during an outage"} {
		synctest.Test(t, func(t *testing.T) {
			f := &fence{}
			rights, _ := fenced(t, f)
			first, second, other := messageOf("agent"), messageOf("agent"), messageOf("desk")
			for _, m := range []*request.Info{first, second, other} {
				if err := rights.Attach(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			change := func() {
				if when == "during an outage" {
					f.set("agent", errors.New("down"))
				} else {
					f.set("agent", nil)
				}
				f.follow[0] <- boundary.Party{Client: "agent"}
				synctest.Wait()
			}
			if when == "before the begin" {
				change()
			}
			var leave []func()
			var ctx []context.Context
			for _, m := range []*request.Info{other, first, second} {
				running, left := rights.Enter(t.Context(), m)
				ctx, leave = append(ctx, running), append(leave, left)
			}
			switch when {
			case "during the run":
				change()
			case "during an outage":
				if change(); first.Blocked() {
					t.Error("it is blocked by a source that fails")
				}
				f.set("agent", nil)
				time.Sleep(boundaryRetry)
				synctest.Wait()
			}
			for i, m := range []*request.Info{other, first, second} {
				want := error(ErrBlocked)
				if i == 0 {
					want = nil
				}
				if m.Blocked() != (i > 0) || m.Expired() != (i > 0) || context.Cause(ctx[i]) != want {
					t.Errorf("%s, message %d: %v, %v", when, i, m.Blocked(), context.Cause(ctx[i]))
				}
				m.Stand(request.Valid)
				if leave[i](); m.Blocked() != (i > 0) {
					t.Errorf("%s: the stream of message %d is valid again", when, i)
				}
			}
			if n := len(rights.Boundaries.running); n > 0 {
				t.Errorf("%d callers are kept", n)
			}
			if err := rights.Attach(t.Context(), messageOf("agent")); !errors.Is(err, ErrBlocked) {
				t.Error(err)
			}
		})
	}
}

// A source that stops reporting changes is followed again after a pause, until the server ends.
func TestSourceOfBoundariesThatStopsIsFollowedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fence{}
		_, log := fenced(t, f)
		for n := 1; n < 4; n++ {
			if f.following() != n || strings.Count(log.String(), "subscribes again") != n-1 {
				t.Fatalf("followed %d times, want %d: %s", f.following(), n, log)
			}
			close(f.follow[n-1])
			time.Sleep(time.Second)
			synctest.Wait()
		}
	})
}

// A change concerns the callers whose boundaries it may change, and no others.
func TestChangesConcernTheirCallers(t *testing.T) {
	callers := []access.Principal{
		{Issuer: "i", Client: "a", Subject: "ada"}, {Issuer: "i", Client: "a", Subject: "mel"},
		{Issuer: "i", Client: "b", Subject: "ada"}, {Issuer: "j", Client: "a", Subject: "ada"},
		{Issuer: "i", Subject: "ada"},
		{Issuer: "i", Client: "a", Subject: "ada", Actor: access.Actor{Issuer: "x", Subject: "bot"}},
	}
	for party, want := range map[boundary.Party][]int{
		{}:                         {0, 1, 2, 3, 4, 5},
		{Issuer: "i", Client: "*"}: {0, 1, 2, 4, 5}, {Issuer: "i", Client: "a"}: {0, 1, 5},
		{Issuer: "i", Client: "a", Subject: "ada"}: {0, 5}, {Issuer: "x", Actor: "bot"}: {5},
		{Issuer: "i", Actor: "bot"}: nil, {Issuer: "k", Client: "*"}: nil,
	} {
		var got []int
		for i, p := range callers {
			if partiesOf(p).have(party) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", party, got, want)
		}
	}
}

// An adopted server finds what answers a URI. A resource whose URIs another one answers is inside
// with the other one alone: otherwise an unknown URI of it shows that something answers the URI.
func TestResourcesThatOthersShadowAreInsideWithThem(t *testing.T) {
	var table access.Table
	for _, uri := range []string{"doc://7", "doc://{+path}", "doc://{id}"} {
		table.Resources = append(table.Resources, access.Rule{Resource: uri, Public: true})
	}
	b, err := NewBoundaries(BoundariesConfig{Source: &fence{}, Table: table,
		Log: slog.New(slog.DiscardHandler), Shadowed: map[string][]string{
			"doc://{+path}": {"doc://7"}, "doc://{id}": {"doc://7", "doc://{+path}"}}})
	if err != nil {
		t.Fatal(err)
	}
	for items, want := range map[string]string{
		"doc://7":                          "doc://7",
		"doc://{+path}":                    "",
		"doc://{id} doc://{+path}":         "",
		"doc://7 doc://{+path}":            "doc://7 doc://{+path}",
		"doc://7 doc://{id}":               "doc://7",
		"doc://7 doc://{+path} doc://{id}": "doc://7 doc://{+path} doc://{id}",
	} {
		one := boundary.Boundary{Roles: []string{"*"}}
		for uri := range strings.FieldsSeq(items) {
			one.Items = append(one.Items, "resource:"+uri)
		}
		p := access.Principal{Subject: "ada",
			Bounds: b.compile(limits{boundaries: []boundary.Boundary{one}})}
		got := strings.Join(table.Of(access.Resources).Visible(p).Names(), " ")
		if got != want {
			t.Errorf("%s: %s, want %s", items, got, want)
		}
		if errs := b.alone(one); (len(errs) > 0) != (got != items) {
			t.Errorf("%s: %v", items, errs)
		}
	}
	err = errors.Join(b.alone(boundary.Boundary{Items: []string{"resource:doc://{+path}"}})...)
	if want := `the item "resource:doc://{+path}" matches URIs that doc://7 of the adopted ` +
		"server answers: add resource:doc://7 to the items, or remove this item"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// A boundary with items has the fields of the roles that count, whatever the items are. One without
// items has none, and neither has a client without a boundary where each needs one.
func TestItemsDoNotConcernFields(t *testing.T) {
	table, err := access.Compose(access.Part{Table: access.Table{
		Roles:     access.DefaultRoles(),
		Rules:     []access.Rule{{Tool: "a", Public: true}},
		Resources: []access.Rule{{Resource: "x:", Public: true}},
		Fields: []access.Rule{{Field: "p.T.Known", Authenticated: true},
			{Field: "p.T.Salary", MinRole: []string{"Manager"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewBoundaries(BoundariesConfig{Source: &fence{}, Table: table,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	of := func(one boundary.Boundary) *access.Bounds {
		return b.compile(limits{boundaries: []boundary.Boundary{one}})
	}
	all := []string{"p.T.Known", "p.T.Salary"}
	for i, test := range []struct {
		bounds *access.Bounds
		hidden []string
	}{
		{of(boundary.Boundary{Roles: []string{"*"}, Items: []string{"tool:a"}, ReadOnly: true}), nil},
		{of(boundary.Boundary{Roles: []string{"*"}, Items: []string{"resource:x:"}}), nil},
		{of(boundary.Boundary{Roles: []string{"Member"}, Items: []string{"*"}}), all[1:]},
		{of(boundary.Boundary{Roles: []string{"*"}}), all}, {of(boundary.Boundary{}), all},
		{b.public, all}, {b.none, all}, {b.blocked, all}, {b.unbounded, nil}, {b.exempt, nil},
	} {
		p := access.Principal{Subject: "ada", Roles: []string{"Admin"}, Bounds: test.bounds}
		if hidden := table.Hidden(p, all); !slices.Equal(hidden, test.hidden) {
			t.Errorf("boundary %d hides %q, want %q", i, hidden, test.hidden)
		}
	}
}

// shelf is a source that has a catalog of its own.
type shelf struct{ fence }

func (*shelf) HasCatalog(item string) bool { return item == "catalog:17" }

// Only a source with catalogs of its own takes one by its id.
func TestItemsNameCatalogsOfTheirSource(t *testing.T) {
	for source, want := range map[boundary.Source]string{
		&shelf{}: "and no active global catalog of the store by its id",
		&fence{}: "(//mcp:tool catalog=):",
	} {
		b, err := NewBoundaries(BoundariesConfig{Source: source, Log: slog.New(slog.DiscardHandler),
			Table: access.NewTable(access.Rule{Tool: "a", Public: true})})
		if err != nil {
			t.Fatal(err)
		}
		check := func(item string) error {
			return errors.Join(b.Check(boundary.Party{}, boundary.Boundary{Items: []string{item}})...)
		}
		if _, has := source.(*shelf); (check("catalog:17") == nil) != has {
			t.Errorf("%T: %v", source, check("catalog:17"))
		}
		if err := check("catalog:18"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v", source, err)
		}
	}
}

// The name of a catalog of the code is no id of a catalog of the source.
func TestCatalogOfTheCodeIsNoID(t *testing.T) {
	for source, fails := range map[boundary.Source]bool{&shelf{}: true, &fence{}: false} {
		_, err := NewBoundaries(BoundariesConfig{Source: source,
			Log:      slog.New(slog.DiscardHandler),
			Catalogs: map[string][]string{"17": {"a"}, "v17": {"a"}},
			Table:    access.NewTable(access.Rule{Tool: "a", Public: true})})
		if fails != (err != nil && strings.Contains(err.Error(), "the catalog 17 of the code")) ||
			err != nil && strings.Contains(err.Error(), "v17") {
			t.Errorf("%T: %v", source, err)
		}
	}
}

// desk is a source that returns one boundary, which the test writes to.
type desk struct{ one boundary.Boundary }

func (*desk) ReadsMemoryOnly() {}
func (d *desk) Boundary(context.Context, boundary.Party) (boundary.Boundary, bool, error) {
	return d.one, true, nil
}

// Each message has the boundary of the source, whatever the one before had, and also if the source
// writes to the lists that it has returned. Few are kept.
func TestEachMessageHasThePresentBoundary(t *testing.T) {
	table := access.NewTable(access.Rule{Tool: "a", MinRole: []string{"x"}},
		access.Rule{Tool: "b", Authenticated: true})
	table.Roles = [][]string{{"x", "y"}}
	s := &desk{}
	b, err := NewBoundaries(BoundariesConfig{Source: s, Table: table})
	if err != nil {
		t.Fatal(err)
	}
	ada := access.Principal{Subject: "ada", Client: "agent", Roles: []string{"y"}}
	want := func(names ...string) {
		t.Helper()
		for range 2 {
			p := ada
			p.Bounds, _ = b.Of(t.Context(), p)
			if got := table.Visible(p).Names(); !slices.Equal(got, names) {
				t.Errorf("%+v: %q, not %q", s.one, got, names)
			}
		}
	}
	want()
	s.one = boundary.Boundary{Roles: []string{"x"}, Items: []string{"tool:a"}}
	want("a")
	s.one.Items[0] = "tool:b"
	want("b")
	s.one.Items = append(s.one.Items, "tool:a")
	want("a", "b")
	s.one.Roles = nil
	want("b")
	s.one.ReadOnly = true
	want()
	for i := range 3 * maxRecent {
		ada.Subject = strings.Repeat("a", i)
		b.Of(t.Context(), ada)
	}
	if n := len(b.recent); n == 0 || n > maxRecent {
		t.Errorf("%d are kept", n)
	}
}
