package generator

import (
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/load"
)

// poison returns one file for each package that has findings, and the poison of the others,
// which may go. Findings that the compiler reports itself need no poison, which would
// outlive them.
func poison(program *load.Program, found diag.List) (files []emit.File, remove []string) {
	byDir := map[string]diag.List{}
	for _, d := range found {
		if d.Code != diag.DoesNotParse && d.Code != diag.DoesNotCheck {
			dir := filepath.Dir(d.Pos.File)
			byDir[dir] = append(byDir[dir], d)
		}
	}
	for _, p := range program.Roots {
		switch list := byDir[p.Dir]; {
		case slices.Contains(p.Foreign, load.PoisonFile):
			// Somebody else's; the finding about it is in the list.
		case len(list) > 0:
			files = append(files, emit.Poison(p.Dir, p.Name, list))
		case slices.Contains(p.Owned, load.PoisonFile):
			remove = append(remove, filepath.Join(p.Dir, load.PoisonFile))
		}
	}
	return files, remove
}
