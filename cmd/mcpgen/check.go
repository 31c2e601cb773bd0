package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/internal/commandline"
	"github.com/mcpgen/mcpgen/internal/report"
)

func newCheck() *cobra.Command {
	var reflect string
	var findings commandline.Reporter
	command := &cobra.Command{
		Use:   "check [packages]",
		Short: "Fail if a generated file is stale or a handler unannotated; write nothing",
		Long: `check generates without writing. It prints the findings, and the differences between the
generated files and those on disk. Run it in CI.

With --reflect it also builds and runs a temporary test of the packages. In this test, invopop's
jsonschema.Reflector makes the schema of every input and output type, with the comments of the
source. check prints the differences from mcpgen's schemas. It leaves no files in the module.

--reflect=requiredFromJSONSchemaTags sets this option of the Reflector. Use it if your project
used it: check then prints each argument that became required.

Exit codes: 0 no findings; 1 findings or stale files; 2 usage error or failure.`,
		Example: `  mcpgen check ./...            for CI
  mcpgen check --reflect ./...  also compare schemas with those of the Reflector`,
		RunE: func(cmd *cobra.Command, patterns []string) (err error) {
			defer func() { err = findings.Close(cmd, err) }()
			text := findings.Text(cmd)
			if !slices.Contains([]string{"", "default", "requiredFromJSONSchemaTags"}, reflect) {
				return fmt.Errorf("unknown setting --reflect=%s: write --reflect, or "+
					"--reflect=requiredFromJSONSchemaTags", reflect)
			}
			result, err := generator.Run(cmd.Context(), generator.Options{Patterns: patterns})
			if err != nil {
				return err
			}
			if err := findings.Result(cmd, result); err != nil {
				return err
			}
			differences, err := result.Stale()
			if err != nil {
				return err
			}
			for _, d := range differences {
				findings.Add(report.Finding{Code: "stale", Level: report.Error, File: d.Path,
					Message: fmt.Sprintf("%s is %s", relative(d.Path), d.State),
					Cure:    "run go generate, or mcpgen, and commit the result"})
				if text {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s is %s: run go generate, or mcpgen, and "+
						"commit the result\n%s", relative(d.Path), d.State, d.Diff)
				}
			}
			agree := true
			if reflect != "" {
				if agree, err = reflected(cmd, &findings, patterns, reflect != "default"); err != nil {
					return err
				}
			}
			if len(differences) > 0 || !agree {
				return errFindings
			}
			return nil
		},
	}
	command.Flags().StringVar(&reflect, "reflect", "",
		"compare every schema with that of jsonschema.Reflector, at run time")
	command.Flags().Lookup("reflect").NoOptDefVal = "default"
	findings.Flag(command)
	return command
}

// reflected prints where the schemas that are read differ from the Reflector's, and whether they
// agree.
func reflected(
	cmd *cobra.Command, findings *commandline.Reporter, patterns []string, requiredFromTags bool,
) (agree bool, err error) {
	result, err := generator.Reflect(cmd.Context(), generator.Options{Patterns: patterns},
		requiredFromTags)
	if err != nil {
		return false, err
	}
	for _, d := range result.Differences {
		at := d.Type
		if d.Pointer != "" {
			at += " at " + d.Pointer
		}
		findings.Add(report.Finding{Code: "reflect", Level: report.Error,
			Message: at + ": " + d.Message, File: d.Pos.File, Line: d.Pos.Line, Column: d.Pos.Col})
		if findings.Text(cmd) {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d:%d: %s: %s\n", relative(d.Pos.File), d.Pos.Line,
				d.Pos.Col, at, d.Message)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d types compared with the Reflector, %d differences\n", result.Compared, len(result.Differences))
	return len(result.Differences) == 0, nil
}
