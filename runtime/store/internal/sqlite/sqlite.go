// Package sqlite keeps a store in an SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mcpgen/mcpgen/runtime/store/internal/fault"
	"github.com/mcpgen/mcpgen/runtime/store/internal/migrate"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// Busy is how long a statement waits for a writer of another process.
	Busy = 5 * time.Second
	// migrating is how long a migration waits for its lock.
	migrating = time.Minute
	// readers is the number of connections for reads. They share the system's cache of the file.
	readers = 4
	// checkpoint is the number of pages in the log after which they are copied to the file. A page
	// that has changed several times since is copied once.
	checkpoint = 4000
)

// Database is the file of a path.
type Database struct {
	path  string
	files *files // set by Open
}

// At returns the database of an absolute path, which is not open yet.
func At(path string) *Database { return &Database{path: path} }

// Open opens the pools of a database that has been migrated.
func (d *Database) Open(ctx context.Context) (writes, reads *sql.DB, err error) {
	waiting := fmt.Sprintf("busy_timeout(%d)", Busy.Milliseconds())
	// FULL: a commit is on the disk, and survives a crash of the machine.
	// MEMORY: the journal of a statement, for its undo, is in no temporary file.
	writer, err := d.connector(waiting, "foreign_keys(1)", "synchronous(FULL)",
		"temp_store(MEMORY)", fmt.Sprintf("wal_autocheckpoint(%d)", checkpoint))
	if err != nil {
		return nil, nil, err
	}
	reader, err := d.connector(waiting, "query_only(1)")
	if err != nil {
		return nil, nil, err
	}
	if d.files, err = hold(ctx, d.path, writer); err != nil {
		return nil, nil, fmt.Errorf("store: open %s: %w", d.path, d.Cured(err))
	}
	writes, reads = sql.OpenDB(keeping{writer, d.files}), sql.OpenDB(reader)
	writes.SetMaxOpenConns(1)
	reads.SetMaxOpenConns(readers)
	reads.SetMaxIdleConns(readers)
	return writes, reads, nil
}

// Migration migrates the file, which it creates if it is missing.
func (d *Database) Migration() migrate.Migration {
	files, _ := fs.Sub(migrations, "migrations") // an error is of an invalid name only
	return migrate.Migration{
		Dialect: goose.DialectSQLite3, Files: files, Connect: d.connect, Verify: verify,
		Index: index,
		Begin: func(ctx context.Context, c driver.Conn) error {
			if err := useWAL(ctx, c); err != nil { // outside of a transaction only
				return err
			}
			return patiently(ctx, func() error {
				return migrate.Execute(ctx, c, "BEGIN IMMEDIATE")
			})
		},
	}
}

// Present returns an error if a commit would be lost at a restart, because a file was deleted or
// moved.
func (d *Database) Present() error { return d.files.present() }

// Space returns an error if the disk is full.
func (d *Database) Space() error { return d.files.space() }

func (d *Database) connector(pragmas ...string) (driver.Connector, error) {
	// Every transaction writes, so it takes the lock at its start: to take it later would fail
	// instead of wait.
	// Without rw, a connection would create a file that was deleted.
	options := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}, "mode": {"rw"}}
	source := url.URL{Scheme: "file", Opaque: url.PathEscape(d.path), RawQuery: options.Encode()}
	connector, err := sqlite.NewConnector(source.String())
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", d.path, err)
	}
	return connector, nil
}

