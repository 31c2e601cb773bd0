package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/internal/commandline"
)

// generate writes the generated files and prints the names of those that it changed.
func generate(
	cmd *cobra.Command, findings *commandline.Reporter, patterns []string,
) error {
	findings.Text(cmd) // before all output
	if err := mistypedCommand(cmd, patterns); err != nil {
		return err
	}
	result, changed, unchanged, err := generator.Generate(cmd.Context(), generator.Options{Patterns: patterns})
	if err != nil || unchanged {
		return err
	}
	for _, path := range changed {
		if slices.Contains(result.Remove, path) {
			fmt.Fprint(cmd.OutOrStdout(), "removed ")
		}
		fmt.Fprintln(cmd.OutOrStdout(), relative(path))
	}
	return findings.Result(cmd, result)
}

// mistypedCommand refuses a word that is not a path and resembles a subcommand.
func mistypedCommand(cmd *cobra.Command, patterns []string) error {
	if len(patterns) == 0 || strings.ContainsAny(patterns[0], "./") {
		return nil
	}
	if near := cmd.SuggestionsFor(patterns[0]); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %q? (a package in this directory is ./%s)", patterns[0], near[0], patterns[0])
	}
	return nil
}
