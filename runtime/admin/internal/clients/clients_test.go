package clients_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/clients"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var engines = testdb.Migrated(store.Open)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// server has a table alone.
type server struct{ table access.Table }

func (s server) Table() access.Table         { return s.table }
func (s server) Boundaries() boundary.Source { return nil }
func (s server) Reach(context.Context, *boundary.Boundary) (p, u, e []string) {
	return s.table.Reach(nil)
}
func (s server) CheckBoundary(_ boundary.Party, _ boundary.Boundary) (e []error) { return e }

func table() access.Table {
	own := access.NewTable(access.Rule{Tool: "ask", Authenticated: true},
		access.Rule{Tool: "read", MinRole: []string{"Viewer"}},
		access.Rule{Tool: "edit", MinRole: []string{"Member"}},
		access.Rule{Tool: "check", MinRole: []string{"Manager", "Auditor"}},
		access.Rule{Tool: "drop", MinRole: []string{"Admin"}},
		access.Rule{Tool: "set", MinRole: []string{"Viewer"}},
		access.Rule{Prompt: "greet", MinRole: []string{"Member"}},
		access.Rule{Resource: "doc://{id}", MinRole: []string{"Manager"}},
		access.Rule{Resource: "skill://x/SKILL.md", Authenticated: true})
	own.Values = []access.Rule{{Tool: "set", Argument: "name", Value: "core",
		MinRole: []string{"Admin"}}}
	own.Roles = [][]string{{"Viewer", "Member", "Manager", "Admin"}, {"Auditor", "Admin"}}
	return must(access.Compose(access.Part{Package: "p", Table: own}))
}

// use is an event of a client.
type use struct {
	kind  audit.Type
	name  string
	roles []string
}

func (u use) event(at time.Time) audit.Event {
	e := audit.Event{Time: at, Type: u.kind, RequestID: "r", Issuer: "i", Principal: "ada",
		Client: "agent",
		Roles:  u.roles, Status: audit.Success}
	switch u.kind {
	case audit.ToolCalled:
		e.Tool = u.name
	case audit.PromptGet:
		e.Prompt = u.name
	default:
		e.Resource = u.name
	}
	return e
}

// allowed reports whether the boundary of a caller allows what the rules allow.
func allowed(table access.Table, b boundary.Boundary, u use) bool {
	kind, item := access.Tools, "tool:"+u.name
	switch u.kind {
	case audit.PromptGet:
		kind, item = access.Prompts, "prompt:"+u.name
	case audit.ResourceRead:
		kind, item = access.Resources, "resource:"+u.name
		if u.name == "skill://x/SKILL.md" {
			item = "skill:" + u.name
		}
	}
	inside := slices.DeleteFunc(table.Hierarchy(), func(role string) bool {
		return !table.Holds(access.Principal{Subject: "s", Roles: b.Roles}, role)
	})
	caller := access.Principal{Subject: "ada", Roles: u.roles}
	caller.Bounds = table.Bounds(inside, func(access.Kind, access.Rule) bool {
		return slices.Contains(b.Items, item)
	})
	return table.Of(kind).Decide(caller, u.name).Allowed
}

