package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/internal/scaletest"
)

// TestMemoryOfManyPackages runs the command for 200 packages of 20 tools, first when nothing is
// generated yet, then when everything is.
func TestMemoryOfManyPackages(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := scaletest.Write(dir, repository(t), 200, 20); err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"./..."}, {"check", "./..."}} {
		// With this name, TestMain runs main.
		cmd := exec.Command(program)
		cmd.Args = append([]string{"mcpgen"}, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CI=true", "GOGC=", "GOMEMLIMIT=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("mcpgen %v: %v\n%s", args, err, out)
		}
		const most = 300 // MB
		used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
		t.Logf("mcpgen %v: %d MB", args, used)
		if used > most {
			t.Errorf("mcpgen %v takes %d MB, more than %d MB", args, used, most)
		}
	}
}
