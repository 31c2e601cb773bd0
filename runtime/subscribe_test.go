package runtime_test

import (
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// updating is the library whose resources have updates, but for the pages.
func updating() toolset.Toolset {
	g := library().Generated()
	g.Resources = slices.Clone(g.Resources)
	for i := range g.Resources {
		g.Resources[i].Subscribe = g.Resources[i].URI != "lib://pages/{n}"
	}
	return toolset.NewToolset(g)
}

func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	soon(t, "it holds", holds)
}
