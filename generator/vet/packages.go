package vet

import (
	"bytes"
	"context"
	"errors"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
)

// Findings are those of packages, with their fixes.
type Findings struct {
	List  diag.List
	fset  *token.FileSet
	fixes []analysis.SuggestedFix
}

// Packages runs the analyzer on packages. Without patterns, it is the one in the working directory.
func Packages(ctx context.Context, patterns []string) (Findings, error) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	found := Findings{fset: token.NewFileSet()}
	pkgs, err := packages.Load(&packages.Config{
		Context: ctx, Fset: found.fset, Mode: packages.LoadSyntax | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return Findings{}, err
	}
	if len(pkgs) == 0 {
		return Findings{}, errors.New("no packages match " + strings.Join(patterns, " "))
	}
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			if e.Kind == packages.ListError && len(pkg.GoFiles)+len(pkg.IgnoredFiles) == 0 {
				err = errors.Join(err, load.Advised(e.Msg))
			}
		}
	}
	if err != nil {
		return Findings{}, err
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{Analyzer}, pkgs, nil)
	if err != nil {
		return Findings{}, err
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return Findings{}, action.Err
		}
		found.List = append(found.List, action.Result.(diag.List)...)
		for _, d := range action.Diagnostics {
			if len(d.SuggestedFixes) > 0 {
				found.fixes = append(found.fixes, d.SuggestedFixes[0])
			}
		}
	}
	found.List.Sort()
	return found, nil
}

// Fix applies the first fix of each finding and returns the files that it changed by write. Of
// fixes that overlap, it applies the first.
func (f Findings) Fix(write func(path string, text []byte) error) (changed []string, err error) {
	edits := map[string][]analysis.TextEdit{} // by file
	slices.SortStableFunc(f.fixes, func(a, b analysis.SuggestedFix) int {
		return int(a.TextEdits[0].Pos - b.TextEdits[0].Pos)
	})
	last := token.NoPos
	for _, fix := range f.fixes {
		if fix.TextEdits[0].Pos < last {
			continue
		}
		for _, edit := range fix.TextEdits {
			name := f.fset.File(edit.Pos).Name()
			edits[name] = append(edits[name], edit)
			last = max(edit.Pos, edit.End)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		text, err := os.ReadFile(name)
		if err != nil {
			return changed, err
		}
		var out bytes.Buffer
		at := 0
		for _, edit := range edits[name] {
			file := f.fset.File(edit.Pos)
			out.Write(text[at:file.Offset(edit.Pos)])
			out.Write(edit.NewText)
			at = file.Offset(max(edit.Pos, edit.End))
		}
		out.Write(text[at:])
		if err := write(name, out.Bytes()); err != nil {
			return changed, err
		}
		changed = append(changed, name)
	}
	return changed, nil
}
