package command

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// prover is the command that analyses. Its module requires the libraries of the analysis, and only
// users of prove add it.
const prover = "mcpgen-prove"

func newProve() *cobra.Command {
	return &cobra.Command{
		Use:   "prove [--check] [packages]",
		Short: "Compare the code capabilities of handlers with their directives, and record them",
		Long: `prove runs mcpgen-prove with the same arguments. mcpgen-prove is a module of its own,
since its libraries are large. Add it to the go.mod that has mcpgen as a tool. For tools/go.mod, add
-modfile=tools/go.mod:

  go get -tool github.com/mcpgen/mcpgen/cmd/mcpgen-prove

prove finds the tool in the go.mod of the working directory, and in tools/go.mod beside that file.

mcpgen-prove follows the calls of each tool's handler and records its code capabilities in
mcp.proven.json: files, network and exec. It fails if they exceed those that the directives declare.
See go tool mcpgen-prove --help.

Exit codes: those of mcpgen-prove, or 2 if it is not a tool of the module.`,
		Example: `  mcpgen prove ./...            analyse, and write mcp.proven.json for each package
  mcpgen prove --check ./...    for CI`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "-h") || slices.Contains(args, "--help") {
				return cmd.Help()
			}
			return runTool(cmd, "prove", prover, args...)
		},
	}
}

// runTool runs a tool that is a module of its own, with its arguments. It finds the tool in the
// go.mod of the working directory, and in tools/go.mod beside that file. command needs it.
func runTool(cmd *cobra.Command, command, tool string, args ...string) error {
	module, err := exec.CommandContext(cmd.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	tools := filepath.Join(filepath.Dir(strings.TrimSpace(string(module))), "tools", "go.mod")
	for _, flags := range [][]string{nil, {"-modfile=" + tools}} {
		goTool := slices.Concat([]string{"tool"}, flags)
		found := exec.CommandContext(
			cmd.Context(), "go", slices.Concat(goTool, []string{"-n", tool})...)
		if found.Run() != nil {
			continue
		}
		run := exec.CommandContext(cmd.Context(), "go",
			slices.Concat(goTool, []string{tool}, args)...)
		// go tool forwards a signal to the tool, which would outlive a killed go tool.
		run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
		run.Stdout, run.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
		return run.Run()
	}
	flag := ""
	if _, err := os.Stat(tools); err == nil {
		flag = "-modfile=tools/go.mod "
	}
	return errors.New(command + " needs the tool " + tool +
		", which neither go.mod nor tools/go.mod has: run" +
		" go get -tool " + flag + "github.com/mcpgen/mcpgen/cmd/" + tool)
}
