package gotype

import (
	"go/types"
	"strings"
)

// CanWrite reports whether package in can write t: every name in t is predeclared, is declared in
// package in, or is exported by a package that package in may import.
func CanWrite(t types.Type, in *types.Package) bool {
	switch t := t.(type) {
	case *types.Basic:
		return t.Kind() != types.Invalid
	case *types.Pointer:
		return CanWrite(t.Elem(), in)
	case *types.Slice:
		return CanWrite(t.Elem(), in)
	case *types.Array:
		return CanWrite(t.Elem(), in)
	case *types.Chan:
		return CanWrite(t.Elem(), in)
	case *types.Map:
		return CanWrite(t.Key(), in) && CanWrite(t.Elem(), in)
	case *types.Alias:
		return CanName(t.Obj(), in) && canWriteArgs(t.TypeArgs(), in)
	case *types.Named:
		return CanName(t.Obj(), in) && canWriteArgs(t.TypeArgs(), in)
	case *types.Tuple:
		for v := range t.Variables() {
			if !CanWrite(v.Type(), in) {
				return false
			}
		}
		return true
	case *types.Signature:
		return CanWrite(t.Params(), in) && CanWrite(t.Results(), in)
	case *types.Struct:
		for f := range t.Fields() {
			if !member(f, in) || !CanWrite(f.Type(), in) {
				return false
			}
		}
		return true
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if !member(m, in) || !CanWrite(m.Type(), in) {
				return false
			}
		}
		for e := range t.EmbeddedTypes() {
			if !CanWrite(e, in) {
				return false
			}
		}
		return true
	}
	return false // type parameters and unions have no meaning outside their declaration
}

func canWriteArgs(args *types.TypeList, in *types.Package) bool {
	for arg := range args.Types() {
		if !CanWrite(arg, in) {
			return false
		}
	}
	return true
}

// CanName reports whether package in can write the name of the package-level object obj.
func CanName(obj types.Object, in *types.Package) bool {
	pkg := obj.Pkg()
	if pkg == nil || own(pkg, in) {
		return pkg == nil || obj.Parent() == nil || obj.Parent() == pkg.Scope()
	}
	return obj.Exported() && pkg.Name() != "main" && importable(pkg.Path(), in.Path())
}

// member reports whether a struct field or interface method has the same name in package in as in
// its own package: unexported names of two packages are never the same.
func member(obj types.Object, in *types.Package) bool {
	return obj.Exported() || own(obj.Pkg(), in)
}

// importable applies the go command's rule for internal packages ("Internal Directories"), and
// refuses packages that the standard library vendors.
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
