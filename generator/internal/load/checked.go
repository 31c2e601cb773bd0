package load

import (
	"errors"
	"go/ast"
	"go/build"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator/internal/builds"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
)

// Checked is a package that another program has parsed, with comments, and type-checked.
type Checked struct {
	Fset    *token.FileSet
	Files   []*ast.File
	Ignored []string // files that build constraints leave out
	Types   *types.Package
	Info    *types.Info
	Errors  []types.Error
	Module  string // path of its module, if known
	// GoVersion is that of the module, as in "go1.26"; empty if it is unknown.
	GoVersion string
	// ReadFile returns the text of one of the files.
	ReadFile func(name string) ([]byte, error)
}

// FromChecked returns a program with one root, or nil if the package has no file of the author
// other than tests. If the package has a directive, FromChecked also reads the files of the
// packages that it imports from the same module.
//
// Type errors in bodies are no errors of the root, and unused imports are none. The packages are
// checked again if a generated file lacks a constant of the next generation.
func FromChecked(c Checked) *Program {
	path, _, _ := strings.Cut(c.Types.Path(), " [") // a package with its tests is "p [p.test]"
	prog := &Program{
		Fset: c.Fset, sources: map[string]*Package{},
		types: map[string]*types.Package{"unsafe": types.Unsafe},
	}
	pkg := &Package{
		Path: path, Name: c.Types.Name(), Module: c.Module, Local: true, Types: c.Types, Info: c.Info,
		goVersion: c.GoVersion, meta: &packages.Package{PkgPath: path,
			Imports: map[string]*packages.Package{}},
	}
	for _, file := range c.Files {
		name := prog.filename(file.FileStart)
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") ||
			(base == GeneratedFile || base == ErrorFile) && prog.note(pkg, name) {
			continue
		}
		text, err := c.ReadFile(name)
		if err == nil {
			_, err = parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
			pkg.syntaxErrors(name, err)
		}
		all, _ := builds.Of(name, text, c.GoVersion)
		pkg.Files = append(pkg.Files, &File{
			Path: name, Syntax: file, Constrained: !all || importsC(file),
		})
	}
	if len(pkg.Files) == 0 {
		return nil
	}
	pkg.Dir = filepath.Dir(pkg.Files[0].Path)
	prog.note(pkg, filepath.Join(pkg.Dir, TestFile))
	prog.note(pkg, filepath.Join(pkg.Dir, ManifestFile))
	for _, name := range c.Ignored {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			prog.parseFile(pkg, name, &pkg.Ignored)
		}
	}
	for _, err := range c.Errors {
		prog.noteError(pkg, err)
	}
	prog.Roots = []*Package{pkg}
	prog.sources[c.Types.Path()] = pkg
	prog.types[c.Types.Path()] = c.Types
	if slices.ContainsFunc(pkg.Files, annotated) {
		prog.readModule(pkg)
	}
	prog.dropGenerated(pkg)
	prog.endless(pkg)
	if slices.ContainsFunc(slices.Collect(maps.Values(prog.sources)), prog.outdated) {
		prog.recheck(pkg, c.Types, map[*types.Package]bool{})
	}
	return prog
}

// outdated reports whether a constant of the next generation is missing, or has another value.
func (p *Program) outdated(pkg *Package) bool {
	for name, value := range p.generated(pkg).constants {
		c, ok := pkg.Types.Scope().Lookup(name).(*types.Const)
		if !ok || c.Val().Kind() != constant.String || constant.StringVal(c.Val()) != value {
			return true
		}
	}
	return false
}

// recheck checks a package of the module again, after those that it imports: all with the constants
// of the next generation. Errors of imports stay as they are.
func (p *Program) recheck(root *Package, of *types.Package, seen map[*types.Package]bool) {
	pkg := p.sources[of.Path()]
	if pkg == nil || seen[of] {
		return
	}
	seen[of] = true
	for _, imported := range of.Imports() {
		p.recheck(root, imported, seen)
	}
	isImport := func(e TypeError) bool { return strings.HasPrefix(e.Message, "could not import ") }
	var kept []TypeError
	if pkg == root {
		pkg.bodies = true
		for _, e := range pkg.TypeErrors {
			if isImport(e) {
				kept = append(kept, e)
			}
		}
	} else if found, err := build.ImportDir(pkg.Dir, 0); err == nil {
		pkg.Files, pkg.generated = nil, nil // files without exported names count as well
		for _, name := range found.GoFiles {
			p.parseFile(pkg, filepath.Join(pkg.Dir, name), &pkg.Files)
		}
	}
	pkg.TypeErrors = nil
	p.check(pkg, known{p}, nil)
	if pkg == root {
		kept = append(kept, slices.DeleteFunc(pkg.TypeErrors, isImport)...)
	}
	pkg.TypeErrors = kept
}

