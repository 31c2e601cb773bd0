package access_test

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// anyRoles draws some of the names, or none.
func anyRoles(t *rapid.T, names []string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, min(3, len(names)),
		rapid.ID[string]).Draw(t, "roles")
}

// reaches reports whether one of the held roles is one of the needed ones or above one of them. It
// walks over the pairs of neighbours in chains.
func reaches(chains [][]string, held, need []string) bool {
	below, known := map[string][]string{}, map[string]bool{}
	for _, chain := range chains {
		for i, role := range chain {
			known[role] = true
			if i > 0 {
				below[role] = append(below[role], chain[i-1])
			}
		}
	}
	wanted := map[string]bool{}
	for _, role := range need {
		switch role {
		case access.Lowest:
			role = chains[0][0]
		case access.Highest:
			role = chains[0][len(chains[0])-1]
		}
		wanted[role] = known[role]
	}
	seen, left := map[string]bool{}, slices.Clone(held)
	for len(left) > 0 {
		role := left[0]
		left = left[1:]
		switch {
		case seen[role]:
		case wanted[role]:
			return true
		default:
			seen[role] = true
			left = append(left, below[role]...)
		}
	}
	return false
}

// orders draws the chains of a partial order of up to 64 roles. No role is below the start of the
// first chain or above its end.
func orders(t *rapid.T) [][]string {
	n := rapid.OneOf(rapid.IntRange(1, 6), rapid.IntRange(1, 64)).Draw(t, "roles")
	names := make([]string, n) // each may be below those after it only
	for i := range names {
		names[i] = fmt.Sprintf("R%02d", i)
	}
	names = rapid.Permutation(names).Draw(t, "names")
	some := func(most int) (chain []int) {
		chain = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, most, rapid.ID[int]).Draw(t, "chain")
		slices.Sort(chain)
		return chain
	}
	main := some(min(n, 6))
	all := [][]int{main}
	for range rapid.IntRange(0, 8).Draw(t, "chains") {
		chain := some(min(n, 5))
		if from := slices.Index(chain, main[0]); from > 0 {
			chain = chain[from:]
		}
		if end := slices.Index(chain, main[len(main)-1]); end >= 0 {
			chain = chain[:end+1]
		}
		all = append(all, chain)
	}
	for i := range names {
		if !slices.ContainsFunc(all, func(c []int) bool { return slices.Contains(c, i) }) {
			all = append(all, []int{i})
		}
	}
	chains := make([][]string, len(all))
	for i, chain := range all {
		for _, at := range chain {
			chains[i] = append(chains[i], names[at])
		}
	}
	return chains
}

// ruled is a random table, and its tools and values with the rules of the reference.
type ruled struct {
	access.Table
	values map[string][]access.Rule // by tool
}

func newRuled(t *rapid.T) (r ruled) {
	r.Roles, r.values = orders(t), map[string][]access.Rule{}
	names := append(slices.Concat(r.Roles...), access.Lowest, access.Highest)
	slices.Sort(names)
	names = slices.Compact(names)
	scopes := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), 0, 2, rapid.ID[string])
	for i := range rapid.IntRange(1, 12).Draw(t, "tools") {
		tool := access.Rule{Tool: fmt.Sprintf("t%02d", i),
			Denial: access.Denial(rapid.IntRange(0, 2).Draw(t, "denial"))}
		if tool.Public = rapid.IntRange(0, 5).Draw(t, "public") == 0; !tool.Public {
			tool.Authenticated = rapid.Bool().Draw(t, "authenticated")
			tool.MinRole, tool.Scopes = anyRoles(t, names), scopes.Draw(t, "scopes")
			tool.Permission = access.NoPermission()
			tool.Authenticated = tool.Authenticated || len(tool.MinRole)+len(tool.Scopes) == 0
		}
		r.Rules = append(r.Rules, tool)
		for v := range rapid.IntRange(0, 4).Draw(t, "values") {
			value := tool
			value.Argument, value.Value = fmt.Sprint("arg", v/2), fmt.Sprint(v)
			value.Denial = access.DenialDefault
			if own := anyRoles(t, names); len(own) > 0 {
				value.MinRole, value.Public = own, false
			}
			r.Values = append(r.Values, value)
			r.values[tool.Tool] = append(r.values[tool.Tool], value)
		}
	}
	return r
}

// allows is the reference for a value: its own rule and that of its tool hold.
func (r ruled) allows(tool, value access.Rule, p access.Principal) bool {
	return oracle(r.Roles, tool, p) && oracle(r.Roles, value, p)
}

// may is the reference for a tool: its own rule holds, and each argument has an allowed value.
func (r ruled) may(tool access.Rule, p access.Principal) bool {
	open := map[string]bool{}
	for _, value := range r.values[tool.Tool] {
		open[value.Argument] = open[value.Argument] || r.allows(tool, value, p)
	}
	for _, has := range open {
		if !has {
			return false
		}
	}
	return oracle(r.Roles, tool, p)
}

