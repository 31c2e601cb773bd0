package systemtest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/runtime/access"
)

func (r drawnRule) model() model.Access {
	return model.Access{Public: r.public, Authenticated: r.authenticated, MinRole: r.minRole,
		Scopes: r.scopes, OrScopes: r.orScopes}
}

// drawService draws rules of tools and of values of their arguments, as the runtime and the
// generator have them.
func drawService(t *rapid.T) (part access.Table, s model.Service) {
	part = access.Table{Roles: drawOrder(t, drawnRoles)}
	s = model.Service{Roles: model.Roles{Chains: part.Roles, Own: true}}
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
	return part, s
}

// TestMatrixShowsWhatDecisionsAllow holds the matrix against the decision function of the runtime,
// for each set of roles. A caller with several roles has the columns of all, and the sets of roles
// that a row names. The callers have all scopes.
func TestMatrixShowsWhatDecisionsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part, s := drawService(t)
		table, err := access.Compose(access.Part{Package: "p", Table: part})
		if err != nil {
			t.Fatal(err)
		}
		order, _ := roleorder.New(part.Roles)
		for _, row := range document.ReportMatrix([]model.Service{s}, nil).Packages[0].Rows {
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

// TestMatrixOfAClientShowsWhatDecisionsAllow is that with a boundary, for each caller of its
// client. An item without a row is for no caller.
func TestMatrixOfAClientShowsWhatDecisionsAllow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part, s := drawService(t)
		var readOnly []string
		for i := range s.Tools {
			hint := rapid.Bool().Draw(t, "readonly")
			if s.Tools[i].Hints.ReadOnly = &hint; hint {
				readOnly = append(readOnly, s.Tools[i].Name)
			}
			if rapid.Bool().Draw(t, "in the catalog") {
				s.Tools[i].Catalogs = []string{"some"}
			}
		}
		items := []string{"catalog:some"}
		for _, tool := range drawnTools {
			items = append(items, "tool:"+tool, "tool:"+tool+" a=on", "tool:"+tool+" a=off",
				"tool:"+tool+" b=on", "prompt:"+tool)
		}
		all := []string{boundaryitem.All}
		b := boundaryfile.Boundary{ReadOnly: rapid.Bool().Draw(t, "readonly boundary"),
			Roles: rapid.OneOf(rapid.Just(all), rapid.SliceOfDistinct(rapid.SampledFrom(drawnRoles),
				rapid.ID)).Draw(t, "roles"),
			Items: rapid.OneOf(rapid.Just(all), rapid.SliceOfDistinct(rapid.SampledFrom(items),
				rapid.ID)).Draw(t, "items")}
		table, err := access.Compose(access.Part{Package: "p", Table: part})
		if err != nil {
			t.Fatal(err)
		}
		roles := b.Roles
		if boundaryitem.IsAll(roles) {
			roles = table.Hierarchy()
		}
		catalogs := map[string][]string{}
		for _, c := range s.Catalogs() {
			catalogs[c.Name] = c.Tools
		}
		inside, _ := boundaryitem.NewSet(b.Items, catalogs, isRuled(part))
		bounds := table.Bounds(roles, func(k access.Kind, rule access.Rule) bool {
			if b.ReadOnly && !slices.Contains(readOnly, rule.Tool) {
				return false
			}
			return k == access.Tools && inside.Has(boundaryitem.Tool, rule.Tool) ||
				k == access.Values && inside.HasValue(rule.Tool, rule.Argument, rule.Value)
		})
		client, _, err := document.NewClient([]model.Service{s}, boundaryfile.Entry{Boundary: b})
		if err != nil {
			t.Fatal(err)
		}
		order, _ := roleorder.New(part.Roles)
		rows := document.ReportMatrix([]model.Service{s}, client).Packages[0].Rows
		row := func(name string) int {
			return slices.IndexFunc(rows, func(row document.MatrixRow) bool { return row.Name == name })
		}
		has := func(name string) bool { return row(name) >= 0 }
		shows := func(name string, roles []string) bool {
			at := row(name)
			return at >= 0 && (slices.Contains(rows[at].Callers, "no role") ||
				slices.ContainsFunc(roles, func(role string) bool {
					return slices.Contains(rows[at].Callers, role)
				}) || slices.ContainsFunc(rows[at].Together, func(set []string) bool {
				return order.Held(set)&^order.Held(roles) == 0
			}))
		}
		for _, roles := range append(setsOf(drawnRoles), nil) {
			p := access.Principal{Subject: "ada", Roles: roles, Scopes: drawnScopes, Bounds: bounds}
			for _, tool := range drawnTools {
				if got := table.Decide(p, tool).Allowed; got != shows(tool, roles) {
					t.Errorf("%s for %v within %+v: decided %v, and shown %v", tool, roles, b, got, !got)
				}
			}
			for _, rule := range table.Values {
				got := table.Of(access.Values).Decide(p, rule.Name()).Allowed && has(rule.Tool)
				if got != shows(rule.Name(), roles) {
					t.Errorf("%s for %v within %+v: decided %v, and shown %v", rule.Name(), roles, b, got, !got)
				}
			}
		}
		for _, row := range rows {
			if len(row.Callers)+len(row.Together) == 0 {
				t.Errorf("nobody may use what %+v shows", row)
			}
		}
	})
}
