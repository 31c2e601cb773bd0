package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"
	"github.com/cedar-policy/cedar-go"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// casbin reads all lines of a policy for each decision, so that there is one for each role, and
// what is many are links, which it looks up: higher roles to lower ones, tools to the role that
// they need, users to their permissions and these to their tools.
const (
	casbinByRole = `
[request_definition]
r = role, tool
[policy_definition]
p = role
[role_definition]
g = _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g2(r.tool, p.role) && g(r.role, p.role)
`
	casbinByPermission = `
[request_definition]
r = role, user, tool
[policy_definition]
p = role
[role_definition]
g = _, _
g2 = _, _
g3 = _, _
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = g2(r.tool, p.role) && g(r.role, p.role) && g3(r.user, r.tool)
`
)

var casbinDecider = decider{"casbin", func(t testing.TB, p policy, permissions bool) func(asker) decisions {
	e, err := casbin.NewEnforcer(casbinModel(t, permissions))
	if err != nil {
		t.Fatal(err)
	}
	return casbinDecisions(t, e, p, permissions)
}}

// casbinCachedDecider keeps what it has decided once, and has decided everything before it is
// measured.
var casbinCachedDecider = decider{"casbin-cached", func(t testing.TB, p policy, permissions bool) func(asker) decisions {
	e, err := casbin.NewCachedEnforcer(casbinModel(t, permissions))
	if err != nil {
		t.Fatal(err)
	}
	ask := casbinDecisions(t, e, p, permissions)
	return func(a asker) decisions {
		d := ask(a)
		d.list()
		return d
	}
}}

