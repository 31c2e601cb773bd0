// Command scale writes a module with many tools, runs mcpgen on it, and measures what the generated
// code costs: its lines, the CPU time that compiles it, and the CPU time of go test.
//
//	go run ./scale -packages 200 -tools 20
//	go run ./scale -packages 1 -tools 5000
//
// It measures the mcpgen of the checkout that -root names, so that two checkouts are compared by
// running it in turns. CPU time is that of all child processes: on a machine with other load it
// varies less than the time on the clock.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mcpgen/mcpgen/internal/scaletest"
)

// imports is a test that links what generated code imports.
const imports = `package imports

import (
	"testing"

	_ "github.com/mcpgen/mcpgen/runtime/decode"
	_ "github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestNothing(*testing.T) {}
`

func main() {
	log.SetFlags(0)
	packages := flag.Int("packages", 200, "packages of the module")
	tools := flag.Int("tools", 20, "tools of each package")
	root := flag.String("root", "../..", "the checkout of mcpgen to measure")
	dir := flag.String("dir", "", "directory of the module; empty for a temporary one, which is removed")
	runs := flag.Int("runs", 1, "how often build and test are measured")
	flag.Parse()
	if *dir == "" {
		temporary, err := os.MkdirTemp("", "scale")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(temporary)
		*dir = temporary
	}
	absolute, err := filepath.Abs(*root)
	if err != nil {
		log.Fatal(err)
	}
	m := module{dir: *dir, root: absolute}
	if err := m.measure(*packages, *tools, *runs); err != nil {
		log.Fatal(err)
	}
}

// module is a module in a directory that uses a checkout of mcpgen.
type module struct{ dir, root string }

// measure writes the module, generates its code, and prints what it costs.
func (m module) measure(packages, tools, runs int) error {
	if err := scaletest.Write(m.dir, m.root, packages, tools); err != nil {
		return err
	}
	if err := m.write("imports/imports_test.go", imports); err != nil {
		return err
	}
	mcpgen := filepath.Join(m.dir, "mcpgen")
	if _, err := m.run(m.root, "go", "build", "-C", "cmd/mcpgen", "-o", mcpgen, "."); err != nil {
		return err
	}
	cost, err := m.run(m.dir, mcpgen, "./...")
	if err != nil {
		return err
	}
	fmt.Printf("generate %s\n", cost)
	code, err := m.lines("mcp_gen.go")
	if err != nil {
		return err
	}
	test, err := m.lines("mcp_gen_test.go")
	if err != nil {
		return err
	}
	fmt.Printf("lines    %d code, %d test, %.1f for each tool\n",
		code, test, float64(code+test)/float64(packages*tools))
	// What generated code imports is compiled before.
	if _, err := m.run(m.dir, "go", "build", "github.com/mcpgen/mcpgen/runtime/toolset",
		"github.com/mcpgen/mcpgen/runtime/decode"); err != nil {
		return err
	}
	if _, err := m.run(m.dir, "go", "test", "-run", "^$", "./imports"); err != nil {
		return err
	}
	for range runs {
		// No edit is like an earlier one: the build cache would have the packages.
		if err := m.edit(packages); err != nil {
			return err
		}
		for _, args := range [][]string{{"build", "./..."}, {"test", "./..."}} {
			cost, err := m.run(m.dir, "go", args...)
			if err != nil {
				return err
			}
			fmt.Printf("%-8s %s\n", args[0], cost)
		}
	}
	return nil
}

// cost is what a command and its child processes used.
type cost struct {
	clock, cpu time.Duration
	peak       int64 // bytes, of the largest process
}

func (c cost) String() string {
	return fmt.Sprintf("%6.1f s CPU, %6.1f s on the clock, largest process %d MB",
		c.cpu.Seconds(), c.clock.Seconds(), c.peak>>20)
}

func (m module) run(dir, name string, args ...string) (cost, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	started := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return cost{}, fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	c := cost{clock: time.Since(started), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = usage.Maxrss << 10 // in KiB on Linux
	}
	return c, nil
}

func (m module) write(name, text string) error {
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

// lines counts the lines of all files of a name.
func (m module) lines(name string) (n int, err error) {
	err = filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != name {
			return err
		}
		text, err := os.ReadFile(path)
		n += bytes.Count(text, []byte("\n"))
		return err
	})
	return n, err
}

func (m module) edit(packages int) error {
	for i := range packages {
		name := scaletest.Name(i)
		text := fmt.Sprintf("package %s\n\nconst edit = %d\n", name, time.Now().UnixNano())
		if err := m.write(filepath.Join(name, "edit.go"), text); err != nil {
			return err
		}
	}
	return nil
}
