package command

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/internal/boundaryfile"
)

// rolesFlag adds --roles.
func rolesFlag(cmd *cobra.Command, roles *[]string) {
	cmd.Flags().StringArrayVar(roles, "roles", nil,
		"also for a caller with these `roles`, as A,B; may be repeated")
}

// sets are the sets of roles of --roles.
func sets(roles []string) (list [][]string) {
	for _, set := range roles {
		list = append(list, strings.Split(set, ","))
	}
	return list
}

func newRadius() *cobra.Command {
	var boundaries string
	var roles []string
	format := documentFormat(report.Text)
	command := &cobra.Command{
		Use:   "radius [packages]",
		Short: "Print what an agent reaches if somebody else controls it",
		Long: `radius prints the blast radius of an agent: the tools, prompts and resources that it
reaches if somebody else controls it, for example by text that it has read. facts= of the
directives has the facts of an item:

  - private: it returns data that outsiders must not see
  - untrusted: it returns text that outsiders wrote
  - egress: it can send data out

An agent that reaches all three can be made to send private data to outsiders. An item without
facts counts as all three, and openworld=false removes egress.

radius prints a block for each kind of caller as mcpgen matrix has them, for each set of --roles,
and for each boundary of --boundaries. An agent with a boundary acts for a caller with every role.
Without its token it reaches all public items, so that its block has these too. The caller has all
scopes, permissions and grants. Packages whose //mcp:server has the same name= are one server.
radius reads the source, not the generated files, and writes nothing.

Exit codes: 0 no boundary and no set of --roles reaches all three; 1 one does, or findings in the
source; 2 usage error or failure.`,
		Example: `  mcpgen radius ./...
  mcpgen radius --boundaries boundaries.yaml ./...
  mcpgen radius --roles Auditor,Support --format=json ./tools`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			if err := notEmpty(cmd, "boundaries"); err != nil {
				return err
			}
			services, err := read(cmd, generator.Options{Patterns: patterns, Schemas: true})
			if err != nil {
				return err
			}
			var set []*policydiff.Manifest
			for _, s := range services {
				text, err := document.Manifest(s)
				if err != nil {
					return err
				}
				m, err := policydiff.Read(s.Package, text)
				if err != nil {
					return err
				}
				set = append(set, m)
			}
			named := policydiff.Agents{Sets: sets(roles)}
			if boundaries != "" {
				named.Boundaries, err = boundaryfile.Read(boundaries,
					func() (fs.File, error) { return os.Open(boundaries) })
				if err != nil {
					return fmt.Errorf("--boundaries: %w", err)
				}
			}
			servers, notes, err := policydiff.RadiusOf(set, named)
			if err != nil {
				return err
			}
			for _, note := range notes {
				fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
			}
			err = format.print(cmd, struct {
				Version int                 `json:"version"`
				Servers []policydiff.Radius `json:"servers"`
			}{1, servers}, radiusText(servers))
			if err == nil && slices.ContainsFunc(servers, exceeds) {
				err = errFindings
			}
			return err
		},
	}
	command.Flags().StringVar(&boundaries, "boundaries", "", "also for each boundary of this `file`")
	rolesFlag(command, &roles)
	format.flag(command)
	return command
}

// exceeds reports whether a boundary or a set of roles reaches all three facts.
func exceeds(r policydiff.Radius) bool {
	return slices.ContainsFunc(r.Agents, func(a policydiff.Reach) bool {
		return a.AllThree && a.Kind != policydiff.OfCaller
	})
}

// radiusText writes a block for each agent.
func radiusText(servers []policydiff.Radius) string {
	var b strings.Builder
	for i, s := range servers {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (%s)\n", s.Server, strings.Join(s.Packages, ", "))
		for _, a := range s.Agents {
			result := "not all three"
			if a.AllThree {
				result = "all three together"
			}
			fmt.Fprintf(&b, "\n%s: %s\n", a, result)
			for _, of := range []struct {
				fact  string
				items []string
			}{{"private", a.Private}, {"untrusted", a.Untrusted}, {"egress", a.Egress}} {
				items := slices.Clone(of.items)
				for i, item := range items {
					if slices.Contains(a.Unstated, item) {
						items[i] += " (unstated)"
					}
				}
				if len(items) == 0 {
					items = []string{"-"}
				}
				fmt.Fprintf(&b, "  %-9s  %s\n", of.fact, strings.Join(items, ", "))
			}
		}
	}
	return b.String()
}
