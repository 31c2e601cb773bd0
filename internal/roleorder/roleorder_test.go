package roleorder_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/internal/roleorder"
)

func many(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("r", i)
	}
	return names
}

func TestProblemsOfChainsHaveTheirPlaces(t *testing.T) {
	for _, test := range []struct {
		chains [][]string
		want   []string
	}{
		{[][]string{{"a"}, {}}, []string{"1:-1 a chain has no role: " +
			"write the roles lowest first, for example Viewer < Member"}},
		{[][]string{{"a", ""}, {""}}, []string{
			"0:1 a role has no name: write a name, or remove the chain",
			"1:0 a role has no name: write a name, or remove the chain"}},
		{[][]string{{"a", "b", "a"}, {"c", "c"}}, []string{
			"0:2 the role a stands twice in the chain: write each role once",
			"1:1 the role c stands twice in the chain: write each role once"}},
		{[][]string{many(63), {"r5", "x", "y", "z"}}, []string{
			"1:2 y is the role number 65 of the hierarchy, which has at most 64: " +
				"merge roles, or write scopes for some of them"}},
		{[][]string{many(65)}, []string{
			"0:64 r64 is the role number 65 of the hierarchy, which has at most 64: " +
				"merge roles, or write scopes for some of them"}},
		{[][]string{{"a", "b", "c"}, {"x", "b"}, {"c", "x"}}, []string{
			"0:2 c is above b here, and below it by other lines: the order has a cycle: " +
				"remove one of the two"}},
		{[][]string{{"a", "b"}, {"b", "a"}}, []string{
			"0:1 b is above a here, and below it by other lines: the order has a cycle: " +
				"remove one of the two"}},
		{[][]string{{"a", "b"}, {"y", "x", "a"}, {"z"}}, []string{
			"1:0 y is below a, the start of the main chain: begin the main chain with y",
			"1:1 x is below a, the start of the main chain: begin the main chain with x"}},
		{[][]string{{"a", "b"}, {"x", "y"}, {"b", "x"}}, []string{
			"1:0 x is above b, the end of the main chain: end the main chain with x",
			"1:1 y is above b, the end of the main chain: end the main chain with y",
			"2:1 x is above b, the end of the main chain: end the main chain with x"}},
	} {
		order, problems := roleorder.New(test.chains)
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%d:%d %s: %s", p.Chain, p.At, p.Text, p.Cure))
		}
		if !slices.Equal(got, test.want) || order.Names() != nil {
			t.Errorf("%q: %q, want %q", test.chains, got, test.want)
		}
	}
}

func TestOrder(t *testing.T) {
	chains := [][]string{{"Viewer", "Member", "Admin"}, {"Auditor", "Admin"}, {"Support"}}
	o, problems := roleorder.New(chains)
	if problems != nil {
		t.Fatal(problems)
	}
	if got := fmt.Sprintf("%v %v %s %s %s", o.Names(), o.Main(), o.Lowest(),
		o.Highest(), roleorder.Text(chains)); got !=
		"[Viewer Member Admin Auditor Support] [Viewer Member Admin] Viewer Admin "+
			"Viewer < Member < Admin; Auditor < Admin; Support" {
		t.Error(got)
	}
	for role, want := range map[string][]string{"Viewer": {"Viewer"}, "Member": {"Viewer", "Member"},
		"Admin": {"Viewer", "Member", "Admin", "Auditor"}, "Auditor": {"Auditor"},
		"Support": {"Support"}, "": nil, "admin": nil} {
		if o.Below(role) != o.Bits(want) || o.Held([]string{role, "x"}) != o.Bits(want) {
			t.Errorf("%s: %b, want %b", role, o.Below(role), o.Bits(want))
		}
	}
	for i, role := range o.Names() {
		if o.Bit(role) != 1<<i || o.BelowAt(i) != o.Below(role) {
			t.Errorf("%s: %b", role, o.Bit(role))
		}
	}
	for _, test := range []struct {
		some, others []string
		want         bool
	}{
		{[]string{"Admin"}, []string{"Auditor"}, true}, {[]string{"Auditor"}, []string{"Admin"}, false},
		{[]string{"Member", "Admin"}, []string{"Member"}, true},
		{[]string{"Member", "Auditor"}, []string{"Member"}, false},
		{[]string{"Member", "Auditor"}, []string{"Viewer", "Auditor"}, true},
		{[]string{"x"}, []string{"x"}, false},
	} {
		if o.Implies(test.some, test.others) != test.want {
			t.Errorf("%q implies %q: %v", test.some, test.others, !test.want)
		}
	}
	if none, problems := roleorder.New(nil); problems != nil || none.Lowest() != "" ||
		none.Highest() != "" || none.Names() != nil || none.Held(o.Names()) != 0 {
		t.Errorf("no chains: %+v, %v", none, problems)
	}
}

func TestOrdersAreEqualByTheirRelation(t *testing.T) {
	of := func(chains ...[]string) roleorder.Order {
		o, problems := roleorder.New(chains)
		if problems != nil {
			t.Fatal(problems)
		}
		return o
	}
	main := []string{"a", "b", "c"}
	orders := []struct {
		kind int
		roleorder.Order
	}{
		{0, of(main, []string{"x", "c"})}, {0, of(main, []string{"x", "c"}, []string{"a", "c"},
			[]string{"x"})},
		{1, of(main, []string{"x"})}, {1, of(main, []string{"x"}, []string{"a", "b"})},
		{2, of(main)}, {3, of([]string{"a", "c"}, []string{"a", "b", "c"}, []string{"x", "c"})},
		{4, of(main, []string{"y", "c"})}, {5, of(main, []string{"a", "x", "c"})},
		{6, of(main, []string{"x", "b"})}, {7, of()},
	}
	for i, a := range orders {
		for j, b := range orders {
			if a.Equal(&b.Order) != (a.kind == b.kind) {
				t.Errorf("%d and %d", i, j)
			}
		}
	}
}

// Together of more roles than it tries in sets finds one set.
func TestTogetherOfManyRoles(t *testing.T) {
	o, _ := roleorder.New([][]string{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}})
	all := o.Names()
	needs := []string{"e", "a", "b", "d"}
	opens := func(set []string) bool {
		return !slices.ContainsFunc(needs, func(n string) bool { return !slices.Contains(set, n) })
	}
	if got := fmt.Sprint(o.Together(all, opens)); got != "[[a b d e]]" {
		t.Error(got)
	}
	for _, open := range []bool{false, true} {
		if got := o.Together(all, func([]string) bool { return open }); got != nil {
			t.Errorf("%v: %q", open, got)
		}
	}
}
