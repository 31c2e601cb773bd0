package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// sqliteFiles are the files of an open database: its own and its log, with -wal after its name.
// SQLite writes to a deleted file as to any other, and loses what it wrote.
type sqliteFiles struct {
	// keeper is a connection that nothing else uses. While it is open, no process deletes the log
	// or makes another one: only the last connection to a database does so when it is closed.
	keeper driver.Conn
	open   map[string]fs.FileInfo // by path
	real   string                 // the database's path without links
}

// sqliteHold opens the keeper and learns which files it has open.
func sqliteHold(ctx context.Context, path string, by driver.Connector) (*sqliteFiles, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	before, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	keeper, err := by.Connect(ctx)
	if err != nil {
		return nil, err
	}
	f := &sqliteFiles{keeper, map[string]fs.FileInfo{path: before}, real}
	// The first statement opens the log, and makes it. SQLite opens a file that it may only read
	// without an error, and fails here.
	err = sqlitePatiently(ctx, func() error {
		return execute(ctx, keeper, `UPDATE store_revision SET revision = revision`)
	})
	if err == nil {
		f.open[real+"-wal"], err = os.Stat(real + "-wal")
	}
	if err == nil {
		err = f.present() // the file was not exchanged while it was opened
	}
	if err != nil {
		return nil, errors.Join(err, keeper.Close())
	}
	return f, nil
}

// errMoved: what is written now would be gone after a restart.
var errMoved = errors.New("the open file was deleted or moved")

// present returns an error unless each path leads to the open file.
func (f *sqliteFiles) present() error {
	for path, open := range f.open {
		now, err := os.Stat(path)
		if err == nil && os.SameFile(now, open) {
			continue
		}
		if err == nil {
			err = fmt.Errorf("%s is another file", path)
		}
		return fmt.Errorf("%w: %w; move it back, or restore the database from a backup and "+
			"restart the server", errMoved, err)
	}
	return nil
}

var errNoSpace = errors.New("a file beside the database cannot be written")

// space writes a megabyte beside the database and deletes it. SQLite may find room for one row in
// the pages that it has, and none for the next change.
func (f *sqliteFiles) space() error {
	file, err := os.CreateTemp(filepath.Dir(f.real), filepath.Base(f.real)+"-probe-*")
	if err == nil {
		_, err = file.Write(make([]byte, 1<<20))
		err = errors.Join(err, file.Sync(), file.Close(), os.Remove(file.Name()))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNoSpace, err)
	}
	return nil
}

// keeping is a connector whose pool closes the keeper at its end.
type keeping struct {
	driver.Connector
	*sqliteFiles
}

func (k keeping) Close() error { return k.keeper.Close() }
