package load

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Scope is what the author's files of a package declare. Files that this build leaves out and
// test files within the package count: a generated name must collide with none of them, on
// any system.
type Scope struct {
	Names   map[string]model.Position // package-level names, and where they are declared
	Imports []model.Import            // by name: those of each import in each of the files
}

// Scope reads what the package declares.
func (p *Program) Scope(pkg *Package) Scope {
	s := Scope{Names: map[string]model.Position{}}
	visit := func(file *ast.File) {
		for _, id := range declared(file) {
			place := p.Position(id.Pos(), id.End())
			if old, ok := s.Names[id.Name]; !ok || place.File < old.File {
				s.Names[id.Name] = place
			}
		}
		for _, spec := range file.Imports {
			place := p.Position(spec.Pos(), spec.End())
			dot := spec.Name != nil && spec.Name.Name == "."
			for _, name := range p.imported(pkg, spec) {
				s.Imports = append(s.Imports, model.Import{Name: name, Dot: dot, Pos: place})
			}
		}
	}
	for _, f := range pkg.Files {
		visit(f.Syntax)
	}
	for _, f := range pkg.Ignored {
		if f.Syntax.Name.Name == pkg.Name {
			visit(f.Syntax)
		}
	}
	// A directory that cannot be read is an error when files are written, not here.
	entries, _ := os.ReadDir(pkg.Dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") || e.Name() == TestFile {
			continue
		}
		// Syntax errors of test files are not reported.
		file := filepath.Join(pkg.Dir, e.Name())
		f, _ := parser.ParseFile(p.Fset, file, nil, parser.SkipObjectResolution)
		if f != nil && f.Name != nil && f.Name.Name == pkg.Name {
			visit(f)
		}
	}
	slices.SortStableFunc(s.Imports, func(a, b model.Import) int {
		return strings.Compare(a.Name, b.Name)
	})
	return s
}

// declared returns the package-level names of a file.
func declared(file *ast.File) []*ast.Ident {
	var list []*ast.Ident
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				list = append(list, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					list = append(list, spec.Name)
				case *ast.ValueSpec:
					list = append(list, spec.Names...)
				}
			}
		}
	}
	// Blank names and init declare nothing that another declaration could collide with.
	nothing := func(id *ast.Ident) bool { return id.Name == "_" || id.Name == "init" }
	return slices.DeleteFunc(list, nothing)
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// imported are the names that an import in a file of pkg declares: one, or all exported ones for a
// dot import, with those of a generated file that does not exist yet. A package that only a test
// imports may not be loaded: its names are read from its source if it is in the same module.
// Otherwise its name is the end of its path.
func (p *Program) imported(pkg *Package, spec *ast.ImportSpec) []string {
	target, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return nil
	}
	var loaded *types.Package
	if imports(pkg, spec.Path.Value) {
		loaded = p.types[target]
	}
	dot := spec.Name != nil && spec.Name.Name == "."
	switch {
	case dot && loaded != nil:
		return p.exported(loaded.Scope().Names(), p.sources[target])
	case dot:
	case spec.Name != nil && spec.Name.Name == "_":
		return nil
	case spec.Name != nil:
		return []string{spec.Name.Name}
	case loaded != nil:
		return []string{loaded.Name()}
	}
	if rel, inside := strings.CutPrefix(target, pkg.Module+"/"); inside && pkg.GoMod != "" {
		dir := filepath.Join(filepath.Dir(pkg.GoMod), filepath.FromSlash(rel))
		if found, err := build.ImportDir(dir, 0); err == nil {
			pkg.Named = append(pkg.Named, dir)
			if dot {
				return p.unloaded(&Package{Dir: dir, Local: true}, found.GoFiles)
			}
			return []string{found.Name}
		}
	}
	if dot {
		return nil
	}
	base := path.Base(target)
	if majorVersion.MatchString(base) {
		base = path.Base(path.Dir(target))
	}
	return []string{base}
}

// exported are the exported ones of the names that a package declares, and of those that its
// generated file declares if the package was read from source.
func (p *Program) exported(names []string, source *Package) []string {
	if source != nil {
		names = slices.Concat(names, p.generated(source).names())
	}
	return slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
}

// unloaded are the exported names of a package with some files, which it reads.
func (p *Program) unloaded(pkg *Package, files []string) (names []string) {
	for _, name := range files {
		p.parseFile(pkg, filepath.Join(pkg.Dir, name), &pkg.Files)
	}
	for _, f := range pkg.Files {
		for _, id := range declared(f.Syntax) {
			names = append(names, id.Name)
		}
	}
	return p.exported(names, pkg)
}

// imports reports whether a file of the package, tests left aside, imports the quoted path.
func imports(pkg *Package, path string) bool {
	return slices.ContainsFunc(pkg.Files, func(f *File) bool {
		is := func(i *ast.ImportSpec) bool { return i.Path.Value == path }
		return slices.ContainsFunc(f.Syntax.Imports, is)
	})
}

// Short is a place as one message names another: file name and line.
func Short(p model.Position) string {
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
}
