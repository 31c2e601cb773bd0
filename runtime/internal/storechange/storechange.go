// Package storechange has the changes that a store sends to the catalogs, grants and
// boundaries in it.
package storechange

// Kind is the kind of a [Change].
type Kind string

// The kinds of changes.
const (
	// Everything means that everything may have changed: read again what you keep. It comes first,
	// after a lost connection, and in place of changes that were missed or not received in time.
	Everything Kind = "everything"
	// Deaf means that no changes are received until the next Everything. On PostgreSQL, it comes
	// once for each connection that is lost or cannot be made.
	Deaf    Kind = "deaf"
	Org     Kind = "org"     // with all that is in it when it is deleted
	Team    Kind = "team"    // with all that is in it when it is deleted
	Member  Kind = "member"  // of an organization or a team
	Catalog Kind = "catalog" // a tool catalog itself
	Entry   Kind = "entry"   // a tool in a catalog
	Tool    Kind = "tool"    // switched off or on
	Audit   Kind = "audit"   // the oldest events were pruned
	Grant   Kind = "grant"   // to a client, or a request for one that was approved
	Request Kind = "request" // for a grant: a new one, or one that was denied
	// Boundary is that of a client or an actor.
	Boundary Kind = "boundary"
)

// Change contains the kind of a created, updated or deleted item, without its id or its new
// value. PostgreSQL sends a notification to every role that may connect to the database, so it
// contains no more.
type Change struct {
	Kind Kind `json:"kind"`
	// Revision counts the changes of a database, in the order of their commits. After a restore from
	// a backup it is lower than before, and the kind is [Everything].
	Revision int64 `json:"revision"`
}
