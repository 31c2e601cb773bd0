package document

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// matrix is the table of tools, prompts, resources and callers, drawn in MCP.md and by mcpgen
// matrix alike.
type matrix struct {
	callers []string // columns: anonymous, a caller of no role, then the roles of the order
	order   roleorder.Order
	rows    []matrixRow
	within  *within // nil without a boundary
}

type matrixRow struct {
	kind string     // "tool", "prompt", "resource" or "field"
	id   string     // the name of the tool, prompt or field, or the URI of the resource
	tool string     // its name, or the URI; a value with a rule has its argument and itself behind it
	name string     // the same for people; see fieldNames
	may  []bool     // by caller, as far as roles decide
	also words      // what the caller needs besides, in words; code in backquotes
	sets [][]string // of several roles that open it together; see [roleorder.Order.Together]
	// proven is what its handler is proven to reach, or that nothing is; empty where no tool of the
	// package has a record.
	proven string
}

// The callers that stand below every role.
const (
	anonymous = "anonymous"
	noRole    = "no role" // authenticated, with no role that the hierarchy knows
)

// The columns of a service that names no role.
const (
	lowestRole  = "lowest role"
	highestRole = "highest role"
)

// The positions of columns.
const (
	withoutRole = 1
	firstRole   = 2 // the lowest role
)

// matrixOf reads the table of a service. A service that names no role fits any hierarchy: only the
// lowest and the highest of its roles differ.
func matrixOf(s model.Service) matrix { return matrixWithin(s, nil) }

// matrixWithin is matrixOf for a client with a boundary, if there is one. It has the rows that the
// client may use for some caller.
func matrixWithin(s model.Service, client *Client) matrix {
	m := matrix{callers: []string{anonymous, noRole}, order: s.Roles.Order()}
	if client != nil && !s.Roles.Own && client.order != nil {
		m.order = *client.order
	} else if !s.Roles.Own {
		m.order, _ = roleorder.New([][]string{{lowestRole, highestRole}})
	}
	m.callers = append(m.callers, m.order.Names()...)
	m.within = client.within(s, m.order)
	for _, tool := range s.Served() {
		row := m.row(tool, "", tool.Access, tool.Values, func(c caller) bool {
			return m.lets(tool.Access, c) && m.letsSomeValue(tool, c)
		})
		if !m.within.has(tool) || !m.shows(row) {
			continue
		}
		for _, argument := range tool.Closed() {
			row.also = append(row.also, fmt.Sprintf("a value of `%s`", argument))
		}
		row.also = append(row.also, permissionWords(*tool.Tool)...)
		if s.Proof != nil && tool.Kind == "tool" {
			row.proven = "not proven"
			if reached, found := s.Proof.Of(*tool.Tool); found {
				row.proven = strings.Join(reached.Summary(), ", ") // as capabilities= has them
			}
		}
		m.rows = append(m.rows, row)
		for _, v := range m.within.values(tool) {
			row := m.row(tool, " "+v.Name(), v.Access, []model.Value{v}, func(c caller) bool {
				return m.lets(tool.Access, c) && m.lets(v.Access, c)
			})
			if row.proven = m.rows[len(m.rows)-1].proven; m.shows(row) {
				m.rows = append(m.rows, row)
			}
		}
	}
	names := fieldNames(s)
	for _, f := range s.Fields {
		row := m.field(s, f)
		if row.name = names[f.Name]; row.may != nil && m.shows(row) {
			m.rows = append(m.rows, row)
		}
	}
	m.narrow()
	return m
}

// field is the row of a field: the callers who meet its rule and may use a tool that has it. The
// row of a client without such a tool is empty.
func (m matrix) field(s model.Service, f model.Field) matrixRow {
	var tools []model.Served
	var rules []model.Value // for the roles of the tools
	for _, tool := range s.Served() {
		if tool.Kind == "tool" && slices.Contains(f.Tools, tool.ID) && m.within.has(tool) {
			tools = append(tools, tool)
			rules = append(rules, model.Value{Access: tool.Access})
		}
	}
	if len(tools) == 0 {
		return matrixRow{}
	}
	of := model.Served{Tool: &model.Tool{Access: f.Access}, Kind: "field", ID: f.Name}
	return m.row(of, "", f.Access, rules, func(c caller) bool {
		return m.lets(f.Access, c) && slices.ContainsFunc(tools, func(tool model.Served) bool {
			return m.lets(tool.Access, c) && m.letsSomeValue(tool, c)
		})
	})
}

