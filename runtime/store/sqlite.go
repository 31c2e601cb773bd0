package store

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
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed migrations/sqlite/*.sql
var sqliteMigrations embed.FS

const (
	// busy is how long a statement waits for a writer of another process.
	busy = 5 * time.Second
	// migrating is how long one that migrates does.
	migrating = time.Minute
	// readers is how many connections read at once. They share the file's cache of the system.
	readers = 4
)

func sqliteEngine(path string) (*engine, error) {
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		if !strings.HasPrefix(rest, "/") {
			// What was meant may have a password in it.
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
	migrations, err := fs.Sub(sqliteMigrations, "migrations/sqlite")
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	var files *sqliteFiles
	e := &engine{
		name: "SQLite", dialect: goose.DialectSQLite3, migrations: migrations, oneWriter: true,
		changes: 1,
		open: func(ctx context.Context) (*sql.DB, *sql.DB, error) {
			waiting := "busy_timeout(" + milliseconds(busy) + ")"
			// FULL: what was acknowledged is on the disk, and survives the machine as well.
			writer, err := sqliteConnector(path, waiting, "foreign_keys(1)", "synchronous(FULL)")
			if err != nil {
				return nil, nil, err
			}
			reader, err := sqliteConnector(path, waiting, "query_only(1)")
			if err != nil {
				return nil, nil, err
			}
			if files, err = sqliteHold(ctx, path, writer); err != nil {
				return nil, nil, fmt.Errorf("store: open %s: %w", path, sqliteCured(path, err))
			}
			writes, reads := sql.OpenDB(keeping{writer, files}), sql.OpenDB(reader)
			writes.SetMaxOpenConns(1)
			reads.SetMaxOpenConns(readers)
			reads.SetMaxIdleConns(readers)
			return writes, reads, nil
		},
		connect: func(ctx context.Context) (driver.Conn, error) { return sqliteConnect(ctx, path) },
		begin: func(ctx context.Context, c driver.Conn) error {
			if err := sqliteWAL(ctx, c); err != nil { // outside of a transaction only
				return err
			}
			return sqlitePatiently(ctx, func() error { return execute(ctx, c, "BEGIN IMMEDIATE") })
		},
		verify:  sqliteVerify,
		present: func() error { return files.present() },
		space:   func() error { return files.space() },
		moment:  func(t time.Time) any { return t.UnixMicro() },
		fault:   sqliteFault,
		cured:   func(err error) error { return sqliteCured(path, err) },
	}
	e.insert = sqliteInsert(e)
	return e, nil
}

func milliseconds(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

func sqliteConnector(path string, pragmas ...string) (driver.Connector, error) {
	// Every transaction writes, and so asks for the lock at its start: one that asked halfway would
	// fail where it could have waited.
	options := url.Values{"_pragma": pragmas, "_txlock": {"immediate"}}
	source := url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: options.Encode()}
	connector, err := sqlite.NewConnector(source.String())
	if err != nil {
		return nil, fmt.Errorf("store: %s: %w", path, err)
	}
	return connector, nil
}

// sqliteConnect opens the connection that migrates. Foreign keys are off on it, since they cannot
// be switched within a transaction and rebuilding a table needs them off; see [sqliteVerify].
func sqliteConnect(ctx context.Context, path string) (driver.Conn, error) {
	// An existing file is not opened here: closing it would release the locks that SQLite has on it
	// in this process.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// SQLite would make a file that all users of the machine can read.
		var file *os.File
		if file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err == nil {
			err = file.Close()
		}
	} else if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a directory", path)
	}
	if err != nil {
		return nil, fmt.Errorf("store: the database's file: %w; %s", err, sqliteFileCure(path))
	}
	if err := sqliteTighten(path); err != nil {
		return nil, fmt.Errorf("store: the database's file: %w", err)
	}
	connector, err := sqliteConnector(path, "busy_timeout(0)", "foreign_keys(0)",
		"synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	var c driver.Conn
	err = sqlitePatiently(ctx, func() (err error) {
		c, err = connector.Connect(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("store: open %s: %w", path, sqliteCured(path, err))
	}
	return c, nil
}

// sqliteTighten takes every right on a file of a database from all but its owner, and on those
// beside it, which SQLite makes with the rights of the file (its documentation, "Temporary Files
// Used By SQLite"). Where it is another user's, it is refused if others can write to it: the roles
// of all are in there. A symbolic link stands for what it leads to.
func sqliteTighten(path string) error {
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
		// Not opened, since a file that is closed loses the locks that SQLite has on it in this
		// process.
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

// sqliteFileCure says what to do where the file of a path cannot be opened or made.
func sqliteFileCure(path string) string {
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

// sqliteCured adds what to do about an error of SQLite (its documentation, "Result and Error
// Codes").
func sqliteCured(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch code := e.Code(); {
	case code&0xff == sqlite3.SQLITE_CANTOPEN, code&0xff == sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w; %s, the files beside it with -wal and -shm after its name, and their "+
			"directory must be writable for the server's user", err, path)
	case code&0xff == sqlite3.SQLITE_FULL:
		return fmt.Errorf("%w; make room on the disk of %s", err, path)
	case code&0xff == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w; %s is not a database: use another file in the URL, or move this one away",
			err, path)
	}
	return err
}

// sqliteWAL sets the journal mode, which stays with the file.
func sqliteWAL(ctx context.Context, c driver.Conn) error {
	var mode string
	err := sqlitePatiently(ctx, func() (err error) {
		mode, err = text(ctx, c, "PRAGMA journal_mode = WAL")
		return err
	})
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the journal mode is %q instead of WAL: put the file on a local disk",
			mode)
	}
	return err
}

// sqlitePatiently does something again while another process has the lock for it, for as long as
// migrating may take or until ctx ends. SQLite itself waits for some locks only, and for no
// context.
func sqlitePatiently(ctx context.Context, do func() error) error {
	for deadline := time.Now().Add(migrating); ; {
		err := do()
		switch {
		case !sqliteBusy(err):
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

// sqliteVerify looks for rows that a migration left without what they belong to, as the
// connection's foreign keys are off.
func sqliteVerify(ctx context.Context, c driver.Conn) error {
	table, err := text(ctx, c, "PRAGMA foreign_key_check")
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("rows of %s have lost the rows that they refer to", table)
}

func sqliteBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

func sqliteFault(err error) fault {
	var e *sqlite.Error
	if errors.Is(err, errMoved) || errors.Is(err, errNoSpace) {
		return unwritable
	}
	if !errors.As(err, &e) {
		return other
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return taken
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return orphan
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return unfit
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR:
		return unwritable
	}
	return other
}
