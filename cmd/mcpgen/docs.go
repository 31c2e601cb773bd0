package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/document"
	"github.com/mcpgen/mcpgen/internal/commandline"
)

func newDocs() *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "docs [packages]",
		Short: "Print the documentation of the tools, or write it as one HTML page",
		Long: `docs prints Markdown: for each package, the role hierarchy as a Mermaid diagram, and the text
of MCP.md.

With --html it writes one HTML page instead. The page has a search, a filter by role, the matrix,
and a section for each tool, prompt and resource: access, arguments, limits, proven capabilities
and catalogs. The page loads nothing else.

docs reads the source, not the generated files. It writes only the file of --html.`,
		Example: `  mcpgen docs ./...
  mcpgen docs --html tools.html ./...`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			result, err := generator.Run(cmd.Context(), generator.Options{
				Patterns: patterns, Schemas: true,
			})
			if err != nil {
				return err
			}
			if err := commandline.Report(cmd, result); err != nil {
				return err
			}
			if file == "" {
				_, err = fmt.Fprint(cmd.OutOrStdout(), document.Markdown(result.Services))
				return err
			}
			page, err := document.Page(result.Services)
			if err != nil {
				return err
			}
			return os.WriteFile(file, page, 0o666)
		},
	}
	command.Flags().StringVar(&file, "html", "", "write an HTML page to this `file`")
	return command
}
