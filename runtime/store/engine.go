package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// engine is what SQLite and PostgreSQL do differently. Statements are the same for both.
type engine struct {
	name       string
	dialect    goose.Dialect
	migrations fs.FS
	oneWriter  bool
	// that are made at once; fewer than there are connections to write with, or the only one
	changes   int
	forUpdate string // ends a SELECT that keeps its rows as they are until the transaction ends

	// open opens the pools of a database that has been migrated.
	open func(ctx context.Context) (writes, reads *sql.DB, err error)
	// connect opens the one connection that migrates.
	connect func(ctx context.Context) (driver.Conn, error)
	// begin starts, on that connection, the transaction that only one process can be in.
	begin func(ctx context.Context, c driver.Conn) error
	// verify says what a migration has left broken, before it is committed. Nil where the engine
	// sees to that all by itself.
	verify func(ctx context.Context, c driver.Conn) error

	// insert keeps audit events in their order, all or none.
	insert func(ctx context.Context, db *sql.DB, rows []row) error
	// moment is a time as the engine keeps it.
	moment func(time.Time) any
	// fault reads the engine's errors.
	fault func(error) fault
	// cured says an error of the engine with what to do about it, where that is known.
	cured func(error) error
	// present returns an error if what is committed now would be gone after a restart, since a file
	// was deleted. Nil where the engine's server keeps the files.
	present func() error
	// writable returns an error if the database takes no changes at all. Nil where only a change
	// shows that.
	writable func(ctx context.Context, db *sql.DB) error
	// space returns an error if the disk is full. Nil where a change of one row shows it.
	space func() error
	// serves says what the account lacks that serves from a database that has been migrated. Nil
	// where files have no accounts.
	serves func(ctx context.Context, db *sql.DB) error
	// hurry bounds how long a transaction waits for those of others. Nil where it is bounded
	// already.
	hurry func(ctx context.Context, tx *sql.Tx) error
	// announce tells other processes of a change, with the transaction that makes it. Nil where
	// there is no way.
	announce func(ctx context.Context, tx *sql.Tx, payload string) error
	// listen tells a mailbox of the changes of all processes until ctx ends or the connection does,
	// and looks for ones that were not told every so often.
	// Nil where there is no way.
	listen func(ctx context.Context, box *mailbox, every time.Duration) error
}

// parse reads a store's URL. Errors repeat nothing that could be a password.
func parse(url string) (*engine, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case ok && scheme == "sqlite":
		return sqliteEngine(rest)
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return postgresEngine(url)
	}
	return nil, wrong("store: the URL starts with neither sqlite: nor postgres: — write sqlite:PATH for a file, or postgres://USER@HOST:PORT/DATABASE")
}

// there calls present, if the engine has it.
func (e *engine) there() error {
	if e.present == nil {
		return nil
	}
	return e.present()
}

// commit commits a transaction. It returns nil only if what is committed outlasts the process.
func (e *engine) commit(tx *sql.Tx) error {
	if err := tx.Commit(); err != nil {
		return err
	}
	return e.there()
}
