package testgo

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/sourcehash"
)

// Build type-checks the packages that go build compiles for patterns in a directory, and writes the
// errors of types as the go command does. It reports whether there are none.
func (c *Toolchain) Build(w io.Writer, dir string, patterns ...string) (ok bool, err error) {
	return c.check(w, dir, patterns, func(k *checker, p *packages.Package) error {
		_, err := k.source(p)
		return err
	})
}

// Vet is Build with tests, without what go vet reports beyond errors of types.
func (c *Toolchain) Vet(w io.Writer, dir string, patterns ...string) (ok bool, err error) {
	return c.check(w, dir, patterns, func(k *checker, p *packages.Package) error {
		_, err := k.tests(p)
		return err
	})
}

// Test is Vet, and runs the generated tests, which compare hashes. Packages with other tests are
// an error.
func (c *Toolchain) Test(w io.Writer, dir string, patterns ...string) (ok bool, err error) {
	var results []string
	equal := true
	ok, err = c.check(w, dir, patterns, func(k *checker, p *packages.Package) error {
		files, err := k.tests(p)
		if err != nil {
			return err
		}
		for _, file := range files {
			generated, err := recorded(file)
			if err != nil {
				return err
			}
			if err := generated.Check(p.Dir); err != nil {
				results = append(results, fmt.Sprintf("FAIL\t%s\n%s", p.PkgPath, err))
				equal = false
			} else {
				results = append(results, "ok  \t"+p.PkgPath)
			}
		}
		return nil
	})
	if !ok || err != nil {
		return false, err
	}
	for _, result := range results {
		fmt.Fprintln(w, result)
	}
	return equal, nil
}

func (c *Toolchain) check(w io.Writer, dir string, patterns []string,
	each func(*checker, *packages.Package) error) (ok bool, err error) {
	c.checking.Lock()
	defer c.checking.Unlock()
	k, list, err := c.checker(dir, patterns)
	if err != nil {
		return false, err
	}
	for _, p := range list {
		if err := each(k, p); err != nil {
			return false, err
		}
	}
	return k.report(w), nil
}

// checker type-checks packages of one module.
type checker struct {
	module  *module
	fset    *token.FileSet
	sources map[string]*types.Package
	faults  []fault
}

// fault is an error of types in a package.
type fault struct {
	path string
	types.Error
}

func (c *Toolchain) checker(dir string, patterns []string) (*checker, []*packages.Package, error) {
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	m, err := c.module(dir)
	if err != nil {
		return nil, nil, err
	}
	list, err := m.match(patterns)
	return &checker{module: m, fset: c.fset, sources: map[string]*types.Package{}}, list, err
}

// source checks a package and those that it imports.
func (k *checker) source(p *packages.Package) (*types.Package, error) {
	if checked := k.sources[p.PkgPath]; checked != nil {
		return checked, nil
	}
	files, err := k.parse(p.GoFiles)
	if err != nil {
		return nil, err
	}
	checked, err := k.check(p, p.PkgPath, files, p.Imports, nil)
	k.sources[p.PkgPath] = checked
	return checked, err
}

// tests checks a package with its tests, and returns their files.
func (k *checker) tests(p *packages.Package) ([]*ast.File, error) {
	own, err := k.source(p)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	files, err := k.parse(names)
	if err != nil {
		return nil, err
	}
	var inside, external []*ast.File
	for _, f := range files {
		if f.Name.Name == p.Name {
			inside = append(inside, f)
		} else {
			external = append(external, f)
		}
	}
	if len(inside) > 0 {
		sources, err := k.parse(p.GoFiles)
		if err != nil {
			return nil, err
		}
		if own, err = k.checkTests(p, p.PkgPath, append(sources, inside...), nil); err != nil {
			return nil, err
		}
	}
	if len(external) > 0 {
		_, err = k.checkTests(p, p.PkgPath+"_test", external, own)
	}
	return files, err
}

func (k *checker) checkTests(p *packages.Package, path string, files []*ast.File,
	own *types.Package,
) (*types.Package, error) {
	var paths []string
	for _, f := range files {
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			if imported != p.PkgPath {
				paths = append(paths, imported)
			}
		}
	}
	slices.Sort(paths)
	imports, err := k.module.imports(p.PkgPath, slices.Compact(paths))
	if err != nil {
		return nil, err
	}
	return k.check(p, path, files, imports, own)
}