// known imports the packages of a program.
type known struct{ *Program }

func (k known) Import(path string) (*types.Package, error) {
	if pkg := k.types[path]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	return nil, errors.New("it is not loaded")
}

// filename is the cleaned name of the file that has the position.
func (p *Program) filename(pos token.Pos) string {
	return filepath.Clean(p.Fset.PositionFor(pos, false).Filename)
}

// declares reports whether a position is in a file of the author, and not in the body of a func.
func (pkg *Package) declares(pos token.Pos) bool {
	for _, f := range pkg.Files {
		if f.Syntax.FileStart <= pos && pos <= f.Syntax.FileEnd {
			return !slices.ContainsFunc(f.Syntax.Decls, func(d ast.Decl) bool {
				fn, ok := d.(*ast.FuncDecl)
				return ok && fn.Body != nil && fn.Body.Pos() < pos && pos < fn.Body.End()
			})
		}
	}
	return false
}

// annotated reports whether a file has a directive.
func annotated(f *File) bool {
	return slices.ContainsFunc(f.Syntax.Comments, func(group *ast.CommentGroup) bool {
		return slices.ContainsFunc(group.List, directive.Is)
	})
}

// readModule reads the packages of its module that pkg imports, directly or not: the files that
// declare their exported names.
func (p *Program) readModule(pkg *Package) {
	seen := map[*types.Package]bool{}
	var visit func(*types.Package)
	visit = func(of *types.Package) {
		for _, imported := range of.Imports() {
			if seen[imported] {
				continue
			}
			seen[imported] = true
			p.types[imported.Path()] = imported
			if pkg.Module == "" || !strings.HasPrefix(imported.Path()+"/", pkg.Module+"/") {
				continue
			}
			p.readImported(pkg, imported)
			visit(imported)
		}
	}
	visit(pkg.Types)
}

// readImported reads the files of a package whose types come from export data. Its Info has the
// constants, types, funcs and methods that the export data has.
func (p *Program) readImported(root *Package, of *types.Package) {
	pkg := &Package{
		Path: of.Path(), Name: of.Name(), Module: root.Module, Local: true, Types: of,
		Info: &types.Info{Defs: map[*ast.Ident]types.Object{}},
		meta: &packages.Package{PkgPath: of.Path(), Module: &packages.Module{Path: root.Module}},
	}
	var files []string
	for _, name := range of.Scope().Names() {
		file := p.filename(of.Scope().Lookup(name).Pos())
		if below, err := filepath.Rel(root.Path, of.Path()); err == nil &&
			filepath.ToSlash(filepath.Dir(file)) == of.Path() {
			// With -trimpath, the import path is in place of the directory.
			file = filepath.Join(root.Dir, below, filepath.Base(file))
		}
		if filepath.IsAbs(file) {
			files = append(files, file)
		}
	}
	slices.Sort(files)
	for _, file := range slices.Compact(files) {
		p.parseFile(pkg, file, &pkg.Files)
		pkg.Dir = filepath.Dir(file)
	}
	for _, file := range pkg.Files {
		for _, id := range declared(file.Syntax) {
			if c, ok := of.Scope().Lookup(id.Name).(*types.Const); ok {
				pkg.Info.Defs[id] = c
			}
		}
		pkg.defineFuncs(file.Syntax)
	}
	if len(pkg.Files) > 0 {
		p.sources[of.Path()] = pkg
		root.meta.Imports[of.Path()] = pkg.meta
	}
}

// defineFuncs defines the funcs, methods and types of a file whose package comes from export data.
func (pkg *Package) defineFuncs(file *ast.File) {
	method := func(of string, id *ast.Ident) {
		if t, ok := pkg.Types.Scope().Lookup(of).(*types.TypeName); ok {
			found, _, _ := types.LookupFieldOrMethod(t.Type(), true, pkg.Types, id.Name)
			if fn, ok := found.(*types.Func); ok {
				pkg.Info.Defs[id] = fn
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if of := receiverName(d); of != "" {
				method(of, d.Name)
			} else if fn, ok := pkg.Types.Scope().Lookup(d.Name.Name).(*types.Func); ok {
				pkg.Info.Defs[d.Name] = fn
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				t, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				if name := pkg.Types.Scope().Lookup(t.Name.Name); name != nil {
					pkg.Info.Defs[t.Name] = name
				}
				if i, ok := t.Type.(*ast.InterfaceType); ok {
					for _, m := range i.Methods.List {
						for _, id := range m.Names {
							method(t.Name.Name, id)
						}
					}
				}
			}
		}
	}
}
