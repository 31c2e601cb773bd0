package load

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"
)

const guessed = `
-- go.mod --
module example.com/m // a comment

go 1.26
-- a/a.go --
package a

import (
	"context"
	"unsafe"

	"example.com/m/below"
	"example.com/m/gone"
	"example.com/other/x"
)
-- a/a_test.go --
package a

import "testing"
-- a/mcp_gen.go --
package a

import "encoding/json"
-- a/a_windows.go --
package a

import "os/exec"
-- a/tagged.go --
//go:build tagged

package a

import "os/user"
-- below/b.go --
package below

import "C"
import "net/http"
-- b/b.go --
package b

import "time"
-- b/testdata/t.go --
package t

import "bytes"
-- nested/go.mod --
module example.com/nested
-- nested/n.go --
package nested

import "bufio"
-- broken/b.go --
package broken

import "sort"

func (
`

func TestTheGuessIsWhatTheModuleImportsFromOutside(t *testing.T) {
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(guessed)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		dir      string
		env      []string
		patterns []string
		want     []string
	}{
		{".", nil, []string{"./a"}, []string{"context", "example.com/other/x", "net/http"}},
		{"a", nil, []string{"."}, []string{"context", "example.com/other/x", "net/http"}},
		{"a", nil, []string{"../b", "./..."}, []string{"context", "example.com/other/x", "net/http", "time"}},
		{".", nil, []string{"./b/..."}, []string{"time"}},
		{".", nil, []string{"./broken", "./none"}, []string{"sort"}},
		{".", nil, []string{"./..."}, []string{"context", "example.com/other/x", "net/http", "sort", "time"}},
		{".", nil, []string{"example.com/m/a"}, nil},
		{".", nil, []string{"./b", "./a..."}, nil},
		{".", nil, []string{"./.../a"}, nil},
		{".", []string{"GOWORK=off"}, []string{"./b"}, []string{"time"}},
		{".", []string{"GOWORK=off", "GOWORK=/elsewhere/go.work"}, []string{"./b"}, nil},
	} {
		o := Options{Dir: filepath.Join(dir, test.dir), Env: test.env}
		if got := guessedImports(o, test.patterns); !slices.Equal(got, test.want) {
			t.Errorf("%v in %s: got %v, want %v", test.patterns, test.dir, got, test.want)
		}
	}

	// In a workspace only the go command knows which packages are the author's.
	if err := os.WriteFile(filepath.Join(dir, "go.work"), []byte("go 1.26\n\nuse .\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if got := guessedImports(Options{Dir: dir}, []string{"./..."}); got != nil {
		t.Errorf("in a workspace: %v", got)
	}
	if got := guessedImports(Options{Dir: t.TempDir()}, []string{"./..."}); got != nil {
		t.Errorf("without a module: %v", got)
	}
}

func TestAGuessNamesOnlyWhatHasExportData(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m.go":   "package m\n\nimport (\n\t\"errors\"\n\n\t\"example.com/nowhere/x\"\n)\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files := guessedExports(t.Context(), Options{Dir: dir}, []string{"."})
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, []string{"errors"}) {
		t.Errorf("got %v", got)
	}
	if _, err := os.Stat(files["errors"]); err != nil {
		t.Error(err)
	}
}