func composed(t *rapid.T, tables ...access.Table) access.Table {
	var parts []access.Part
	for i, table := range tables {
		parts = append(parts, access.Part{Package: fmt.Sprint("p", i), Table: table})
	}
	table, err := access.Compose(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// All methods of a table decide as a walk over the chains does: of a composed table and a literal,
// for a resolved principal and another. One more role takes nothing away. The order of lines makes
// no difference, and neither do roles that the hierarchy does not have.
func TestDecisionsAgreeWithAWalkOverTheChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRuled(t)
		// The same relation in other lines, with a part of one of them once more.
		other := r.Table.Clone()
		other.Roles = append(other.Roles[:1:1], rapid.Permutation(other.Roles[1:]).Draw(t, "lines")...)
		again := rapid.SampledFrom(r.Roles).Draw(t, "again")
		other.Roles = append(other.Roles, again[:rapid.IntRange(1, len(again)).Draw(t, "part")])
		whole := composed(t, r.Table)
		tables := []access.Table{r.Table, whole, composed(t, access.Table{Roles: other.Roles}, r.Table),
			composed(t, other)}
		known := slices.Sorted(slices.Values(slices.Concat(r.Roles...)))
		for range 4 {
			p := access.Principal{
				Subject: rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(t, "subject"),
				Roles:   anyRoles(t, append(known, "", "r00", access.Highest)),
				Scopes: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "A", ""}), 0, 3).Draw(t,
					"held"),
			}
			more := p
			more.Roles = append(slices.Clone(p.Roles), rapid.SampledFrom(known).Draw(t, "more"))
			more.Scopes = append(slices.Clone(p.Scopes), "a")
			for _, table := range tables {
				agreesWith(t, r, table, p)
				agreesWith(t, r, table, table.Resolve(p))
				agreesWith(t, r, table, whole.Resolve(p)) // perhaps of another table
				less, all := table.Visible(p), table.Visible(more)
				if left := less.Without(all).Names(); len(left) > 0 {
					t.Fatalf("%q of %q: one more role and scope take %q away", more.Roles, r.Roles, left)
				}
				unknown := p
				unknown.Roles = append([]string{"nobody", ""}, p.Roles...)
				if !less.Equal(table.Visible(unknown)) {
					t.Fatalf("%q of %q: an unknown name counts", p.Roles, r.Roles)
				}
			}
		}
	})
}

func agreesWith(t *rapid.T, r ruled, table access.Table, p access.Principal) {
	visible, challenged := table.Visible(p), table.Listed(p, access.Challenge)
	values := table.Of(access.Values)
	for _, tool := range r.Rules {
		want := r.may(tool, p)
		d := table.Decide(p, tool.Tool)
		if d.Allowed != want || want != (d.Missing() == "") || visible.Contains(tool.Tool) != want {
			t.Fatalf("%q of %q on %+v: %+v, %q, visible %v, want %v", p.Roles, r.Roles, tool, d,
				d.Missing(), visible.Contains(tool.Tool), want)
		}
		able := p
		able.Scopes = append(slices.Clone(p.Scopes), tool.Scopes...)
		lists := want || tool.Denial == access.DenialDefault && r.may(tool, able)
		if challenged.Contains(tool.Tool) != lists {
			t.Fatalf("%q of %q on %+v: challenged %v, want %v", p.Roles, r.Roles, tool, !lists, lists)
		}
		for _, v := range table.Explain(p, tool.Tool) {
			want = want && v.Holds
		}
		if want != d.Allowed {
			t.Fatalf("%q of %q on %+v: %v", p.Roles, r.Roles, tool, table.Explain(p, tool.Tool))
		}
		var offered []string
		for _, choice := range table.Choices(p, tool.Tool) {
			for _, value := range choice.Values {
				offered = append(offered, choice.Argument+"="+value)
			}
		}
		for _, value := range r.values[tool.Tool] {
			allowed := r.allows(tool, value, p)
			has := slices.Contains(offered, value.Argument+"="+value.Value)
			if oracle(r.Roles, tool, p) && has != allowed ||
				values.Decide(p, value.Name()).Allowed != allowed {
				t.Fatalf("%q of %q on %+v of %+v: offered %v, %+v, want %v", p.Roles, r.Roles, value, tool,
					has, values.Decide(p, value.Name()), allowed)
			}
		}
	}
}

