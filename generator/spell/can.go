package spell

import (
	"go/types"
	"strings"
)

// Can reports whether package in can spell t: every name in it is its own, exported, or
// predeclared, and stands in a package that in may import.
func Can(t types.Type, in *types.Package) bool {
	switch t := t.(type) {
	case *types.Basic:
		return t.Kind() != types.Invalid
	case *types.Pointer:
		return Can(t.Elem(), in)
	case *types.Slice:
		return Can(t.Elem(), in)
	case *types.Array:
		return Can(t.Elem(), in)
	case *types.Chan:
		return Can(t.Elem(), in)
	case *types.Map:
		return Can(t.Key(), in) && Can(t.Elem(), in)
	case *types.Alias:
		return Name(t.Obj(), in) && canArgs(t.TypeArgs(), in)
	case *types.Named:
		return Name(t.Obj(), in) && canArgs(t.TypeArgs(), in)
	case *types.Tuple:
		for v := range t.Variables() {
			if !Can(v.Type(), in) {
				return false
			}
		}
		return true
	case *types.Signature:
		return Can(t.Params(), in) && Can(t.Results(), in)
	case *types.Struct:
		for f := range t.Fields() {
			if !member(f, in) || !Can(f.Type(), in) {
				return false
			}
		}
		return true
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if !member(m, in) || !Can(m.Type(), in) {
				return false
			}
		}
		for e := range t.EmbeddedTypes() {
			if !Can(e, in) {
				return false
			}
		}
		return true
	}
	return false // type parameters and unions stand for nothing outside their declaration
}

func canArgs(args *types.TypeList, in *types.Package) bool {
	for arg := range args.Types() {
		if !Can(arg, in) {
			return false
		}
	}
	return true
}

// Name reports whether package in can write the name of a package-level object.
func Name(obj types.Object, in *types.Package) bool {
	pkg := obj.Pkg()
	if pkg == nil || own(pkg, in) {
		return pkg == nil || obj.Parent() == nil || obj.Parent() == pkg.Scope()
	}
	return obj.Exported() && pkg.Name() != "main" && importable(pkg.Path(), in.Path())
}

// member reports whether a struct field or interface method that package in spells is the
// one that its own package means: unexported names of two packages are never the same.
func member(obj types.Object, in *types.Package) bool {
	return obj.Exported() || own(obj.Pkg(), in)
}

// importable applies the rule of internal packages, which the go command documents under
// "Internal Directories", and knows that nobody can import what the standard library vendors.
func importable(path, from string) bool {
	if strings.HasPrefix(path, "vendor/") {
		return false
	}
	i := strings.LastIndex("/"+path+"/", "/internal/")
	if i < 0 {
		return true
	}
	if i == 0 { // the standard library's own
		return false
	}
	parent := path[:i-1]
	return from == parent || strings.HasPrefix(from, parent+"/")
}
