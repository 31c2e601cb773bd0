package scopeorder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

func lines(texts ...string) (all [][]string) {
	for _, text := range texts {
		all = append(all, strings.Fields(text))
	}
	return all
}

func TestProblemsOfLinesHaveTheirPlaces(t *testing.T) {
	for _, test := range []struct {
		lines [][]string
		want  []string
	}{
		{lines("repo"), []string{"0:-1 a line includes no scope: write the scopes that it includes, " +
			"for example repo > public_repo"}},
		{[][]string{{}, {"a", "", "b"}}, []string{
			"0:-1 a line includes no scope: write the scopes that it includes, " +
				"for example repo > public_repo",
			"1:1 a scope has no name: write a name, or remove it"}},
		{lines("a b c b"), []string{"0:3 the scope b stands twice in the line: write each scope once"}},
		{lines("a b a"), []string{"0:2 the scope a includes itself: remove it from the list"}},
		{lines("a b", "x y", "a c"), []string{
			"2:0 the scope a has two lines: write all that it includes in one line"}},
		{lines("a x b", "b c", "c a"), []string{"0:2 a includes b here, and is included by " +
			"other lines: " +
			"the order has a cycle: remove one of the two"}},
	} {
		order, problems := scopeorder.New(test.lines)
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d:%d %s: %s", p.Line, p.At, p.Text, p.Cure))
		}
		if !slices.Equal(got, test.want) || order.Names() != nil {
			t.Errorf("%q: %q, want %q", test.lines, got, test.want)
		}
	}
}

func TestAlternatives(t *testing.T) {
	order, problems := scopeorder.New(lines("repo public_repo status", "admin repo", "x y"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for rule, want := range map[string]string{
		"|":                     "[]",
		"z b|":                  "[[b z]]",
		"public_repo|":          "[[public_repo] [repo] [admin]]",
		"public_repo repo|":     "[[repo] [admin]]", // the written one is not minimal
		"y status|":             "[[status y] [repo y] [admin y] [status x] [repo x] [admin x]]",
		"|b status":             "[[b] [status] [repo] [admin]]",
		"z|b a":                 "[[b z] [a z]]",
		"repo|public_repo z":    "[[repo] [admin]]",
		"public_repo|repo z":    "[[public_repo z] [repo] [admin]]",
		"a|b c d e f g h i j k": "[[a b] [a c] [a d] [a e] [a f] [a g] [a h] [a i] [a j] [a k]]",
	} {
		all, one, _ := strings.Cut(rule, "|")
		got, few := order.Alternatives(strings.Fields(all), strings.Fields(one))
		if fmt.Sprint(got) != want || !few {
			t.Errorf("%s: %v, want %s", rule, got, want)
		}
	}
	// The greatest number of alternatives, and one more. Further scopes may leave fewer.
	var many []string
	for i := range scopeorder.Most + 1 {
		many = append(many, fmt.Sprint("m", i))
	}
	if _, few := order.Alternatives(nil, many[1:]); !few {
		t.Error("16 alternatives are too many")
	}
	if got, few := order.Alternatives(nil, many); few || got != nil {
		t.Errorf("17 alternatives: %v", got)
	}
	if got, few := order.Alternatives(many[:1], many); !few || len(got) != 1 {
		t.Errorf("17 scopes of which the token has one: %v", got)
	}
	wide := [][]string{}
	for i := range 100 {
		wide = append(wide, []string{fmt.Sprint("top", i), "a", "b", "c"})
	}
	order, _ = scopeorder.New(wide)
	if got, few := order.Alternatives([]string{"a", "b", "c"}, nil); few || got != nil {
		t.Errorf("%d alternatives are few", len(got))
	}
}

// Alternatives are minimal. Both and Implies agree with each set of scopes.
func TestAlternativesAgreeWithSets(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	rules := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 3, rapid.ID[string]),
		0, 4)
	holds := func(alternatives [][]string, set int) bool {
		return len(alternatives) == 0 || slices.ContainsFunc(alternatives, func(a []string) bool {
			return !slices.ContainsFunc(a, func(scope string) bool {
				return set&(1<<slices.Index(names, scope)) == 0
			})
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		some, others := rules.Draw(t, "some"), rules.Draw(t, "others")
		both, implies := scopeorder.Both(some, others), true
		for set := range 1 << len(names) {
			a, b := holds(some, set), holds(others, set)
			implies = implies && (!a || b)
			if holds(both, set) != (a && b) {
				t.Fatalf("%q and %q: %q, with the set %b", some, others, both, set)
			}
		}
		if scopeorder.Implies(some, others) != implies {
			t.Fatalf("%q implies %q: want %v", some, others, implies)
		}
		for i, a := range both {
			for j, b := range both {
				if i != j && scopeorder.Implies([][]string{a}, [][]string{b}) {
					t.Fatalf("%q and %q: %q of %q is not minimal", some, others, a, both)
				}
			}
		}
	})
}

// Lines of two packages fit if neither changes what a scope of the other includes.
func TestDiffer(t *testing.T) {
	for _, test := range []struct {
		a, b  [][]string
		scope string
	}{
		{lines("repo a b"), lines("repo b a"), ""},
		{lines("repo a b", "x y"), lines("repo a b", "z y"), ""},
		{lines("repo a"), nil, ""},
		{lines("repo a", "a b"), lines("repo b a", "a b"), ""},
		{lines("repo a"), lines("repo a b"), "repo"},
		{lines("repo a b"), lines("repo a"), "repo"},
		{lines("admin repo"), lines("repo a"), "admin"},
		{lines("repo a"), lines("admin repo"), "admin"},
		{lines("a b"), lines("b a"), "a"},
	} {
		a, _ := scopeorder.New(test.a)
		b, _ := scopeorder.New(test.b)
		if scope, differ := scopeorder.Differ(a, b); scope != test.scope || differ != (scope != "") {
			t.Errorf("%q and %q: %q, want %q", test.a, test.b, scope, test.scope)
		}
	}
}

func TestWords(t *testing.T) {
	quoted := func(scope string) string { return "`" + scope + "`" }
	for text, want := range map[string]string{
		"":        "",
		"a b":     "scope `a`, scope `b`",
		"a|b":     "(scope `a` or scope `b`)",
		"a b|c|d": "(scopes `a` and `b`, or scope `c`, or scope `d`)",
	} {
		var alternatives [][]string
		for scopes := range strings.SplitSeq(text, "|") {
			if scopes != "" {
				alternatives = append(alternatives, strings.Fields(scopes))
			}
		}
		if got := strings.Join(scopeorder.Words(alternatives, quoted), ", "); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := scopeorder.Text(lines("repo a b", "x y")); got != "repo > a, b; x > y" {
		t.Error(got)
	}
}
