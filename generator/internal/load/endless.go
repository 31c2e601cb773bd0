package load

import (
	"go/token"
	"go/types"
	"iter"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// endlessMessage is the compiler's message about a generic type that has another instance of itself
// in each instance.
const endlessMessage = "instantiation cycle"

// Endless returns the findings about types without end, in the packages that pkg imports, directly
// or not, and in pkg itself. Types are finite without such a finding: no walk over the types of pkg
// may start before Endless is empty.
func (p *Program) Endless(pkg *Package) (list diag.List) {
	for _, of := range p.Imports(pkg) {
		for _, e := range of.TypeErrors {
			switch {
			case !strings.HasPrefix(e.Message, endlessMessage):
			case of.Local:
				list.Add(diag.DoesNotCheck, e.Pos, "", "%s", e.Message)
			default:
				list.Add(diag.DoesNotCheck, p.clause(pkg), "use another version of its module",
					"package %s does not compile: %s: %s", of.Path, Short(e.Pos), e.Message)
			}
		}
	}
	return list
}

// clause is the position of a package's name in its first file.
func (p *Program) clause(pkg *Package) model.Position {
	name := pkg.Files[0].Syntax.Name
	return p.Position(name.Pos(), name.End())
}

// endless completes the error of go/types about a type without end. It adds the error if there is
// another one, after which go/types does not look for types without end.
func (p *Program) endless(pkg *Package) {
	if len(pkg.TypeErrors) == 0 {
		return
	}
	cycle := growing(pkg.Types)
	if cycle == nil {
		return
	}
	found := slices.IndexFunc(pkg.TypeErrors, func(e TypeError) bool {
		return strings.HasPrefix(e.Message, endlessMessage)
	})
	if found < 0 {
		found = len(pkg.TypeErrors)
		at := p.Position(cycle.to.Obj().Pos(), token.NoPos)
		pkg.TypeErrors = append(pkg.TypeErrors, TypeError{Pos: at})
	}
	pkg.TypeErrors[found].Message = endlessMessage + ": " + cycle.text()
}

// instantiation is a type argument that contains a type parameter.
type instantiation struct {
	from, to *types.TypeParam // from is in the argument of to
	arg      types.Type
}

func (i instantiation) text() string {
	bare := func(*types.Package) string { return "" }
	return i.to.Obj().Name() + " instantiated as " + types.TypeString(i.arg, bare)
}

// growing returns an instantiation of a cycle in which type arguments grow, or nil. The type
// declarations of a package are finite if and only if they have no such cycle. The rule is that of
// go/types, for package-level types: https://go.dev/issue/48098.
func growing(pkg *types.Package) *instantiation {
	g := instantiations{canonical: map[*types.TypeParam]*types.TypeParam{}}
	for _, name := range pkg.Scope().Names() {
		object, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		switch t := object.Type().(type) {
		case *types.Named:
			g.parameters(t.TypeParams())
			g.visit(t.Underlying())
			for m := range t.Methods() {
				for i := range m.Signature().RecvTypeParams().Len() {
					g.canonical[m.Signature().RecvTypeParams().At(i)] = t.TypeParams().At(i)
				}
				g.visit(m.Signature())
			}
		case *types.Alias:
			g.parameters(t.TypeParams())
		}
	}
	next := map[*types.TypeParam][]*types.TypeParam{}
	for _, e := range g.found {
		next[e.from] = append(next[e.from], e.to)
	}
	for _, e := range g.found {
		if e.arg == types.Type(e.from) {
			continue // it does not grow
		}
		seen := map[*types.TypeParam]bool{e.to: true}
		for todo := []*types.TypeParam{e.to}; len(todo) > 0; {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if at == e.from {
				return &e
			}
			for _, to := range next[at] {
				if !seen[to] {
					seen[to] = true
					todo = append(todo, to)
				}
			}
		}
	}
	return nil
}

// instantiations finds the instantiations in declarations. It looks at the declaration of a generic
// type, and never at that of an instance: there are finitely many declarations.
type instantiations struct {
	canonical map[*types.TypeParam]*types.TypeParam // of methods, by the parameters of the receiver
	found     []instantiation
}

func (g *instantiations) parameters(list *types.TypeParamList) {
	for t := range list.TypeParams() {
		g.visit(t.Constraint())
	}
}

// visit finds the instantiations in a type as it is written.
func (g *instantiations) visit(t types.Type) {
	walkWritten(t, func(t types.Type) {
		named, ok := t.(*types.Named)
		if !ok {
			return
		}
		params, args := named.Origin().TypeParams(), named.TypeArgs()
		for i := range min(args.Len(), params.Len()) {
			walkWritten(args.At(i), func(in types.Type) {
				if from, ok := in.(*types.TypeParam); ok {
					arg := types.Unalias(args.At(i))
					if of := g.canonical[from]; of != nil {
						if arg == types.Type(from) {
							arg = of
						}
						from = of
					}
					g.found = append(g.found, instantiation{from, params.At(i), arg})
				}
			})
		}
	})
}

// walkWritten calls visit for a type and each type in it, as far as they are written in one place:
// it looks at the arguments of a named type, and not at its declaration. An alias is its type.
func walkWritten(t types.Type, visit func(types.Type)) {
	t = types.Unalias(t)
	visit(t)
	walk := func(t types.Type) { walkWritten(t, visit) }
	switch t := t.(type) {
	case *types.Named:
		each(t.TypeArgs().Types(), walk)
	case *types.Pointer:
		walk(t.Elem())
	case *types.Slice:
		walk(t.Elem())
	case *types.Array:
		walk(t.Elem())
	case *types.Chan:
		walk(t.Elem())
	case *types.Map:
		walk(t.Key())
		walk(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			walk(f.Type())
		}
	case *types.Tuple:
		for v := range t.Variables() {
			walk(v.Type())
		}
	case *types.Signature:
		walk(t.Params())
		walk(t.Results())
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			walk(m.Signature())
		}
		each(t.EmbeddedTypes(), walk)
	case *types.Union:
		for term := range t.Terms() {
			walk(term.Type())
		}
	}
}

func each(list iter.Seq[types.Type], visit func(types.Type)) {
	for t := range list {
		visit(t)
	}
}
