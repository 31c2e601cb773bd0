// Package commandline contains the exit codes and the output of diagnostics for the commands
// mcpgen, mcpgen-openapi and mcpgen-prove.
package commandline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/spf13/cobra"
)

// The exit codes of the commands.
const (
	exitOK       = 0
	exitFindings = 1 // diagnostics, stale files, unparsable source
	exitFailure  = 2 // usage, or the command could not do its work
)

// ErrFindings ends a command whose findings are already printed.
var ErrFindings = errors.New("findings")

// Run runs a command and returns its exit code. If the command returns the *exec.ExitError of
// another program, which has printed its own errors, Run returns that program's exit code.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var other *exec.ExitError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, ErrFindings):
		return exitFindings
	case errors.As(err, &other) && other.ExitCode() > 0:
		return other.ExitCode()
	}
	fmt.Fprintln(stderr, "mcpgen:", err)
	return exitFailure
}
