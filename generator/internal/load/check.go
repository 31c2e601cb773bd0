package load

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

// checker turns metadata into types. Packages of the main module are checked from source;
// others are read from export data, and from source only where the compiler has none because
// they do not compile. Both kinds share one map and are visited imports first, so that a type
// is one object however it is reached.
type checker struct {
	ctx    context.Context
	o      Options
	prog   *Program
	sizes  types.Sizes // nil if unknown, which is the same as amd64's
	order  []*Package  // sources, in the order of discovery
	parsed int         // how many of them have been parsed
	// guessed delivers once the export data of the guessed imports.
	guessed <-chan map[string]string
	// walked are the packages whose imports have been read.
	walked map[*packages.Package]bool
}

// source makes sure that the package and every package of the main module below it is read
// from source. A module outside may import the main one again, so the whole graph is walked.
func (c *checker) source(meta *packages.Package) *Package {
	if pkg := c.prog.sources[meta.PkgPath]; pkg != nil {
		return pkg
	}
	pkg := &Package{Path: meta.PkgPath, Name: meta.Name, Dir: meta.Dir, Local: local(meta), meta: meta}
	if meta.Module != nil {
		pkg.Module, pkg.GoMod = meta.Module.Path, meta.Module.GoMod
		if meta.Module.GoVersion != "" {
			pkg.goVersion = "go" + meta.Module.GoVersion
		}
	}
	c.prog.sources[meta.PkgPath] = pkg
	c.order = append(c.order, pkg)
	c.below(meta)
	return pkg
}

func (c *checker) below(meta *packages.Package) {
	if c.walked[meta] {
		return
	}
	c.walked[meta] = true
	for _, path := range slices.Sorted(maps.Keys(meta.Imports)) {
		if imported := meta.Imports[path]; local(imported) {
			c.source(imported)
		} else {
			c.below(imported)
		}
	}
}

func (c *checker) run() error {
	exports, err := c.exports()
	if err != nil {
		return err
	}
	visited := map[string]bool{}
	var visit func(*packages.Package) error
	visit = func(meta *packages.Package) error {
		if visited[meta.PkgPath] {
			return nil
		}
		visited[meta.PkgPath] = true
		for _, path := range slices.Sorted(maps.Keys(meta.Imports)) {
			if err := visit(meta.Imports[path]); err != nil {
				return err
			}
		}
		pkg := c.prog.sources[meta.PkgPath]
		if pkg == nil {
			c.read(meta, exports[meta.PkgPath])
			return nil
		}
		if err := c.ctx.Err(); err != nil {
			return &Error{err}
		}
		c.prog.check(pkg, importer{c, pkg.meta}, c.sizes)
		return nil
	}
	for _, pkg := range slices.Clone(c.order) {
		if err := visit(pkg.meta); err != nil {
			return err
		}
	}
	c.prog.cycles()
	for _, pkg := range c.order {
		c.prog.emptyClients(pkg)
	}
	return nil
}

// parse reads the files of the sources that were added since it last ran.
func (c *checker) parse() error {
	group, ctx := errgroup.WithContext(c.ctx)
	group.SetLimit(8)
	for _, pkg := range c.order[c.parsed:] {
		group.Go(func() error {
			c.prog.parse(pkg)
			return ctx.Err()
		})
	}
	c.parsed = len(c.order)
	if err := group.Wait(); err != nil {
		return &Error{err}
	}
	return nil
}

// exports requests from the go command the export data of every package that the author's files
// import, and adds packages without export data to the sources, until none is missing. It requests
// neither source packages nor packages that only a generated file imports: the go command would
// compile them.
func (c *checker) exports() (map[string]string, error) {
	files := map[string]string{}
	if err := c.parse(); err != nil {
		return nil, err
	}
	guessed := <-c.guessed
	for {
		missing := c.unknown(files)
		for path := range missing {
			if file := guessed[path]; file != "" {
				files[path] = file
				delete(missing, path)
			}
		}
		if len(missing) == 0 {
			return files, nil
		}
		paths := slices.Sorted(maps.Keys(missing))
		pkgs, err := list(c.ctx, c.o, exported, paths)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			files[path] = ""
		}
		for _, p := range pkgs {
			files[p.PkgPath] = p.ExportFile
		}
		for _, path := range paths {
			if files[path] == "" {
				c.source(missing[path])
			}
		}
		if err := c.parse(); err != nil {
			return nil, err
		}
	}
}

