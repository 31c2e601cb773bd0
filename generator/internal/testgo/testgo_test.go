package testgo

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/internal/testrepo"
	"github.com/mcpgen/mcpgen/sourcehash"
)

const source = `
-- a/a.go --
// Package a has an import of the module and one of another.
package a

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/access"

	"example.com/scratch/a/internal/b"
)

// Get gets.
func Get(context.Context) (access.Principal, b.B) { return access.Principal{}, b.B{} }
-- a/a_plan9.go --
package a

import "plan9"
-- a/a_test.go --
package a

import "testing"

func check(t *testing.T) { Get(t.Context()) }
-- a/internal/b/b.go --
package b

// B is a type.
type B struct{}
-- cmd/main.go --
package main

import "example.com/scratch/a"

func main() { a.Get(nil) }
-- only/only_test.go --
package only
-- a/testdata/t.go --
package t
-- _no/no.go --
package no
-- nested/go.mod --
module example.com/nested
-- nested/n.go --
package nested
`

// scratch writes a module, with files that replace others.
func scratch(t *testing.T, texts ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = testrepo.WriteModule(testrepo.Root(t), "example.com/scratch", dir, "runtime/sandbox")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range append([]string{source}, texts...) {
		for _, f := range txtar.Parse([]byte(text)).Files {
			path := filepath.Join(dir, filepath.FromSlash(f.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// described are the packages of a list, and those that they import.
func described(list []*packages.Package) (lines []string) {
	roots := map[*packages.Package]bool{}
	for _, p := range list {
		roots[p] = true
	}
	packages.Visit(list, nil, func(p *packages.Package) {
		var imports []string
		for path, imported := range p.Imports {
			imports = append(imports, path+"="+imported.PkgPath)
		}
		slices.Sort(imports)
		line := fmt.Sprint(roots[p], p.ID, p.Name, p.PkgPath, p.Dir, p.GoFiles, p.IgnoredFiles,
			p.Errors, imports)
		if m := p.Module; m != nil {
			line += fmt.Sprint(m.Path, m.Main, m.Dir, m.GoMod, m.GoVersion)
		}
		lines = append(lines, line)
	})
	slices.Sort(lines)
	return lines
}

const metadata = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedModule

// TestListsAreThoseOfTheGoCommand compares lists of a plain module.
func TestListsAreThoseOfTheGoCommand(t *testing.T) {
	c, dir := Shared(t), scratch(t)
	for _, patterns := range [][]string{{"./..."}, {"./a", "./cmd/..."}, {"./only"}} {
		config := packages.Config{Dir: dir, Mode: metadata}
		got, err := c.list(&config, patterns)
		if err != nil {
			t.Fatal(err)
		}
		want, err := packages.Load(&config, patterns...)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := described(got), described(want); !slices.Equal(got, want) {
			t.Errorf("%v: got\n%s\nwant\n%s", patterns, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
	config := packages.Config{Dir: dir, Mode: exports}
	list, err := c.List(&config, "context", testrepo.Module+"/runtime/access")
	if err != nil || len(list) != 2 || list[0].ExportFile == "" || list[1].ExportFile == "" {
		t.Errorf("%v %v", list, err)
	}
}

// TestOthersAreListedByTheGoCommand has modules and requests that are not plain.
func TestOthersAreListedByTheGoCommand(t *testing.T) {
	c := Shared(t)
	for name, test := range map[string]struct {
		text, pattern string
		change        func(*packages.Config)
	}{
		"a requirement":      {text: "-- go.mod --\nmodule example.com/scratch\n"},
		"no module line":     {text: "-- go.mod --\n// Comment.\nmodule example.com/scratch\n"},
		"a workspace":        {text: "-- go.work --\ngo 1.26\n"},
		"a vendor directory": {text: "-- vendor/modules.txt --\n"},
		"cgo":                {text: "-- a/c.go --\npackage a\n\nimport \"C\"\n"},
		"an embedded file": {text: "-- a/c.go --\npackage a\n\nimport _ \"embed\"\n\n" +
			"//go:embed a.go\nvar x string\n"},
		"a syntax error":      {text: "-- a/c.go --\npackage\n"},
		"two packages":        {text: "-- a/c.go --\npackage c\n"},
		"ignored files alone": {text: "-- c/c_plan9.go --\npackage c\n"},
		"a cycle": {text: "-- a/internal/b/c.go --\npackage b\n\n" +
			"import _ \"example.com/scratch/a\"\n"},
		"an internal package": {text: "-- c/c.go --\npackage c\n\n" +
			"import _ \"example.com/scratch/a/internal/b\"\n"},
		"of another module":    {text: "-- c/c.go --\npackage c\n\nimport _ \"internal/abi\"\n"},
		"a program":            {text: "-- c/c.go --\npackage c\n\nimport _ \"example.com/scratch/cmd\"\n"},
		"an unknown package":   {text: "-- c/c.go --\npackage c\n\nimport _ \"example.com/unknown\"\n"},
		"a missing package":    {text: "-- c/c.go --\npackage c\n\nimport _ \"example.com/scratch/d\"\n"},
		"another pattern":      {pattern: "example.com/scratch/a"},
		"a pattern within":     {pattern: "./.../b"},
		"a missing directory":  {pattern: "./none/..."},
		"a directory of none":  {text: "-- docs/a.md --\n", pattern: "./docs/..."},
		"an environment":       {change: func(c *packages.Config) { c.Env = os.Environ() }},
		"tests":                {change: func(c *packages.Config) { c.Tests = true }},
		"a missing module":     {change: func(c *packages.Config) { c.Dir = filepath.Dir(c.Dir) }},
		"exports of a package": {pattern: "./a", change: func(c *packages.Config) { c.Mode = exports }},
	} {
		config := packages.Config{Dir: scratch(t, test.text), Mode: metadata}
		if test.change != nil {
			test.change(&config)
		}
		pattern := test.pattern
		if pattern == "" {
			pattern = "./..."
		}
		if list, err := c.list(&config, []string{pattern}); err == nil {
			t.Errorf("%s: %v", name, described(list))
		}
	}
	dir := scratch(t)
	t.Run("a variable", func(t *testing.T) {
		t.Setenv("GOOS", "plan9")
		if _, err := c.list(&packages.Config{Dir: dir, Mode: metadata}, []string{"."}); err == nil {
			t.Error("no error")
		}
	})
	list, err := c.List(&packages.Config{Dir: dir, Mode: metadata}, "example.com/scratch/a")
	if err != nil || len(list) != 1 || list[0].Name != "a" {
		t.Errorf("%v %v", list, err)
	}
}

// TestErrorsAreThoseOfGoBuild compares what is printed.
func TestErrorsAreThoseOfGoBuild(t *testing.T) {
	dir := scratch(t, "-- a/wrong.go --\npackage a\n\nimport \"os\"\n\nvar x int = \"text\"\n\n"+
		"func f() { y := 1; Missing() }\n")
	var got bytes.Buffer
	ok, err := Shared(t).Build(&got, dir, "./a")
	if ok || err != nil {
		t.Fatal(ok, err)
	}
	build := exec.Command("go", "build", "./a")
	build.Dir = dir
	want, err := build.CombinedOutput()
	if err == nil {
		t.Fatal("go build succeeds")
	}
	lines := func(text string) []string {
		list := strings.Split(text, "\n")
		slices.Sort(list)
		return list
	}
	if !slices.Equal(lines(got.String()), lines(string(want))) {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

// TestTestsAreChecked has errors of types in tests, and generated tests that pass and fail.
func TestTestsAreChecked(t *testing.T) {
	c := Shared(t)
	const head = "-- a/x_test.go --\npackage a_test\n\nimport \"example.com/scratch/a\"\n\n"
	for text, want := range map[string]bool{
		head + "var _, _ = a.Get(nil)\n":            true,
		head + "var _ = a.None\n":                   false,
		"-- a/a_test.go --\npackage a\n\nvar _ = x": false,
	} {
		var out bytes.Buffer
		if ok, err := c.Vet(&out, scratch(t, text), "./..."); ok != want || err != nil {
			t.Errorf("%s: %t %v\n%s", text, ok, err, &out)
		}
	}
	dir := scratch(t, "-- a/mcp_gen.go --\npackage a\n")
	sum, err := sourcehash.Hash(filepath.Join(dir, "a"), map[string][]string{".": {"Get"}})
	if err != nil {
		t.Fatal(err)
	}
	test := fmt.Sprintf("package a_test\n\nimport (\n\t\"testing\"\n\n\t%q\n)\n\n"+
		"func TestMcpgenSourceHash(t *testing.T) {\n\tgenerated := sourcehash.Generated{\n"+
		"\t\tSource: %q,\n\t\tCode: %q,\n"+
		"\t\tDeclarations: map[string][]string{\".\": {\"Get\"}},\n\t}\n"+
		"\tif err := generated.Check(\".\"); err != nil {\n\t\tt.Error(err)\n\t}\n}\n",
		testrepo.Module+"/sourcehash", sum, sourcehash.Digest([]byte("package a\n")))
	if err := os.Remove(filepath.Join(dir, "a", "a_test.go")); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, "a", name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("mcp_gen_test.go", test)
	var out bytes.Buffer
	if ok, err := c.Test(&out, dir, "./a"); !ok || err != nil ||
		out.String() != "ok  \texample.com/scratch/a\n" {
		t.Errorf("%t %v %s", ok, err, &out)
	}
	write("mcp_gen.go", "package a // edited\n")
	out.Reset()
	if ok, err := c.Test(&out, dir, "./a"); ok || err != nil ||
		!strings.Contains(out.String(), "was edited by hand") {
		t.Errorf("%t %v %s", ok, err, &out)
	}
	write("b_test.go", "package a_test\n\nimport \"testing\"\n\nfunc TestB(*testing.T) {}\n")
	if ok, err := c.Test(&out, dir, "./a"); ok || err == nil {
		t.Error("a test by hand is not left to the go command")
	}
	write("b_test.go", "package a_test\n\nfunc f() { f() + }\n")
	if ok, err := c.Vet(&out, dir); ok || err == nil {
		t.Error("a directory without packages is not left to the go command")
	}
	if ok, err := c.Vet(&out, dir, "./a"); ok || err == nil {
		t.Error("a syntax error is not left to the go command")
	}
}
