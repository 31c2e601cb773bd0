package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/emit"
)

func newMatrix() *cobra.Command {
	return &cobra.Command{
		Use:   "matrix [packages]",
		Short: "Print which role may use which tool",
		Long: `matrix reads the source, not the generated files, and prints a row a tool and a column
a role. It writes nothing.`,
		Example: `  mcpgen matrix ./...`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			result, err := generator.Run(cmd.Context(), generator.Options{Patterns: patterns})
			if err != nil {
				return err
			}
			if err := report(cmd, result); err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), emit.Matrix(result.Services))
			return err
		},
	}
}