// fieldNames returns the names of fields that people read: the last element of the import path is
// in place of the whole, unless two fields have the same name then.
func fieldNames(s model.Service) map[string]string {
	names, times := map[string]string{}, map[string]int{}
	for _, f := range s.Fields {
		times[path.Base(f.Name)]++
	}
	for _, f := range s.Fields {
		if names[f.Name] = f.Name; times[path.Base(f.Name)] == 1 {
			names[f.Name] = path.Base(f.Name)
		}
	}
	return names
}

// caller is a kind of caller: an anonymous one, or one with the rights of roles.
type caller struct {
	anonymous bool
	held      uint64
}

// caller returns the caller of a column.
func (m matrix) caller(column int) caller {
	if column < firstRole {
		return caller{anonymous: column < withoutRole}
	}
	return caller{held: m.order.BelowAt(column-firstRole) & m.within.mask()}
}

// lets reports whether a rule lets a caller in, as far as roles decide. An empty rule lets nobody
// in.
func (m matrix) lets(a model.Access, c caller) bool {
	switch {
	case a.Public:
		return true
	case c.anonymous:
		return false
	case len(a.MinRole) > 0:
		return m.order.Bits(m.order.Resolve(a.MinRole))&c.held != 0
	}
	return a.Authenticated || len(a.Scopes) > 0 || a.Permission != ""
}

// letsSomeValue reports whether a caller may send a value of each argument.
func (m matrix) letsSomeValue(tool model.Served, c caller) bool {
	some := map[string]bool{}
	for _, v := range tool.Values {
		some[v.Argument] = some[v.Argument] || m.within.hasValue(tool, v) && m.lets(v.Access, c)
	}
	for _, may := range some {
		if !may {
			return false
		}
	}
	return true
}

// column is the column of a caller, which may have the role of another service. A hierarchy takes a
// role that it does not know as no role, unless the role is known to be the lowest one or above it.
func (m matrix) column(caller string, lowest bool) int {
	switch i := slices.Index(m.callers, caller); {
	case i >= 0:
		return i
	case caller == highestRole:
		return firstRole + len(m.order.Main()) - 1
	case caller == lowestRole, lowest:
		return firstRole
	}
	return withoutRole
}

// row is a row of the matrix, as far as an access rule and those of values decide. suffix names a
// value.
func (m matrix) row(of model.Served, suffix string, a model.Access, values []model.Value,
	may func(c caller) bool) matrixRow {
	row := matrixRow{kind: of.Kind, id: of.ID, tool: of.ID + suffix, name: of.ID + suffix}
	for column := range m.callers {
		row.may = append(row.may, may(m.caller(column)))
	}
	roles := slices.Clone(of.Access.MinRole)
	for _, v := range values {
		roles = append(roles, v.Access.MinRole...)
	}
	row.sets = m.order.Together(m.order.Resolve(roles), func(roles []string) bool {
		return may(caller{held: m.order.Held(roles) & m.within.mask()})
	})
	row.also = conditions(a)
	row.also.add(a.Permission == "" && a.Action == model.NoAction, "no permission of the host")
	return row
}

// needs are all that a caller needs beside the roles of the columns, and the sets of roles that
// open the row together.
func (r matrixRow) needs() words {
	needs := slices.Clone(r.also)
	for _, set := range r.sets {
		needs = append(needs, "open to the roles "+sentenceList(codes(set))+" together")
	}
	return needs
}

// conditions are the scopes and the permission of a rule.
func conditions(a model.Access) (list words) {
	list = scopeorder.Words(a.Alternatives(), func(scope string) string { return "`" + scope + "`" })
	list.add(a.Permission != "",
		fmt.Sprintf("permission `%s` (enforced only with Host.Source)", a.Permission))
	return list
}

// permissionWords are the permissions of a tool on what its arguments name.
func permissionWords(tool model.Tool) []string {
	var words []string
	for _, a := range tool.Allows {
		for _, kind := range a.Kinds {
			word := fmt.Sprintf("`%s` on `{%s}`", kind, a.Argument)
			if within := a.Within[kind]; within != "" {
				word += " within " + code(within)
			}
			words = append(words, word)
		}
	}
	return words
}

