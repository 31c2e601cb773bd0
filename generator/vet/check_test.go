package vet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/vet"
)

// Cases of package check whose findings the analyzer does not have in the same form: they concern
// several packages, or have the text of the go command about a missing module.
var different = []string{"mcp013", "mcp017", "mcp017-lines", "mcp017-scopes", "mcp025",
	"mcp053-foreign"}

// The analyzer has the findings of mcpgen check, with the same texts.
func TestFindingsAreThoseOfCheck(t *testing.T) {
	paths, err := filepath.Glob("../internal/check/testdata/codes/MCP*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	wanted := map[string]string{}
	var files []txtar.File
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ToLower(strings.TrimSuffix(filepath.Base(path), ".txtar"))
		for _, f := range archive.Files {
			if f.Name == "want" {
				wanted[name] = string(f.Data)
				continue
			}
			files = append(files, txtar.File{Name: name + "/" + f.Name, Data: f.Data})
		}
	}
	dir := loadtest.Write(t, files...)
	found := map[string]diag.List{}
	for _, action := range analyze(t, dir) {
		for _, d := range action.Result.(diag.List) {
			name, _, _ := strings.Cut(diag.Relative(d.Pos.File, dir), "/")
			found[name] = append(found[name], d)
		}
	}
	for name, want := range wanted {
		var got bytes.Buffer
		list := found[name]
		list.Sort()
		err := list.Render(&got, diag.Style{Base: filepath.Join(dir, name)})
		if err != nil {
			t.Fatal(err)
		}
		if same := got.String() == want; same == slices.Contains(different, name) {
			t.Errorf("%s: as by check: %v; got:\n%s\nwant:\n%s", name, same, got.String(), want)
		}
	}
}

// mcpgen vet has the findings of mcpgen check from each pattern and folder, before and after the
// first generation.
func TestPackagesHaveTheFindingsOfCheck(t *testing.T) {
	paths, err := filepath.Glob("testdata/packages/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	ctx := loadtest.Context(t) // before the working directory changes
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			var files []txtar.File
			want := ""
			folders := []string{"..."}
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				files, folders = append(files, f), append(folders, filepath.Dir(f.Name))
			}
			dir := loadtest.Write(t, files...)
			t.Chdir(dir)
			slices.Sort(folders)
			folders = slices.Compact(folders)
			sameFindings(ctx, t, dir, folders, want)
			if want != "" {
				return
			}
			result, err := generator.Run(ctx, generator.Options{Patterns: []string{"./..."}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := result.Write(); err != nil {
				t.Fatal(err)
			}
			sameFindings(ctx, t, dir, folders, want)
		})
	}
}

