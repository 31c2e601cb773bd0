// Command mcpgen-prove compares the code capabilities of handlers with their directives. It is a
// module of its own, so that a module that uses mcpgen does not require the libraries of the
// analysis.
package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/mcpgen-prove/reach"
	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/extension"
)

func main() {
	extension.Main(newProve())
}

func analyse(
	ctx context.Context, dir string, paths []string,
) (generator.Analysis, extension.Diagnostics, error) {
	return reach.Load(ctx, dir, paths)
}

func newProve() *cobra.Command {
	var check bool
	var findings extension.Reporter
	command := &cobra.Command{
		Use:   "mcpgen-prove [packages]",
		Short: "Compare the code capabilities of handlers with their directives, and record them",
		Long: `prove follows the calls of each tool's handler, through all packages, to functions that
open files, use the network or start programs. It reports an error in four cases:

  - the handler has a code capability that capabilities= does not list
  - a code capability is unknown, and the tool has capabilities=
  - a tool with readonly starts programs or may write files
  - a tool reaches the network, and has facts= without egress and no openworld=false

Without capabilities=, prove records the code capabilities and reports no error.

For each tool with the verdict "unknown", prove prints the call, its line, the cause and the path
to it. Causes are a func value that nothing sets, an interface that nothing implements, a driver of
database/sql that nothing imports, a call by reflection, a template, unsafe.Pointer, a system call,
C and assembly.

prove analyses the package and all that it imports. It does not analyse importers: where one of them
and the package set the same func or interface value, the value of the package counts.

prove writes the result to mcp.proven.json beside the source, for packages without findings. mcpgen
copies it into MCP.md and the matrix. If go.mod, go.sum, a Go file of the package or of an imported
package of the module changes afterwards, mcpgen writes "not proven" instead. prove does not notice
edits below vendor/ or in the module cache: run it again after one. It takes seconds for each
package, because it reads the whole source, standard library included. It skips prompts and
resources, which have no capabilities=.

With --check, prove writes nothing, and also fails if an mcp.proven.json is stale; a missing file
is not an error. Run prove for the operating system of the server: the record names it.

Exit codes: 0 no findings; 1 findings or, with --check, stale records; 2 usage error or failure.`,
		Example: `  mcpgen prove ./...            analyse, and write mcp.proven.json for each package
  mcpgen                        copy the result into MCP.md
  mcpgen prove --check ./...    for CI
  mcpgen explain MCP043         what a finding means and how to fix it`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, patterns []string) (err error) {
			defer func() { err = findings.Close(cmd, err) }()
			text := findings.Text(cmd)
			stderr := cmd.ErrOrStderr()
			progress := func(doing string) {
				if extension.IsTerminal(stderr) {
					fmt.Fprintf(stderr, "mcpgen: %s …\n", doing)
				}
			}
			proof, err := generator.Prove(cmd.Context(), generator.Options{Patterns: patterns},
				analyse, progress)
			if err != nil {
				return err
			}
			writeReached(cmd, proof.Services)
			for _, u := range proof.Unknown {
				findings.Add(extension.Finding{Code: "unknown", Level: extension.Note,
					Message: u.Tool + " is unknown: " + u.Why,
					File:    u.At.File, Line: u.At.Line, Column: u.At.Col})
				if text {
					fmt.Fprintf(cmd.OutOrStdout(), "%s:%d:%d: %s is unknown: %s\n",
						extension.Relative(u.At.File), u.At.Line, u.At.Col, u.Tool, u.Why)
				}
			}
			if check {
				var stale []extension.Difference
				stale, err = proof.Stale()
				findings.Stale(cmd, stale, "run mcpgen prove, then mcpgen, and commit the result")
			} else {
				err = commitProof(cmd, proof)
			}
			if reported := findings.Result(
				cmd, generator.Result{Services: proof.Services,
					Diagnostics: proof.Diagnostics}); reported != nil {
				return reported
			}
			return err
		},
	}
	findings.Flag(command)
	command.Flags().BoolVar(&check, "check", false,
		"also fail if a record is stale; write nothing")
	return command
}

// writeReached prints a row a tool: what it reaches, and what it declares.
func writeReached(cmd *cobra.Command, services []extension.Service) {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, s := range services {
		if len(services) > 1 {
			fmt.Fprintln(w, s.Package)
		}
		for _, t := range s.Tools {
			row, analysed := s.Proof.Of(t)
			if !analysed {
				continue
			}
			declared := "declares nothing"
			if c := t.Limits.Capabilities; c != nil {
				declared = "declares " + strings.Join(c, ",")
			}
			fmt.Fprintf(w, "%s\treaches %s\t%s\n", t.Name, strings.Join(row.Summary(), ","),
				declared)
		}
	}
	w.Flush() // a write error shows in the next write
}

func commitProof(cmd *cobra.Command, proof generator.Proof) error {
	changed, err := proof.Write()
	for i, path := range changed {
		next := ""
		if i == len(changed)-1 {
			next = "; run mcpgen to copy it into MCP.md"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s written%s\n", extension.Relative(path), next)
	}
	return err
}
