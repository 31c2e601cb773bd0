// Package commandline contains the exit codes and the output of diagnostics for the commands
// mcpgen, mcpgen-openapi and mcpgen-prove.
package commandline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

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

// repositoryVariables are the variables of git that name a repository or a part of one, as
// git rev-parse --local-env-vars has them. Git sets them in hooks: in a linked worktree, GIT_DIR
// without GIT_WORK_TREE makes each folder the root. Left out are variables with settings, such as
// GIT_CONFIG_COUNT: private modules may need them. In a pre-receive hook, GIT_QUARANTINE_PATH is
// set, and the pushed commits are where the variables of objects point.
var repositoryVariables = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR",
	"GIT_CONFIG", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
	"GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
	"GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE"}

// Run runs a command and returns its exit code. If the command returns the *exec.ExitError of
// another program, which has printed its own errors, Run returns that program's exit code.
//
// The programs that the command starts find the git repository of their folder.
func Run(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	for _, name := range repositoryVariables {
		if os.Getenv("GIT_QUARANTINE_PATH") == "" || !strings.Contains(name, "OBJECT_DIRECTOR") {
			_ = os.Unsetenv(name) // it has no error for these names
		}
	}
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