// sameFindings compares the findings of vet and check about the folders of a module.
func sameFindings(
	ctx context.Context, t *testing.T, dir string, folders []string, want string,
) {
	t.Helper()
	compare := func(in, pattern string) {
		t.Helper()
		t.Chdir(in)
		checked, err := generator.Run(ctx, generator.Options{Patterns: []string{pattern}})
		if err != nil {
			t.Fatal(err)
		}
		found, err := vet.Packages(ctx, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		var byCheck, byVet bytes.Buffer
		style := diag.Style{Base: dir}
		if err := errors.Join(checked.Diagnostics.Render(&byCheck, style),
			found.List.Render(&byVet, style)); err != nil {
			t.Fatal(err)
		}
		if byVet.String() != byCheck.String() || pattern == "./..." && byVet.String() != want {
			t.Errorf("%s in %s: vet:\n%s\ncheck:\n%s\nwant of ./...:\n%s", pattern,
				diag.Relative(in, dir), &byVet, &byCheck, want)
		}
	}
	for _, folder := range folders {
		compare(dir, "./"+filepath.ToSlash(folder))
	}
	compare(filepath.Join(dir, folders[len(folders)-1]), ".")
}

func analyze(t *testing.T, dir string) []*checker.Action {
	t.Helper()
	pkgs, err := packages.Load(&packages.Config{
		Context: t.Context(), Dir: dir, Mode: packages.LoadSyntax | packages.NeedModule,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{vet.Analyzer}, pkgs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			t.Fatal(action.Err)
		}
	}
	return graph.Roots
}

// The analyzer reads types of imported packages of the module as check does. It reports findings in
// their files at the package clause, and ignores generated files.
func TestPackagesOfAModule(t *testing.T) {
	dir := loadtest.Write(t, txtar.Parse([]byte(`
-- color/color.go --
package color

type Color string

const (
	Red  Color = "red"
	Blue Color = "blue"
)

type Paint struct {
	Mix func() `+"`json:\"mix\"`"+`
}
-- shop/shop.go --
package shop

import (
	"context"

	"example.com/scratch/color"
)

type Tone string

const (
	Red  Tone = "red"
	Blue Tone = "blue"
)

//mcp:tool minrole=Viewer
//mcp:rule color=red minrole=Member
func Buy(ctx context.Context, color Tone) error { return nil }

//mcp:tool minrole=Member
//mcp:rule color=green minrole=Member
func Sell(ctx context.Context, color color.Color) error { return nil }

//mcp:tool public
func Mix(ctx context.Context, paint color.Paint) error { return nil }

var served = Toolset()
-- shop/mcp_gen.go --
// Code generated by mcpgen. DO NOT EDIT.

package shop

import "example.com/scratch/gone"

var stale gone.Type
-- shop/aa_mcp_error.go --
// Code generated by mcpgen. DO NOT EDIT.

package shop

var _ = findings
`)).Files...)
	var got []string
	for _, action := range analyze(t, dir) {
		for _, d := range action.Diagnostics {
			at := action.Package.Fset.Position(d.Pos)
			message, _, _ := strings.Cut(d.Message, ";")
			got = append(got, fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, message))
		}
	}
	slices.Sort(got)
	want := []string{
		`shop.go:1: ../color/color.go:11: MCP015: Paint.Mix: func() has no JSON representation`,
		`shop.go:21: MCP008: "green" is not a value of the argument color of Sell`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The analyzer has no finding about constants of a package that was never generated, or that was
// generated under other names.
func TestConstantsBeforeTheirGeneration(t *testing.T) {
	const text = `
-- base/base.go --
package base

import "context"

//mcp:tool public name=looked
func Look(ctx context.Context) error { return nil }

type Kinds [len(ToolLook) - hidden]int
-- base/hidden.go --
package base

const hidden = 4
-- middle/middle.go --
package middle

import "example.com/scratch/base"

const Deep = "deep-" + base.ToolLook
-- shop/shop.go --
package shop

import (
	"context"
	"fmt"

	"example.com/scratch/base"
	"example.com/scratch/middle"
	"example.com/scratch/missing"
)

type Kind string

const (
	Own  Kind = ToolSell
	Deep Kind = middle.Deep
)

//mcp:tool authenticated
//mcp:rule kind=sell scopes=x
//mcp:rule kind=deep-looked scopes=y
//mcp:rule kind=nothing scopes=y
func Sell(ctx context.Context, kind Kind, list base.Kinds) error {
	var unused int
	return fmt.Errorf("%s", kind)
}

var other missing.Type
`
	const stale = load.Header + "; DO NOT EDIT.\n\npackage base\n\nconst ToolLook = \"look\"\n"
	for name, extra := range map[string][]txtar.File{
		"never generated": nil,
		"stale":           {{Name: "base/mcp_gen.go", Data: []byte(stale)}},
	} {
		dir := loadtest.Write(t, append(txtar.Parse([]byte(text)).Files, extra...)...)
		var got []string
		for _, action := range analyze(t, dir) {
			for _, d := range action.Result.(diag.List) {
				message, _, _ := strings.Cut(d.Message, " (")
				got = append(got, fmt.Sprintf("%s:%d: %s", filepath.Base(d.Pos.File), d.Pos.Line, message))
			}
		}
		want := []string{"shop.go:9: could not import example.com/scratch/missing",
			`shop.go:22: "nothing" is not a value of the argument kind of Sell`}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// Fixes are applied to the files of all packages, once each, and what remains has no fix.
func TestFixesOfPackages(t *testing.T) {
	dir := loadtest.Write(t, txtar.Parse([]byte(`
-- a/a.go --
package a

import "context"

//mcp:tool public
func A(ctx context.Context) error { return nil }

func B(ctx context.Context) error { return nil }

//mcp:tol minrole=Meber
func C(ctx context.Context) error { return nil }
-- b/b.go --
package b

import "context"

//mcp:tool minrole=Viewr
func D(ctx context.Context) error { return nil }
`)).Files...)
	t.Chdir(dir)
	found, err := vet.Packages(t.Context(), []string{"./..."})
	if err != nil || len(found.List) != 3 {
		t.Fatal(found.List, err)
	}
	changed, err := found.Fix(func(path string, text []byte) error {
		return os.WriteFile(path, text, 0o666)
	})
	want := []string{filepath.Join(dir, "a/a.go"), filepath.Join(dir, "b/b.go")}
	if err != nil || !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q, %v", changed, want, err)
	}
	if found, err = vet.Packages(t.Context(), []string{"./..."}); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, d := range found.List {
		left = append(left, fmt.Sprintf("%s:%d: %s", filepath.Base(d.Pos.File), d.Pos.Line, d.Code))
	}
	// The rule that a fix leaves to the author, and the role in a directive that had no name.
	if want := []string{"a.go:8: MCP009", "a.go:11: MCP009"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	if _, err := vet.Packages(t.Context(), []string{"./missing"}); err == nil {
		t.Error("a missing package has no error")
	}
}

// A fix keeps the ends of lines of its file, and its byte order mark.
func TestFixesKeepLineEnds(t *testing.T) {
	const source = `package a

import "context"

/* Desk has tools. */
type Desk struct{}

// A is the first.
func (Desk) A(ctx context.Context) error { return nil }

//mcp:tol minrole=Member
func (Desk) B(ctx context.Context) error { return nil }

//mcp:tool minrole=Meber\u200b
func (Desk) C(ctx context.Context) error { return nil }

//mcp:tool public

const X = ` + "`1\n2`" + `
`
	text := strings.ReplaceAll(source, `\u200b`, "\u200b")
	unix := strings.NewReplacer("\r\n", "\n", "\ufeff", "")
	forms := []string{text, strings.ReplaceAll(text, "\n", "\r\n"),
		"\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")}
	var first string
	var dirs []string
	for _, crlf := range forms {
		dirs = append(dirs, loadtest.Write(t, txtar.File{Name: "a.go", Data: []byte(crlf)}))
	}
	for i, crlf := range forms {
		t.Chdir(dirs[i])
		found, err := vet.Packages(t.Context(), []string{"."})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if _, err := found.Fix(func(path string, text []byte) error {
			got = string(text)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = got
		}
		want := first
		if crlf != text {
			want = strings.ReplaceAll(first, "\n", "\r\n")
		}
		if strings.HasPrefix(crlf, "\ufeff") {
			want = "\ufeff" + want
		}
		if got != want || unix.Replace(got) == text {
			t.Errorf("of %q: got %q, want %q", crlf[:20], got, want)
		}
	}
}
