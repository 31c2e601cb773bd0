// Package vet is mcpgen's rules as an analyzer of golang.org/x/tools/go/analysis, for go vet,
// golangci-lint, gopls and other drivers.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/mcpgen/mcpgen/generator/internal/check"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

// Analyzer reports what mcpgen check reports about the source of one package, and tools that are
// added to a go-sdk server without the guard, and handlers that ask their client without elicits.
// It does not compare generated files, nor packages with each other. Its result is the list of
// findings.
//
// It needs no result or fact of another analyzer, and runs despite type errors.
var Analyzer = &analysis.Analyzer{
	Name: "mcpgen",
	Doc: `check //mcp: directives

The analyzer reports what mcpgen check reports about one package: handlers without a directive,
misspelt and misplaced directives, unknown roles, types without a schema and hidden characters. It
also reports tools that are added to a server without the guard, and handlers that ask their client
without elicits.

Each finding has a code: mcpgen explain CODE prints its cause and fix.`,
	Run:              run,
	RunDespiteErrors: true,
	ResultType:       reflect.TypeFor[diag.List](),
}

func run(pass *analysis.Pass) (any, error) {
	module, goVersion := "", ""
	if m := pass.Module; m != nil {
		module = m.Path
		if goVersion = m.GoVersion; goVersion != "" && !strings.HasPrefix(goVersion, "go") {
			goVersion = "go" + goVersion
		}
	}
	prog := load.FromChecked(load.Checked{
		Fset: pass.Fset, Files: pass.Files, Ignored: pass.IgnoredFiles, Types: pass.Pkg,
		Info: pass.TypesInfo, Errors: pass.TypeErrors, Module: module,
		GoVersion: goVersion,
		ReadFile:  pass.ReadFile,
	})
	if prog == nil {
		return diag.List(nil), nil
	}
	p, list := inspect(prog, prog.Roots[0])
	list = append(list, scan.SharedFindings(prog, []*scan.Package{p})...)
	list.Sort()
	report(pass, prog.Roots[0], list)
	return list, nil
}

// inspect returns the findings about one package, without those of [scan.SharedFindings].
func inspect(prog *load.Program, pkg *load.Package) (*scan.Package, diag.List) {
	p := scan.One(prog, pkg)
	list := p.Findings
	if p.Serves {
		list = append(list, check.Services([]model.Service{p.Service})...)
	}
	list = append(list, unguarded(prog, pkg)...)
	return p, append(list, asking(prog, pkg, p.Service)...)
}

// report reports findings about a package with their fixes.
func report(pass *analysis.Pass, pkg *load.Package, list diag.List) {
	r := reporter{pass: pass, pkg: pkg, files: map[string]*source{}}
	for _, d := range list {
		r.report(d)
	}
}

// reporter reports findings at positions of the pass.
type reporter struct {
	pass  *analysis.Pass
	pkg   *load.Package
	files map[string]*source
}

// source is a file of the package's directory. Its syntax is nil if the pass does not have it.
type source struct {
	*token.File
	syntax *ast.File
	text   []byte
}

// report reports a finding. One in another directory, such as that of an imported type, is reported
// at the package clause.
func (r *reporter) report(d diag.Diagnostic) {
	message := string(d.Code) + ": " + d.Message
	if d.Suggestion != "" {
		message += "; fix: " + d.Suggestion
	}
	file := r.file(d.Pos.File)
	if file == nil || d.Pos.Line < 1 || d.Pos.Line > file.LineCount() {
		name, place := r.pkg.Files[0].Syntax.Name, load.Short(d.Pos)
		if rel, err := filepath.Rel(r.pkg.Dir, d.Pos.File); err == nil {
			place = fmt.Sprintf("%s:%d", filepath.ToSlash(rel), d.Pos.Line)
		}
		r.pass.Report(analysis.Diagnostic{
			Pos: name.Pos(), End: name.End(), Category: string(d.Code),
			Message: place + ": " + message,
		})
		return
	}
	pos := file.LineStart(d.Pos.Line) + token.Pos(d.Pos.Col-1)
	end := pos
	if d.Pos.EndCol > d.Pos.Col {
		end += token.Pos(d.Pos.EndCol - d.Pos.Col)
	}
	report := analysis.Diagnostic{Pos: pos, End: end, Category: string(d.Code), Message: message}
	// A position that a //line comment changes is that of a file made of another one.
	if file.syntax != nil && r.pass.Fset.Position(pos) == r.pass.Fset.PositionFor(pos, false) {
		report.SuggestedFixes = fixes(file, d, pos, end)
	}
	r.pass.Report(report)
}

// file returns a file of the package's directory, or nil.
func (r *reporter) file(path string) *source {
	if found, ok := r.files[path]; ok {
		return found
	}
	var found *source
	if filepath.Dir(path) == r.pkg.Dir {
		if text, err := r.pass.ReadFile(path); err == nil {
			found = &source{text: text}
			for _, f := range r.pass.Files {
				file := r.pass.Fset.File(f.FileStart)
				if filepath.Clean(file.Name()) == path && file.Size() == len(text) {
					found.File, found.syntax = file, f
				}
			}
			if found.File == nil {
				found.File = r.pass.Fset.AddFile(path, -1, len(text))
				found.SetLinesForContent(text)
			}
		}
	}
	r.files[path] = found
	return found
}

// line returns the text of the line from a position on, without the line's end.
func (s *source) line(pos token.Pos) string {
	rest, _, _ := strings.Cut(string(s.text[s.Offset(pos):]), "\n")
	return strings.TrimSuffix(rest, "\r")
}
