// Package migrate migrates a database to a version, completely or not at all: on one connection, in
// one transaction that excludes other processes.
package migrate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Table contains which migrations have been applied.
const Table = "store_version"

// ErrNewer reports a database that a newer program has migrated.
var ErrNewer = errors.New("the database is newer than this program")

// Migration has the differences between databases.
type Migration struct {
	Dialect goose.Dialect
	Files   fs.FS
	// Connect opens the one connection that migrates.
	Connect func(context.Context) (driver.Conn, error)
	// Begin starts the exclusive transaction on that connection.
	Begin func(context.Context, driver.Conn) error
	// Verify returns an error for broken references before the commit. Nil if the database checks
	// them itself.
	Verify func(context.Context, driver.Conn) error
	// Index makes the indexes of a version after its commit, while other processes write. It
	// changes nothing if they exist, and continues an interrupted call.
	Index func(ctx context.Context, c driver.Conn, version int64) error
	// Forbidden reports an error of missing privileges. Nil for databases without accounts.
	Forbidden func(error) bool
	// Cured adds the cure to an error of a migration. Nil without known cures.
	Cured func(error) error
}

// To migrates forward or back to the version that choose returns. explain adds the operation to an
// error.
func (m Migration) To(ctx context.Context, choose func(newest int64) (int64, error),
	explain func(ctx context.Context, doing string, err error) error) (err error) {
	c, err := m.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := m.Begin(ctx, c); err != nil {
		return explain(ctx, "begin the migration", err)
	}
	version, err := m.within(ctx, c, choose)
	if err != nil {
		// Roll back even after the context has ended. If this fails, the engine has rolled back, or
		// does when the connection is closed.
		Execute(context.WithoutCancel(ctx), c, "ROLLBACK")
		if m.Cured != nil {
			err = m.Cured(err)
		}
		return explain(ctx, "migrate", err)
	}
	if err := Execute(ctx, c, "COMMIT"); err != nil {
		return explain(ctx, "commit the migration", err)
	}
	// Indexes change no answer. So a role that only serves starts without them.
	if err := m.Index(ctx, c, version); err != nil && !m.forbidden(err) {
		return explain(ctx, "make the indexes of the audit trail", err)
	}
	return nil
}

func (m Migration) within(ctx context.Context, c driver.Conn,
	choose func(newest int64) (int64, error)) (version int64, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	db := sql.OpenDB(&held{Conn: c, failed: func(err error) {
		if m.forbidden(err) {
			end(err) // otherwise goose retries for some seconds
		}
	}})
	defer db.Close() // which leaves the connection open
	db.SetMaxOpenConns(1)
	provider, err := goose.NewProvider(m.Dialect, db, m.Files, goose.WithTableName(Table),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return 0, err
	}
	if version, err = move(ctx, provider, choose); err != nil {
		if cause := context.Cause(ctx); m.forbidden(cause) {
			return 0, cause
		}
		return 0, err
	}
	if m.Verify != nil {
		err = m.Verify(ctx, c)
	}
	return version, err
}

func (m Migration) forbidden(err error) bool { return m.Forbidden != nil && m.Forbidden(err) }

func move(ctx context.Context, provider *goose.Provider,
	choose func(newest int64) (int64, error)) (version int64, err error) {
	known := provider.ListSources()
	newest := known[len(known)-1].Version
	version, err = choose(newest)
	if err != nil {
		return 0, err
	}
	at, err := provider.GetDBVersion(ctx)
	if err != nil {
		return 0, err
	}
	switch {
	case at > newest:
		return 0, fmt.Errorf("%w: it is at version %d and this program supports %d; start the newer "+
			"program, or migrate back with it first", ErrNewer, at, newest)
	case at < version:
		_, err = provider.UpTo(ctx, version)
	case at > version:
		_, err = provider.DownTo(ctx, version)
	}
	return version, err
}
