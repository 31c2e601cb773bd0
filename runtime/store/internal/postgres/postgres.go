// Package postgres keeps a store in a schema of a PostgreSQL database.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/mcpgen/mcpgen/runtime/store/internal/fault"
	"github.com/mcpgen/mcpgen/runtime/store/internal/migrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// connections is the size of the pool. Each follower of changes has one more.
	connections = 10
	// Changing is the maximum number of concurrent changes. The other connections are for reads and
	// for the audit trail.
	Changing = 4
	// contended is how long a change waits for a lock: less than a server waits for its audit trail
	// (runtime.AuditOptions.Timeout).
	contended = 3 * time.Second
	// connecting is the time limit of a connection without connect_timeout in the URL.
	connecting = 10 * time.Second
)

// Database is a schema of a database.
type Database struct {
	config *pgx.ConnConfig
	schema string // "public" until a migration reads it
}

// Parse reads a URL. Errors may contain it with its password.
func Parse(url string) (*Database, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connecting
	}
	return &Database{config, "public"}, nil
}

// Open opens one pool for writes and reads.
func (d *Database) Open(context.Context) (writes, reads *sql.DB, err error) {
	db := stdlib.OpenDB(*d.config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db, db, nil
}

// Migration migrates the schema.
func (d *Database) Migration() migrate.Migration {
	files, _ := fs.Sub(migrations, "migrations") // an error is of an invalid name only
	return migrate.Migration{
		Dialect: goose.DialectPostgres, Files: files, Begin: d.begin, Index: index,
		Connect: func(ctx context.Context) (driver.Conn, error) {
			c, err := stdlib.GetConnector(*d.config).Connect(ctx)
			if err != nil {
				return nil, fmt.Errorf("store: %w", reached(err))
			}
			return c, nil
		},
		Forbidden: func(err error) bool { return is(err, forbidden) },
		Cured: func(err error) error {
			switch {
			case is(err, occupied):
				return fmt.Errorf("%w; the database has tables of these names: create a schema for the "+
					"store with CREATE SCHEMA mcpgen and ?search_path=mcpgen in the URL", err)
			case is(err, forbidden):
				return fmt.Errorf("%w; create a schema for the role with CREATE SCHEMA mcpgen "+
					"AUTHORIZATION role, and ?search_path=mcpgen in the URL; or migrate the database "+
					"with another role, and serve with this one", err)
			}
			return err
		},
	}
}

func (d *Database) begin(ctx context.Context, c driver.Conn) error {
	if err := migrate.Execute(ctx, c, "BEGIN"); err != nil {
		return err
	}
	schema, err := migrate.Text(ctx, c, `SELECT coalesce(current_schema(), '')`)
	if err != nil {
		return err
	}
	if schema == "" {
		return noSchema(ctx, c)
	}
	d.schema = schema
	// Held until the transaction or the connection ends.
	if err := migrate.Execute(ctx, c, `SELECT pg_advisory_xact_lock(`+
		`hashtextextended('mcpgen store ' || current_schema(), 0))`); err != nil {
		return fmt.Errorf("wait for the migration lock: %w", err)
	}
	return nil
}

// indexLock is held while a process makes indexes.
const indexLock = `(hashtextextended('mcpgen indexes ' || current_schema(), 0))`

// index makes the indexes concurrently (PostgreSQL documentation, "CREATE INDEX"). A concurrent
// build waits for each transaction that is open, so a process that waits for its turn has none
// open.
func index(ctx context.Context, c driver.Conn, version int64) error {
	var locked bool
	err := migrate.Each(ctx, version, func(i migrate.Index) error {
		has := `SELECT 1 FROM pg_index WHERE indexrelid = to_regclass('` + i.Name +
			`') AND indisvalid`
		old := `SELECT 1 WHERE to_regclass('` + i.Replaces + `') IS NOT NULL`
		for {
			done, err := migrate.Exists(ctx, c, has)
			if err != nil {
				return err
			}
			left, err := migrate.Exists(ctx, c, old)
			switch {
			case err != nil:
				return err
			case done && !left:
				return nil
			case locked: // checked since the lock was taken
				return replace(ctx, c, i, done)
			}
			got, err := migrate.Text(ctx, c, "SELECT pg_try_advisory_lock"+indexLock)
			if err != nil {
				return err
			}
			if locked = got == "true"; locked {
				continue
			}
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return err // the lock ends with the connection
}

// replace makes an index and drops the one that it replaces.
func replace(ctx context.Context, c driver.Conn, i migrate.Index, done bool) error {
	var statements []string
	if !done { // an interrupted build leaves an invalid index
		statements = []string{"DROP INDEX CONCURRENTLY IF EXISTS " + i.Name,
			i.Create("CONCURRENTLY", "at, id")}
	}
	for _, statement := range append(statements,
		"DROP INDEX CONCURRENTLY IF EXISTS "+i.Replaces) {
		if err := migrate.Execute(ctx, c, statement); err != nil {
			return err
		}
	}
	return nil
}

// Listen runs follow on a connection of its own that listens to the channel of an SQL expression,
// until follow returns or ctx ends.
func (d *Database) Listen(ctx context.Context, channel string,
	follow func(*pgx.Conn) error) error {
	conn, err := pgx.ConnectConfig(ctx, d.config.Copy())
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(ctx) // nothing can be lost
	}()
	var name string
	if err := conn.QueryRow(ctx, "SELECT "+channel).Scan(&name); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
		return err
	}
	return follow(conn)
}

// Announce notifies other processes at the commit, on the channel of an SQL expression.
func Announce(ctx context.Context, tx *sql.Tx, channel, payload string) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_notify(`+channel+`, $1)`, payload)
	return err
}

// Hurry limits how long a transaction waits for locks.
func Hurry(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`,
		contended.Milliseconds()))
	return err
}

