package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// read reads packages, and prints the findings in them.
func read(cmd *cobra.Command, options generator.Options) ([]model.Service, error) {
	result, err := generator.Run(cmd.Context(), options)
	if err == nil {
		err = commandline.Report(cmd, result)
	}
	return result.Services, err
}

func newList() *cobra.Command {
	format := documentFormat(report.Text)
	command := &cobra.Command{
		Use:   "list [packages]",
		Short: "Print every tool, prompt, resource and field with a rule: name, access, place",
		Long: `list prints a row for each tool, prompt, resource and completion, for each field with a rule,
and for each handler with //mcp:ignore. A package with unannotated=ignore has a row of its own.
list reads the source, not the generated files, and writes nothing.

The last column has notes: the grants that a call needs, values with their own rules, catalogs,
isolate=process, and the tools that have a field. If generated code cannot decode the arguments of
a tool, the column has the reason. The schema validator then decodes them at every call.`,
		Example: `  mcpgen list ./...    prints, for example:

  ask                        public          Ask         shop.go:49  decoded by the schema validator: Text: shop.Odd has its own UnmarshalJSON
  read_log                   minrole=Member  ReadLog     shop.go:61  file.read={path}; isolate=process
  manage_port                minrole=Member  ManagePort  shop.go:27  action=delete minrole=Admin
  set_port                   minrole=Member  SetPort     shop.go:34  catalog=harbour,"night shift"
  (prompt) welcome           minrole=Member  Desk.Hello  desk.go:12
  (resource) shop://hours    public          Desk.Hours  desk.go:18
  (completion) welcome name                  Desk.Names  desk.go:24
  (field) shop.Port.Depth    minrole=Admin               shop.go:12  in manage_port
  (ignored)                  not a tool      Reindex     desk.go:31
  (unannotated)              ignore                      shop.go:3`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			services, err := read(cmd, generator.Options{Patterns: patterns})
			if err != nil {
				return err
			}
			list := document.List(services, relative)
			return format.print(cmd, list, list.String())
		},
	}
	format.flag(command)
	return command
}

func newMatrix() *cobra.Command {
	format := documentFormat(report.Text)
	var client string
	command := &cobra.Command{
		Use:   "matrix [packages]",
		Short: "Print which role may use which tool, prompt, resource and field with a rule",
		Long: `matrix prints a row for each tool, prompt and resource, and for each field with a rule. It
has a column for each kind of caller: the roles of the main chain, lowest first, and then the
others. A caller with several roles has the marks of all of them. If a tool needs several roles for
its arguments, its row names the sets of roles that open it together. The catalogs of the tools
follow. matrix reads the source, not the generated files, and writes nothing.

--client FILE#NAME prints what one client may use, by its boundary in a file of boundaries. There
are no rows of items and values outside of the boundary, and a caller has the roles that the
boundary has too. Without a token, a caller may use all public items nevertheless. A boundary that
is blocked or has ended has no rows. NAME is a client, an actor or "*". If several entries have the
name, write the line of the entry.`,
		Example: `  mcpgen matrix             the matrix of the package in this directory
  mcpgen matrix ./...       a matrix of each package below
  mcpgen matrix --client boundaries.yaml#dns-agent    what this client may use`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			services, err := read(cmd, generator.Options{Patterns: patterns})
			if err != nil {
				return err
			}
			of, err := clientOf(cmd, services, client)
			if err != nil {
				return err
			}
			return format.print(cmd, document.ReportMatrix(services, of), document.Matrix(services, of))
		},
	}
	format.flag(command)
	command.Flags().StringVar(&client, "client", "",
		"print what the client of this boundary may use (`FILE#NAME`)")
	return command
}

// clientOf returns the client that FILE#NAME names, nil without a name.
func clientOf(cmd *cobra.Command, services []model.Service, name string) (*document.Client, error) {
	if err := notEmpty(cmd, "client"); err != nil || name == "" {
		return nil, err
	}
	file, name, ok := strings.Cut(name, "#")
	if !ok || name == "" {
		return nil, errors.New("--client has no name: write FILE#NAME, as in boundaries.yaml#dns-agent")
	}
	entries, err := boundaryfile.Read(file, func() (fs.File, error) { return os.Open(file) })
	if err != nil {
		return nil, fmt.Errorf("--client: %w", err)
	}
	e, err := entryOf(file, name, entries)
	if err != nil {
		return nil, err
	}
	ended := !e.Boundary.Until.IsZero() && !time.Now().Before(e.Boundary.Until)
	if ended {
		e.Boundary.Roles, e.Boundary.Items = nil, nil // as of a blocked client
	}
	of, notes, err := document.NewClient(services, e)
	switch {
	case e.Boundary.Blocked:
		notes = append(notes, e.Boundary.Where+": the client is blocked: it may use nothing")
	case ended:
		notes = append(notes, e.Boundary.Where+": the boundary has ended: its client may use nothing")
	}
	for _, note := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	return of, err
}