func casbinModel(t testing.TB, permissions bool) model.Model {
	text := casbinByRole
	if permissions {
		text = casbinByPermission
	}
	m, err := model.NewModelFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func casbinDecisions(t testing.TB, e casbin.IEnforcer, p policy, permissions bool) func(asker) decisions {
	add := func(_ bool, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, role := range p.roles {
		add(e.AddPolicy(role))
		if i > 0 {
			add(e.AddGroupingPolicy(role, p.roles[i-1]))
		}
	}
	for _, tool := range p.tools {
		add(e.AddNamedGroupingPolicy("g2", tool.name, p.roles[tool.rank-1]))
		if permissions {
			add(e.AddNamedGroupingPolicy("g3", tool.permission.String(), tool.name))
		}
	}
	if permissions {
		for user, held := range p.held {
			for permission := range held {
				add(e.AddNamedGroupingPolicy("g3", user, permission))
			}
		}
	}
	return func(a asker) decisions {
		return oneByOne(p, func(tool string) bool {
			var may bool
			var err error
			if permissions {
				may, err = e.Enforce(a.role, a.user, tool)
			} else {
				may, err = e.Enforce(a.role, tool)
			}
			if err != nil {
				t.Fatal(err)
			}
			return may
		})
	}
}

// cedar: a policy for each role, callers below their roles, and tools in a group for each role that
// they need.
var cedarDecider = decider{"cedar-go", func(t testing.TB, p policy, permissions bool) func(asker) decisions {
	var text strings.Builder
	entities := cedar.EntityMap{}
	add := func(uid cedar.EntityUID, attributes cedar.RecordMap, parents ...cedar.EntityUID) {
		entities[uid] = cedar.Entity{UID: uid, Parents: cedar.NewEntityUIDSet(parents...), Attributes: cedar.NewRecord(attributes)}
	}
	entity := func(kind, id string) cedar.EntityUID {
		return cedar.NewEntityUID(cedar.EntityType(kind), cedar.String(id))
	}
	for i, role := range p.roles {
		fmt.Fprintf(&text, "permit (principal in Role::%q, action == Action::\"call\", resource in Tools::%q)", role, role)
		if permissions {
			text.WriteString(" when { principal.permissions.contains(resource.permission) }")
		}
		text.WriteString(";\n")
		add(entity("Role", role), nil)
		if i > 0 {
			add(entity("Role", role), nil, entity("Role", p.roles[i-1]))
		}
	}
	for _, tool := range p.tools {
		add(entity("Tool", tool.name), cedar.RecordMap{"permission": cedar.String(tool.permission.String())}, entity("Tools", p.roles[tool.rank-1]))
	}
	policies, err := cedar.NewPolicySetFromBytes("policy.cedar", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	call := entity("Action", "call")
	return func(a asker) decisions {
		var held []cedar.Value
		for permission := range p.held[a.user] {
			held = append(held, cedar.String(permission))
		}
		caller := entity("User", a.user+" as "+a.role)
		if slices.Contains(p.roles, a.role) {
			add(caller, cedar.RecordMap{"permissions": cedar.NewSet(held...)}, entity("Role", a.role))
		} else {
			add(caller, cedar.RecordMap{"permissions": cedar.NewSet(held...)})
		}
		return oneByOne(p, func(tool string) bool {
			decision, _ := cedar.Authorize(policies, entities, cedar.Request{Principal: caller, Action: call, Resource: entity("Tool", tool)})
			return decision == cedar.Allow
		})
	}
}}

// opa: prepared queries over data in memory; its input is parsed beforehand, and its list is one
// query.
const (
	opaByRole = `package many
allow if data.roles[input.role] >= data.tools[input.tool].rank
visible contains tool if {
	rank := data.roles[input.role]
	some tool, rule in data.tools
	rank >= rule.rank
}
`
	opaByPermission = `package many
allow if {
	rule := data.tools[input.tool]
	data.roles[input.role] >= rule.rank
	data.held[input.user][rule.permission]
}
visible contains tool if {
	rank := data.roles[input.role]
	held := data.held[input.user]
	some tool, rule in data.tools
	rank >= rule.rank
	held[rule.permission]
}
`
)

var opaDecider = decider{"opa", func(t testing.TB, p policy, permissions bool) func(asker) decisions {
	tools, roles, held := map[string]any{}, map[string]any{}, map[string]any{}
	for _, tool := range p.tools {
		tools[tool.name] = map[string]any{"rank": tool.rank, "permission": tool.permission.String()}
	}
	for i, role := range p.roles {
		roles[role] = i + 1
	}
	for user, permissions := range p.held {
		has := map[string]any{}
		for permission := range permissions {
			has[permission] = true
		}
		held[user] = has
	}
	module := opaByRole
	if permissions {
		module = opaByPermission
	}
	ctx := context.Background()
	store := inmem.NewFromObjectWithOpts(map[string]any{"tools": tools, "roles": roles, "held": held}, inmem.OptReturnASTValuesOnRead(true))
	prepare := func(query string) rego.PreparedEvalQuery {
		q, err := rego.New(rego.Query(query), rego.Module("many.rego", module), rego.Store(store)).PrepareForEval(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	allow, visible := prepare("data.many.allow"), prepare("data.many.visible")
	input := func(a asker, tool string) ast.Value {
		return ast.MustInterfaceToValue(map[string]any{"role": a.role, "user": a.user, "tool": tool})
	}
	return func(a asker) decisions {
		inputs := map[string]ast.Value{}
		for _, tool := range p.tools {
			inputs[tool.name] = input(a, tool.name)
		}
		list := func() []any {
			results, err := visible.Eval(ctx, rego.EvalParsedInput(input(a, "")))
			if err != nil {
				t.Fatal(err)
			}
			return results[0].Expressions[0].Value.([]any)
		}
		return decisions{
			call: func(tool string) bool {
				known, ok := inputs[tool]
				if !ok {
					known = input(a, tool)
				}
				results, err := allow.Eval(ctx, rego.EvalParsedInput(known))
				if err != nil {
					t.Fatal(err)
				}
				return results.Allowed()
			},
			list: func() int { return len(list()) },
			names: func() (names []string) {
				for _, name := range list() {
					names = append(names, name.(string))
				}
				slices.Sort(names)
				return names
			},
		}
	}
}}