// A suggestion allows each use that the rules allow, has only used items, and is read by
// boundary/static as it is.
func TestSuggestionAllowsWhatWasUsedAndNoOtherItem(t *testing.T) {
	s := must(store.Open(t.Context(), engines["sqlite"](t)))
	t.Cleanup(func() { _ = s.Close() })
	table := table()
	c := clients.New(server{table}, s, nil)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		from = from.AddDate(0, 0, 2) // each run has a time of its own
		role := rapid.SampledFrom(append(table.Hierarchy(), "Unknown"))
		uses := rapid.SliceOf(rapid.Custom(func(t *rapid.T) use {
			roles := rapid.SliceOfN(role, 0, 3).Draw(t, "roles")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return use{audit.PromptGet, "greet", roles}
			case 1:
				return use{audit.ResourceRead, rapid.SampledFrom([]string{"doc://{id}", "skill://x/SKILL.md"}).
					Draw(t, "uri"), roles}
			}
			return use{audit.ToolCalled, rapid.SampledFrom([]string{"ask", "read", "edit", "check", "drop",
				"set"}).Draw(t, "tool"), roles}
		})).Draw(t, "uses")
		everything := boundary.Boundary{Roles: table.Hierarchy(), Items: []string{"tool:ask", "tool:read",
			"tool:edit", "tool:check", "tool:drop", "tool:set", "prompt:greet", "resource:doc://{id}",
			"skill:skill://x/SKILL.md"}}
		uses = slices.DeleteFunc(uses, func(u use) bool { return !allowed(table, everything, u) })
		for i, u := range uses {
			must(0, s.Audit().Record(t.Context(), u.event(from.Add(time.Duration(i)*time.Minute))))
		}
		got, err := c.Use(t.Context(), "i", "agent", from)
		if err != nil || !got.Complete {
			t.Fatal(got, err)
		}
		count := 0
		for _, one := range got.Used {
			count += one.Count
		}
		if count != len(uses) || len(got.Used) != len(got.Boundary.Items) || got.Of != 6 {
			t.Errorf("%+v of %v", got, uses)
		}
		for _, u := range uses {
			if !allowed(table, got.Boundary, u) {
				t.Errorf("%+v does not allow %+v", got.Boundary, u)
			}
		}
		party := boundary.Party{Issuer: "i", Client: rapid.StringN(1, 20, -1).Draw(t, "client")}
		text := clients.Entry(party, got.Boundary)
		source, err := static.OpenFS(fstest.MapFS{"b.yaml": {Data: []byte(text)}}, "b.yaml")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		read, ok, err := source.Boundary(t.Context(), party)
		if read.Where = ""; !ok || err != nil || !reflect.DeepEqual(read, got.Boundary) {
			t.Errorf("%+v from\n%s", read, text)
		}
	})
}

// A suggestion has the lowest roles. The roles of values, which the trail does not have, are those
// of the callers.
func TestSuggestionHasTheLowestRoles(t *testing.T) {
	s := must(store.Open(t.Context(), engines["sqlite"](t)))
	t.Cleanup(func() { _ = s.Close() })
	c := clients.New(server{table()}, s, nil)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		uses []use
		want string
	}{
		{nil, "[] []"},
		{[]use{{audit.ToolCalled, "ask", []string{"Admin"}}}, "[] [tool:ask]"},
		{[]use{{audit.ToolCalled, "read", []string{"Admin"}}}, "[Viewer] [tool:read]"},
		{[]use{{audit.ToolCalled, "read", []string{"Admin"}}, {audit.PromptGet, "greet",
			[]string{"Member"}}},
			"[Member] [tool:read prompt:greet]"},
		{[]use{{audit.ToolCalled, "check", []string{"Auditor"}}}, "[Auditor] [tool:check]"},
		{[]use{{audit.ToolCalled, "set", []string{"Manager"}}}, "[Manager] [tool:set]"},
		{[]use{{audit.ToolCalled, "gone", []string{"Admin"}}, {audit.ToolList, "",
			[]string{"Admin"}}}, "[] []"},
	} {
		at = at.AddDate(0, 0, 2)
		for _, u := range test.uses {
			must(0, s.Audit().Record(t.Context(), u.event(at)))
		}
		got := must(c.Use(t.Context(), "i", "agent", at)).Boundary
		if text := fmt.Sprint(got.Roles, " ", got.Items); text != test.want {
			t.Errorf("%v: %s, want %s", test.uses, text, test.want)
		}
	}
}

// The work of a suggestion is bounded, and the result has the part that was read.
func TestSuggestionOfManyEventsIsOfTheNewest(t *testing.T) {
	s := must(store.Open(t.Context(), engines["sqlite"](t)))
	t.Cleanup(func() { _ = s.Close() })
	c := clients.New(server{table()}, s, nil)
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []audit.Event
	for i := range 25_000 {
		all = append(all, use{audit.ToolCalled, "read",
			nil}.event(from.Add(time.Duration(i)*time.Second)))
	}
	all[0].Tool = "ask"
	for part := range slices.Chunk(all, 500) {
		must(0, s.Audit().(audit.BatchSink).RecordBatch(t.Context(), part))
	}
	got := must(c.Use(t.Context(), "i", "agent", from))
	if got.Complete || len(got.Used) != 1 || got.Used[0].Count < 15_000 ||
		got.Used[0].Count > 20_000 ||
		!got.Since.Equal(from.Add(time.Duration(25_000-got.Used[0].Count)*time.Second)) {
		t.Errorf("%+v", got)
	}
	if got := must(c.Use(t.Context(), "j", "agent", from)); len(got.Used) != 0 {
		t.Errorf("of another issuer: %+v", got)
	}
}
