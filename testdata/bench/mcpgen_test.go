package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

var member = access.Principal{Issuer: "bench", Subject: "mel", Roles: []string{"Member"}}

func options() runtime.Options {
	return runtime.Options{
		Identity: identity.Static(map[string]access.Principal{identity.HashToken(token): member}),
		Logger:   slog.New(slog.DiscardHandler),
		HTTP:     runtime.HTTPOptions{MaxSessions: 20000, MaxPerUser: 20000},
	}
}

func mcpgenPeer(tools func() toolset.Toolset) peer {
	return serverPeer("mcpgen", func() (*runtime.Server, error) {
		return runtime.New(options(), tools())
	})
}

// changing is mcpgen with lists that can change, as those of the other peers can. Of its sessions
// it keeps what they have listed.
const changing = "mcpgen-changing"

func changingServer() (*runtime.Server, error) {
	o := options()
	o.Catalogs.Source = noCatalogs{}
	return runtime.New(o, freight.Toolset())
}

type noCatalogs struct{}

func (noCatalogs) Catalog(context.Context, access.Principal, catalog.Ref) (catalog.Found, error) {
	return catalog.Found{}, catalog.ErrUnknown
}

func (noCatalogs) ToolsOff(context.Context) ([]string, error) { return nil, nil }

func (noCatalogs) Changes(ctx context.Context) <-chan catalog.Change {
	changes := make(chan catalog.Change, 1)
	changes <- catalog.Change{Tools: true, Catalogs: true}
	context.AfterFunc(ctx, func() { close(changes) })
	return changes
}

// nonBlocking has the tool with //mcp:limit nonblocking.
func nonBlocking() (*runtime.Server, error) {
	g := freight.Toolset().Generated()
	g.Tools[0].NonBlocking, g.Tools[0].Timeout = true, 0 // which Generated has set
	return runtime.New(options(), toolset.NewToolset(g))
}

// adopted is bookRaw without its decision, behind the guard.
func adopted() (*runtime.Server, error) {
	allowed := func(mcp.Request) bool { return true }
	return runtime.Adopt(bookBy(allowed), options(),
		map[string]access.Rule{toolName: {MinRole: []string{"Member"}}})
}

// shapeToolset has the tool as a handler in go-sdk's shape.
func shapeToolset() toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/shape", Server: toolset.ServerInfo{Name: "freight"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: toolName, MinRole: []string{"Member"}}}},
		Tools: []toolset.Tool{{Name: toolName, Input: bookingSchema, Output: receiptSchema, SDK: true,
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				in, err := bookingByHand(call.Arguments)
				if err != nil {
					return toolset.Result{}, err
				}
				out, err := freight.Book(ctx, in)
				return toolset.Native(&mcp.CallToolResult{}, out, err)
			}}},
	})
}

func serverPeer(name string, fresh func() (*runtime.Server, error)) peer {
	return peer{
		name: name,
		serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			server, err := fresh()
			if err != nil {
				return err
			}
			defer server.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is under way
			return server.RunIO(ctx, in, out, member)
		},
		web: func(string) (http.Handler, error) {
			server, err := fresh()
			if err != nil {
				return nil, err
			}
			return server.Handler(), nil
		},
	}
}

var errRefused = errors.New("refused")
