package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/diag"
)

// report prints the diagnostics of a result to standard error; with any it returns errFindings.
func report(cmd *cobra.Command, result generator.Result) error {
	stderr := cmd.ErrOrStderr()
	if len(result.Diagnostics) == 0 {
		if len(result.Services) == 0 {
			fmt.Fprintln(stderr, "mcpgen: no //mcp: directive in these packages; `mcpgen explain //mcp:tool` shows how to begin")
		}
		return nil
	}
	terminal := isTerminal(stderr)
	err := result.Diagnostics.Render(stderr, diag.Style{
		Base:     workingDirectory(),
		Snippets: terminal,
		Color:    terminal && os.Getenv("NO_COLOR") == "",
	})
	if err != nil {
		return err
	}
	return errFindings
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// workingDirectory is empty where it cannot be known: paths then stay absolute.
func workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// relative shortens a path below the working directory.
func relative(path string) string {
	rel, err := filepath.Rel(workingDirectory(), path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}