// The sets of roles that open a tool together: each does, no part of one does, and each caller who
// may use the tool has one of them or a single role that opens it.
func TestRolesTogetherAreTheSmallestSetsThatOpenATool(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		r := newRuled(t)
		table := composed(t, r.Table).Aware()
		roles := table.Hierarchy()
		opens := func(tool string, set []string) bool {
			rule, _ := table.Tool(tool)
			return r.may(rule, access.Principal{Subject: "x", Roles: set, Scopes: []string{"a", "b"}})
		}
		for _, tool := range table.Tools() {
			sets := table.Together(tool)
			found += len(sets)
			holds := func(held, set []string) bool {
				p := access.Principal{Subject: "x", Roles: held}
				return !slices.ContainsFunc(set, func(role string) bool { return !table.Holds(p, role) })
			}
			for _, set := range sets {
				if slices.ContainsFunc(sets, func(other []string) bool {
					return !slices.Equal(set, other) && holds(set, other)
				}) {
					t.Fatalf("%s: %q has another of %q", tool, set, sets)
				}
				for i := range set {
					if part := slices.Delete(slices.Clone(set), i, i+1); opens(tool, part) {
						t.Fatalf("%s: %q opens it without %q", tool, set, set[i])
					}
				}
				if len(set) < 2 || !opens(tool, set) {
					t.Fatalf("%s: %q does not open it together", tool, set)
				}
			}
			held := rapid.SliceOfN(rapid.SampledFrom(roles), 0, 4).Draw(t, "held")
			alone := opens(tool, nil)
			for _, role := range held {
				alone = alone || opens(tool, []string{role})
			}
			has := slices.ContainsFunc(sets, func(set []string) bool { return holds(held, set) })
			if opens(tool, held) != (alone || has) {
				t.Fatalf("%s: %q opens it: %v; alone %v, and %q", tool, held, !alone, alone, sets)
			}
		}
	})
	t.Log(found, "sets")
	if found < 20 && !testing.Short() {
		t.Errorf("%d sets: too few to prove much", found)
	}
}

// chain64 is a hierarchy of 64 roles: a chain of 32, and 32 roles that stand alone.
func chain64() [][]string {
	chains := [][]string{nil}
	for i := range 32 {
		chains[0] = append(chains[0], fmt.Sprintf("C%02d", i))
		chains = append(chains, []string{fmt.Sprintf("S%02d", i)})
	}
	return chains
}

// large returns a table of 1,000 tools whose roles are those of a hierarchy in turn.
func large(t testing.TB, roles [][]string) access.Table {
	var rules []access.Rule
	all := slices.Concat(roles...)
	for i := range 1000 {
		rules = append(rules, access.Rule{Tool: fmt.Sprintf("tool_%04d", i),
			MinRole: []string{all[i%len(all)]}})
	}
	table, err := access.Compose(access.Part{Table: access.Table{Roles: roles, Rules: rules}})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A decision about a resolved principal allocates nothing, however many roles it has.
func TestDecisionsAboutSeveralRolesCostNoMemory(t *testing.T) {
	table := large(t, chain64())
	p := table.Resolve(access.Principal{Subject: "ada", Roles: table.Hierarchy()[16:48]})
	tools, allowed := table.Tools(), 0
	if n := testing.AllocsPerRun(10, func() {
		allowed = 0
		for _, tool := range tools {
			if table.Decide(p, tool).Allowed {
				allowed++
			}
		}
	}); n != 0 || allowed != table.Visible(p).Len() || allowed < 500 || allowed == 1000 {
		t.Errorf("%v allocations, %d tools", n, allowed)
	}
}

// A principal whose roles change after Resolve is decided by those that it has now.
func TestResolvedPrincipalWithOtherRoles(t *testing.T) {
	table := compose(t, access.Rule{Tool: "t", MinRole: []string{"Admin"}})
	p := table.Resolve(access.Principal{Subject: "ada", Roles: []string{"Viewer", "Admin"}})
	for _, roles := range [][]string{nil, {}, {"Viewer", "Manager"}, p.Roles[:0], p.Roles[:1]} {
		p.Roles = roles
		if table.Decide(p, "t").Allowed {
			t.Errorf("%q: allowed by the roles of before", roles)
		}
	}
	p = table.Resolve(access.Principal{Subject: "ada", Roles: []string{"Admin"}})
	if p.Subject = ""; table.Decide(p, "t").Allowed {
		t.Error("an anonymous caller is allowed by the roles of before")
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 16} {
		table := large(b, access.DefaultRoles())
		roles := []string{"Member"}
		if n > 1 {
			table = large(b, chain64())
			roles = table.Hierarchy()[32-n/2 : 32+n/2]
		}
		p := table.Resolve(access.Principal{Subject: "ada", Roles: roles})
		name := "tool_" + strings.Repeat("0", 3) + "1"
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if d := table.Decide(p, name); !d.Allowed {
					b.Fatal(i, d)
				}
			}
		})
	}
}

// BenchmarkVisible lists 1,000 tools for callers with 16 sets of roles in turn.
func BenchmarkVisible(b *testing.B) {
	for _, sets := range []int{1, 16} {
		table := large(b, access.DefaultRoles())
		callers := []access.Principal{
			table.Resolve(access.Principal{Subject: "ada", Roles: []string{"Member"}})}
		if sets > 1 {
			table = large(b, chain64())
			callers = nil
			for i := range sets {
				var roles []string
				for left := uint(i); left != 0; left &= left - 1 {
					roles = append(roles, table.Hierarchy()[30+bits.TrailingZeros(left)])
				}
				callers = append(callers, table.Resolve(access.Principal{Subject: "ada", Roles: roles}))
			}
		}
		b.Run(fmt.Sprint(sets), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				if table.Visible(callers[i%len(callers)]).Len() == 1000 {
					b.Fatal("wrong")
				}
			}
		})
	}
}
