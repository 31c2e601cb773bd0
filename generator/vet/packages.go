package vet

import (
	"bytes"
	"context"
	"go/token"
	"maps"
	"os"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
	"github.com/mcpgen/mcpgen/generator/internal/typedclient"
)

// Findings are those of packages, with their fixes.
type Findings struct {
	List  diag.List
	fset  *token.FileSet
	fixes []analysis.SuggestedFix
}

// Packages returns the findings about packages as mcpgen check loads them. Without patterns, it is
// the one in the working directory.
func Packages(ctx context.Context, patterns []string) (Findings, error) {
	prog, _, err := typedclient.Load(ctx, load.Options{Patterns: patterns, Bodies: true})
	if err != nil {
		return Findings{}, err
	}
	found := Findings{fset: prog.Fset}
	var scanned []*scan.Package
	for _, pkg := range prog.Roots {
		p, list := inspect(prog, pkg)
		scanned = append(scanned, p)
		found.List = append(found.List, list...)
		pass := &analysis.Pass{Fset: prog.Fset, ReadFile: os.ReadFile}
		for _, f := range pkg.Files {
			pass.Files = append(pass.Files, f.Syntax)
		}
		pass.Report = func(d analysis.Diagnostic) {
			if len(d.SuggestedFixes) > 0 {
				found.fixes = append(found.fixes, d.SuggestedFixes[0])
			}
		}
		if len(pass.Files) > 0 {
			report(pass, pkg, list)
		}
	}
	found.List = append(found.List, scan.SharedFindings(prog, scanned)...)
	found.List.Sort()
	return found, nil
}

// Fix applies the first fix of each finding, and returns the files that it changed by write. Of
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
