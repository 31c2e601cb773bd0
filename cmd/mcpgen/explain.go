package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
)

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE|DIRECTIVE]",
		Short: "Explain a diagnostic or a directive",
		Long: `explain prints cause, example and cure of a diagnostic, or the grammar of a directive.
Without an argument it lists all diagnostics and directives.`,
		Example: `  mcpgen explain              list all diagnostics and directives
  mcpgen explain MCP001       what a diagnostic means and how to fix it
  mcpgen explain //mcp:tool   the grammar of a directive; also: mcpgen explain tool`,
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
			return fmt.Errorf("no code or directive %q; `mcpgen explain` lists them", args[0])
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
