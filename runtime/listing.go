package runtime

import (
	"context"

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

// ListTools lists tools for the caller that [Server.Identify] has let in: those that it may use, and those that are
// refused without being concealed. What is concealed from the caller is left out, unless the caller is an
// admin. A catalog narrows the list as it does over MCP; with Options.CatalogStrict one that cannot be found is an
// error, which wraps catalog.ErrUnknown where there is none. Outside of a request that was let in the list is empty.
func (s *Server) ListTools(ctx context.Context, ask catalog.Ask) (Listing, error) {
	rec, ok := ctx.Value(recordKey{}).(*record)
	if !ok {
		return Listing{}, nil
	}
	p, admin := rec.caller, s.IsAdmin(rec.caller)
	asking := &record{principal: rec.principal, requestID: rec.requestID, asked: asked{Ask: ask, said: !ask.IsZero()}.kept(s.opts.Masker)}
	n, err := s.narrow(ctx, asking)
	if err != nil {
		return Listing{}, err
	}
	list := Listing{Note: n.note}
	for _, rule := range s.catalogs.table.Rules {
		name := rule.Name()
		tool, ok := s.lists.tools.items[name]
		if !ok || n.in != nil && !n.in.Contains(name) {
			continue
		}
		off := s.catalogs.isOff(access.Tools, name)
		d := s.table.Decide(p, name)
		if !admin && (off || !d.Allowed && s.denial(d) == access.Conceal) {
			continue
		}
		listed := ListedTool{Tool: tool, CanExecute: d.Allowed && !off, Off: off, Missing: d.Missing()}
		if t := s.tools[name]; t != nil {
			listed.Catalogs = t.Catalogs
		}
		list.Tools = append(list.Tools, listed)
	}
	return list, nil
}
