package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// matrix is every tool, prompt and resource by every kind of caller, decided by the server's own
// table. Roles decide it: what a caller needs besides stands in words beside it, as in what mcpgen
// matrix prints.
type matrix struct {
	Callers []column
	Parts   []matrixPart
	Notes   []string
}

// Width is how many columns the table has.
func (m matrix) Width() int { return len(m.Callers) + 2 }

// column is a kind of caller.
type column struct {
	Name      string
	principal access.Principal
}

// Path is the page that tells what such a caller sees, and why.
func (c column) Path() string {
	q := url.Values{}
	if !c.principal.Anonymous() {
		q.Set("subject", c.principal.Subject)
	}
	if c.principal.Role != "" {
		q.Set("role", c.principal.Role)
	}
	q.Set("show", "1")
	return withQuery(pathPrincipal, q)
}

const pathPrincipal = runtime.PathConsole + "/principal"

type matrixPart struct {
	Kind string // "tool", "prompt" or "resource"
	Rows []matrixRow
}

type matrixRow struct {
	Name  string
	Off   bool
	Cells []matrixCell
	Also  []string // what the caller needs besides
}

type matrixCell struct {
	May     bool
	Missing string // what the caller lacks, as access.Decision.Missing says it
}

// The callers that stand below every role, in the words of mcpgen matrix.
const (
	anonymous = "anonymous"
	noRole    = "no role"
	somebody  = "somebody"
)

// kinds are the parts of the page. Values are those of tools' arguments with rules of their own.
func kinds() []access.Kind {
	return []access.Kind{access.Tools, access.Values, access.Prompts, access.Resources}
}

// callersOf are the columns of a matrix.
func callersOf(roles []string) []column {
	all := []column{{anonymous, access.Principal{}}, {noRole, access.Principal{Subject: somebody}}}
	for _, role := range roles {
		all = append(all, column{role, access.Principal{Subject: somebody, Role: role}})
	}
	return all
}

// matrixOf draws a table. off are the tools that are switched off, and allows what calls of a tool
// need grants for.
func matrixOf(table access.Table, off []string, allows func(tool string) []toolset.Allow) matrix {
	m := matrix{Callers: callersOf(table.Hierarchy())}
	for _, k := range kinds() {
		part := matrixPart{Kind: k.String()}
		for _, rule := range table.Of(k).Rules {
			row := matrixRow{Name: rule.Name(), Off: k == access.Tools && slices.Contains(off, rule.Name())}
			enforced, byRole := enforcesPermission(table, k, rule), byRole(table, k, rule)
			for _, c := range m.Callers {
				p := c.principal
				p.Scopes = rule.Scopes
				d := byRole.Decide(p, rule.Name())
				row.Cells = append(row.Cells, matrixCell{d.Allowed, d.Missing()})
			}
			for _, scope := range rule.Scopes {
				row.Also = append(row.Also, "scope "+scope)
			}
			switch {
			case rule.Permission.Asked() && enforced:
				row.Also = append(row.Also, "permission "+rule.Permission.String())
			case rule.Permission.Asked():
				row.Also = append(row.Also, fmt.Sprintf("permission %s (enforced only with PermissionAware)", rule.Permission))
			case rule.Permission == access.NoPermission():
				row.Also = append(row.Also, "no permission of the host")
			}
			if k == access.Tools {
				for _, a := range allows(rule.Name()) {
					row.Also = append(row.Also, fmt.Sprintf("a grant of %s on {%s}", a.Kind, a.Argument))
				}
			}
			part.Rows = append(part.Rows, row)
		}
		if len(part.Rows) > 0 || k == access.Tools {
			m.Parts = append(m.Parts, part)
		}
	}
	return m
}

// enforcesPermission reports whether the table enforces the rule's permission: a principal without
// permissions of the host lacks it then.
func enforcesPermission(table access.Table, k access.Kind, rule access.Rule) bool {
	p := access.Principal{Subject: somebody, Scopes: rule.Scopes}
	return slices.ContainsFunc(table.Of(k).Explain(p, rule.Name()), func(v access.Verdict) bool {
		return v.Axis == access.AxisPermission && !v.Holds
	})
}