// Cured adds the cure to an error of PostgreSQL.
func (d *Database) Cured(err error) error {
	switch {
	case is(err, forbidden):
		return fmt.Errorf("%w; to serve, the role needs: %s", err,
			grants(d.schema, d.config.User))
	case is(err, blocked):
		return fmt.Errorf("another change to the database has been running for %s: try again; if "+
			"this persists, find it in pg_stat_activity: %w", contended, err)
	}
	return reached(err)
}

// SQLSTATEs of errors with a known cure.
const (
	occupied  = "42P07" // duplicate_table
	forbidden = "42501" // insufficient_privilege
	blocked   = "55P03" // lock_not_available
)

func is(err error, code string) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == code
}

// Fault classifies an error by its SQLSTATE (PostgreSQL documentation, appendix A).
func Fault(err error) fault.Kind {
	var e *pgconn.PgError
	if errors.Is(err, errReadOnly) {
		return fault.Unwritable
	}
	if !errors.As(err, &e) {
		return fault.Other
	}
	switch e.Code {
	case "23505": // unique_violation
		return fault.Taken
	case "23503": // foreign_key_violation
		return fault.Orphan
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return fault.Again
	case "23514": // check_violation
		return fault.Unfit
	case "25006", "53100": // read_only_sql_transaction, disk_full
		return fault.Unwritable
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "22", "54": // data exception, program limit exceeded
		return fault.Unfit
	}
	return fault.Other
}

// Writable returns an error for a standby and for a read-only session.
func Writable(ctx context.Context, db *sql.DB) error {
	var readOnly string
	err := db.QueryRowContext(ctx, "SHOW transaction_read_only").Scan(&readOnly)
	if err == nil && readOnly != "off" {
		err = errReadOnly
	}
	return err
}

var errReadOnly = errors.New("transaction_read_only is on: " +
	"name the primary server in the URL, with target_session_attrs=read-write, or set " +
	"default_transaction_read_only to off")
