// Package loadtest makes scratch modules for tests of the generator's stages.
package loadtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/testgo"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// Module is the path of every scratch module.
const Module = "example.com/scratch"

// Write puts the files into a new module that may import what this repository's module may, and the
// repository's own packages, and returns its directory. File names are relative; a go.mod among
// them replaces the one made.
func Write(t testing.TB, files ...txtar.File) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	// Generated code of isolated tools imports the sandbox.
	if err := testrepo.WriteModule(testrepo.Root(t), Module, dir, "runtime/sandbox"); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Context returns the context of a test. In the quick run, loads with it list plain scratch modules
// without the go command.
func Context(t testing.TB) context.Context {
	if !testing.Short() {
		return t.Context()
	}
	return load.WithLister(t.Context(), testgo.Shared(t).List)
}

// Load writes the files and loads the patterns, all packages where none is given.
func Load(t testing.TB, files []txtar.File, patterns ...string) *load.Program {
	t.Helper()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	prog, err := load.Load(Context(t), load.Options{Dir: Write(t, files...), Patterns: patterns})
	if err != nil {
		t.Fatal(err)
	}
	return prog
}