// byRole is a table of the rule alone, without permissions of the host.
func byRole(table access.Table, k access.Kind, rule access.Rule) access.Table {
	enforced := enforcesPermission(table, k, rule) && rule.Permission.Asked()
	if enforced {
		rule.Authenticated = true // an anonymous caller has no permission
	}
	alone := access.Table{Roles: table.Hierarchy(), Rules: []access.Rule{rule}}
	for _, v := range table.Values {
		if k == access.Tools && v.Tool == rule.Tool {
			v.Authenticated = v.Authenticated || enforced
			alone.Values = append(alone.Values, v)
		}
	}
	return alone
}

func (v *visit) showMatrix() error {
	off, err := v.store.ToolsOff(v.ctx)
	if err != nil {
		return err
	}
	m := matrixOf(v.server.Table(), off, v.server.Allows)
	if len(m.Parts[0].Rows) > 0 {
		if host := v.server.ExplainOf(v.ctx, access.Principal{}, access.Tools, m.Parts[0].Rows[0].Name).Host; host != "" {
			m.Notes = append(m.Notes, anonymous+": "+host)
		}
	}
	return v.show("matrix", page{Title: "Role matrix", Here: "matrix", Data: m})
}

// view is what a chosen principal sees.
type view struct {
	Issuer, Subject, Client, Role, Scopes, Groups, User string
	Catalog                                             string // a name or an id
	Roles                                               []string
	Shown                                               bool // a principal is chosen
	Name                                                string
	Allowed, Of                                         int // tools
	Host                                                []string
	RequestedCatalog                                    *requestedCatalog // nil without one
	Parts                                               []viewPart
}

type viewPart struct {
	Kind string
	Rows []viewRow
}

type viewRow struct {
	runtime.Explanation
	Off bool
}

// May reports whether a call would be let through.
func (r viewRow) May() bool { return r.Allowed && !r.Off }

// Shows reports whether lists show it.
func (r viewRow) Shows() bool { return r.Listed && !r.Off }

// showPrincipal tells what a principal may use and why, as the server would decide it. Nothing of
// it is kept.
func (v *visit) showPrincipal() error {
	q := v.r.URL.Query()
	table := v.server.Table()
	d := view{
		Issuer: q.Get("issuer"), Subject: q.Get("subject"), Client: q.Get("client"), Role: q.Get("role"), Scopes: q.Get("scopes"), Groups: q.Get("groups"), User: q.Get("user"), Catalog: q.Get("catalog"),
		Roles: table.Hierarchy(), Shown: q.Has("show"),
	}
	if !d.Shown {
		return v.show("principal", page{Title: "What a caller sees", Here: "principal", Data: d})
	}
	p := access.Principal{Issuer: d.Issuer, Subject: d.Subject, Client: d.Client, Role: d.Role, User: d.User, Scopes: strings.Fields(d.Scopes), Groups: strings.Fields(d.Groups)}
	d.Name = d.Subject
	if p.Anonymous() {
		d.Name = "an anonymous caller"
	}
	off, err := v.store.ToolsOff(v.ctx)
	if err != nil {
		return err
	}
	if d.RequestedCatalog, err = v.requestedCatalog(p, d.Catalog); err != nil {
		return err
	}
	for _, k := range kinds() {
		part := viewPart{Kind: k.String()}
		for _, name := range table.Of(k).Tools() {
			row := viewRow{v.server.ExplainOf(v.ctx, p, k, name), k == access.Tools && slices.Contains(off, name)}
			if row.Host != "" && !slices.Contains(d.Host, row.Host) {
				d.Host = append(d.Host, row.Host)
			}
			if k == access.Tools {
				d.RequestedCatalog.add(row)
				d.Of++
				if row.May() {
					d.Allowed++
				}
			}
			part.Rows = append(part.Rows, row)
		}
		if len(part.Rows) > 0 {
			d.Parts = append(d.Parts, part)
		}
	}
	return v.show("principal", page{Title: "What a caller sees", Here: "principal", Data: d})
}
