package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/model"
)

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [packages]",
		Short: "Print every tool, prompt and resource: name, access, handler, place",
		Long: `list prints a row for each tool, prompt, resource and completion, and for each handler with
//mcp:ignore. A package with unannotated=ignore has a row of its own. list reads the source, not
the generated files, and writes nothing.

The last column has notes: the grants that a call needs, values with their own rules, catalogs, and
isolate=process. If generated code cannot decode the arguments of a tool, the column has the
reason. The schema validator then decodes them at every call.`,
		Example: `  mcpgen list ./...

  ask                        public          Ask         shop.go:49  decoded by the schema validator: Text: shop.Odd has its own UnmarshalJSON
  read_log                   minrole=Member  ReadLog     shop.go:61  file.read={path}; isolate=process
  manage_port                minrole=Member  ManagePort  shop.go:27  action=delete minrole=Admin
  set_port                   minrole=Member  SetPort     shop.go:34  catalog=harbour,"night shift"
  (prompt) welcome           minrole=Member  Desk.Hello  desk.go:12
  (resource) shop://hours    public          Desk.Hours  desk.go:18
  (completion) welcome name                  Desk.Names  desk.go:24
  (ignored)                  not a tool      Reindex     desk.go:31
  (unannotated)              ignore                      shop.go:3`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			result, err := generator.Run(cmd.Context(), generator.Options{Patterns: patterns})
			if err != nil {
				return err
			}
			if err := printed(cmd, result); err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, s := range result.Services {
				if s.Server.Unannotated != "" {
					fmt.Fprintf(w, "(unannotated)\t%s\t\t%s:%d\n", s.Server.Unannotated,
						relative(s.Server.Pos.File), s.Server.Pos.Line)
				}
				for _, t := range s.Served() {
					name := t.ID
					if t.Kind != "tool" {
						name = "(" + t.Kind + ") " + name
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s:%d", name, rule(t.Tool), t.Handler, relative(t.Handler.Pos.File), t.Handler.Pos.Line)
					notes := t.Permissions()
					for _, v := range t.Ruled() {
						notes = append(notes, v.Name()+" "+rule(model.Tool{Access: v.Access}))
					}
					if t.Limits.Isolate != "" {
						notes = append(notes, "isolate="+t.Limits.Isolate)
					}
					if len(t.Catalogs) > 0 {
						notes = append(notes, "catalog="+directive.Listed(t.Catalogs))
					}
					if t.Input.Uncoded != "" {
						notes = append(notes, "decoded by the schema validator: "+t.Input.Uncoded)
					}
					if len(notes) > 0 {
						fmt.Fprintf(w, "\t%s", strings.Join(notes, "; "))
					}
					fmt.Fprintln(w)
				}
				for _, c := range s.Completions {
					fmt.Fprintf(w, "(completion) %s %s\t\t%s\t%s:%d\n", c.Ref, c.Argument, c.Handler, relative(c.Handler.Pos.File), c.Handler.Pos.Line)
				}
				for _, i := range s.Ignored {
					fmt.Fprintf(w, "(ignored)\t%s\t%s\t%s:%d\n", cmp.Or(i.Reason, "no reason"), i.Handler, relative(i.Pos.File), i.Pos.Line)
				}
			}
			return w.Flush()
		},
	}
}

// rule is the effective access rule and the denial mode, in the syntax of the directive.
func rule(t model.Tool) string {
	a := t.Access
	var words []string
	if a.Public {
		words = append(words, "public")
	}
	if a.Authenticated {
		words = append(words, "authenticated")
	}
	if a.MinRole != "" {
		words = append(words, "minrole="+a.MinRole)
	}
	if len(a.Scopes) > 0 {
		words = append(words, "scopes="+strings.Join(a.Scopes, ","))
	}
	if a.Permission != "" {
		words = append(words, "permission="+a.Permission)
	}
	if a.Action == model.NoAction {
		words = append(words, "action=none")
	}
	if a.Constrained {
		words = append(words, "constrained")
	}
	if t.Denial != "" {
		words = append(words, "denial="+t.Denial)
	}
	return strings.Join(words, " ")
}
