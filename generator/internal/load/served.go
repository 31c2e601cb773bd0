package load

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator/internal/builds"
)

// served returns the packages of the main module that a main package among the roots imports,
// directly or not, in any build, and that the patterns leave out for the name of a folder: a
// program that imports a package in testdata serves its tools.
func served(ctx context.Context, o Options, patterns []string, roots []*packages.Package) (
	[]*packages.Package, error,
) {
	var found []*packages.Package
	known, seen, named := map[string]*packages.Package{}, map[string]bool{}, map[string]bool{}
	note := func(p *packages.Package) { known[p.PkgPath] = p }
	packages.Visit(roots, nil, note)
	missing := map[string]string{} // imports of files that this build leaves out, each with its module
	for _, root := range roots {
		named[root.PkgPath] = true
	}
	var walk func(p *packages.Package, elsewhere []string)
	reach := func(module string, p *packages.Package) {
		if p == nil || seen[p.PkgPath] || !local(p) || p.Module.Path != module ||
			len(p.GoFiles)+len(p.IgnoredFiles) == 0 {
			return
		}
		seen[p.PkgPath] = true
		if !named[p.PkgPath] && Covers(o.Dir, patterns, p.Dir, p.PkgPath) {
			found = append(found, p)
		}
		_, elsewhere := ignored(o.Overlay, p)
		walk(p, elsewhere)
	}
	walk = func(p *packages.Package, elsewhere []string) {
		for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
			reach(p.Module.Path, p.Imports[path])
		}
		for _, path := range elsewhere {
			if _, listed := known[path]; !listed {
				known[path], missing[path] = nil, p.Module.Path
			}
			reach(p.Module.Path, known[path])
		}
	}
	for _, root := range roots {
		if !local(root) || root.Name != "main" && len(root.GoFiles) > 0 {
			continue
		}
		if main, elsewhere := ignored(o.Overlay, root); main || root.Name == "main" {
			walk(root, elsewhere)
		}
	}
	for len(missing) > 0 {
		modules := missing
		list, err := list(ctx, o, metadata, slices.Sorted(maps.Keys(modules)))
		if err != nil {
			return nil, err
		}
		missing = map[string]string{}
		packages.Visit(list, nil, note)
		for _, p := range list {
			reach(modules[p.PkgPath], p)
		}
	}
	return found, nil
}

// ignored reads the files that this build leaves out of a package, and that another one has. main
// reports a main package. imports are those of packages of the module.
func ignored(overlay map[string][]byte, p *packages.Package) (main bool, imports []string) {
	for _, file := range p.IgnoredFiles {
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, found := overlay[file]
		if !found {
			text, _ = os.ReadFile(file) // parse reports an unreadable file
		}
		syntax, _ := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if _, some := builds.Of(file, text, ""); syntax == nil || !some {
			continue
		}
		main = main || syntax.Name.Name == "main"
		for _, path := range importsOf(syntax) {
			if strings.HasPrefix(path+"/", p.Module.Path+"/") {
				imports = append(imports, path)
			}
		}
	}
	return main, imports
}

func importsOf(file *ast.File) (paths []string) {
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
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

// elsewhere are the directories of packages of the module that files of the package import which
// this build leaves out.
func (pkg *Package) elsewhere() (dirs []string) {
	for _, f := range pkg.Ignored {
		for _, path := range importsOf(f.Syntax) {
			rel, inside := strings.CutPrefix(path+"/", pkg.Module+"/")
			if inside && !f.never && pkg.GoMod != "" {
				dirs = append(dirs, filepath.Join(filepath.Dir(pkg.GoMod), filepath.FromSlash(rel)))
			}
		}
	}
	return dirs
}

// Skipped reports whether the name of a folder below a directory keeps it out of ./... .
func Skipped(dir, folder string) bool {
	rel, err := filepath.Rel(dir, folder)
	return err == nil && slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"),
		func(name string) bool { return name == "testdata" || strings.HasPrefix(name, "_") })
}
