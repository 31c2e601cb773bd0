package runtime_test

import (
	"context"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// TestTableOfAServerIsACopy changes all that the table of a server reaches.
func TestTableOfAServerIsACopy(t *testing.T) {
	t.Parallel()
	tool := func(name string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}
	}
	rules := []access.Rule{{Tool: "a", Scopes: []string{"x", "y"}}, {Tool: "b", MinRole: 4}}
	s := newServer(t, runtime.Options{}, toolsetOf([]toolset.Tool{tool("a"), tool("b")}, rules...))
	scopes, _ := s.Table().Of(access.Tools).Tool("a")
	scopes.Scopes[0], scopes.Scopes[1] = "z", "z"
	table := s.Table()
	table.Rules[0].Scopes, table.Rules[0].Authenticated = nil, true
	table.Rules[1].MinRole, table.Rules[1].Public = 0, true
	table.Roles[0], table.Roles[3] = "nobody", "Viewer"
	for _, name := range []string{"a", "b"} {
		e := s.Explain(t.Context(), principalOf("Viewer"), name)
		if e.Allowed {
			t.Errorf("%s is open to a Viewer: %s", name, e)
		}
	}
}
