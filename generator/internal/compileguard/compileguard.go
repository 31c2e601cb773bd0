// Package compileguard turns facts that generated code depends on into guards that do not compile
// after a change of the source.
package compileguard

import (
	"cmp"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Facts are what the generated code of one package was made from.
type Facts struct {
	Package  *types.Package
	Handlers []*types.Func     // served funcs, methods and interface methods
	Types    []*types.TypeName // every named type that JSON can see in inputs and outputs
	Consts   []*types.Const    // enum constants and integer role constants
	// Local reports whether a package belongs to the module of this run.
	Local func(*types.Package) bool
}

// For returns the guards of one package: handlers in the order given, then types by package
// and name, then constants in the order given. A type that the package cannot write, such as a
// struct with unexported fields of another package, has no guard; the source hash covers it.
func For(f Facts) []model.CompileGuard {
	b := &builder{Facts: f}
	for _, handler := range f.Handlers {
		b.handler(handler)
	}
	found, embedded := b.types()
	for _, t := range found {
		b.typ(t)
	}
	for _, t := range embedded {
		b.embedded(t.(*types.Named))
	}
	for _, c := range f.Consts {
		b.constant(c)
	}
	return b.guards
}

type builder struct {
	Facts
	guards []model.CompileGuard
}

func (b *builder) add(kind model.CompileGuardKind, subject, want model.Expr, pkg *types.Package) {
	b.guards = append(b.guards, model.CompileGuard{
		Kind: kind, Subject: subject, Want: want, InTest: !b.Local(pkg),
	})
}

// handler pins the func type of a handler. A renamed or swapped parameter is not part of it.
func (b *builder) handler(f *types.Func) {
	signature := f.Signature()
	if recv := signature.Recv(); recv != nil {
		b.method(recv.Type(), f)
		return
	}
	want := gotype.Expr(unnamed(nil, signature), b.Package)
	b.add(model.SignatureGuard, text(f.Name()), want, f.Pkg())
}

// method pins a method by its method expression, whose func type has the receiver first.
func (b *builder) method(recv types.Type, f *types.Func) {
	subject := gotype.Expr(recv, b.Package)
	if _, pointer := recv.(*types.Pointer); pointer {
		subject = join(text("("), subject, text(")"))
	}
	subject = join(subject, text("."+f.Name()))
	want := gotype.Expr(unnamed(recv, f.Signature()), b.Package)
	b.add(model.SignatureGuard, subject, want, b.owner(recv))
}

// owner is the package that declares a receiver type.
func (b *builder) owner(recv types.Type) *types.Package {
	if p, ok := recv.(*types.Pointer); ok {
		recv = p.Elem()
	}
	if named, ok := recv.(*types.Named); ok && named.Obj().Pkg() != nil {
		return named.Obj().Pkg()
	}
	return b.Package
}

// typ writes the guards of one named type or instance of a generic type.
func (b *builder) typ(t types.Type) {
	if alias, ok := t.(*types.Alias); ok {
		b.alias(alias)
		return
	}
	named := t.(*types.Named)
	obj := named.Obj()
	if b.compatible(obj.Pkg(), named) || !gotype.CanWrite(named, b.Package) {
		return
	}
	codecs := codecs(named)
	for _, method := range codecs {
		b.codec(named, method)
	}
	if !marshals(codecs) {
		b.underlying(named)
	}
	b.uncoded(named)
}

// embedded guards a type of this module that JSON does not see: a JSON or text method of its own
// would become one of the struct that embeds it.
func (b *builder) embedded(named *types.Named) {
	if pkg := named.Obj().Pkg(); pkg != nil && b.Local(pkg) && gotype.CanWrite(named, b.Package) {
		b.uncoded(named)
	}
}

// uncoded guards a type against JSON and text methods that it does not have.
func (b *builder) uncoded(named *types.Named) {
	if !embeddable(named) {
		return
	}
	lacking, found := slices.Clone(codecMethods), codecs(named)
	for _, method := range found {
		lacking = slices.DeleteFunc(lacking, func(name string) bool {
			return name == method.Obj().Name()
		})
	}
	var want model.Expr
	if len(found) > 0 {
		want = text(strings.Join(lacking, " "))
	}
	if len(lacking) > 0 {
		b.add(model.CodecGuard, gotype.Expr(named, b.Package), want, named.Obj().Pkg())
	}
}

// compatible reports whether Go's compatibility promise already keeps the type as it is: in
// the standard library only structs may gain fields and methods that JSON would see.
func (b *builder) compatible(pkg *types.Package, named *types.Named) bool {
	first, _, _ := strings.Cut(pkg.Path(), "/")
	_, isStruct := named.Underlying().(*types.Struct)
	standard := !b.Local(pkg) && !strings.Contains(first, ".")
	return standard && (!isStruct || len(codecs(named)) > 0)
}

// underlying pins what a named type is made of. A composite literal compares struct tags as
// well; a conversion, the only way to compare a type such as string, does not.
func (b *builder) underlying(named *types.Named) {
	under := named.Underlying()
	if !gotype.CanWrite(under, b.Package) {
		return
	}
	subject, want := gotype.Expr(named, b.Package), gotype.Expr(under, b.Package)
	switch under.(type) {
	case *types.Struct, *types.Slice, *types.Array, *types.Map:
		b.add(model.StructGuard, subject, want, named.Obj().Pkg())
	default:
		b.add(model.TypeGuard, subject, want, named.Obj().Pkg())
	}
}

// alias pins what an alias stands for: two func types that are identical only while both
// names mean one type.
func (b *builder) alias(alias *types.Alias) {
	if !b.Local(alias.Obj().Pkg()) || !gotype.CanWrite(alias, b.Package) ||
		!gotype.CanWrite(alias.Rhs(), b.Package) {
		return
	}
	subject := join(text("func("), gotype.Expr(alias.Rhs(), b.Package), text(") {}"))
	want := join(text("func("), gotype.Expr(alias, b.Package), text(")"))
	b.add(model.SignatureGuard, subject, want, alias.Obj().Pkg())
}

// constant pins the value of a constant.
func (b *builder) constant(c *types.Const) {
	if !gotype.CanName(c, b.Package) {
		return
	}
	subject := model.Expr{{Text: c.Name()}}
	if c.Pkg().Path() != b.Package.Path() {
		subject[0].Path, subject[0].Package = c.Pkg().Path(), c.Pkg().Name()
	}
	var want string
	switch value := c.Val(); value.Kind() {
	case constant.String, constant.Int:
		want = value.ExactString()
	default:
		return // enums are strings and roles integers
	}
	b.add(model.ConstGuard, subject, text(want), c.Pkg())
}

// types lists the types to guard, each once, by package path and Go type text: the given ones, with
// the instances of generic ones and the aliases in between. embedded are those that only their
// methods concern.
func (b *builder) types() (found, embedded []types.Type) {
	w := &walker{given: map[string]bool{}, seen: map[string]bool{}}
	for _, name := range b.Types {
		if name.Pkg() != nil {
			w.given[declared(name)] = true
		}
	}
	for _, name := range b.Types {
		w.visit(name.Type())
	}
	for _, handler := range b.Handlers {
		w.visit(handler.Signature())
	}
	for _, n := range w.embedded {
		embedded = append(embedded, n)
	}
	return b.sorted(w.found), b.sorted(embedded)
}

// sorted returns types by package path and Go type text.
func (b *builder) sorted(list []types.Type) []types.Type {
	key := func(t types.Type) string {
		path := ""
		if pkg := objectOf(t).Pkg(); pkg != nil { // a predeclared type has none
			path = pkg.Path()
		}
		return path + "\x00" + gotype.Expr(t, b.Package).String()
	}
	slices.SortStableFunc(list, func(x, y types.Type) int { return cmp.Compare(key(x), key(y)) })
	return list
}

// unnamed is a func type without parameter names, with recv first unless it is nil: a guard does
// not check names.
func unnamed(recv types.Type, s *types.Signature) *types.Signature {
	var params []*types.Var
	if recv != nil {
		params = append(params, types.NewParam(0, nil, "", recv))
	}
	for v := range s.Params().Variables() {
		params = append(params, types.NewParam(0, nil, "", v.Type()))
	}
	var results []*types.Var
	for v := range s.Results().Variables() {
		results = append(results, types.NewParam(0, nil, "", v.Type()))
	}
	in, out := types.NewTuple(params...), types.NewTuple(results...)
	return types.NewSignatureType(nil, nil, nil, in, out, s.Variadic())
}

func text(s string) model.Expr { return model.Expr{{Text: s}} }

func join(parts ...model.Expr) model.Expr { return slices.Concat(parts...) }
