package commandline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
)

// Report prints the diagnostics of a result to standard error. If there are any, it returns
// ErrFindings.
func Report(cmd *cobra.Command, result generator.Result) error {
	stderr := cmd.ErrOrStderr()
	if len(result.Diagnostics) == 0 {
		if len(result.Services) == 0 {
			fmt.Fprintln(stderr, "mcpgen: no //mcp: directive in these packages; `mcpgen explain "+
				"//mcp:tool` shows the first step")
		}
		return nil
	}
	terminal := IsTerminal(stderr)
	err := result.Diagnostics.Render(stderr, diag.Style{
		Base:     workingDirectory(),
		Snippets: terminal,
		Color:    terminal && os.Getenv("NO_COLOR") == "",
	})
	if err != nil {
		return err
	}
	return ErrFindings
}

// IsTerminal reports whether a writer is a terminal, or the null device, which discards the output.
func IsTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// workingDirectory is empty if it is unknown: paths then stay absolute.
func workingDirectory() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}

// Relative shortens a path below the working directory.
func Relative(path string) string {
	rel, err := filepath.Rel(workingDirectory(), path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}
