// Package matrix draws the table of a server as a matrix of roles.
package matrix

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/scopeorder"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Matrix is every tool, prompt and resource by every kind of caller, decided by the server's own
// table. Roles decide it: further requirements are in words beside it, as in the output of mcpgen
// matrix.
type Matrix struct {
	Callers []column
	Parts   []part
	Notes   []string
}

// Width is how many columns the table has.
func (m Matrix) Width() int { return len(m.Callers) + 2 }

// column is a kind of caller.
type column struct {
	Name      string
	principal access.Principal
}

// Path is the page with what such a caller sees, and why.
func (c column) Path() string {
	q := url.Values{}
	if !c.principal.Anonymous() {
		q.Set("subject", c.principal.Subject)
	}
	if len(c.principal.Roles) > 0 {
		q["role"] = c.principal.Roles
	}
	q.Set("show", "1")
	return runtime.PathConsole + "/principal?" + q.Encode()
}

type part struct {
	Kind string // of access.Kind
	Rows []row
}

type row struct {
	Name  string
	Off   bool
	Cells []cell
	Also  []string // what the caller needs besides
}

type cell struct {
	May     bool
	Missing string // what the caller lacks, by access.Decision.Missing
}

// The callers below every role, in the words of mcpgen matrix.
const (
	Anonymous = "anonymous"
	noRole    = "no role"
	somebody  = "somebody"
)

// Kinds are the parts of the page. Values are those of tools' arguments with rules of their own,
// and fields those of arguments and results.
func Kinds() []access.Kind {
	return []access.Kind{access.Tools, access.Values, access.Fields, access.Prompts, access.Resources}
}

// callersOf are the columns of a matrix.
func callersOf(roles []string) []column {
	all := []column{{Anonymous, access.Principal{}}, {noRole, access.Principal{Subject: somebody}}}
	for _, role := range roles {
		all = append(all, column{role, access.Principal{Subject: somebody, Roles: []string{role}}})
	}
	return all
}

// Of draws a table. off are the tools that are switched off, and allows returns the permissions
// that calls of a tool need.
func Of(table access.Table, off []string, allows func(tool string) []toolset.Allow) Matrix {
	m := Matrix{Callers: callersOf(table.Hierarchy())}
	for _, k := range Kinds() {
		p := part{Kind: k.String()}
		for _, rule := range table.Of(k).Rules {
			r := row{Name: rule.Name(),
				Off: k == access.Tools && slices.Contains(off, rule.Name())}
			enforced, byRole := enforcesPermission(table, k, rule), byRole(table, k, rule)
			for _, c := range m.Callers {
				caller := c.principal
				caller.Scopes = slices.Concat(rule.Alternatives()...)
				d := byRole.Decide(caller, rule.Name())
				r.Cells = append(r.Cells, cell{d.Allowed, d.Missing()})
			}
			for _, roles := range byRole.Together(rule.Name()) {
				r.Also = append(r.Also, "or the roles "+strings.Join(roles, " and "))
			}
			r.Also = append(r.Also, scopeorder.Words(rule.Alternatives(), func(scope string) string {
				return scope
			})...)
			switch {
			case rule.Permission.Required() && enforced:
				r.Also = append(r.Also, "permission "+rule.Permission.String())
			case rule.Permission.Required():
				r.Also = append(r.Also, fmt.Sprintf(
					"permission %s (enforced only with Host.Source)", rule.Permission))
			case rule.Permission == access.NoPermission():
				r.Also = append(r.Also, "no permission of the host")
			}
			if k == access.Tools {
				for _, a := range allows(rule.Name()) {
					needs := fmt.Sprintf("a grant of %s on {%s}", a.Kind, a.Argument)
					if a.Within != "" {
						needs += " within " + a.Within
					}
					r.Also = append(r.Also, needs)
				}
			}
			p.Rows = append(p.Rows, r)
		}
		if len(p.Rows) > 0 || k == access.Tools {
			m.Parts = append(m.Parts, p)
		}
	}
	return m
}

// enforcesPermission reports whether the table enforces the rule's permission: a principal without
// permissions of the host lacks it then.
func enforcesPermission(table access.Table, k access.Kind, rule access.Rule) bool {
	p := access.Principal{Subject: somebody,
		Scopes: slices.Concat(rule.Alternatives()...)}
	return slices.ContainsFunc(table.Of(k).Explain(p, rule.Name()), func(v access.Verdict) bool {
		return v.Axis == access.AxisPermission && !v.Holds
	})
}

// byRole is a table of the rule alone, without permissions of the host.
func byRole(table access.Table, k access.Kind, rule access.Rule) access.Table {
	enforced := enforcesPermission(table, k, rule) && rule.Permission.Required()
	if enforced {
		rule.Authenticated = true // an anonymous caller has no permission
	}
	alone := access.Table{Roles: table.Roles, Rules: []access.Rule{rule}}
	if k == access.Values { // its tool's roles are needed too
		tool, _ := table.Tool(rule.Tool)
		alone.Rules, alone.Values = []access.Rule{tool}, []access.Rule{rule}
		return alone.Of(k)
	}
	for _, v := range table.Values {
		if k == access.Tools && v.Tool == rule.Tool {
			v.Authenticated = v.Authenticated || enforced
			alone.Values = append(alone.Values, v)
		}
	}
	return alone
}
