// Package commit brings emitted files to the disk: all of them or none, each whole, and only
// those that differ.
package commit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mcpgen/mcpgen/generator/emit"
)

// Why a file could not be written, for callers that tell the user what to do. Every error of this
// package that has one of these causes matches it under errors.Is; the cause stays in the chain.
var (
	ErrPermission = errors.New("no permission to write here")
	ErrFull       = errors.New("no space is left on the device")
	// ErrNotRegular says that a directory, a symbolic link or a device stands where a file
	// belongs. A link is not followed: what mcpgen writes stays in the package's directory.
	ErrNotRegular = errors.New("not a regular file")
)

// Error says which file could not be written or removed.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause, which matches one of the errors of this package where it is known.
func (e *Error) Unwrap() error { return e.Err }

// Write makes the disk hold files and none of remove, and returns the paths that it changed, sorted. A
// file that already has its content is left alone, and so is one that differs in line ends alone, since
// version control may rewrite these. An existing file keeps its permissions.
//
// Each file appears whole or not at all: it is written beside its place, flushed, and renamed.
// Nothing is renamed before all are written, which is when a disk is found full. After an
// error nothing is changed, as far as the system allows: what had been renamed is put back, and an error in
// doing so is joined to the first.
//
// Two runs at once over one directory leave the files of the one or the other.
func Write(files []emit.File, remove []string) (changed []string, err error) {
	return writeTo(system{}, files, remove)
}

func writeTo(d disk, files []emit.File, remove []string) (changed []string, err error) {
	run := transaction{disk: d}
	defer func() {
		if err != nil {
			changed, err = nil, errors.Join(err, run.undo())
		}
	}()
	for _, file := range files {
		if err := run.stage(file); err != nil {
			return nil, failed(file.Path, err)
		}
	}
	for _, path := range remove {
		if err := run.stageRemoval(path); err != nil {
			return nil, failed(path, err)
		}
	}
	for i := range run.changes {
		if err := run.apply(&run.changes[i]); err != nil {
			return nil, failed(run.changes[i].path, err)
		}
		changed = append(changed, run.changes[i].path)
	}
	run.finish()
	slices.Sort(changed)
	return changed, nil
}

// transaction is the changes of one run, and how far each has come.
type transaction struct {
	disk    disk
	changes []change
}

type change struct {
	path    string
	staged  string // the new file, beside its place; empty for a removal
	backup  string // the old file, beside its place, from apply on; empty where there was none
	exists  bool   // there is an old file
	applied bool
}

// stage writes the new file beside its place, unless the old one is as good.
func (t *transaction) stage(file emit.File) error {
	old, info, err := current(t.disk, file.Path)
	if err != nil {
		return err
	}
	if info != nil && same(old, file.Content) {
		return nil
	}
	staged, err := t.disk.WriteBeside(file.Path, file.Content, info)
	if err != nil {
		return err
	}
	t.changes = append(t.changes, change{path: file.Path, staged: staged, exists: info != nil})
	return nil
}

func (t *transaction) stageRemoval(path string) error {
	info, err := t.disk.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s; remove it by hand", ErrNotRegular, kind(info))
	}
	t.changes = append(t.changes, change{path: path, exists: true})
	return nil
}

// apply puts the new file in the place of the old one, which keeps a second name until the run has
// succeeded: putting it back then needs no space.
func (t *transaction) apply(c *change) error {
	if c.exists {
		backup := beside(c.path, "old")
		if err := t.disk.Backup(c.path, backup); err != nil {
			return err
		}
		c.backup = backup
	}
	var err error
	if c.staged == "" {
		err = t.disk.Remove(c.path)
	} else {
		err = t.disk.Rename(c.staged, c.path)
	}
	if err != nil {
		return err
	}
	c.applied = true
	return nil
}

// undo takes back what a failed run has done, last first.
func (t *transaction) undo() error {
	var errs []error
	note := func(path string, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, failed(path, fmt.Errorf("putting back what was there: %w", err)))
		}
	}
	for _, c := range slices.Backward(t.changes) {
		switch {
		case c.backup != "":
			note(c.path, t.disk.Rename(c.backup, c.path))
			// Where both are one file, rename(2) does nothing and leaves both names.
			note(c.backup, t.disk.Remove(c.backup))
		case c.applied:
			note(c.path, t.disk.Remove(c.path))
		}
		if c.staged != "" && !c.applied {
			note(c.staged, t.disk.Remove(c.staged))
		}
	}
	return errors.Join(errs...)
}

// finish drops the old files. All new ones are in place: a leftover is hidden from the go command
// by the dot of its name and fails nobody.
func (t *transaction) finish() {
	dirs := map[string]bool{}
	for _, c := range t.changes {
		if c.backup != "" {
			_ = t.disk.Remove(c.backup)
		}
		if dir := filepath.Dir(c.path); !dirs[dir] {
			dirs[dir] = true
			t.disk.Sync(dir)
		}
	}
}

// current reads what stands at a path: nothing, a regular file, or an error.
func current(d disk, path string) ([]byte, fs.FileInfo, error) {
	info, err := d.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%w: %s; move it away and run mcpgen again", ErrNotRegular, kind(info))
	}
	content, err := d.ReadFile(path)
	return content, info, err
}

func kind(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "it is a directory"
	case mode&fs.ModeSymlink != 0:
		return "it is a symbolic link"
	}
	return "it is a device, a pipe or a socket"
}

// same reports whether two files are equal but for their line ends.
func same(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(unixLines(a), unixLines(b))
}

func unixLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

// failed says what could not be done to a file, and why in the words of this package where they fit.
func failed(path string, err error) error {
	if cause := cause(err); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return &Error{Path: path, Err: err}
}

func cause(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ErrPermission
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ErrFull
	}
	return nil
}
