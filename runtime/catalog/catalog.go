// Package catalog is the contract between a server and the keeper of its catalogs. A catalog is a
// named set of tools: a client requests the "research-kit" and is listed those of its tools that it
// may see.
//
// A catalog only shortens a list. It gives and takes no access, and calls do not read it.
package catalog

import (
	"context"
	"errors"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// ErrUnknown: the caller has no such catalog. One that is not active, that belongs to somebody else
// or that never was gives the same error, with the same text.
var ErrUnknown = errors.New("the catalog does not exist")

// ErrClosed reports that a source was closed, as when a program ends. A server then keeps the
// switches that it has, and neither logs it nor tries again.
var ErrClosed = errors.New("the source of catalogs is closed")

// Ref names the catalog of a request by an id, a name or both. With both, the id counts. The zero
// Ref names no catalog.
type Ref struct{ ID, Name string }

// IsZero reports whether the request names no catalog.
func (r Ref) IsZero() bool { return r == Ref{} }

// Found is a requested catalog.
type Found struct {
	ID   string // unique on the server
	Name string // unique in its scope
	// Global reports that it belongs to no organization and no team. A catalog that code declares
	// comes before a global one of the same name.
	Global bool
	// Tools are the sorted names in it. A tool of that name need not exist. The slice must not be
	// changed afterwards.
	Tools []string
	// Note is for the client, if the name is ambiguous. It may be empty.
	Note string
}

// Source has the catalogs, and the tools that are switched off. Set it as
// runtime.Options.Catalogs.Source. Its methods are called from many goroutines at once, and ctx has
// the time limit. The text of an error goes to the server's log, and never to a caller.
type Source interface {
	// Catalog returns the active catalog that a caller requests. It looks for it in the caller's
	// teams first, then in its organizations, then among the global ones. The error wraps
	// [ErrUnknown] if the caller has no such catalog.
	Catalog(ctx context.Context, caller access.Principal, ref Ref) (Found, error)

	// ToolsOff returns the names of the tools that are switched off, in any order.
	ToolsOff(ctx context.Context) ([]string, error)

	// Changes sends a change when something has changed, and closes the channel when ctx ends. The
	// first change comes when the source receives changes: a read after it misses none. A source
	// that loses its connection sends Deaf.
	Changes(ctx context.Context) <-chan Change
}

// Change has what may have changed. A source that does not know sets both Tools and Catalogs.
type Change struct {
	Tools    bool // the tools that are switched off
	Catalogs bool // catalogs, their tools, or the members of organizations and teams
	// Deaf reports that the source receives no changes, as after the loss of a connection. It comes
	// once for each loss, and alone. The next change sets both other fields.
	Deaf bool
}
