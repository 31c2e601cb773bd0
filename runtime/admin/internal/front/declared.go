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
	return fmt.Errorf("the source of the server declares a catalog %q (//mcp:tool catalog=): use "+
		"another name, or remove it there", name)
}
