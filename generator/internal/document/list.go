package document

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// ListReport is the list of what services serve, as a document for programs.
type ListReport struct {
	Version int        `json:"version"`
	Items   []ListItem `json:"items"`
}

// ListItem is a tool, prompt, resource or completion, a field with a rule of its own, an ignored
// handler, or a package with unannotated=ignore.
type ListItem struct {
	Kind    string `json:"kind"`
	Name    string `json:"name,omitempty"`
	Package string `json:"package"`
	Handler string `json:"handler,omitempty"`
	// Access is the rule in the syntax of the directive.
	Access   string      `json:"access,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Argument string      `json:"argument,omitempty"` // of a completion
	File     string      `json:"file"`
	Line     int         `json:"line"`
	Grants   []string    `json:"grants,omitempty"`
	Values   []ListValue `json:"values,omitempty"`
	Isolate  string      `json:"isolate,omitempty"`
	Catalogs []string    `json:"catalogs,omitempty"`
	Tools    []string    `json:"tools,omitempty"` // that have a field
	// Validator is the reason why the schema validator decodes the arguments.
	Validator string `json:"validator,omitempty"`
}

// ListValue is a value of an argument with a rule of its own.
type ListValue struct {
	Value  string `json:"value"` // argument=value
	Access string `json:"access"`
}

// List lists what services serve. relative shortens the path of a file.
func List(services []model.Service, relative func(string) string) ListReport {
	items := []ListItem{}
	for _, s := range services {
		add := func(i ListItem, pos model.Position) {
			i.Package, i.File, i.Line = s.Package, filepath.ToSlash(relative(pos.File)), pos.Line
			items = append(items, i)
		}
		if s.Server.Unannotated == "ignore" {
			add(ListItem{Kind: "unannotated", Access: s.Server.Unannotated}, s.Server.Pos)
		}
		for _, t := range s.Served() {
			i := ListItem{Kind: t.Kind, Name: t.ID, Handler: t.Handler.String(), Access: rule(*t.Tool),
				Grants: t.Permissions(), Isolate: t.Limits.Isolate, Catalogs: t.Catalogs,
				Validator: t.Input.Uncoded}
			for _, v := range t.Ruled() {
				i.Values = append(i.Values, ListValue{v.Name(), rule(model.Tool{Access: v.Access})})
			}
			add(i, t.Handler.Pos)
		}
		for _, c := range s.Completions {
			add(ListItem{Kind: "completion", Name: c.Ref, Argument: c.Argument,
				Handler: c.Handler.String()}, c.Handler.Pos)
		}
		for _, f := range s.Fields {
			add(ListItem{Kind: "field", Name: f.Name, Access: rule(model.Tool{Access: f.Access}),
				Tools: f.Tools}, f.Pos)
		}
		for _, i := range s.Ignored {
			add(ListItem{Kind: "ignored", Reason: i.Reason, Handler: i.Handler}, i.Pos)
		}
	}
	return ListReport{1, items}
}

// String returns a row for each item, with columns.
func (l ListReport) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, i := range l.Items {
		fmt.Fprintln(w, i)
	}
	w.Flush() // a Builder never fails
	return b.String()
}

// String returns the row with tabs between the columns.
func (i ListItem) String() string {
	name := i.Name
	if i.Kind != "tool" {
		name = strings.TrimSpace("(" + i.Kind + ") " + name + " " + i.Argument)
	}
	access := i.Access
	if i.Kind == "ignored" {
		access = cmp.Or(i.Reason, "no reason")
	}
	row := fmt.Sprintf("%s\t%s\t%s\t%s:%d", name, access, i.Handler,
		filepath.FromSlash(i.File), i.Line)
	notes := words(slices.Clone(i.Grants))
	for _, v := range i.Values {
		notes = append(notes, v.Value+" "+v.Access)
	}
	notes.add(len(i.Tools) > 0, "in "+strings.Join(i.Tools, ", "))
	notes.add(i.Isolate != "", "isolate="+i.Isolate)
	notes.add(len(i.Catalogs) > 0, "catalog="+directive.Listed(i.Catalogs))
	notes.add(i.Validator != "", "decoded by the schema validator: "+i.Validator)
	if len(notes) > 0 {
		row += "\t" + strings.Join(notes, "; ")
	}
	return row
}

// scopes are alternatives as the keys of a directive. A list that no key has, of alternatives with
// several scopes, has them apart by |.
func scopes(alternatives [][]string) string {
	var texts []string
	for _, scopes := range alternatives {
		texts = append(texts, strings.Join(scopes, ","))
	}
	several := func(scopes []string) bool { return len(scopes) > 1 }
	if len(alternatives) > 1 && !slices.ContainsFunc(alternatives, several) {
		return "anyscope=" + strings.Join(texts, ",")
	}
	return "scopes=" + strings.Join(texts, "|")
}

// rule is the effective access rule and the denial mode, in the syntax of the directive.
func rule(t model.Tool) string {
	a := t.Access
	var keys words
	keys.add(a.Public, "public")
	keys.add(a.Authenticated, "authenticated")
	keys.add(len(a.MinRole) > 0, "minrole="+strings.Join(a.MinRole, ","))
	keys.add(len(a.Scopes) > 0, scopes(a.Alternatives()))
	keys.add(a.Permission != "", "permission="+a.Permission)
	keys.add(a.Action == model.NoAction, "action=none")
	keys.add(a.Constrained, "constrained")
	keys.add(t.Denial != "", "denial="+t.Denial)
	return strings.Join(keys, " ")
}