// Matrix draws who may use what, for a terminal: one table a package, and one of its catalogs where
// it has any. client is nil for a matrix without a boundary.
func Matrix(services []model.Service, client *Client) string {
	var b strings.Builder
	for i, s := range services {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (%s)%s\n", s.Server.Name, s.Package, client.words())
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		m := matrixWithin(s, client)
		kind := ""
		if len(m.rows) == 0 {
			kind = "tool"
			fmt.Fprintf(w, "tool\t%s\tand needs\n", strings.Join(m.callers, "\t"))
		}
		for _, row := range m.rows {
			if row.kind != kind {
				kind = row.kind
				fmt.Fprintf(w, "%s\t%s\tand needs", kind, strings.Join(m.callers, "\t"))
				if row.proven != "" {
					fmt.Fprint(w, "\tproven capabilities")
				}
				fmt.Fprintln(w)
			}
			cells := words{row.name}
			for _, may := range row.may {
				cells = append(cells, map[bool]string{true: "yes", false: "-"}[may])
			}
			cells.add(true, strings.ReplaceAll(strings.Join(row.needs(), ", "), "`", ""))
			cells.add(row.proven != "", row.proven)
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
		w.Flush() // into a strings.Builder, which does not fail
		if catalogs := m.catalogs(s); len(catalogs) > 0 {
			b.WriteByte('\n')
			fmt.Fprintln(w, "catalog\ttools")
			for _, c := range catalogs {
				fmt.Fprintf(w, "%s\t%s\n", c.Name, strings.Join(c.Tools, ", "))
			}
			w.Flush()
		}
	}
	return trimLines(b.String())
}

// trimLines drops the blanks that a table leaves at line ends.
func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// MatrixReport is the matrix as a document for programs.
type MatrixReport struct {
	Version int `json:"version"`
	// Client is the client whose boundary narrows the matrix.
	Client   *MatrixClient   `json:"client,omitempty"`
	Packages []PackageMatrix `json:"packages"`
}

// PackageMatrix is the matrix of one package.
type PackageMatrix struct {
	Package  string          `json:"package"` // the import path
	Server   string          `json:"server"`
	Callers  []string        `json:"callers"` // all kinds of callers, as Matrix has them
	Rows     []MatrixRow     `json:"rows"`
	Catalogs []MatrixCatalog `json:"catalogs,omitempty"`
}

// MatrixRow is a tool, prompt or resource, or a value or a field with a rule of its own.
type MatrixRow struct {
	Kind string `json:"kind"` // "tool", "prompt", "resource" or "field"
	// Name is the name or URI. For a value, argument=value follows.
	Name    string   `json:"name"`
	Callers []string `json:"callers"` // those who may use it
	Needs   []string `json:"needs,omitempty"`
	// Together are sets of roles that open it if a caller has all roles of one set.
	Together [][]string `json:"together,omitempty"`
	Proven   string     `json:"proven,omitempty"` // code capabilities
}

// MatrixCatalog is a catalog with its tools.
type MatrixCatalog struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools"`
}

// ReportMatrix returns the matrix of services. client is as in [Matrix].
func ReportMatrix(services []model.Service, client *Client) MatrixReport {
	report := MatrixReport{Version: 1, Client: client.report(), Packages: []PackageMatrix{}}
	for _, s := range services {
		m := matrixWithin(s, client)
		p := PackageMatrix{
			Package: s.Package, Server: s.Server.Name, Callers: m.callers, Rows: []MatrixRow{},
		}
		for _, row := range m.rows {
			r := MatrixRow{Kind: row.kind, Name: row.tool, Callers: []string{},
				Together: row.sets, Proven: row.proven}
			for i, may := range row.may {
				if may {
					r.Callers = append(r.Callers, m.callers[i])
				}
			}
			for _, words := range row.also {
				r.Needs = append(r.Needs, strings.ReplaceAll(words, "`", ""))
			}
			p.Rows = append(p.Rows, r)
		}
		for _, c := range m.catalogs(s) {
			p.Catalogs = append(p.Catalogs, MatrixCatalog{Name: c.Name, Tools: c.Tools})
		}
		report.Packages = append(report.Packages, p)
	}
	return report
}