// check checks files with the packages that they import; own is the package that external tests
// import.
func (k *checker) check(p *packages.Package, path string, files []*ast.File,
	imports map[string]*packages.Package, own *types.Package,
) (*types.Package, error) {
	var failed error
	known := map[string]*types.Package{}
	for name, imported := range imports {
		var err error
		if known[name], err = k.imported(imported); err != nil {
			return nil, err
		}
	}
	config := types.Config{
		GoVersion: "go" + p.Module.GoVersion,
		Sizes:     types.SizesFor("gc", runtime.GOARCH),
		Importer: importer(func(name string) (*types.Package, error) {
			if own != nil && name == p.PkgPath {
				return own, nil
			}
			if known[name] == nil {
				failed = ErrOther
				return nil, ErrOther
			}
			return known[name], nil
		}),
		Error: func(err error) {
			if e, ok := errors.AsType[types.Error](err); ok {
				k.faults = append(k.faults, fault{path, e})
			}
		},
	}
	checked, _ := config.Check(path, k.fset, files, nil)
	return checked, failed
}

// importer is an importer by a function.
type importer func(string) (*types.Package, error)

// Import calls the function.
func (f importer) Import(path string) (*types.Package, error) { return f(path) }

// imported returns the types of a package, from its export data if it is outside the module.
func (k *checker) imported(p *packages.Package) (*types.Package, error) {
	if p.Module == k.module.info {
		return k.source(p)
	}
	outside := k.module.toolchain.types
	if known := outside[p.PkgPath]; known != nil && known.Complete() {
		return known, nil
	}
	f, err := os.Open(p.ExportFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	//lint:ignore SA1019 until Go 1.28 export files are archives, which NewReader alone reads
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return nil, err
	}
	return gcexportdata.Read(r, k.fset, outside, p.PkgPath)
}

func (k *checker) parse(names []string) ([]*ast.File, error) {
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(k.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err // the go command has its own words
		}
		files = append(files, f)
	}
	return files, nil
}

// report writes the errors with paths that are relative to the directory of the patterns.
func (k *checker) report(w io.Writer) (ok bool) {
	for i, fault := range k.faults {
		if i == 0 || k.faults[i-1].path != fault.path {
			fmt.Fprintln(w, "#", fault.path)
		}
		at := k.fset.Position(fault.Pos)
		if rel, err := filepath.Rel(k.module.dir, at.Filename); err == nil {
			if at.Filename = rel; filepath.Base(rel) == rel {
				at.Filename = "." + string(filepath.Separator) + rel
			}
		}
		fmt.Fprintf(w, "%s: %s\n", at, fault.Msg)
	}
	return len(k.faults) == 0
}

// recorded returns the record in a generated test.
func recorded(file *ast.File) (g sourcehash.Generated, err error) {
	var literal *ast.CompositeLit
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
			continue // a compile-time guard
		}
		if !strings.HasSuffix(f.Name.Name, "McpgenSourceHash") || literal != nil {
			return g, ErrOther // a test by hand
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.CompositeLit); ok && literal == nil {
				literal = l
			}
			return literal == nil
		})
	}
	if literal == nil {
		return g, ErrOther
	}
	text := func(e ast.Expr) string {
		l, ok := e.(*ast.BasicLit)
		if !ok {
			err = ErrOther
			return ""
		}
		s, _ := strconv.Unquote(l.Value)
		return s
	}
	texts := func(e ast.Expr) (all []string) {
		for _, e := range e.(*ast.CompositeLit).Elts {
			all = append(all, text(e))
		}
		return all
	}
	for _, e := range literal.Elts {
		field := e.(*ast.KeyValueExpr)
		switch name := field.Key.(*ast.Ident).Name; name {
		case "Source":
			g.Source = text(field.Value)
		case "Code":
			g.Code = text(field.Value)
		case "Client":
			g.Client = text(field.Value)
		case "ClientCode":
			g.ClientCode = text(field.Value)
		case "Files":
			g.Files = texts(field.Value)
		case "Declarations":
			g.Declarations = map[string][]string{}
			for _, e := range field.Value.(*ast.CompositeLit).Elts {
				row := e.(*ast.KeyValueExpr)
				g.Declarations[text(row.Key)] = texts(row.Value)
			}
		default:
			return g, ErrOther
		}
	}
	return g, err
}
