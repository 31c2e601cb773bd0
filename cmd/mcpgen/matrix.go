package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/document"
)

func newMatrix() *cobra.Command {
	return &cobra.Command{
		Use:   "matrix [packages]",
		Short: "Print which role may use which tool, prompt and resource",
		Long: `matrix prints a row for each tool, prompt and resource, and a column for each kind of caller,
roles lowest first. The catalogs of the tools follow. matrix reads the source, not the generated
files, and writes nothing.`,
		Example: `  mcpgen matrix             the matrix of the package in this directory
  mcpgen matrix ./...       a matrix of each package below`,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			result, err := generator.Run(cmd.Context(), generator.Options{Patterns: patterns})
			if err != nil {
				return err
			}
			if err := printed(cmd, result); err != nil {
				return err
			}
			_, err = fmt.Fprint(cmd.OutOrStdout(), document.Matrix(result.Services))
			return err
		},
	}
}
