package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
)

// versionTable says which migrations have been applied.
const versionTable = "store_version"

// migrator migrates within one transaction.
type migrator struct{ provider *goose.Provider }

// newest is the version of the last migration.
func (m *migrator) newest() int64 {
	known := m.provider.ListSources()
	return known[len(known)-1].Version
}

// to migrates forward or back.
func (m *migrator) to(ctx context.Context, version int64) error {
	newest := m.newest()
	if version < 0 || version > newest {
		return wrong("unknown version %d: use 0 to %d", version, newest)
	}
	at, err := m.provider.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	switch {
	case at > newest:
		return fmt.Errorf("%w: it is at version %d and this program supports %d; start the newer "+
			"program, or migrate back with it first", ErrNewer, at, newest)
	case at < version:
		_, err = m.provider.UpTo(ctx, version)
	case at > version:
		_, err = m.provider.DownTo(ctx, version)
	}
	return err
}

// migrate does something with a migrator: on one connection, in one transaction that no other
// process can be in at the same time, and all of it or nothing.
func (e *engine) migrate(ctx context.Context, do func(context.Context, *migrator) error) (err error) {
	c, err := e.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := e.begin(ctx, c); err != nil {
		return e.explain(ctx, "begin the migration", err)
	}
	if err := e.within(ctx, c, do); err != nil {
		// What ended the context must not keep the database from being as it was. Where this fails the
		// engine has done so by itself, or does when the connection is closed.
		execute(context.WithoutCancel(ctx), c, "ROLLBACK")
		return e.explain(ctx, "migrate", e.ofMigration(err))
	}
	if err := execute(ctx, c, "COMMIT"); err != nil {
		return e.explain(ctx, "commit the migration", err)
	}
	return nil
}

func (e *engine) within(ctx context.Context, c driver.Conn, do func(context.Context, *migrator) error) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	db := sql.OpenDB(&held{Conn: c, failed: func(err error) {
		if e.fault(err) == forbidden {
			end(err) // goose would try for some seconds more
		}
	}})
	defer db.Close() // which leaves the connection open
	db.SetMaxOpenConns(1)
	provider, err := goose.NewProvider(e.dialect, db, e.migrations, goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	if err := do(ctx, &migrator{provider}); err != nil {
		if cause := context.Cause(ctx); e.fault(cause) == forbidden {
			return cause
		}
		return err
	}
	if e.verify != nil {
		return e.verify(ctx, c)
	}
	return nil
}

// ofMigration adds what to do about an error of a migration alone.
func (e *engine) ofMigration(err error) error {
	switch e.fault(err) {
	case occupied:
		return fmt.Errorf("%w; the database has tables of these names: create a schema for the store "+
			"with CREATE SCHEMA mcpgen and ?search_path=mcpgen in the URL", err)
	case forbidden:
		return fmt.Errorf("%w; create a schema for the role with CREATE SCHEMA mcpgen AUTHORIZATION "+
			"role, and ?search_path=mcpgen in the URL; or migrate the database with another role, and "+
			"serve with this one", err)
	}
	return err
}

// held lets database/sql have one connection, which is in a transaction all the time: its
// transactions are savepoints of that one. It is its own connector and gives nothing but itself, so
// that a connection that breaks is not replaced by one without the lock.
type held struct {
	driver.Conn
	failed func(error) // called for each statement that fails
}

func (h *held) Connect(context.Context) (driver.Conn, error) { return h, nil }

func (h *held) Driver() driver.Driver { return heldDriver{} }

// Close leaves the connection to who opened it.
func (h *held) Close() error { return nil }

func (h *held) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if err := execute(ctx, h.Conn, "SAVEPOINT migration"); err != nil {
		return nil, err
	}
	return savepoint{h.Conn}, nil
}

func (h *held) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	result, err := h.Conn.(driver.ExecerContext).ExecContext(ctx, statement, args)
	if err != nil {
		h.failed(err)
	}
	return result, err
}

func (h *held) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := h.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		h.failed(err)
	}
	return rows, err
}

// savepoint ends without a context, as [driver.Tx] does: each is a word to a connection at hand.
type savepoint struct{ driver.Conn }

func (s savepoint) Commit() error { return s.end("RELEASE SAVEPOINT migration") }

func (s savepoint) Rollback() error {
	return s.end("ROLLBACK TO SAVEPOINT migration", "RELEASE SAVEPOINT migration")
}

func (s savepoint) end(statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, statement := range statements {
		if err := execute(ctx, s.Conn, statement); err != nil {
			return err
		}
	}
	return nil
}

// heldDriver opens nothing: database/sql asks a connector for a driver, to show it.
type heldDriver struct{}

func (heldDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("store: a migration uses one connection")
}
