package toolset

import (
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Check reports what does not fit together in one package: a tool, prompt, resource or guarded
// field without a rule or with the name of another one, a rule of none of them, a rule that the
// server cannot enforce, and a missing server name. The error has a line for each problem, or is
// nil.
//
// aware reports that the server enforces the permissions of its host. Without it, a rule that
// requires only such a permission would admit nobody. The server calls Check.
func (g Generated) Check(aware bool) error {
	var errs []error
	bad := func(format string, args ...any) {
		args = append([]any{g.Package}, args...)
		errs = append(errs, fmt.Errorf("package %s: "+format, args...))
	}
	guarded, unread := g.guardedFields()
	for _, err := range unread {
		bad("%w", err)
	}
	rules := map[access.Kind]map[string]*access.Rule{} // by name; a table may be large
	for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources,
		access.Fields} {
		rules[k] = map[string]*access.Rule{}
		served := map[string]bool{}
		table := g.Table.Of(k)
		for i := range table.Rules {
			rule := &table.Rules[i]
			rules[k][rule.Name()] = rule
			if !aware && rule.PermissionOnly() {
				bad("%s %q has only the rule %s, which only permission-aware discovery enforces: add "+
					"authenticated, minrole= or scopes= to its //mcp:%s, and run go generate",
					k, rule.Name(), rule.Permission, k)
			}
		}
		for _, name := range g.names(k, guarded) {
			if served[name] {
				bad("%s %q is there twice: run go generate", k, name)
			}
			served[name] = true
			if rules[k][name] == nil {
				bad("%s %q has no rule in Generated.Table: run go generate", k, name)
			}
		}
		for _, rule := range table.Rules {
			if !served[rule.Name()] && k != access.Fields { // it holds below interfaces
				bad("the rule of %q has no %s: run go generate", rule.Name(), k)
			}
		}
	}
	for _, t := range g.Tools {
		view, rule := rules[access.Resources][t.UI], rules[access.Tools][t.Name]
		if t.UI != "" && (view == nil || rule != nil && !view.Same(*rule)) {
			bad("the resource %q of tool %q has not the tool's rule: run go generate", t.UI, t.Name)
		}
	}
	for _, rule := range g.Table.Values {
		if rules[access.Tools][rule.Tool] == nil {
			bad("the rule of %s %q does not belong to a tool of the package: run go generate",
				access.Values, rule.Name())
		}
	}
	if g.Server.Name == "" {
		bad("the server has no name: write //mcp:server name= and run go generate")
	}
	return errors.Join(errs...)
}

// names returns the names of a kind, or the URIs of resources, in the order of the description.
// guarded are those of fields.
func (g Generated) names(k access.Kind, guarded []string) []string {
	var names []string
	switch k {
	case access.Fields:
		return guarded
	case access.Tools:
		for _, t := range g.Tools {
			names = append(names, t.Name)
		}
	case access.Prompts:
		for _, p := range g.Prompts {
			names = append(names, p.Name)
		}
	case access.Resources:
		for _, r := range g.Resources {
			names = append(names, r.URI)
		}
	}
	return names
}
