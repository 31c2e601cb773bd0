package load

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// served returns the packages of the main module that a main package among the roots imports,
// directly or not, and that the patterns leave out for the name of a folder: a program that imports
// a package in testdata serves its tools.
func served(o Options, patterns []string, roots []*packages.Package) []*packages.Package {
	var found []*packages.Package
	seen, named := map[*packages.Package]bool{}, map[string]bool{}
	for _, root := range roots {
		named[root.PkgPath] = true
	}
	var walk func(module string, p *packages.Package)
	walk = func(module string, p *packages.Package) {
		for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
			imported := p.Imports[path]
			if seen[imported] || !local(imported) || imported.Module.Path != module {
				continue
			}
			seen[imported] = true
			if !named[imported.PkgPath] &&
				Covers(o.Dir, patterns, imported.Dir, imported.PkgPath) {
				found = append(found, imported)
			}
			walk(module, imported)
		}
	}
	for _, root := range roots {
		if root.Name == "main" && local(root) {
			walk(root.Module.Path, root)
		}
	}
	return found
}

// Covers reports whether a folder is below a pattern with "...". The go command leaves a covered
// folder out for its name, such as testdata, or for an ignore line of go.mod. An empty import path
// is unknown, and may be covered by any pattern of import paths.
func Covers(dir string, patterns []string, folder, importPath string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		below, all := strings.CutSuffix(pattern, "...")
		if !all {
			return false
		}
		if !strings.HasPrefix(below, ".") {
			return importPath == "" || strings.HasPrefix(importPath+"/", below)
		}
		base, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(below)))
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(base, folder)
		return err == nil && filepath.IsLocal(rel)
	})
}

// Skipped reports whether the name of a folder below a directory keeps it out of ./... .
func Skipped(dir, folder string) bool {
	rel, err := filepath.Rel(dir, folder)
	return err == nil && slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"),
		func(name string) bool { return name == "testdata" || strings.HasPrefix(name, "_") })
}
