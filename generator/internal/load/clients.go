package load

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Owners returns the packages that declare the typed clients which packages of the program import.
// missing are the directories of packages that the program lacks, and that may declare an imported
// client: its package does not exist yet, or its file is too old to import them.
func (p *Program) Owners() (owners []*Package, missing []string) {
	modules := map[string]string{} // the directories of the main modules, by path
	for _, pkg := range p.sources {
		if pkg.Local && pkg.GoMod != "" {
			modules[pkg.Module] = filepath.Dir(pkg.GoMod)
		}
	}
	found, lacking := map[*Package]bool{}, map[string]bool{}
	for imported := range p.importPaths() {
		for above := path.Dir(imported); above != "." && above != "/"; above = path.Dir(above) {
			if owner := p.sources[above]; owner != nil {
				found[owner] = found[owner] || above+"/"+p.generated(owner).client == imported
			} else if dir := within(modules, above); dir != "" && p.lacks(imported) {
				lacking[dir] = true
			}
		}
	}
	maps.DeleteFunc(found, func(_ *Package, is bool) bool { return !is })
	owners = slices.SortedFunc(maps.Keys(found), func(a, b *Package) int {
		return strings.Compare(a.Path, b.Path)
	})
	return owners, slices.Sorted(maps.Keys(lacking))
}

// lacks reports whether a package does not exist, or is a typed client.
func (p *Program) lacks(path string) bool {
	pkg := p.sources[path]
	return p.types[path] == nil || pkg != nil && slices.ContainsFunc(pkg.Files, (*File).TypedClient)
}

// within returns the existing directory of a package in one of the modules, or "".
func within(modules map[string]string, pkg string) string {
	for of, dir := range modules {
		if rel, ok := strings.CutPrefix(pkg+"/", of+"/"); ok {
			dir = filepath.Join(dir, filepath.FromSlash(rel))
			if _, err := os.Stat(dir); err == nil {
				return dir
			}
		}
	}
	return ""
}

// importPaths are the import paths in files of the main modules.
func (p *Program) importPaths() map[string]bool {
	paths := map[string]bool{}
	for _, pkg := range p.sources {
		if !pkg.Local {
			continue
		}
		for _, file := range pkg.Files {
			for _, spec := range file.Syntax.Imports {
				if name, err := strconv.Unquote(spec.Path.Value); err == nil {
					paths[name] = true
				}
			}
		}
	}
	return paths
}
