package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runtime/store/internal/migrate"
)

// files are the files of an open database: its own and its log, with -wal after its name. SQLite
// also writes to a deleted file, and loses that data.
type files struct {
	// keeper is an otherwise unused connection. While it is open, no process deletes or replaces
	// the log: only the last connection to a database does so when it closes.
	keeper driver.Conn
	open   map[string]fs.FileInfo // by path
	real   string                 // the database's path without links
}

// hold opens the keeper and records its open files.
func hold(ctx context.Context, path string, by driver.Connector) (*files, error) {
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
	f := &files{keeper, map[string]fs.FileInfo{path: before}, real}
	// The first statement creates and opens the log. SQLite opens a read-only file without an
	// error, and fails here.
	err = patiently(ctx, func() error {
		return migrate.Execute(ctx, keeper, `UPDATE store_revision SET revision = revision`)
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

// errMoved reports that writes would be lost at a restart.
var errMoved = errors.New("the open file was deleted or moved")

// present returns an error unless each path leads to the open file.
func (f *files) present() error {
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

// space writes a megabyte beside the database and deletes it. One row may fit into free pages
// although the disk is full.
func (f *files) space() error {
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

// keeping is a connector that closes the keeper when its pool is closed.
type keeping struct {
	driver.Connector
	*files
}

func (k keeping) Close() error { return k.keeper.Close() }
