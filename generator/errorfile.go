package generator

import (
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

// errorFiles returns an error file for each package that has findings, and the error files of the
// other packages for removal. Findings that the compiler reports itself need no error file: it
// would stay after they are fixed.
//
// A finding that several packages share has one position, and a finding about a field is where the
// field is declared. The error file of a package without another finding repeats both, so that its
// old generated code does not build either. packages are in the order of the program's roots.
func errorFiles(
	program *load.Program, packages []*scan.Package, found diag.List,
) (files []emit.File, remove []string) {
	byDir := map[string]diag.List{}
	for _, d := range found {
		if d.Code != diag.DoesNotParse && d.Code != diag.DoesNotCheck {
			dir := filepath.Dir(d.Pos.File)
			byDir[dir] = append(byDir[dir], d)
		}
	}
	for i, p := range program.Roots {
		if len(byDir[p.Dir]) == 0 {
			list := packages[i].Elsewhere()
			list.Sort()
			byDir[p.Dir] = list
		}
		switch list := byDir[p.Dir]; {
		case slices.Contains(p.Foreign, load.ErrorFile):
			// mcpgen did not write this file; the list has a finding about it.
		case len(list) > 0:
			files = append(files, emit.ErrorFile(p.Dir, p.Name, list))
		case slices.Contains(p.Owned, load.ErrorFile):
			remove = append(remove, filepath.Join(p.Dir, load.ErrorFile))
		}
	}
	return files, remove
}
