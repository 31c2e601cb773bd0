// Package fault classifies the errors of both databases.
package fault

// Kind is the class of an error.
type Kind int

// The kinds of errors that the store treats differently.
const (
	Other      Kind = iota
	Taken           // a unique key
	Orphan          // a foreign key
	Again           // a deadlock or a failed serialisation: a retry may succeed
	Unfit           // a value that the database does not accept
	Unwritable      // the database accepts no changes: it is full, read-only or gone
)
