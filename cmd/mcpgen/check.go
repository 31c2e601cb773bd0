package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [packages]",
		Short: "Fail where something is stale or unannotated; write nothing",
		Long: `check does all that generation does, but for writing: it prints the findings, and how
what stands on disk differs from what should. It is meant for CI.

Exit codes: 0 all is well; 1 findings or stale files; 2 usage, or the work could not be done.`,
		Example: `  mcpgen check ./...`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			result, err := generator.Run(cmd.Context(), generator.Options{Patterns: patterns})
			if err != nil {
				return err
			}
			if err := report(cmd, result); err != nil {
				return err
			}
			differences, err := result.Stale()
			if err != nil {
				return err
			}
			for _, d := range differences {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s is %s: run go generate, or mcpgen, and commit the result\n%s", relative(d.Path), d.State, d.Diff)
			}
			if len(differences) > 0 {
				return errFindings
			}
			return nil
		},
	}
}
