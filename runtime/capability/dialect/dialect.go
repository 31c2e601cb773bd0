// Package dialect formats SQL statements for the database of a host. It imports no driver: the
// program that opens the database imports one.
package dialect

import (
	"database/sql"
	"fmt"
	"strings"
)

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

// CheckDriver returns an error for a driver of MySQL or MariaDB, which no adapter supports.
func CheckDriver(db *sql.DB) error {
	if name := fmt.Sprintf("%T", db.Driver()); strings.Contains(strings.ToLower(name), "mysql") {
		return fmt.Errorf("the driver %s is for MySQL, which is not supported: "+
			"use a host on PostgreSQL or SQLite", name)
	}
	return nil
}

// First spells the first parameter of a statement. It stands once in the statement: drivers of
// SQLite differ in how they count a parameter that stands twice.
func (d Dialect) First() string {
	if d == PostgreSQL {
		return "$1"
	}
	return "?"
}

// Quote spells the name of a table or a column, whatever is in it.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
