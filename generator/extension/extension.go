// Package extension is the part of the generator that commands of other modules use: mcpgen audit,
// mcpgen-openapi and mcpgen-prove. Its names are those of internal packages of the generator.
package extension

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

// Commands, and the findings that they print.
type (
	// Reporter collects the findings of a command.
	Reporter = commandline.Reporter
	// Finding is one of them.
	Finding = report.Finding
	// Diagnostics are findings in the source of handlers.
	Diagnostics = diag.List
	// Difference is a file that is not as it should be.
	Difference = writefiles.Difference
)

// ErrFindings ends a command whose findings are already printed.
var ErrFindings = commandline.ErrFindings

// The levels of findings, and the code of a package that does not type-check.
const (
	Error        = report.Error
	Note         = report.Note
	DoesNotCheck = diag.DoesNotCheck
)

// Main runs a command with the arguments of the process, and ends the process.
func Main(root *cobra.Command) {
	commandline.Process(func(ctx context.Context) int {
		return commandline.Run(ctx, root, os.Args[1:], os.Stdout, os.Stderr)
	})
}

// IsTerminal reports whether a writer is a terminal, or the null device.
func IsTerminal(w any) bool { return commandline.IsTerminal(w) }

// Relative shortens a path below the working directory.
func Relative(path string) string { return commandline.Relative(path) }
