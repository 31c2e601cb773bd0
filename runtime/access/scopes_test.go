package access_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/scopeorder"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// scopeLines draws which of up to 20 scopes include others, without a cycle.
func scopeLines(t *rapid.T) (names []string, lines [][]string) {
	n := rapid.IntRange(2, 20).Draw(t, "scopes")
	for i := range n {
		names = append(names, fmt.Sprintf("s%02d", i))
	}
	names = rapid.Permutation(names).Draw(t, "names") // each includes those after it only
	for i, name := range names[:n-1] {
		if below := anyScopes(t, names[i+1:], 3); len(below) > 0 {
			lines = append(lines, append([]string{name}, below...))
		}
	}
	return names, rapid.Permutation(lines).Draw(t, "lines")
}

func anyScopes(t *rapid.T, names []string, most int) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, min(most, len(names)),
		rapid.ID[string]).Draw(t, "some")
}

// walk returns the scopes of a token, with those that the lines give it.
func walk(lines [][]string, token []string) map[string]bool {
	has, left := map[string]bool{}, slices.Clone(token)
	for len(left) > 0 {
		scope := left[0]
		left = left[1:]
		if has[scope] {
			continue
		}
		has[scope] = true
		for _, line := range lines {
			if line[0] == scope {
				left = append(left, line[1:]...)
			}
		}
	}
	return has
}

// needs is a rule as its author has written it.
type needs struct{ all, one []string }

func (n needs) hold(has map[string]bool) bool {
	one := len(n.one) == 0
	for _, scope := range n.one {
		one = one || has[scope]
	}
	return one && !slices.ContainsFunc(n.all, func(scope string) bool { return !has[scope] })
}

func drawNeeds(t *rapid.T, names []string) (n needs) {
	n.all = anyScopes(t, names, 3)
	if n.one = anyScopes(t, names, 4); len(n.all)+len(n.one) == 0 {
		n.one = names[:1]
	}
	return n
}

func missing(scopes []string, held []string) int {
	n := 0
	for _, scope := range scopes {
		if !slices.Contains(held, scope) {
			n++
		}
	}
	return n
}

// Compiled alternatives decide as a walk over the lines does: for a tool and a value, of a composed
// table and a literal, in calls, lists and explanations. A further scope takes nothing away. The
// challenge names the first alternative of which the fewest scopes are missing, and its token is
// admitted.
func TestAlternativesDecideAsAWalkOverTheLines(t *testing.T) {
	compiled, challenged, included := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		names, lines := scopeLines(t)
		order, problems := scopeorder.New(lines)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		tool, value := drawNeeds(t, names), drawNeeds(t, names)
		ofTool, fits := order.Alternatives(tool.all, tool.one)
		ofValue, fitsToo := order.Alternatives(value.all, value.one)
		if fitsToo {
			ofValue = scopeorder.Both(ofTool, ofValue)
		}
		if !fits || !fitsToo || len(ofValue) > scopeorder.Most {
			return
		}
		compiled++
		rule := access.Rule{Tool: "t", Scopes: ofTool[0], OrScopes: ofTool[1:],
			Denial: access.Challenge}
		ruled := access.Rule{Tool: "t", Argument: "a", Value: "v", Scopes: ofValue[0],
			OrScopes: ofValue[1:]}
		plain := ruled // a value that needs no more than the tool
		plain.Value, plain.Scopes, plain.OrScopes = "plain", rule.Scopes, rule.OrScopes
		literal := access.Table{Scopes: lines, Rules: []access.Rule{rule},
			Values: []access.Rule{plain, ruled}}
		tables := []access.Table{literal, composed(t, literal)}
		for range 6 {
			token := anyScopes(t, names, len(names))
			has := walk(lines, token)
			p := access.Principal{Subject: "ada", Scopes: token}
			want := tool.hold(has)
			if want && !slices.ContainsFunc(tool.all, func(s string) bool {
				return slices.Contains(token, s)
			}) && len(tool.one) == 0 {
				included++
			}
			for _, table := range tables {
				d := table.Decide(p, "t")
				explained := table.Explain(p, "t")
				if d.Allowed != want || table.Visible(p).Contains("t") != want ||
					(d.Missing() == "") != want ||
					slices.ContainsFunc(explained, func(v access.Verdict) bool { return !v.Holds }) == want {
					t.Fatalf("%+v of %q by %q: %+v, %v, want %v", tool, lines, token, d, explained, want)
				}
				may := want && value.hold(has)
				values := table.Of(access.Values)
				offered := slices.Contains(table.Choices(p, "t")[0].Values, "v")
				if values.Decide(p, ruled.Name()).Allowed != may || want && offered != may {
					t.Fatalf("%+v and %+v of %q by %q: %v, want %v", tool, value, lines, token, offered, may)
				}
				more := p
				more.Scopes = append(slices.Clone(token), rapid.SampledFrom(names).Draw(t, "more"))
				if want && !table.Decide(more, "t").Allowed || may && !values.Decide(more,
					ruled.Name()).Allowed {
					t.Fatalf("%q of %q: one more scope takes something away", more.Scopes, lines)
				}
				if want {
					continue
				}
				challenged++
				agreesOnChallenge(t, table, p, ofTool)
				// With the scopes of the challenge, the caller gets the values that it is offered.
				more.Scopes = d.ScopesThatWouldDo(true)
				if got := table.Decide(more, "t").Allowed; !got ||
					offered != values.Decide(more, ruled.Name()).Allowed {
					t.Fatalf("%q does not do for %q: offered %v", more.Scopes, ofTool, offered)
				}
			}
		}
	})
	if (compiled == 0 || challenged == 0 || included == 0) && !testing.Short() {
		t.Errorf("%d rules, %d challenges, %d scopes by lines alone", compiled, challenged, included)
	}
}

