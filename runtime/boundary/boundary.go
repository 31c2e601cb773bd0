// Package boundary is the contract of permission boundaries. A boundary is the most that one
// client, such as an agent, may do, for whichever subject the client acts. A call is allowed if the
// rule of the tool allows the caller and the boundary of the client allows the call.
//
// Set a [Source] as runtime.Options.Access.Boundaries. Package boundary/static reads a file, and
// package boundary/stored keeps boundaries in a database.
package boundary

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
)

// Boundary is the most that one client may do. The zero Boundary allows nothing.
type Boundary struct {
	// Roles are roles of the server's hierarchy. Of the roles of a caller, those count that one of
	// these is or includes. Empty is none, so that only rules without roles can hold. "*" alone is
	// every role.
	Roles []string
	// Items are the allowed items. Empty is none, and "*" alone is every item. An item that cannot be
	// parsed, or that the server does not have, allows nothing. The forms of an item:
	//
	//	tool:NAME                 a tool, with all values of its arguments
	//	tool:NAME ARGUMENT=VALUE  a tool with one value of an argument with rules
	//	prompt:NAME               a prompt
	//	resource:URI              a URI, or a URI template as its author wrote it
	//	skill:URI                 a skill
	//	catalog:NAME              the tools of a catalog that code declares
	//	catalog:17                in a store, the tools of the global catalog with this id
	//
	// Of an argument that some items of a tool name, the values of these items are allowed. Arguments
	// that no item names have all their values.
	Items []string
	// ReadOnly allows no tools but those that are marked readonly.
	ReadOnly bool
	// Blocked blocks the client: its requests are refused, whatever the other fields allow.
	Blocked bool
	// Until is the end of the boundary: it allows nothing from then on. The zero time never ends.
	Until time.Time
	// Where is the place of the boundary for messages, as in "boundaries.yaml:12". It may be empty.
	Where string
}

// Ended reports whether the boundary has ended.
func (b Boundary) Ended(now time.Time) bool { return !b.Until.IsZero() && !now.Before(b.Until) }

// Party is a client or an actor that may have a boundary. Either Client and Subject are set, as far
// as the credential has them, or Actor. In a list of boundaries, the Client "*" stands for all
// clients of the issuer without a boundary of their own, and for credentials that name no client.
type Party struct {
	// Issuer is the authority that names the others, as in access.Principal.Issuer.
	Issuer string
	// Client is the OAuth client or the program that calls, as in access.Principal.Client. It is
	// empty for a credential that names none.
	Client string
	// Subject is the caller for whom the client acts.
	Subject string
	// Actor is the subject of access.Principal.Actor.
	Actor string
}

// In returns the most specific boundary of a party in a list of boundaries; see [Source]. A blocked
// client is blocked for all of its callers, also for those with a boundary of their own.
func (p Party) In(list map[Party]Boundary) (Boundary, bool) {
	b, ok := boundaryitem.Find(list, p)
	if p.Actor == "" && list[Party{Issuer: p.Issuer, Client: p.Client}].Blocked {
		b.Blocked = true
	}
	return b, ok
}

// Source has the boundaries of clients and actors. Three further methods are optional:
//
//   - All() iter.Seq2[Party, Boundary], of a source with a fixed set of boundaries, returns them
//     all. runtime.New checks their issuers, roles and items, so that a misspelt name is an error
//     at start.
//   - ReadsMemoryOnly() marks a source that does not block or panic. The server calls it without a
//     time limit and in the goroutine of the message.
//   - Changes(ctx context.Context) <-chan Party, of a source whose boundaries change, sends the
//     party of each boundary that may have changed, as the list of boundaries has it, and closes
//     the channel when ctx ends. The zero Party stands for all. The first party comes when the
//     source receives changes: a read after it misses none.
type Source interface {
	// Boundary returns the most specific boundary of a party: for a client, that of the client with
	// this subject, or else that of the client, or else that of all clients of the issuer. A blocked
	// client is blocked for each subject; see [Party.In]. It returns false if the party has none. An
	// error denies everything.
	//
	// It is called for each message, and for clients that wait for notifications, from many
	// goroutines at once. A call that takes longer than five seconds counts as an error.
	Boundary(ctx context.Context, party Party) (Boundary, bool, error)
}
