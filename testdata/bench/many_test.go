package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
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
func manyToolset() toolset.Toolset {
	g := toolset.Generated{
		Package: "example.com/many", Server: toolset.ServerInfo{Name: "many"},
		Table: access.Table{Roles: access.DefaultRoles()},
		Tools: make([]toolset.Tool, many),
	}
	for i := range many {
		role := access.Role(1)
		if i%2 == 1 {
			role = access.Role(len(g.Table.Roles))
		}
		g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: manyName(i), MinRole: role})
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
func manyGeneric() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "many"}, nil)
	for i := range many {
		mcp.AddTool(server, &mcp.Tool{Name: manyName(i), Description: manyDescription},
			func(ctx context.Context, req *mcp.CallToolRequest, in plainBooking) (*mcp.CallToolResult, freight.Receipt, error) {
				out, err := freight.Book(ctx, freight.Booking(in))
				return nil, out, err
			})
	}
	return server
}

func manyRaw() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "many"}, nil)
	for i := range many {
		server.AddTool(&mcp.Tool{Name: manyName(i), Description: manyDescription, InputSchema: json.RawMessage(bookingSchema), OutputSchema: json.RawMessage(receiptSchema)},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, errRefused
			})
	}
	return server
}

func manyMCPGo() *mcpgoserver.MCPServer {
	s := mcpgoserver.NewMCPServer("many", "1.0.0")
	for i := range many {
		s.AddTool(mcpgo.NewTool(manyName(i), mcpgo.WithDescription(manyDescription), mcpgo.WithInputSchema[plainBooking](), mcpgo.WithOutputSchema[freight.Receipt]()),
			mcpgo.NewStructuredToolHandler(func(ctx context.Context, _ mcpgo.CallToolRequest, in plainBooking) (freight.Receipt, error) {
				return freight.Book(ctx, freight.Booking(in))
			}))
	}
	return s
}

// BenchmarkStart makes a server of 1,000 tools. mcp-go compiles schemas at a tool's first call
// only, and is not asked for one here.
func BenchmarkStart(b *testing.B) {
	for _, p := range []struct {
		name  string
		start func() error
	}{
		{"mcpgen", func() error { _, err := runtime.New(options(), manyToolset()); return err }},
		{"raw", func() error { manyRaw(); return nil }},
		{"generic", func() error { manyGeneric(); return nil }},
		{"mcp-go", func() error { manyMCPGo(); return nil }},
	} {
		b.Run("peer="+p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := p.start(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// listPeer lists 1,000 tools; mcpgen shows half of them, which the others cannot do.
type listPeer struct {
	name    string
	visible int
	chain   func(testing.TB) func(string, json.RawMessage) ([]byte, error)
	serve   func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error
}

func listPeers() []listPeer {
	sdk := func(name string, server func() *mcp.Server) listPeer {
		return listPeer{
			name: name, visible: many,
			chain: func(t testing.TB) func(string, json.RawMessage) ([]byte, error) { return bareChain(t, server()) },
			serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
				return server().Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
			},
		}
	}
	return []listPeer{
		{
			name: "mcpgen", visible: many / 2,
			chain: func(t testing.TB) func(string, json.RawMessage) ([]byte, error) {
				return guardedChain(t, manyToolset())
			},
			serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
				server, err := runtime.New(options(), manyToolset())
				if err != nil {
					return err
				}
				return server.RunIO(ctx, in, out, member)
			},
		},
		sdk("raw", manyRaw),
		sdk("generic", manyGeneric),
		{
			name: "mcp-go", visible: many,
			chain: func(testing.TB) func(string, json.RawMessage) ([]byte, error) {
				s := manyMCPGo()
				return func(method string, params json.RawMessage) ([]byte, error) {
					return json.Marshal(s.HandleMessage(context.Background(), line(1, method, params)))
				}
			},
			serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
				return mcpgoserver.NewStdioServer(manyMCPGo()).Listen(ctx, in, out)
			},
		},
	}
}

var noParams = json.RawMessage(`{}`)

func TestAllPeersListWhatIsVisible(t *testing.T) {
	for _, p := range listPeers() {
		t.Run(p.name, func(t *testing.T) {
			chain, wire := p.chain(t), dial(t, p.serve)
			body, err := chain("tools/list", noParams)
			if err != nil {
				t.Fatal(err)
			}
			for name, body := range map[string][]byte{"chain": body, "wire": wire.call(t, "tools/list", noParams)} {
				if n := bytes.Count(body, []byte(`"name":"book_`)); n != p.visible {
					t.Errorf("%s lists %d tools, not %d", name, n, p.visible)
				}
			}
		})
	}
}

// BenchmarkList is one tools/list of 1,000 tools: on the chain with the bytes of the result,
// on the wire with a client that only looks for the line's end.
func BenchmarkList(b *testing.B) {
	b.Run("through=chain", func(b *testing.B) {
		for _, p := range listPeers() {
			b.Run("peer="+p.name, func(b *testing.B) {
				list := p.chain(b)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := list("tools/list", noParams); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
	b.Run("through=wire", func(b *testing.B) {
		for _, p := range listPeers() {
			b.Run("peer="+p.name, func(b *testing.B) {
				w := dial(b, p.serve)
				b.ReportAllocs()
				for b.Loop() {
					w.call(b, "tools/list", noParams)
				}
			})
		}
	})
}
