package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/generator/internal/starter"
)

func newInit() *cobra.Command {
	var replace string
	command := &cobra.Command{
		Use:   "init [MODULE]",
		Short: "Write a running service into an empty folder",
		Long: `init writes a service into the working directory. main.go has the roles, demo users with
tokens, HTTP and stdio. tools.go has a public tool and a tool for Members. main_test.go compares
what each user and each role may list with tables that you keep by hand. The Makefile and a job of
GitHub Actions run the checks. .mcp.json is the configuration of Claude Code, over stdio.

Then it runs go mod tidy and generates, so that go run . starts the server. Below a go.work, it runs
go work use before. MODULE is the path of the module, such as shop or example.com/shop. The default
is example.com/ and the name of the directory.

init does not write into a directory with Go files, and does not overwrite files. It keeps a
.gitignore that exists. A mcpgen without a released version needs --replace with a checkout of
mcpgen. The CI job then clones the commit of the checkout.

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
			if isStandard(cmd.Context(), modulePath) {
				return fmt.Errorf("%q is a package or a word of the go command: write another path, "+
					"such as example.com/%[1]s", modulePath)
			}
			written, err := starter.Write(dir, modulePath, replace)
			if err != nil {
				return err
			}
			for _, file := range written {
				fmt.Fprintln(cmd.OutOrStdout(), relative(file))
			}
			if err := resolve(cmd); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "mcpgen (the first run compiles the runtime)")
			if err := generate(cmd, &commandline.Reporter{Format: report.Text}, nil); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "Start the server with go run . or call a tool with\n"+
				`go tool mcpgen call count_words text="one two" -- go run . -stdio mel`+
				"\nThe first go tool mcpgen compiles mcpgen, which may take a minute.")
			return nil
		},
	}
	command.Flags().StringVar(&replace, "replace", "",
		"replace the module of mcpgen by the checkout in this `directory`")
	return command
}

// isStandard reports whether the go command does not take the path as that of a module: it is the
// path of a package of the standard library, or a word for several packages.
func isStandard(ctx context.Context, path string) bool {
	if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
		return false
	}
	if slices.Contains([]string{"all", "cmd", "std", "tool", "work"}, path) {
		return true
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-find", "-e", "-f", "{{.Standard}}", "--",
		path).Output()
	return err == nil && strings.TrimSpace(string(out)) == "true"
}

// resolve adds the new module to the workspace that it is in, and resolves what it requires.
func resolve(cmd *cobra.Command) error {
	workspace, err := workspaceAbove(cmd.Context())
	if err != nil {
		return err
	}
	steps := []string{"go mod tidy"}
	if workspace != "" {
		steps = []string{"go work use .", "go mod tidy"}
	}
	for i, step := range steps {
		fmt.Fprintln(cmd.ErrOrStderr(), step)
		words := strings.Fields(step)
		if text, err := exec.CommandContext(cmd.Context(), words[0], words[1:]...).
			CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %v: run %s, and then go generate\n%s", step, err,
				strings.Join(steps[i:], ", "), text)
		}
		if words[1] == "work" {
			fmt.Fprintln(cmd.OutOrStdout(), relative(workspace))
		}
	}
	return nil
}

// workspaceAbove returns the go.work of a folder above the working directory, or "". The variable
// GOWORK may name one elsewhere, which stays as it is.
func workspaceAbove(ctx context.Context) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOWORK").Output()
	path := strings.TrimSpace(string(out))
	if err != nil || path == "" || path == "off" {
		return "", nil
	}
	below, err := filepath.Rel(filepath.Dir(path), dir)
	if err != nil || !filepath.IsLocal(below) {
		return "", nil
	}
	return path, nil
}
