package load

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// cycles reports import cycles of the sources, each once: at the import of its first package by
// path. The go command reports a cycle in another package for each pattern, and leaves out an
// import of it.
func (p *Program) cycles() {
	failed := false
	for _, pkg := range p.sources {
		failed = failed || slices.ContainsFunc(pkg.TypeErrors, func(e TypeError) bool {
			return strings.HasPrefix(e.Message, "could not import ")
		})
	}
	if !failed {
		return
	}
	imports := map[string]map[string]model.Position{} // by the path of a package
	for path, pkg := range p.sources {
		imports[path] = map[string]model.Position{}
		for _, f := range pkg.Files {
			if f.Syntax == nil {
				continue
			}
			for _, spec := range f.Syntax.Imports {
				to, err := strconv.Unquote(spec.Path.Value)
				if _, known := imports[path][to]; err == nil && !known && p.sources[to] != nil {
					imports[path][to] = p.Position(spec.Path.Pos(), spec.Path.End())
				}
			}
		}
	}
	reported := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		if reported[path] {
			continue
		}
		cycle := route(imports, path, path)
		if cycle == nil {
			continue
		}
		var within []string // all packages that a cycle with this one has
		for other := range imports {
			if route(imports, path, other) != nil && route(imports, other, path) != nil {
				within, reported[other] = append(within, other), true
			}
		}
		for _, of := range within {
			pkg := p.sources[of]
			for to := range imports[of] {
				if pkg.meta.Imports[to] == nil { // Imports finds the first package of the cycle
					pkg.meta.Imports[to] = p.sources[to].meta
				}
			}
			pkg.TypeErrors = slices.DeleteFunc(pkg.TypeErrors, func(e TypeError) bool {
				return slices.ContainsFunc(within, func(to string) bool {
					return strings.HasPrefix(e.Message, "could not import "+to+" (")
				})
			})
		}
		pkg := p.sources[path]
		pkg.TypeErrors = append(pkg.TypeErrors, TypeError{Pos: imports[path][cycle[1]],
			Message: "import cycle not allowed: " + strings.Join(cycle, " imports ")})
	}
}

// route returns the shortest route of imports from one package to another, or nil.
func route(imports map[string]map[string]model.Position, from, to string) []string {
	seen := map[string]bool{}
	for todo := [][]string{{from}}; len(todo) > 0; todo = todo[1:] {
		way := todo[0]
		for _, next := range slices.Sorted(maps.Keys(imports[way[len(way)-1]])) {
			longer := append(slices.Clone(way), next)
			if next == to {
				return longer
			}
			if !seen[next] {
				seen[next], todo = true, append(todo, longer)
			}
		}
	}
	return nil
}
