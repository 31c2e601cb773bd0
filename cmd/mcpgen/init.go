package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/starter"
	"github.com/mcpgen/mcpgen/internal/commandline"
	"github.com/mcpgen/mcpgen/internal/report"
)

func newInit() *cobra.Command {
	var replace string
	command := &cobra.Command{
		Use:   "init [MODULE]",
		Short: "Write a running service into an empty folder",
		Long: `init writes a service into the working directory. main.go has the roles, demo users with
tokens, HTTP and stdio. tools.go has a public tool and a tool for Members. main_test.go tests what
each caller may list and call. The Makefile and a job of GitHub Actions run the checks. .mcp.json
is the configuration of Claude Code, over stdio.

Then it runs go mod tidy and generates, so that go run . starts the server. MODULE is the path of
the module; the default is example.com/ and the name of the directory.

init does not write into a directory with Go files, and does not overwrite files. A mcpgen without
a released version needs --replace with a checkout of mcpgen. A CI job then needs the checkout too.

Exit codes: 0 done; 2 usage error or failure.`,
		Example: `  mcpgen init example.com/shop
  mcpgen init --replace ../mcpgen`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			modulePath := "example.com/" + filepath.Base(dir)
			if len(args) > 0 {
				modulePath = args[0]
			}
			written, err := starter.Write(dir, modulePath, replace)
			if err != nil {
				return err
			}
			for _, file := range written {
				fmt.Fprintln(cmd.OutOrStdout(), relative(file))
			}
			tidy := exec.CommandContext(cmd.Context(), "go", "mod", "tidy")
			if text, err := tidy.CombinedOutput(); err != nil {
				return fmt.Errorf("go mod tidy: %v: run it again, and then go generate\n%s", err, text)
			}
			if err := generate(cmd, &commandline.Reporter{Format: report.Text}, nil); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "Start the server with go run . or call a tool with\n"+
				`go tool mcpgen call count_words text="one two" -- go run . -stdio mel`)
			return nil
		},
	}
	command.Flags().StringVar(&replace, "replace", "",
		"replace the module of mcpgen by the checkout in this `directory`")
	return command
}
