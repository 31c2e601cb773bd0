package reach

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/capslock/analyzer"
	cpb "github.com/google/capslock/proto"
	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/vta"
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
	classes *classes
	prog    *ssa.Program
	nodes   map[*ssa.Function]*callgraph.Node
	whole   map[*ssa.Function]*callgraph.Node // of the whole program; nil until a call needs it
	// found are funcs outside the standard library in whose body the analyzer has found something.
	found map[*ssa.Function]cpb.Capability
	std   map[string]bool // import paths
	own   []*types.Package
	ownBy map[string]bool // the same by import path
}

// graphOf analyses a package alone: other packages of the run have no effect on the result, so that
// it is the same in every run.
func graphOf(root *packages.Package) (*graph, error) {
	g := &graph{
		classes: newClasses(), nodes: map[*ssa.Function]*callgraph.Node{},
		found: map[*ssa.Function]cpb.Capability{},
		std:   map[string]bool{}, ownBy: map[string]bool{},
	}
	wanted := map[*types.Package]struct{}{}
	packages.Visit([]*packages.Package{root}, nil, func(p *packages.Package) {
		switch {
		case p.Module == nil:
			g.std[p.PkgPath] = true
			return
		case local(p):
			g.own = append(g.own, p.Types)
			g.ownBy[p.PkgPath] = true
		}
		wanted[p.Types] = struct{}{}
	})
	slices.SortFunc(g.own, func(a, b *types.Package) int {
		return strings.Compare(
			a.Path(), b.Path())
	})
	analyzer.CapabilityGraph([]*packages.Package{root}, wanted,
		&analyzer.Config{Classifier: g.classes}, nil, nil,
		func(node *callgraph.Node, c cpb.Capability) {
			if !g.standard(node.Func) && (g.found[node.Func] == 0 || c < g.found[node.Func]) {
				g.found[node.Func] = c
			}
		}, nil)
	// The graph is in one piece but for funcs that have nothing to do with any capability.
	var queue []*callgraph.Node
	for node := range g.classes.seen {
		queue = append(queue, node)
	}
	for len(queue) > 0 {
		node := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if node.Func == nil || g.nodes[node.Func] != nil {
			continue
		}
		g.nodes[node.Func] = node
		g.prog = node.Func.Prog
		for _, e := range node.Out {
			queue = append(queue, e.Callee)
		}
		for _, e := range node.In {
			queue = append(queue, e.Caller)
		}
	}
	if g.prog == nil {
		return nil, fmt.Errorf("package %s has no call graph", root.PkgPath)
	}
	return g, nil
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

// node returns the node of a func that calls a func value. nodes lacks the funcs that have no way
// to any capability: of these, only the whole graph has the callees.
func (g *graph) node(f *ssa.Function) *callgraph.Node {
	if node := g.nodes[f]; node != nil {
		return node
	}
	if g.whole == nil {
		g.whole = vta.CallGraph(ssautil.AllFunctions(g.prog), nil).Nodes
	}
	return g.whole[f]
}

func (g *graph) standard(f *ssa.Function) bool { return g.std[packagePath(f)] }

// class is the class of a func by its name, of capslock or ours.
func (g *graph) class(f *ssa.Function) cpb.Capability {
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
