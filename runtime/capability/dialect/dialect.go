// Package dialect formats SQL statements for the database of a host. It imports no driver: the
// program that opens the database imports one.
package dialect

// Dialect is the engine that keeps a host's tables. The zero Dialect is none.
type Dialect int

// The engines that adapters read.
const (
	SQLite Dialect = iota + 1
	PostgreSQL
)

// Known reports whether it is one of the engines above.
func (d Dialect) Known() bool { return d == SQLite || d == PostgreSQL }

// String returns the engine's name.
func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "SQLite"
	case PostgreSQL:
		return "PostgreSQL"
	}
	return "no engine"
}

// First spells the first parameter of a statement. It stands once in the statement: drivers of
// SQLite differ in how they count a parameter that stands twice.
func (d Dialect) First() string {
	if d == PostgreSQL {
		return "$1"
	}
	return "?"
}
