// Package catalog is the contract between a server and where its named groups of tools are kept: a
// client asks for the "research-kit" and is listed those tools, as far as it may see them.
//
// A catalog shortens a list. It says nothing about who may use what, and calls do not look at it.
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

// Ask is what a request says: an id, a name or both, in which case the id counts. The zero Ask asks
// for no catalog.
type Ask struct{ ID, Name string }

// IsZero reports whether no catalog is asked for.
func (a Ask) IsZero() bool { return a == Ask{} }

// Found is a catalog that was asked for.
type Found struct {
	ID   string
	Name string
	// Global says that it belongs to no organisation and no team. A global catalog of a name stands
	// behind one that code declares.
	Global bool
	// Tools are the names in it, in order, whether there are such tools or not. Nobody changes the
	// slice.
	Tools []string
	// Note tells the client what it may not have meant, or is empty.
	Note string
}

// Source is where catalogs are kept, and which tools are switched off. Its methods are called from
// many goroutines at once, and whoever calls them sets a time limit by ctx. Errors go to the
// server's log, never to a caller.
type Source interface {
	// Catalog returns the active catalog that a caller asks for, looked for in the caller's own
	// scope: its teams first, then its organisations, then globally. The error wraps [ErrUnknown]
	// where there is none.
	Catalog(ctx context.Context, caller access.Principal, ask Ask) (Found, error)

	// ToolsOff returns the names of the tools that are switched off, in any order.
	ToolsOff(ctx context.Context) ([]string, error)

	// Changes tells that something has changed until ctx ends, and closes the channel then. The
	// first comes at once, when changes are being heard: what is read after it misses none. A
	// source that can tell that it hears of none says so by Deaf.
	Changes(ctx context.Context) <-chan Change
}

// Change says what may be different now. A source that does not know sets both Tools and Catalogs.
type Change struct {
	Tools    bool // which tools are switched off
	Catalogs bool // catalogs, what is in them, or who is in which organisation and team
	// Deaf says that nothing is being heard, as when a connection is lost, until the next change,
	// which then sets both. It comes once for each loss, and alone.
	Deaf bool
}
