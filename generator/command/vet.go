package command

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
	"github.com/mcpgen/mcpgen/generator/vet"
)

func newVet() *cobra.Command {
	var fix bool
	var reporter commandline.Reporter
	command := &cobra.Command{
		Use:   "vet [packages]",
		Short: "Report findings of each package, and fix them",
		Long: `vet reports the findings of check that concern one package, also if it does not compile or
was never generated. It also reads bodies, and reports tools that are added to a server without the
guard (MCP048) and handlers that ask their client without elicits (MCP051). It does not compare
packages or generated files: run check in CI.

With --fix, vet corrects misspelt directives and keys, and roles with one wrong letter. It inserts
missing directives and elicits, and removes hidden characters and directives without a declaration,
except those that restrict a handler. It then reports what remains. It chooses no access rule: an
inserted directive has minrole=FILL_IN, which is an error until you write a rule. A misspelt
directive that would admit everybody, or set a default, is left to you.

mcpgen is also a tool of go vet:

  go vet -vettool=$(go tool -n mcpgen) ./...

go vet reads packages only if they compile, and has -fix, -diff and -json.

Exit codes: 0 no findings; 1 findings; 2 usage error or failure.`,
		Example: `  mcpgen vet ./...
  mcpgen vet --fix ./...    correct what has one correction, and review the changes`,
		RunE: func(cmd *cobra.Command, patterns []string) (err error) {
			defer func() { err = reporter.Close(cmd, err) }()
			reporter.Text(cmd) // before all output
			found, err := vet.Packages(cmd.Context(), patterns)
			if err != nil {
				return err
			}
			if fix {
				changed, err := found.Fix(writefiles.Replace)
				for _, path := range changed {
					fmt.Fprintln(cmd.OutOrStdout(), relative(path))
				}
				if err != nil {
					return err
				}
				if found, err = vet.Packages(cmd.Context(), patterns); err != nil {
					return err
				}
			}
			if len(found.List) == 0 {
				return nil
			}
			return reporter.Result(cmd, generator.Result{Diagnostics: found.List})
		},
	}
	reporter.Flag(command)
	command.Flags().BoolVar(&fix, "fix", false, "apply the first fix of each finding")
	return command
}

// isVettool reports whether go vet runs the command as its tool.
func isVettool(args []string) bool {
	return len(args) > 0 && (args[0] == "-V=full" || args[0] == "-flags" ||
		filepath.Base(args[len(args)-1]) == "vet.cfg")
}
