package front

import (
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Shadowed refuses a global catalog with a name that code declares: clients would never get it. Its error is for the reader.
func Shadowed(declared []catalog.Found, in store.Scope, name string) error {
	if in != store.Global || !slices.ContainsFunc(declared, func(c catalog.Found) bool { return c.Name == name }) {
		return nil
	}
	return fmt.Errorf("the source of the server declares a catalog %q (//mcp:tool catalog=): use "+
		"another name, or remove it there", name)
}
