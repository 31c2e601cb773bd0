package front

import (
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Shadowed returns an error for a global catalog with the name of a declared one: clients would
// never get it. The caller may see the error.
func Shadowed(declared []catalog.Found, in store.Scope, name string) error {
	named := func(c catalog.Found) bool { return c.Name == name }
	if in != store.Global || !slices.ContainsFunc(declared, named) {
		return nil
	}
	return Declared(fmt.Sprintf("the source of the server declares a catalog %q (//mcp:tool "+
		"catalog=): use another name, or remove it there", name))
}

// Declared is the error for a name that code declares. It is a [store.ErrExists].
type Declared string

// Error returns the text.
func (d Declared) Error() string { return string(d) }

// Is implements the interface of package errors.
func (Declared) Is(target error) bool { return target == store.ErrExists }
