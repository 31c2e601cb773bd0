// Package loadtest makes scratch modules for tests of the generator's stages.
package loadtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/load"
)

// Module is the path of every scratch module.
const Module = "example.com/scratch"

var moduleLine = regexp.MustCompile(`(?m)^module .*$`)

// Write puts the files into a new module that may import what this repository's module may, and the
// repository's own packages, and returns its directory. File names are relative; a go.mod among them replaces the one made.
func Write(t testing.TB, files ...txtar.File) string {
	t.Helper()
	root := repository(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			own := string(moduleLine.Find(text))[len("module "):]
			text = moduleLine.ReplaceAll(text, []byte("module "+Module))
			text = fmt.Appendf(text, "\nrequire %s v0.0.0\n\nreplace %s => %s\n", own, own, root)
		}
		files = append([]txtar.File{{Name: name, Data: text}}, files...)
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

// Load writes the files and loads the patterns, all packages where none is given.
func Load(t testing.TB, files []txtar.File, patterns ...string) *load.Program {
	t.Helper()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	prog, err := load.Load(t.Context(), load.Options{Dir: Write(t, files...), Patterns: patterns})
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// repository is the directory of this repository's go.mod.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}
