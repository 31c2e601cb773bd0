package systemtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// drawnRule is a rule in both forms: for the manifest and for the table.
type drawnRule struct {
	minRole               string
	public, authenticated bool
	scopes                []string
}

func (r drawnRule) manifest() map[string]any {
	return map[string]any{"public": r.public, "authenticated": r.authenticated,
		"minRole": r.minRole, "scopes": r.scopes}
}

func (r drawnRule) table(tool string, roles []string) access.Rule {
	role := access.Role(slices.Index(roles, r.minRole) + 1)
	switch r.minRole {
	case "lowest":
		role = access.Lowest
	case "highest":
		role = access.Highest
	}
	return access.Rule{Tool: tool, Public: r.public, Authenticated: r.authenticated,
		MinRole: role, Scopes: r.scopes}
}

var (
	drawnRoles  = []string{"A", "B", "C", "D"}
	drawnScopes = []string{"s", "t"}
	drawnTools  = []string{"x", "y", "z"}
)

func drawRule(t *rapid.T, roles []string) (r drawnRule) {
	if rapid.IntRange(0, 4).Draw(t, "public") == 0 {
		return drawnRule{public: true}
	}
	r.authenticated = rapid.Bool().Draw(t, "authenticated")
	r.minRole = rapid.SampledFrom(append([]string{"", "lowest", "highest"}, roles...)).
		Draw(t, "minrole")
	for _, scope := range drawnScopes {
		if rapid.Bool().Draw(t, "scope "+scope) {
			r.scopes = append(r.scopes, scope)
		}
	}
	if !r.authenticated && r.minRole == "" && r.scopes == nil {
		r.authenticated = true // a rule that admits nobody is an error of the generator
	}
	return r
}

// stricter is a rule that needs all that a rule needs.
func stricter(t *rapid.T, r drawnRule, roles []string) drawnRule {
	v := drawRule(t, roles)
	if r.public {
		return v
	}
	rank := func(role string) int {
		return map[string]int{"lowest": 1, "highest": len(roles)}[role] +
			slices.Index(roles, role) + 1
	}
	if v.public = false; rank(v.minRole) < rank(r.minRole) {
		v.minRole = r.minRole
	}
	for _, scope := range r.scopes {
		if !slices.Contains(v.scopes, scope) {
			v.scopes = append(v.scopes, scope)
		}
	}
	v.authenticated = v.authenticated || r.authenticated ||
		v.minRole == "" && v.scopes == nil
	return v
}

