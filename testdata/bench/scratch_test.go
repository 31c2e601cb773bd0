package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/generator"
)

// scratch is a module in a temporary directory that uses this checkout.
type scratch struct{ dir string }

func newScratch(t testing.TB) scratch {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := scratch{t.TempDir()}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(mod), "module github.com/mcpgen/mcpgen/testdata/bench")
	quoted := func(path string) string { return strconv.Quote(root + path[len("../.."):]) }
	s.write(t, "go.mod", "module example.com/scratch"+
		regexp.MustCompile(`\.\./\.\.\S*`).ReplaceAllStringFunc(rest, quoted))
	s.write(t, "go.sum", string(sum))
	return s
}

func (s scratch) write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// run runs a command in the module and returns its peak memory in bytes.
func (s scratch) run(t testing.TB, name string, args ...string) int64 {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10 // in KiB on Linux
}

func (s scratch) generate(t testing.TB, patterns ...string) {
	t.Helper()
	r, err := generator.Run(context.Background(), generator.Options{Dir: s.dir, Patterns: patterns})
	if err == nil && len(r.Diagnostics) > 0 {
		err = fmt.Errorf("%v", r.Diagnostics)
	}
	if err == nil {
		_, err = r.Write()
	}
	if err != nil {
		t.Fatal(err)
	}
}
