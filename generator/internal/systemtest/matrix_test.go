package systemtest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/runtime/access"
)

func (r drawnRule) model() model.Access {
	return model.Access{Public: r.public, Authenticated: r.authenticated, MinRole: r.minRole,
		Scopes: r.scopes, OrScopes: r.orScopes}
}

// TestMatrixShowsWhatDecisionsAllow holds the matrix against the decision function of the runtime,
// for each set of roles. A caller with several roles has the columns of all, and the sets of roles
// that a row names. The callers have all scopes.
func TestMatrixShowsWhatDecisionsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := access.Table{Roles: drawOrder(t, drawnRoles)}
		s := model.Service{Roles: model.Roles{Chains: part.Roles, Own: true}}
		for _, name := range drawnTools {
			rule := drawRule(t, drawnRoles)
			part.Rules = append(part.Rules, rule.table(name))
			tool := model.Tool{Name: name, Access: rule.model()}
			for _, argument := range []string{"a", "b", "c"} {
				if !rapid.Bool().Draw(t, "values of "+argument) {
					continue
				}
				for _, value := range []string{"on", "off"} {
					v := model.Value{Argument: argument, Value: value, Access: rule.model()}
					r := rule.table(name)
					if rapid.IntRange(0, 3).Draw(t, "rule of "+value) > 0 {
						narrower := stricter(t, rule, drawnRoles)
						v.Ruled, v.Access, r = true, narrower.model(), narrower.table(name)
					}
					r.Argument, r.Value = argument, value
					tool.Values, part.Values = append(tool.Values, v), append(part.Values, r)
				}
			}
			s.Tools = append(s.Tools, tool)
		}
		table, err := access.Compose(access.Part{Package: "p", Table: part})
		if err != nil {
			t.Fatal(err)
		}
		order, _ := roleorder.New(part.Roles)
		for _, row := range document.ReportMatrix([]model.Service{s}).Packages[0].Rows {
			decide := func(p access.Principal) bool {
				if slices.Contains(drawnTools, row.Name) {
					return table.Decide(p, row.Name).Allowed
				}
				return table.Of(access.Values).Decide(p, row.Name).Allowed
			}
			if got := decide(access.Principal{}); got != slices.Contains(row.Callers, "anonymous") {
				t.Errorf("anonymous: %v in %+v", got, row)
			}
			for _, roles := range setsOf(drawnRoles) {
				shown := slices.Contains(row.Callers, "no role") ||
					slices.ContainsFunc(roles, func(role string) bool {
						return slices.Contains(row.Callers, role)
					}) || slices.ContainsFunc(row.Together, func(set []string) bool {
					return order.Held(set)&^order.Held(roles) == 0
				})
				p := access.Principal{Subject: "ada", Roles: roles, Scopes: drawnScopes}
				if got := decide(p); got != shown {
					t.Errorf("%v: decided %v, and shown %v in %+v", roles, got, shown, row)
				}
			}
			for i, set := range row.Together { // none is implied by another set or by one role
				rest := slices.Delete(slices.Clone(row.Together), i, i+1)
				for _, role := range row.Callers {
					rest = append(rest, []string{role})
				}
				if len(set) < 2 || slices.ContainsFunc(rest, func(other []string) bool {
					return order.Held(other) != 0 && order.Held(other)&^order.Held(set) == 0
				}) {
					t.Errorf("%v is not among the smallest sets of %+v", set, row)
				}
			}
		}
	})
}