// drawSide draws one side of a comparison: its manifest and its table.
func drawSide(t *rapid.T) (*policydiff.Manifest, access.Table) {
	roles := rapid.Permutation(drawnRoles).Draw(t, "roles")
	roles = roles[:rapid.IntRange(1, len(roles)).Draw(t, "number of roles")]
	part := access.Table{Roles: roles}
	var tools []map[string]any
	for _, name := range drawnTools {
		rule := drawRule(t, roles)
		part.Rules = append(part.Rules, rule.table(name, roles))
		var values []map[string]any
		enum := []string{"on", "off"}
		some := rapid.Bool().Draw(t, "values")
		for _, value := range enum {
			v := rule
			if some && rapid.Bool().Draw(t, "rule of "+value) {
				v = stricter(t, rule, roles)
				values = append(values, map[string]any{"argument": "a/b", "value": value,
					"access": v.manifest()})
			}
			if some {
				r := v.table(name, roles)
				r.Argument, r.Value = "a/b", value
				part.Values = append(part.Values, r)
			}
		}
		tools = append(tools, map[string]any{"name": name, "handler": strings.ToUpper(name),
			"access": rule.manifest(), "values": values,
			"input": map[string]any{"/a~1b": map[string]any{"type": "string", "enum": enum}}})
	}
	text, err := json.Marshal(map[string]any{"manifest": 2, "package": "p", "roles": roles,
		"tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	m, err := policydiff.Read("p", text)
	if err != nil {
		t.Fatal(err)
	}
	table, err := access.Compose(access.Part{Package: "p", Table: part})
	if err != nil {
		t.Fatal(err)
	}
	return m, table
}

// admits evaluates the words of a change, as in "needs scope s and scope t, or scope u".
func admits(words string, scopes []string) bool {
	needs, ok := strings.CutPrefix(words, "needs ")
	if !ok {
		return words == "allowed"
	}
	return slices.ContainsFunc(strings.Split(needs, ", or "), func(term string) bool {
		for part := range strings.SplitSeq(term, " and ") {
			if !slices.Contains(scopes, strings.TrimPrefix(part, "scope ")) {
				return false
			}
		}
		return true
	})
}

// subjects are the tools and the values of their arguments.
var subjects = []string{"x", "y", "z", "x a/b=on", "x a/b=off", "y a/b=on", "y a/b=off",
	"z a/b=on", "z a/b=off"}

// decision decides about a tool or a value. A value without a rule needs what its tool needs.
func decision(table access.Table, p access.Principal, subject string) bool {
	tool, _, value := strings.Cut(subject, " ")
	if value && len(table.Choices(p, tool)) > 0 {
		return table.Of(access.Values).Decide(p, subject).Allowed
	}
	return table.Decide(p, tool).Allowed
}

// TestDiffReportsExactlyWhatDecisionsDiffer holds diff against the decision function of the
// runtime: for each role, set of scopes and tool, and for each value with a rule.
func TestDiffReportsExactlyWhatDecisionsDiffer(t *testing.T) {
	scopeSets := [][]string{nil, {"s"}, {"t"}, {"s", "t"}}
	rapid.Check(t, func(t *rapid.T) {
		base, old := drawSide(t)
		head, current := drawSide(t)
		type fact struct {
			kind                    policydiff.Kind
			caller, scopes, subject string
		}
		reported, byRole := map[fact]bool{}, map[fact]bool{}
		for _, c := range policydiff.Compare([]*policydiff.Manifest{base},
			[]*policydiff.Manifest{head}) {
			if c.Kind != policydiff.Widened && c.Kind != policydiff.Narrowed {
				continue
			}
			for _, caller := range c.Callers {
				for _, item := range c.Items {
					byRole[fact{c.Kind, caller, "", item}] = true
				}
				for _, scopes := range scopeSets {
					before, after := admits(c.Before, scopes), admits(c.After, scopes)
					if c.Subject != "role" && before != after &&
						after == (c.Kind == policydiff.Widened) {
						reported[fact{c.Kind, caller, fmt.Sprint(scopes), c.Name}] = true
					}
				}
			}
		}
		roles, after := old.Hierarchy(), current.Hierarchy()
		wanted, wantedByRole := map[fact]bool{}, map[fact]bool{}
		for _, caller := range append([]string{"anonymous", "no role"}, drawnRoles...) {
			role := slices.Contains(drawnRoles, caller)
			one := slices.Contains(roles, caller) != slices.Contains(after, caller)
			if role && !one && !slices.Contains(roles, caller) {
				continue // in neither hierarchy: as "no role"
			}
			for _, scopes := range scopeSets {
				p := access.Principal{Subject: "ada", Scopes: scopes}
				if role {
					p.Role = caller
				}
				if caller == "anonymous" {
					p = access.Principal{}
				}
				for _, name := range subjects {
					before, now := decision(old, p, name), decision(current, p, name)
					if before == now {
						continue
					}
					kind := map[bool]policydiff.Kind{true: policydiff.Widened,
						false: policydiff.Narrowed}[now]
					if one {
						wantedByRole[fact{kind, caller, "", name}] = true
					} else {
						wanted[fact{kind, caller, fmt.Sprint(scopes), name}] = true
					}
				}
			}
		}
		compare := func(got, want map[fact]bool) {
			for f := range want {
				tool := f // a value that follows its tool is not reported
				tool.subject, _, _ = strings.Cut(f.subject, " ")
				if !got[f] && !got[tool] {
					t.Errorf("not reported: %+v", f)
				}
			}
			for f := range got {
				if !want[f] {
					t.Errorf("reported, and decisions are equal: %+v", f)
				}
			}
		}
		compare(reported, wanted)
		compare(byRole, wantedByRole)
	})
}
