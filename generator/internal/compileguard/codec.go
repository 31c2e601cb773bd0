package compileguard

import (
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
)

// codecMethods are the methods by which a type defines its own JSON.
var codecMethods = []string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}

// codecs are those of the four that a type has, on the value or on the pointer.
func codecs(named *types.Named) []*types.Selection {
	if _, isInterface := named.Underlying().(*types.Interface); isInterface {
		return nil // JSON sees the dynamic value
	}
	var found []*types.Selection
	set := types.NewMethodSet(types.NewPointer(named))
	for _, name := range codecMethods {
		if method := set.Lookup(nil, name); method != nil {
			found = append(found, method)
		}
	}
	return found
}

// marshals reports whether one of the methods writes the type's JSON, whatever its fields are.
func marshals(methods []*types.Selection) bool {
	return slices.ContainsFunc(methods, func(m *types.Selection) bool {
		return strings.HasPrefix(m.Obj().Name(), "Marshal")
	})
}

// codec pins a method that defines the type's JSON, and whether its receiver is the value.
func (b *builder) codec(named *types.Named, method *types.Selection) {
	name := method.Obj().Name()
	var recv types.Type = types.NewPointer(named)
	if types.NewMethodSet(named).Lookup(nil, name) != nil {
		recv = named
	}
	f, ok := method.Obj().(*types.Func)
	if !ok || !gotype.CanWrite(f.Signature(), b.Package) {
		return
	}
	b.method(recv, f)
}

// embeddable reports whether a struct can embed the type beside the four methods, which is how
// a codec guard sees a new one: the selector becomes ambiguous. A pointer cannot be embedded, and
// the JSON of an interface is that of its dynamic value.
func embeddable(named *types.Named) bool {
	switch named.Underlying().(type) {
	case *types.Pointer, *types.Interface:
		return false
	}
	return true
}
