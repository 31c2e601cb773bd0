package document

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// matrix is the table of tools, prompts, resources and callers, drawn in MCP.md and by mcpgen
// matrix alike.
type matrix struct {
	callers []string // columns: anonymous, a caller of no role, then the roles, lowest first
	rows    []matrixRow
}

type matrixRow struct {
	kind string // "tool", "prompt" or "resource"
	id   string // the name of the tool or prompt, or the URI of the resource
	tool string // its name, or the URI; a value with a rule has its argument and itself behind it
	may  []bool // by caller, as far as roles decide
	also words  // what the caller needs besides, in words; code in backquotes
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

// matrixOf reads the table of a service. A service that names no role fits any hierarchy: only the
// lowest and the highest of its roles differ.
func matrixOf(s model.Service) matrix {
	roles := s.Roles.Names
	if !s.Roles.Own {
		roles = []string{lowestRole, highestRole}
	}
	m := matrix{callers: append([]string{anonymous, noRole}, roles...)}
	for _, tool := range s.Served() {
		a := tool.Access
		from := m.from(a, s.Roles)
		for _, least := range m.leastOf(tool.Values, s.Roles) {
			from = max(from, least)
		}
		row := m.row(tool, "", a, from)
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
		for _, v := range tool.Ruled() {
			row := m.row(tool, " "+v.Name(), v.Access, m.from(v.Access, s.Roles))
			row.proven = m.rows[len(m.rows)-1].proven
			m.rows = append(m.rows, row)
		}
	}
	return m
}

// from is the first column that a rule lets in. It is beyond the last one for an empty rule.
func (m matrix) from(a model.Access, roles model.Roles) int {
	switch {
	case a.Public:
		return 0
	case a.MinRole != "":
		return 2 + minRole(a.MinRole, roles)
	case a.Authenticated, len(a.Scopes) > 0, a.Permission != "":
		return 1
	}
	return len(m.callers)
}

// column is the column of a caller, which may have the role of another service. A hierarchy takes a
// role that it does not know as no role. If a service names no role, each role is the lowest one or
// higher.
func (m matrix) column(caller string, own bool) int {
	const without, lowest = 1, 2
	switch i := slices.Index(m.callers, caller); {
	case i >= 0:
		return i
	case caller == highestRole:
		return len(m.callers) - 1
	case caller == lowestRole || !own:
		return lowest
	}
	return without
}

// leastOf is, for each argument, the first column that may send one of its values.
func (m matrix) leastOf(values []model.Value, roles model.Roles) map[string]int {
	least := map[string]int{}
	for _, v := range values {
		from := m.from(v.Access, roles)
		if other, has := least[v.Argument]; !has || from < other {
			least[v.Argument] = from
		}
	}
	return least
}

// row is a row of the matrix, as far as an access rule decides it. suffix names a value.
func (m matrix) row(of model.Served, suffix string, a model.Access, from int) matrixRow {
	row := matrixRow{kind: of.Kind, id: of.ID, tool: of.ID + suffix,
		may: make([]bool, len(m.callers))}
	for i := range row.may {
		row.may[i] = i >= from
	}
	row.also = conditions(a)
	row.also.add(a.Permission == "" && a.Action == model.NoAction, "no permission of the host")
	return row
}

// conditions are the scopes and the permission of a rule.
func conditions(a model.Access) (list words) {
	for _, scope := range a.Scopes {
		list = append(list, fmt.Sprintf("scope `%s`", scope))
	}
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

// minRole is the position of a role among the columns of roles. An unknown one is beyond them all:
// it admits nobody.
func minRole(name string, roles model.Roles) int {
	if !roles.Own {
		return map[string]int{model.Lowest: 0, model.Highest: 1}[name]
	}
	if i := slices.Index(roles.Names, name); i >= 0 {
		return i
	}
	switch name {
	case model.Lowest:
		return 0
	case model.Highest:
		return len(roles.Names) - 1
	}
	return len(roles.Names)
}

// Matrix draws who may use what, for a terminal: one table a package, and one of its catalogs where
// it has any.
func Matrix(services []model.Service) string {
	var b strings.Builder
	for i, s := range services {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (%s)\n", s.Server.Name, s.Package)
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		m := matrixOf(s)
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
			cells := words{row.tool}
			for _, may := range row.may {
				cells = append(cells, map[bool]string{true: "yes", false: "-"}[may])
			}
			cells.add(true, strings.ReplaceAll(strings.Join(row.also, ", "), "`", ""))
			cells.add(row.proven != "", row.proven)
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
		w.Flush() // into a strings.Builder, which does not fail
		if catalogs := s.Catalogs(); len(catalogs) > 0 {
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
	Version  int             `json:"version"`
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

// MatrixRow is a tool, prompt or resource, or a value with a rule of its own.
type MatrixRow struct {
	Kind string `json:"kind"` // "tool", "prompt" or "resource"
	// Name is the name or URI. For a value, argument=value follows.
	Name    string   `json:"name"`
	Callers []string `json:"callers"` // those who may use it
	Needs   []string `json:"needs,omitempty"`
	Proven  string   `json:"proven,omitempty"` // code capabilities
}

// MatrixCatalog is a catalog with its tools.
type MatrixCatalog struct {
	Name  string   `json:"name"`
	Tools []string `json:"tools"`
}

// ReportMatrix returns the matrix of services.
func ReportMatrix(services []model.Service) MatrixReport {
	report := MatrixReport{Version: 1, Packages: []PackageMatrix{}}
	for _, s := range services {
		m := matrixOf(s)
		p := PackageMatrix{
			Package: s.Package, Server: s.Server.Name, Callers: m.callers, Rows: []MatrixRow{},
		}
		for _, row := range m.rows {
			r := MatrixRow{Kind: row.kind, Name: row.tool, Callers: []string{}, Proven: row.proven}
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
		for _, c := range s.Catalogs() {
			p.Catalogs = append(p.Catalogs, MatrixCatalog{Name: c.Name, Tools: c.Tools})
		}
		report.Packages = append(report.Packages, p)
	}
	return report
}