// connect opens the connection that migrates. Foreign keys are off on it, since they cannot
// be switched within a transaction and rebuilding a table needs them off; see [verify].
func (d *Database) connect(ctx context.Context) (driver.Conn, error) {
	// An existing file is not opened here: closing it would release the locks that SQLite has on it
	// in this process.
	info, err := os.Stat(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		// SQLite would make a file that all users of the machine can read.
		var file *os.File
		if file, err = os.OpenFile(d.path, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
			err = file.Close()
		}
	} else if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", d.path)
	}
	if err != nil {
		return nil, fmt.Errorf("store: the database's file: %w; %s", err, fileCure(d.path))
	}
	if err := tighten(d.path); err != nil {
		return nil, fmt.Errorf("store: the database's file: %w", err)
	}
	connector, err := d.connector("busy_timeout(0)", "foreign_keys(0)", "synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	var c driver.Conn
	err = patiently(ctx, func() (err error) {
		c, err = connector.Connect(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", d.path, d.Cured(err))
	}
	return c, nil
}

// tighten removes all permissions except the owner's from a database file and the files beside it,
// which get the permissions of the file (SQLite documentation, "Temporary Files Used By SQLite").
// It refuses another user's file if others can write to it, because roles are stored there. It
// follows a symbolic link.
func tighten(path string) error {
	const others = 0o077
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		if err := os.Chmod(path, 0o600); err != nil && mode&0o022 != 0 {
			return fmt.Errorf("%w; users other than its owner can write to it (%s): make the server's "+
				"user its owner with chown, or run chmod 600 %s", err, mode, path)
		}
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, beside := range []string{real + "-wal", real + "-shm"} {
		// Do not open it: closing it would release the locks that SQLite has on it in this process.
		if info, err := os.Lstat(beside); err == nil && info.Mode().IsRegular() &&
			info.Mode().Perm()&others != 0 {
			if err := os.Chmod(beside, 0o600); err != nil && info.Mode().Perm()&0o022 != 0 {
				return fmt.Errorf("%w; users other than its owner can write to it: remove it while no "+
					"server runs, or make the server's user its owner with chown", err)
			}
		}
	}
	return nil
}

// fileCure returns the cure if the file of a path cannot be opened or created.
func fileCure(path string) string {
	dir := filepath.Dir(path)
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return "use a file in that directory, for example sqlite:" + filepath.Join(path, "mcpgen.db")
	}
	switch info, err := os.Stat(dir); {
	case err != nil:
		return "its directory must exist: create " + dir
	case !info.IsDir():
		return "its directory must be a directory: " + dir
	}
	return "its directory must be writable for the server's user: " + dir
}

// Cured adds the cure to an error of SQLite (its documentation, "Result and Error Codes"). If a
// file of the open database is not at its path, that is the error, whatever the code: a new
// connection to a missing file gets one of many codes.
func (d *Database) Cured(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	if d.files != nil {
		if lost := d.files.present(); lost != nil {
			return fmt.Errorf("%w (%w)", lost, err)
		}
	}
	cure := ""
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		if e.Code() == sqlite3.SQLITE_READONLY_DBMOVED {
			return fmt.Errorf("%w: %w", errMoved, err)
		}
		cure = "%s, the files beside it with -wal and -shm after its name, and their directory must " +
			"be writable for the server's user, on a file system that is not mounted read-only"
	case sqlite3.SQLITE_IOERR:
		cure = "the system cannot read or write %s or the files beside it with -wal and -shm after its " +
			"name: check the disk. If one of them was deleted or cut, stop all servers of the database " +
			"and start them again"
	case sqlite3.SQLITE_FULL:
		cure = "make room on the disk of %s"
	case sqlite3.SQLITE_CORRUPT:
		cure = "%s is damaged: restore it from a backup and restart the server"
	case sqlite3.SQLITE_NOTADB:
		cure = "%s is not a database: use another file in the URL, or move this one away"
		if d.files != nil {
			cure = "%s was overwritten: restore it from a backup and restart the server"
		}
	default:
		return err
	}
	return fmt.Errorf("%w; "+cure, err, d.path)
}

// useWAL sets the journal mode, which stays with the file.
func useWAL(ctx context.Context, c driver.Conn) error {
	var mode string
	err := patiently(ctx, func() (err error) {
		mode, err = migrate.Text(ctx, c, "PRAGMA journal_mode = WAL")
		return err
	})
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the journal mode is %q instead of WAL: put the file on a local disk",
			mode)
	}
	return err
}

// patiently repeats do while another process has the lock, up to the limit of migrating or until
// ctx ends. SQLite itself waits for some locks only, and ignores contexts.
func patiently(ctx context.Context, do func() error) error {
	for deadline := time.Now().Add(migrating); ; {
		err := do()
		switch {
		case !busy(err):
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("wait for the migration lock: another process has had it for %s: %w",
				migrating, err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("wait for the migration lock: %w (%v)", ctx.Err(), err)
		}
	}
}

// between is the pause after an index. A writer that waits for the lock looks for it each 0.1
// seconds (SQLite source, sqliteDefaultBusyCallback).
const between = 250 * time.Millisecond

// index makes the indexes in a transaction each, so that other processes write between two.
func index(ctx context.Context, c driver.Conn, version int64) error {
	return migrate.Each(ctx, version, func(i migrate.Index) error {
		named := `(SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = '%s')`
		has := fmt.Sprintf(`SELECT 1 WHERE EXISTS `+named+` AND NOT EXISTS `+named, i.Name,
			i.Replaces)
		if done, err := migrate.Exists(ctx, c, has); done || err != nil {
			return err
		}
		for _, statement := range []string{"BEGIN IMMEDIATE",
			i.Create("IF NOT EXISTS", "at"), "DROP INDEX IF EXISTS " + i.Replaces, "COMMIT"} {
			err := patiently(ctx, func() error { return migrate.Execute(ctx, c, statement) })
			if err != nil {
				migrate.Execute(context.WithoutCancel(ctx), c, "ROLLBACK")
				return err
			}
		}
		filled, err := migrate.Exists(ctx, c, "SELECT 1 FROM audit_events")
		if !filled || err != nil {
			return err
		}
		select {
		case <-time.After(between):
		case <-ctx.Done():
		}
		return ctx.Err()
	})
}

// verify returns an error for broken references, because foreign keys are off on the connection.
func verify(ctx context.Context, c driver.Conn) error {
	table, err := migrate.Text(ctx, c, "PRAGMA foreign_key_check")
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("rows of %s have lost the rows that they refer to", table)
}

func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// Fault classifies an error of SQLite.
func Fault(err error) fault.Kind {
	var e *sqlite.Error
	if errors.Is(err, errMoved) || errors.Is(err, errNoSpace) {
		return fault.Unwritable
	}
	if !errors.As(err, &e) {
		return fault.Other
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return fault.Taken
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return fault.Orphan
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return fault.Unfit
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR:
		return fault.Unwritable
	}
	return fault.Other
}
