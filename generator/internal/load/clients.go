package load

import (
	"fmt"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
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

// ClientFile is the file of the typed client of a package, or "".
func (p *Program) ClientFile(owner *Package) string {
	dir := p.generated(owner).client
	if !model.IsClientDir(dir) || !token.IsIdentifier(path.Base(dir)) || owner.Name == "main" {
		return ""
	}
	return filepath.Join(owner.Dir, filepath.FromSlash(dir), model.ClientFile)
}

// EmptyClient returns a file that stands for the missing client of a package with findings, or nil
// if the client exists. The file imports the package, as the client will: its importers have the
// findings about the package, and a cycle of imports is one before the first generation.
func (p *Program) EmptyClient(owner *Package) []byte {
	file := p.ClientFile(owner)
	if _, err := os.Stat(file); file == "" || err == nil {
		return nil
	}
	return fmt.Appendf(nil, "package %s\n\nimport _ %q\n", filepath.Base(filepath.Dir(file)),
		owner.Path)
}

// owner returns the package for whose typed client an empty file stands, or nil.
func (p *Program) owner(client *Package) *Package {
	if client == nil || len(client.Files) != 1 || !client.Files[0].TypedClient() ||
		len(client.Files[0].Syntax.Decls) != 1 || p.overlay[client.Files[0].Path] == nil {
		return nil
	}
	path, _ := strconv.Unquote(client.Files[0].Syntax.Imports[0].Path.Value)
	return p.sources[path]
}

// emptyClients replaces the errors of a package about the names of empty clients: by one at the
// import, unless the owner of the client has errors itself.
func (p *Program) emptyClients(pkg *Package) {
	for _, f := range pkg.Files {
		for _, spec := range f.Syntax.Imports {
			client, err := strconv.Unquote(spec.Path.Value)
			owner := p.owner(p.sources[client])
			if err != nil || owner == nil {
				continue
			}
			pkg.TypeErrors = slices.DeleteFunc(pkg.TypeErrors, func(e TypeError) bool {
				return e.Qualified
			})
			if !slices.ContainsFunc(p.Imports(owner), func(of *Package) bool {
				return of.Local && len(of.Syntax)+len(of.TypeErrors) > 0
			}) {
				pkg.TypeErrors = append(pkg.TypeErrors, TypeError{
					Pos: p.Position(spec.Pos(), spec.End()),
					Message: fmt.Sprintf("could not import %s (package %s has findings: "+
						"run mcpgen check %[2]s)", client, owner.Path),
				})
			}
		}
	}
}

// lacks reports whether a package does not exist, or is a typed client.
func (p *Program) lacks(path string) bool {
	pkg := p.sources[path]
	return p.types[path] == nil || pkg != nil && (len(pkg.Syntax)+len(pkg.TypeErrors) > 0 ||
		p.undefinedIn(path) || slices.ContainsFunc(pkg.Files, (*File).TypedClient))
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

// undefinedIn reports whether a package that imports the path uses a name that it lacks.
func (p *Program) undefinedIn(path string) bool {
	for _, pkg := range p.sources {
		if pkg.meta.Imports[path] != nil && slices.ContainsFunc(pkg.TypeErrors,
			func(e TypeError) bool { return e.Undefined != "" }) {
			return true
		}
	}
	return false
}
