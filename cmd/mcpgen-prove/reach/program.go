package reach

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/capslock/analyzer"
	cpb "github.com/google/capslock/proto"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// Program is packages and all that they import, from source, bodies included.
type Program struct {
	platform string
	roots    map[string]*packages.Package // by import path
}

// Load reads packages by their import paths; dir is where the go command runs. What keeps the
// author's packages from being compiled is in the list; what keeps any other from it is an error.
func Load(
	ctx context.Context, dir string, paths []string,
) (*Program, extension.Diagnostics, error) {
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: dir, Mode: analyzer.PackagesLoadModeNeeded}, paths...)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the packages with their bodies: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "env", "GOOS", "GOARCH")
	cmd.Dir = dir
	platform, err := cmd.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go env: %w", err)
	}
	p := &Program{platform: strings.Join(strings.Fields(string(platform)), "/"),
		roots: map[string]*packages.Package{}}
	var found extension.Diagnostics
	packages.Visit(loaded, nil, func(pkg *packages.Package) {
		for _, e := range pkg.Errors {
			if !local(pkg) {
				err = errors.Join(err, fmt.Errorf("%s does not compile: %s", pkg.PkgPath, e.Msg))
				continue
			}
			message, _, _ := strings.Cut(e.Msg, "\n")
			found.Add(extension.DoesNotCheck, placeOf(e.Pos),
				"fix it, or run mcpgen first if a generated name is missing", "%s", message)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	for _, pkg := range loaded {
		p.roots[pkg.PkgPath] = pkg
	}
	found.Sort()
	return p, found, nil
}

// Platform returns the system that the go command builds for, as in "linux/amd64".
func (p *Program) Platform() string { return p.platform }

func local(p *packages.Package) bool { return p.Module != nil && p.Module.Main }

var placed = regexp.MustCompile(`^(.+?):(\d+)(?::(\d+))?$`)

// placeOf reads FILE:LINE:COLUMN.
func placeOf(text string) extension.Position {
	m := placed.FindStringSubmatch(text)
	if m == nil {
		return extension.Position{}
	}
	line, _ := strconv.Atoi(m[2])
	col, _ := strconv.Atoi(m[3])
	return extension.Position{File: m[1], Line: line, Col: max(col, 1)}
}

// graph is the call graph of one package and all that it imports.
type graph struct {
	*flow
	classes *classes
	classOf map[*ssa.Function]cpb.Capability  // what class has found
	keeps   map[types.Type][]*ssa.Function    // what kept has found
	calls   map[[2]types.Type][]*ssa.Function // what called has found
	std     map[string]bool                   // import paths
	own     []*types.Package
}

// graphOf analyses a package alone: other packages of the run have no effect on the result, so that
// it is the same in every run.
func graphOf(root *packages.Package) *graph {
	g := &graph{
		classes: newClasses(), classOf: map[*ssa.Function]cpb.Capability{},
		keeps: map[types.Type][]*ssa.Function{}, std: map[string]bool{},
		calls: map[[2]types.Type][]*ssa.Function{},
	}
	packages.Visit([]*packages.Package{root}, nil, func(p *packages.Package) {
		switch {
		case p.Module == nil:
			g.std[p.PkgPath] = true
		case local(p):
			g.own = append(g.own, p.Types)
		}
	})
	slices.SortFunc(g.own, func(a, b *types.Package) int {
		return strings.Compare(a.Path(), b.Path())
	})
	prog, _ := ssautil.AllPackages([]*packages.Package{root}, ssa.InstantiateGenerics)
	prog.Build()
	g.flow = newFlow(prog, func(f *ssa.Function) bool {
		return !g.trusted(f) && !serves(packagePath(f))
	})
	all := prog.AllPackages()
	slices.SortFunc(all, func(a, b *ssa.Package) int {
		return strings.Compare(a.Pkg.Path(), b.Pkg.Path())
	})
	for _, p := range all {
		g.reach(p.Func("init"))
	}
	packages.Visit([]*packages.Package{root}, nil, func(p *packages.Package) {
		if p.Module != nil {
			g.linknames(p)
		}
	})
	open := map[types.Type]bool{}
	for _, p := range g.own {
		members := prog.Package(p).Members
		for _, name := range slices.Sorted(maps.Keys(members)) {
			g.open(members[name], open)
		}
	}
	g.run()
	return g
}

// open reaches the funcs and methods of the author's packages, which importers may call, and marks
// what importers may set: parameters, variables, and fields of types.
func (g *graph) open(member ssa.Member, seen map[types.Type]bool) {
	set := func(t types.Type) {
		g.parts(t, seen, everyField, func(n int) { g.put(n, outside) }, func(t types.Type) bool {
			named, ok := types.Unalias(t).(*types.Named)
			return !ok || named.Obj().Pkg() == nil || !g.std[named.Obj().Pkg().Path()]
		})
	}
	enter := func(f *ssa.Function) {
		if f == nil || f.Signature.TypeParams().Len() > 0 {
			return
		}
		g.reach(f)
		for _, p := range f.Params {
			g.put(g.node(p), outside)
			set(p.Type())
		}
	}
	switch m := member.(type) {
	case *ssa.Function:
		enter(m)
	case *ssa.Global:
		g.put(g.node(m), outside)
		set(m.Type())
	case *ssa.Type:
		named, ok := m.Type().(*types.Named)
		if !ok || named.TypeParams().Len() > 0 || types.IsInterface(named) {
			return
		}
		set(named)
		for method := range g.prog.MethodSets.MethodSet(types.NewPointer(named)).Methods() {
			enter(g.prog.MethodValue(method))
		}
	}
}

// linknames finds variables that a package shares with another by a directive of the compiler:
// what they hold is unknown.
func (g *graph) linknames(p *packages.Package) {
	for _, file := range p.Syntax {
		for _, group := range file.Comments {
			for _, comment := range group.List {
				words := strings.Fields(comment.Text)
				if len(words) < 2 || words[0] != "//go:linkname" {
					continue
				}
				for _, name := range append(words[2:], p.PkgPath+"."+words[1]) {
					dot := max(strings.LastIndex(name, "."), 0)
					pkg := g.prog.ImportedPackage(name[:dot])
					if pkg == nil || pkg.Var(name[dot+1:]) == nil {
						continue
					}
					g.parts(pkg.Var(name[dot+1:]).Type(), map[types.Type]bool{},
						everyField, func(n int) { g.put(n, lost) }, everyType)
					g.put(g.node(pkg.Var(name[dot+1:])), lost)
				}
			}
		}
	}
}

func everyField(*types.Var) bool { return true }
func everyType(types.Type) bool  { return true }

// drivers are the methods by which package database/sql calls the drivers of the program.
func (g *graph) drivers() []*ssa.Function {
	pkg := g.prog.ImportedPackage("database/sql/driver")
	var list []*ssa.Function
	for _, atom := range g.atoms {
		t, ok := atom.(types.Type)
		if !ok {
			continue
		}
		for _, name := range pkg.Pkg.Scope().Names() {
			i, ok := pkg.Pkg.Scope().Lookup(name).Type().Underlying().(*types.Interface)
			if ok && i.NumMethods() > 0 && types.Implements(t, i) {
				for m := range i.Methods() {
					if f := g.prog.LookupMethod(t, m.Pkg(), m.Name()); !g.trusted(f) {
						list = append(list, f)
					}
				}
			}
		}
	}
	return list
}

// packagePath is the import path of the package that a func belongs to: that of the generic one for
// an instance, that of the method for a wrapper.
func packagePath(f *ssa.Function) string {
	if origin := f.Origin(); origin != nil {
		f = origin
	}
	if p := f.Package(); p != nil {
		return p.Pkg.Path()
	}
	if o := f.Object(); o != nil && o.Pkg() != nil {
		return o.Pkg().Path()
	}
	if parent := f.Parent(); parent != nil {
		return packagePath(parent)
	}
	return ""
}

func (g *graph) standard(f *ssa.Function) bool { return g.std[packagePath(f)] }

// trusted reports whether a func is of the standard library, or of one that is known by name.
func (g *graph) trusted(f *ssa.Function) bool {
	path := packagePath(f)
	return g.std[path] || computes(path)
}

// class is the class of a func by its name, of capslock or ours.
func (g *graph) class(f *ssa.Function) cpb.Capability {
	class, known := g.classOf[f]
	if !known {
		class = g.classify(f)
		g.classOf[f] = class
	}
	return class
}

func (g *graph) classify(f *ssa.Function) cpb.Capability {
	name := f.String()
	if origin := f.Origin(); origin != nil {
		name = origin.String()
	}
	if o, ok := f.Object().(*types.Func); ok && f.Synthetic != "" {
		name = o.FullName() // a wrapper has what it wraps
	}
	return g.classes.FunctionCategory(packagePath(f), name)
}

func (g *graph) position(pos token.Pos) extension.Position {
	if !pos.IsValid() {
		return extension.Position{}
	}
	p := g.prog.Fset.PositionFor(pos, false)
	return extension.Position{File: p.Filename, Line: p.Line, Col: p.Column}
}