// entryOf finds the entry of a client or actor, or of a line.
func entryOf(file, name string, entries []boundaryfile.Entry) (found boundaryfile.Entry,
	err error) {
	var names, places []string
	for _, e := range entries {
		names = append(names, e.Party.Client+e.Party.Actor)
		if e.Party.Client == name || e.Party.Actor == name {
			found, places = e, append(places, e.Boundary.Where)
		}
	}
	for _, e := range entries {
		if len(places) == 0 && e.Boundary.Where == file+":"+name {
			return e, nil
		}
	}
	switch slices.Sort(names); {
	case len(places) > 1:
		return found, fmt.Errorf("--client: several entries have the name %q: %s. Write the "+
			"line of one, "+
			"as in %s#%s", name, strings.Join(places, ", "), file, places[0][len(file)+1:])
	case len(places) == 0 && len(names) == 0:
		return found, fmt.Errorf("--client: %s has no entries", file)
	case len(places) == 0:
		cure := "write one of " + strings.Join(slices.Compact(names), ", ")
		if near := editdistance.Nearest(name, names, 2); near != "" {
			cure = fmt.Sprintf("did you mean %q?", near)
		}
		return found, fmt.Errorf("--client: %s has no entry of %q: %s", file, name, cure)
	}
	return found, nil
}

func newDocs() *cobra.Command {
	var file string
	var entry document.Entry
	command := &cobra.Command{
		Use:   "docs [packages]",
		Short: "Print the documentation of the tools, or write it as one HTML page",
		Long: `docs prints Markdown: for each package, the role hierarchy as a Mermaid diagram, and the
text of MCP.md.

With --html it writes one HTML page instead. The page has a search, a filter by role, the matrix,
and a section for each tool, prompt, resource and field with a rule: access, arguments, limits,
proven capabilities and catalogs. The page loads nothing else.

With --registry it prints server.json for the registry of MCP servers instead: the name, the URL of
--url, and what //mcp:server and the first sentence of the package doc have. It takes one package.

docs reads the source, not the generated files. It writes only the file of --html.`,
		Example: `  mcpgen docs ./...
  mcpgen docs --html tools.html ./...
  mcpgen docs --registry com.example/parts --url https://parts.example/mcp ./parts`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			services, err := read(cmd, generator.Options{Patterns: patterns, Schemas: true})
			if err != nil {
				return err
			}
			if entry != (document.Entry{}) {
				if len(services) != 1 {
					return fmt.Errorf("--registry takes one package, and these are %d: name the one of the "+
						"server", len(services))
				}
				text, err := document.ServerJSON(services[0], entry)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			}
			if file == "" {
				_, err = fmt.Fprint(cmd.OutOrStdout(), document.Markdown(services))
				return err
			}
			page, err := document.Page(services)
			if err != nil {
				return err
			}
			return writefiles.Replace(file, page)
		},
	}
	command.Flags().StringVar(&file, "html", "", "write an HTML page to this `file`")
	command.Flags().StringVar(&entry.Name, "registry", "",
		"print server.json for the registry, under this `name`")
	command.Flags().StringVar(&entry.URL, "url", "", "the https `URL` of the server in server.json")
	command.Flags().StringVar(&entry.Version, "version", "",
		"the `version` in server.json instead of that of //mcp:server")
	command.MarkFlagsRequiredTogether("registry", "url")
	command.MarkFlagsMutuallyExclusive("registry", "html")
	return command
}

// documentFormat is the format of a document.
type documentFormat report.Format

func (f *documentFormat) flag(command *cobra.Command) {
	command.Flags().Var(report.Flag{Format: (*report.Format)(f), Of: report.All[:2]}, "format",
		"write the document as text or json")
}

// print prints a value as JSON, or its text.
func (f *documentFormat) print(cmd *cobra.Command, value any, text string) error {
	if *f == documentFormat(report.JSON) {
		return report.WriteJSON(cmd.OutOrStdout(), value)
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}
