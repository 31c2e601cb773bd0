package command

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE|DIRECTIVE|KEY]",
		Short: "Explain a diagnostic or a directive",
		Long: `explain prints cause, example and fix of a diagnostic, or the grammar of a directive,
or the directives that have a key.
Without an argument it lists all diagnostics and directives.`,
		Example: `  mcpgen explain              list all diagnostics and directives
  mcpgen explain MCP001       what a diagnostic means and how to fix it
  mcpgen explain //mcp:tool   the grammar of a directive; also: mcpgen explain tool
  mcpgen explain minrole      the directives that have a key, and what it means`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 0 {
				fmt.Fprint(out, contents())
				return nil
			}
			if text, ok := diag.Explain(args[0]); ok {
				fmt.Fprint(out, text)
				return nil
			}
			if text, ok := directive.Explain(args[0]); ok {
				fmt.Fprint(out, text)
				return nil
			}
			if text, ok := directive.ExplainKey(args[0]); ok {
				fmt.Fprint(out, text)
				return nil
			}
			return fmt.Errorf("no code, directive or key %q; `mcpgen explain` lists codes and directives",
				args[0])
		},
	}
}

// contents lists everything that can be explained.
func contents() string {
	var b strings.Builder
	b.WriteString("Directives\n\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range directive.Specs() {
		fmt.Fprintf(w, "  //mcp:%s\t%s\n", s.Name, s.Purpose)
	}
	w.Flush() // a Builder never fails
	b.WriteString("\nDiagnostics\n\n")
	for _, e := range diag.Codes() {
		fmt.Fprintf(w, "  %s\t%s\n", e.Code, e.Title)
	}
	w.Flush()
	return b.String()
}
