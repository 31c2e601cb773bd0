package runtime_test

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// shop stands for a package for which mcpgen has generated the function Toolset.
var shop shopPackage

type shopPackage struct{}

// Toolset is what mcpgen writes for handlers with these directives:
//
//	//mcp:tool public
//	func ListParts(ctx context.Context) ([]string, error)
//
//	//mcp:tool minrole=Member catalog=orders
//	func OrderParts(ctx context.Context) (string, error)
func (shopPackage) Toolset() toolset.Toolset {
	tool := func(name, output string, result any) toolset.Tool {
		return toolset.Tool{
			Name: name, Input: `{"type":"object","additionalProperties":false}`,
			Output: `{"type":"object","properties":{"result":` + output + `},"required":["result"]}`,
			Handle: func(_ context.Context, r *decode.Reader) (any, error) {
				for o := r.Object(0); o.Next(); {
				}
				return result, r.Finish()
			},
			Returns: toolset.Value,
		}
	}
	order := tool("order_parts", `{"type":"string"}`, "ordered")
	order.Catalogs = []string{"orders"}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/shop", Server: toolset.ServerInfo{Name: "shop", Version: "1.0.0"},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{
			{Tool: "list_parts", Public: true}, {Tool: "order_parts", MinRole: []string{"Member"}},
		}},
		Tools: []toolset.Tool{
			tool("list_parts", `{"type":"array","items":{"type":"string"}}`, []string{"bolt", "nut"}),
			order,
		},
	})
}