func agreesOnChallenge(
	t *rapid.T, table access.Table, p access.Principal, alternatives [][]string,
) {
	d := table.Decide(p, "t")
	nearest := alternatives[0]
	for _, a := range alternatives {
		if missing(a, p.Scopes) < missing(nearest, p.Scopes) {
			nearest = a
		}
	}
	both := append(slices.Clone(nearest), p.Scopes...)
	slices.Sort(both)
	if got := d.ScopesThatWouldDo(false); !slices.Equal(got, nearest) ||
		!slices.Equal(d.ScopesThatWouldDo(true), slices.Compact(both)) {
		t.Fatalf("%q of %q for %q: want %q", got, alternatives, p.Scopes, nearest)
	}
	for _, scope := range nearest {
		if has := slices.Contains(p.Scopes, scope); strings.Contains(d.Missing(), scope) == has {
			t.Fatalf("%q for %q of %q", d.Missing(), p.Scopes, alternatives)
		}
	}
	if !table.Listed(p, access.DenialDefault).Contains("t") {
		t.Fatalf("%q: %q is not listed", alternatives, p.Scopes)
	}
}

// sixteen is a table with a rule of 16 alternatives, and one of a single scope.
func sixteen(t testing.TB) access.Table {
	rule := access.Rule{Tool: "many", Scopes: []string{"s0", "t"}}
	for i := range scopeorder.Most - 1 {
		rule.OrScopes = append(rule.OrScopes, []string{fmt.Sprint("s", i+1), "t"})
	}
	value := rule.Clone()
	value.Argument, value.Value = "a", "v"
	table, err := access.Compose(access.Part{Table: access.Table{
		Rules:  []access.Rule{rule, {Tool: "one", Scopes: []string{"s0"}, Denial: access.Challenge}},
		Values: []access.Rule{value}}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestDecisionsAboutAlternativesCostNoMemory(t *testing.T) {
	table := sixteen(t)
	for _, test := range []struct {
		scopes []string
		many   bool
	}{{[]string{"t", "s15"}, true}, {[]string{"t"}, false}, {nil, false}} {
		p := table.Resolve(access.Principal{Subject: "ada", Scopes: test.scopes})
		if n := testing.AllocsPerRun(10, func() {
			if table.Decide(p, "many").Allowed != test.many || table.Decide(p, "one").Allowed {
				t.Fatalf("%q", test.scopes)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", test.scopes, n)
		}
	}
}

// BenchmarkDecideScopes decides about one scope, and by the last of 16 alternatives.
func BenchmarkDecideScopes(b *testing.B) {
	table := sixteen(b)
	for tool, scopes := range map[string][]string{"one": {"s0"}, "many": {"t", "s15"}} {
		p := table.Resolve(access.Principal{Subject: "ada", Scopes: scopes})
		b.Run(tool, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !table.Decide(p, tool).Allowed {
					b.Fatal(tool)
				}
			}
		})
	}
}
