package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store/internal/fault"
	"github.com/mcpgen/mcpgen/runtime/store/internal/migrate"
	"github.com/mcpgen/mcpgen/runtime/store/internal/postgres"
	"github.com/mcpgen/mcpgen/runtime/store/internal/sqlite"
)

// engine has the differences between SQLite and PostgreSQL. Statements are the same for both.
type engine struct {
	oneWriter bool
	// changes is the maximum number of concurrent changes: below the number of connections on
	// PostgreSQL, and one on SQLite.
	changes   int
	forUpdate string // ends a SELECT that locks its rows

	migration migrate.Migration
	// open opens the pools of a database that has been migrated.
	open func(ctx context.Context) (writes, reads *sql.DB, err error)
	// insert inserts audit events in their order, all or none.
	insert func(ctx context.Context, db *sql.DB, rows []audit.Encoded) error
	// moment converts a time to the engine's format.
	moment func(time.Time) any
	// searching runs do with a pool or a transaction whose plans use the indexes of a search.
	searching func(ctx context.Context, db querier, do func(querier) error) error
	fault     func(error) fault.Kind
	// cured adds a known cure to an error of the engine.
	cured func(error) error
	// present returns an error if a commit would be lost at a restart, because a file was deleted.
	present func() error
	// writable returns an error if the database accepts no changes. space returns an error if the
	// disk is too full for more than one row.
	writable func(ctx context.Context, db *sql.DB) error
	space    func() error
	// serves returns an error if the role lacks a privilege.
	serves func(ctx context.Context, db *sql.DB) error
	// hurry limits how long a transaction waits for locks.
	hurry func(ctx context.Context, tx *sql.Tx) error
	// announce notifies other processes when the transaction commits. listen runs follow until ctx
	// or the connection ends. Both are nil on SQLite.
	announce func(ctx context.Context, tx *sql.Tx, channel, payload string) error
	listen   func(ctx context.Context, channel string, follow func(*pgx.Conn) error) error
}

const again = fault.Again

// parse reads a store's URL. Errors contain no part that could be a password.
func parse(url string) (*engine, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case ok && scheme == "sqlite":
		return sqliteEngine(rest)
	case ok && (scheme == "postgres" || scheme == "postgresql"):
		return postgresEngine(url)
	}
	return nil, wrong("store: the URL starts with neither sqlite: nor postgres: — write " +
		"sqlite:PATH for a file, or postgres://USER@HOST:PORT/DATABASE")
}

func sqliteEngine(path string) (*engine, error) {
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		if !strings.HasPrefix(rest, "/") {
			// The URL may contain a password.
			return nil, wrong("store: the URL has a host after sqlite:// instead of a path: write " +
				"sqlite:PATH or sqlite:///absolute/path")
		}
		path = rest
	}
	switch {
	case path == "":
		return nil, wrong("store: sqlite: has no file: write sqlite:PATH")
	case strings.HasPrefix(path, ":memory:"), strings.HasPrefix(path, "file:"),
		strings.Contains(path, "://"), strings.ContainsAny(path, "?#\x00"):
		return nil, wrong("store: sqlite: must be followed by the path of a file, without options: " +
			"write sqlite:PATH")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("store: sqlite: %w", err)
	}
	db := sqlite.At(path)
	e := &engine{oneWriter: true, changes: 1, migration: db.Migration(), open: db.Open,
		moment: func(t time.Time) any { return t.UnixMicro() },
		fault:  sqlite.Fault, cured: db.Cured, present: db.Present, space: db.Space,
		searching: func(_ context.Context, db querier, do func(querier) error) error { return do(db) },
		writable:  func(context.Context, *sql.DB) error { return nil }, // a change shows it
		serves:    func(context.Context, *sql.DB) error { return nil }, // files have no accounts
		hurry:     func(context.Context, *sql.Tx) error { return nil }} // its timeout bounds it
	e.insert = sqliteInsert(e)
	return e, nil
}

func postgresEngine(url string) (*engine, error) {
	db, err := postgres.Parse(url)
	if err != nil {
		return nil, wrong("store: the URL cannot be read: write " +
			"postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE with special characters " +
			"percent-encoded")
	}
	return &engine{changes: postgres.Changing, forUpdate: "FOR UPDATE", migration: db.Migration(),
		open: db.Open, insert: postgresInsert, moment: func(t time.Time) any { return t },
		fault: postgres.Fault, cured: db.Cured, present: func() error { return nil },
		searching: postgresSearching,
		space:     func() error { return nil }, writable: postgres.Writable, serves: postgres.Serves,
		hurry: postgres.Hurry, announce: postgres.Announce, listen: db.Listen}, nil
}

// postgresSearching keeps plans from a sort of all events of a filter, which PostgreSQL prefers
// while its statistics are older than the events.
func postgresSearching(ctx context.Context, db querier, do func(querier) error) error {
	tx, err := db.(*sql.DB).BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // it only reads
	rows, err := tx.QueryContext(ctx, `SELECT set_config(name, 'off', true)
		FROM unnest('{enable_sort,enable_seqscan,enable_bitmapscan}'::text[]) AS name`)
	if err == nil {
		err = errors.Join(rows.Close(), rows.Err())
	}
	if err != nil {
		return err
	}
	return do(tx)
}

// migrate migrates to the version that choose returns for the newest one.
func (e *engine) migrate(ctx context.Context, choose func(newest int64) (int64, error)) error {
	return e.migration.To(ctx, choose, e.explain)
}

// commit commits a transaction. It returns nil only if the commit is durable.
func (e *engine) commit(tx *sql.Tx) error {
	if err := tx.Commit(); err != nil {
		return err
	}
	return e.present()
}

// sometime converts a time to the engine's format, and the zero time to NULL.
func (e *engine) sometime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return e.moment(t)
}

// explain adds the operation and, if known, the cure to an error of the database. The error of an
// ended context comes first, because drivers return their own.
func (e *engine) explain(ctx context.Context, doing string, err error) error {
	// database/sql does not export this error.
	if strings.HasSuffix(err.Error(), "sql: database is closed") {
		err = ErrClosed
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("store: %s: %w (%v)", doing, ended, err)
	}
	cured := e.cured(err)
	if e.fault(cured) == fault.Unwritable {
		cured = unwritableError{cured}
	}
	return fmt.Errorf("store: %s: %w", doing, cured)
}

// unwritableError is an [ErrUnwritable] with the text of its cause.
type unwritableError struct{ error }

func (e unwritableError) Is(target error) bool { return target == ErrUnwritable }

func (e unwritableError) Unwrap() error { return e.error }
