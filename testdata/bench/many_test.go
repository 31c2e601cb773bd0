package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

// many is how many tools a large server has.
const many = 1000

func manyName(i int) string { return fmt.Sprintf("book_%04d", i) }

// manyDescription is as long as descriptions are.
var manyDescription = strings.Repeat("Book books a parcel and says what was booked. ", 4)

const receiptSchema = `{"properties":{"number":{"type":"string"},"depot":{"type":"integer"},"labels":{"items":{"type":"string"},"type":"array"}},"type":"object","required":["number","depot","labels"]}`

// manyToolset is what generated code makes for many tools, every second of which the caller
// may not use.
func manyToolset(tools int) toolset.Toolset {
	g := toolset.Generated{
		Package: "example.com/many", Server: toolset.ServerInfo{Name: "many"},
		Table: access.Table{Roles: access.DefaultRoles()},
		Tools: make([]toolset.Tool, tools),
	}
	for i := range tools {
		role := access.Lowest
		if i%2 == 1 {
			role = access.Highest
		}
		g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: manyName(i), MinRole: []string{role}})
		g.Tools[i] = toolset.Tool{
			Name: manyName(i), Description: manyDescription, Input: bookingSchema, Output: receiptSchema,
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				in, err := bookingByHand(call.Arguments)
				if err != nil {
					return toolset.Result{}, err
				}
				return toolset.Structured(freight.Book(ctx, in))
			},
		}
	}
	return toolset.NewToolset(g)
}

// plainBooking is freight.Booking with tags as go-sdk and mcp-go read them: it has no limits.
type plainBooking struct {
	Parcel string        `json:"parcel" jsonschema:"its number"`
	Depot  int           `json:"depot" jsonschema:"where it stands"`
	Weight float64       `json:"weight" jsonschema:"in kilogrammes"`
	Speed  freight.Speed `json:"speed" jsonschema:"how fast it goes"`
	Labels []string      `json:"labels" jsonschema:"stuck on it"`
}

// manyGeneric gives each tool the schemas that go-sdk infers, which is its quickest way.
func manyGeneric(tools int) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "many"}, nil)
	for i := range tools {
		mcp.AddTool(server, &mcp.Tool{Name: manyName(i), Description: manyDescription},
			func(ctx context.Context, req *mcp.CallToolRequest, in plainBooking) (*mcp.CallToolResult, freight.Receipt, error) {
				out, err := freight.Book(ctx, freight.Booking(in))
				return nil, out, err
			})
	}
	return server
}

func manyRaw(tools int) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "many"}, nil)
	for i := range tools {
		server.AddTool(&mcp.Tool{Name: manyName(i), Description: manyDescription, InputSchema: json.RawMessage(bookingSchema), OutputSchema: json.RawMessage(receiptSchema)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, errRefused
			})
	}
	return server
}

func manyMCPGo(tools int) *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer("many", "1.0.0", mcpgoserver.WithToolFilter(memberTools))
	for i := range tools {
		s.AddTool(mcpgo.NewTool(manyName(i), mcpgo.WithDescription(manyDescription), mcpgo.WithInputSchema[plainBooking](), mcpgo.WithOutputSchema[freight.Receipt]()),
			mcpgo.NewStructuredToolHandler(func(ctx context.Context, _ mcpgo.CallToolRequest, in plainBooking) (freight.Receipt, error) {
				return freight.Book(ctx, freight.Booking(in))
			}))
	}
	return s
}

// manyPeers are the peers with so many tools, of which the caller may see half. All respond with
// the same names: mcp-go by its tool filter, and go-sdk by a middleware, because it has no filter.
func manyPeers(tools int) []peer {
	return []peer{
		mcpgenPeer(func() toolset.Toolset { return manyToolset(tools) }),
		sdkPeer("raw", func() *mcp.Server { return filtered(manyRaw(tools)) }),
		sdkPeer("generic", func() *mcp.Server { return filtered(manyGeneric(tools)) }),
		mcpgoPeer("mcp-go", func() *mcpgoserver.MCPServer { return manyMCPGo(tools) }),
	}
}

// lists is a list of the 500 of 1,000 tools that the caller may see, in one page.
func lists() workload {
	return workload{
		method: "tools/list", params: noParams, check: checkList, tools: many,
		doors: []Job{{Through: "http", Version: sessions}, {Through: "stdio", Version: sessions}},
		peers: []string{"mcpgen", "raw", "mcp-go"},
	}
}

// forMember reports whether a member may see a tool of manyToolset.
func forMember(name string) bool { return (name[len(name)-1]-'0')%2 == 0 }

// filtered removes from the lists of a server what the caller may not see.
func filtered(server *mcp.Server) *mcp.Server {
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok {
				list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool {
					return !decided(req) || !forMember(t.Name)
				})
			}
			return res, err
		}
	})
	return server
}

// memberTools does the same for mcp-go.
func memberTools(ctx context.Context, tools []mcpgo.Tool) []mcpgo.Tool {
	return slices.DeleteFunc(tools, func(t mcpgo.Tool) bool {
		return role(ctx) != "Member" || !forMember(t.Name)
	})
}

// checkList fails if the bytes are not the whole list, in one page.
func checkList(t testing.TB, body []byte) {
	t.Helper()
	const want = many / 2
	n := bytes.Count(body, []byte(`"name":"book_`))
	if n != want || !json.Valid(body) || bytes.Contains(body, []byte("nextCursor")) {
		t.Fatalf("%d tools, not %d: %.1000s", n, want, body)
	}
}

var noParams = json.RawMessage(`{}`)

func TestAllPeersListWhatIsVisible(t *testing.T) { lists().test(t) }
