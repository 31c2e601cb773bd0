package runtime

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// Listing is a list of tools for people and programs beside MCP.
type Listing struct {
	Tools []ListedTool // in the order of names
	// Note says what is to be known of the catalog that was asked for, as the MCP list does in _meta. Empty
	// for nothing.
	Note string
}

// ListedTool is a tool and what the caller may do with it.
type ListedTool struct {
	Tool       *mcp.Tool // shared: not to be written to
	CanExecute bool      // a call would be let through
	Off        bool      // switched off: it is unknown to everybody, and shown to admins alone
	Missing    string    // what the caller lacks where CanExecute is false, as access.Decision.Missing says it
	Catalogs   []string  // those that code puts it into
}

// ListTools lists tools for a caller whom [Server.Identify] has let in: those that it may use, and those that are
// refused without being concealed. What is concealed from the caller is left out, unless the caller is an
// admin. A catalog narrows the list as it does over MCP; with Options.CatalogStrict an unknown one is an error
// that wraps catalog.ErrUnknown.
func (s *Server) ListTools(ctx context.Context, caller access.Principal, ask catalog.Ask) (Listing, error) {
	return Listing{}, errors.ErrUnsupported
}

// DeclaredCatalogs returns the catalogs that code declares (//mcp:tool catalog=), in the order of names. They are global, nobody
// changes them, and their ids are [DeclaredID] of their names.
func (s *Server) DeclaredCatalogs() []catalog.Found { return nil }

// DeclaredID is the id of a catalog that code declares.
func DeclaredID(name string) string { return "code:" + name }
