package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/internal/scaletest"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

func init() { commands["peakmemory"] = peakMemory }

// peakMemory runs mcpgen and prints its peak memory in MB. It is a process of its own, since Linux
// counts the memory of a process for the children that it starts.
func peakMemory() {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{"mcpgen"}, os.Args[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10)
}

// TestMemoryOfManyPackages runs the command for 200 packages of 20 tools, first when nothing is
// generated yet, then when everything is.
func TestMemoryOfManyPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("it generates for 4,000 tools twice")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := scaletest.Write(dir, testrepo.Root(t), 200, 20); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"./..."}, {"check", "./..."}} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = append([]string{"peakmemory"}, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CI=true", "GOGC=", "GOMEMLIMIT=")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("mcpgen %v: %v\n%s", args, err, out)
		}
		used, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		const most = 300 // MB
		t.Logf("mcpgen %v: %d MB", args, used)
		if used > most {
			t.Errorf("mcpgen %v takes %d MB, more than %d MB", args, used, most)
		}
	}
}
