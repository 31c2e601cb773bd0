package command

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/testgo"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// scriptCommands runs mcpgen and go for scripts.
type scriptCommands struct {
	context   context.Context
	toolchain *testgo.Toolchain
	variables []string // that scripts have
	mutex     sync.Mutex
}

var assignment = regexp.MustCompile(`(?m)^env (\w+=.*)$`)

func newScriptCommands(t *testing.T, settings []string) *scriptCommands {
	names := map[string]bool{"CI": true, "HOME": true, "PATH": true, "PWD": true,
		"XDG_CACHE_HOME": true}
	scripts, err := filepath.Glob(filepath.Join(testrepo.Root(t), "testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range assignment.FindAllStringSubmatch(string(text), -1) {
			settings = append(settings, strings.Fields(line[1])...)
		}
	}
	for _, variable := range os.Environ() { // those of git, which scripts do not have
		if strings.HasPrefix(variable, "GIT_") {
			settings = append(settings, variable)
		}
	}
	for _, setting := range settings {
		if name, _, ok := strings.Cut(setting, "="); ok {
			names[name] = true
		}
	}
	return &scriptCommands{context: loadtest.Context(t), toolchain: testgo.Shared(t),
		variables: slices.Sorted(maps.Keys(names))}
}

// run is a command of scripts that does what exec does, in the quick run without a process:
//
//	run mcpgen|go [arguments]
//
// It runs mcpgen in this process, and type-checks plain scratch modules for go build and go vet.
// For go test, it runs the generated tests as well. The go command does everything else.
func (c *scriptCommands) run(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: run mcpgen|go [arguments]")
	}
	ok, err := false, testgo.ErrOther
	if testing.Short() {
		ok, err = c.within(ts, args[0], args[1:])
	}
	if err != nil {
		err = ts.Exec(args[0], args[1:]...)
		ok = err == nil
	}
	if ok == neg {
		ts.Fatalf("unexpected success or failure: %v", err)
	}
}

// output keeps what a command and the programs that it starts write at once.
type output struct {
	mutex sync.Mutex
	text  []byte
}

func (o *output) Write(p []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.text = append(o.text, p...)
	return len(p), nil
}

// within runs a command in this process, in the directory of a script and with its variables.
func (c *scriptCommands) within(ts *testscript.TestScript, name string, args []string) (
	ok bool, err error,
) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, name := range c.variables {
		before, set := os.LookupEnv(name)
		if value := ts.Getenv(name); value != "" {
			ts.Check(os.Setenv(name, value))
		} else {
			ts.Check(os.Unsetenv(name))
		}
		defer func() {
			if set {
				os.Setenv(name, before)
			} else {
				os.Unsetenv(name)
			}
		}()
	}
	before, err := os.Getwd()
	ts.Check(err)
	dir := ts.MkAbs(".")
	ts.Check(os.Chdir(dir))
	defer os.Chdir(before)
	var stdout, stderr output
	ok, err = false, testgo.ErrOther
	switch {
	case name == "mcpgen":
		ok, err = run(c.context, args, &stdout, &stderr) == 0, nil
	case len(args) == 0:
	case args[0] == "build":
		ok, err = c.toolchain.Build(&stderr, dir, args[1:]...)
	case args[0] == "vet":
		ok, err = c.toolchain.Vet(&stderr, dir, args[1:]...)
	case args[0] == "test":
		ok, err = c.toolchain.Test(&stdout, dir, args[1:]...)
	}
	if err == nil {
		ts.Stdout().Write(stdout.text)
		ts.Stderr().Write(stderr.text)
	}
	return ok, err
}