// unknown returns the imports of the sources that are neither sources nor in files.
func (c *checker) unknown(files map[string]string) map[string]*packages.Package {
	found := map[string]*packages.Package{}
	for _, pkg := range c.order {
		for _, file := range pkg.Files {
			for _, spec := range file.Syntax.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				imported := pkg.meta.Imports[name]
				if err != nil || imported == nil || name == "unsafe" {
					continue
				}
				path := imported.PkgPath
				if _, known := files[path]; !known && c.prog.sources[path] == nil && len(imported.GoFiles) > 0 {
					found[path] = imported
				}
			}
		}
	}
	return found
}

// read puts the types of a package into the map from its export data.
func (c *checker) read(meta *packages.Package, file string) {
	if file == "" || c.prog.types[meta.PkgPath] != nil && c.prog.types[meta.PkgPath].Complete() {
		return
	}
	f, err := os.Open(file)
	if err != nil {
		return // the build cache was cleaned meanwhile; the import will be reported
	}
	defer f.Close()
	//lint:ignore SA1019 until Go 1.28 export files are archives, which NewReader alone reads
	r, err := gcexportdata.NewReader(f)
	if err != nil {
		return
	}
	if _, err := gcexportdata.Read(r, c.prog.Fset, c.prog.types, meta.PkgPath); err != nil {
		delete(c.prog.types, meta.PkgPath)
	}
}

var undefined = regexp.MustCompile(
	`^undefined(?:: (\w+\.)?| array length )(\w+)(?: or missing type constraint)?$`)

// check type-checks a package from its source, with a file that stands for the generated one.
func (p *Program) check(pkg *Package, importer types.Importer, sizes types.Sizes) {
	pkg.Info = &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	if pkg.bodies {
		pkg.Info.Types = map[ast.Expr]types.TypeAndValue{}
		pkg.Info.Selections = map[*ast.SelectorExpr]*types.Selection{}
	}
	config := types.Config{
		GoVersion:        pkg.goVersion,
		IgnoreFuncBodies: !pkg.bodies,
		FakeImportC:      true,
		Sizes:            sizes,
		Importer:         importer,
		Error: func(err error) {
			te, ok := errors.AsType[types.Error](err)
			// A message that begins with a tab continues the one before.
			if ok && !strings.HasPrefix(te.Msg, "\t") {
				p.noteError(pkg, te)
			}
		},
	}
	pkg.Types = types.NewPackage(pkg.Path, pkg.Name)
	files := make([]*ast.File, len(pkg.Files))
	for i, f := range pkg.Files {
		files[i] = f.Syntax
	}
	if stand := p.stand(pkg); stand != nil {
		files = append(files, stand)
	}
	// The error is the first of those that the handler has seen.
	_ = types.NewChecker(&config, p.Fset, pkg.Types, pkg.Info).Files(files)
	p.dropGenerated(pkg)
	p.endless(pkg)
	// An incomplete package imports well enough: its own errors are reported where they are.
	pkg.Types.MarkComplete()
	p.types[pkg.Path] = pkg.Types
}

// noteError notes an error of a declaration. Soft errors count, unless they are about style: the
// misuse of a constraint is soft.
func (p *Program) noteError(pkg *Package, err types.Error) {
	unused := err.Soft && strings.HasSuffix(err.Msg, " and not used")
	if !unused && pkg.declares(err.Pos) {
		pkg.TypeErrors = append(pkg.TypeErrors, p.typeError(err))
	}
}

func (p *Program) typeError(err types.Error) TypeError {
	e := TypeError{Pos: p.Position(err.Pos, token.NoPos), Message: firstLine(err.Msg)}
	if m := undefined.FindStringSubmatch(e.Message); m != nil {
		e.Qualified, e.Undefined = m[1] != "", m[2]
	}
	return e
}

// importer resolves the imports of one package as the go command did, vendoring included.
type importer struct {
	c    *checker
	meta *packages.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	meta := i.meta.Imports[path]
	if meta == nil {
		for _, e := range i.meta.Errors {
			return nil, i.failure(path, firstLine(e.Msg))
		}
		return nil, errors.New("the go command did not find it")
	}
	if pkg := i.c.prog.types[meta.PkgPath]; pkg != nil && pkg.Complete() {
		return pkg, nil
	}
	for _, e := range meta.Errors {
		return nil, i.failure(path, firstLine(e.Msg))
	}
	return nil, fmt.Errorf("no types for %s", meta.PkgPath)
}

// failure returns the go command's error about an import. Its cure for a missing package is to add
// a module, and no cure for a missing folder of the module itself.
func (i importer) failure(path, message string) error {
	if module := i.meta.Module; module != nil && module.Main &&
		strings.HasPrefix(message, "no required module provides package ") {
		folder, inside := strings.CutPrefix(path, module.Path+"/")
		_, err := os.Stat(filepath.Join(module.Dir, filepath.FromSlash(folder)))
		if inside && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("module %s has no folder %s", module.Path, folder)
		}
	}
	return errors.New(message)
}
