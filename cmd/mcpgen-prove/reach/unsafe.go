package reach

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// unsafe notes a conversion by which code may call a func that the analysis does not see: one
// between an unsafe.Pointer and a pointer to memory that holds or leads to funcs, or to memory with
// pointers. A string and a slice without pointers in its elements may become each other.
func (w *walk) unsafe(f *ssa.Function, instr ssa.Instruction) {
	to, ok := instr.(*ssa.Convert)
	if !ok {
		return
	}
	harmless := true
	if elem := pointee(to.X.Type()); elem != nil && isUnsafe(to.Type()) {
		harmless = holds(elem) < code
	} else if elem := pointee(to.Type()); elem != nil && isUnsafe(to.X.Type()) {
		from, _ := to.X.(*ssa.Convert)
		harmless = holds(elem) == numbers ||
			from != nil && isText(elem) && isText(pointee(from.X.Type()))
	}
	if !harmless {
		w.note(extension.Unknown, "an unsafe.Pointer", "", call{by: f})
	}
}

// What values of a type hold or lead to.
const (
	numbers = iota
	pointers
	code // funcs and values with methods
)

func holds(t types.Type) int {
	seen := map[types.Type]bool{}
	var visit func(t types.Type) int
	visit = func(t types.Type) int {
		if seen[t] {
			return numbers
		}
		seen[t] = true
		switch t := t.Underlying().(type) {
		case *types.Basic:
			if t.Info()&types.IsString != 0 || t.Kind() == types.UnsafePointer {
				return pointers
			}
			return numbers
		case *types.Array:
			return visit(t.Elem())
		case *types.Pointer:
			return max(pointers, visit(t.Elem()))
		case *types.Slice:
			return max(pointers, visit(t.Elem()))
		case *types.Chan:
			return max(pointers, visit(t.Elem()))
		case *types.Map:
			return max(pointers, visit(t.Key()), visit(t.Elem()))
		case *types.Struct:
			most := numbers
			for field := range t.Fields() {
				most = max(most, visit(field.Type()))
			}
			return most
		}
		return code
	}
	return visit(t)
}

func ofPackage(t types.Type, path string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return ok && path == ""
	}
	return named.Obj().Pkg().Path() == path
}

func isUnsafe(t types.Type) bool {
	return types.Identical(t.Underlying(), types.Typ[types.UnsafePointer])
}

// pointee is the type that a pointer leads to, or nil.
func pointee(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return nil
}

func isText(t types.Type) bool {
	if t == nil {
		return false
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0
	case *types.Slice:
		return holds(t.Elem()) == numbers
	}
	return false
}
