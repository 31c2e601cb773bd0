// Package writefiles writes emitted files to the disk: all of them or none, each atomically, and
// only the files that differ.
package writefiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

// These are the causes of a failed write for which a caller has advice for the user. Every error of
// this package with such a cause matches it under errors.Is; the system's error stays in the chain.
var (
	ErrPermission = errors.New("no permission to write here")
	ErrFull       = errors.New("no space is left on the device")
	// ErrNotRegular reports that the path is a directory, a symbolic link or a device. mcpgen does
	// not follow a link: it writes files in the package's directory only.
	ErrNotRegular = errors.New("not a regular file")
)

// Error is an error with the path of the file that could not be written or removed.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

// Unwrap returns the cause. A known cause matches one of the errors of this package.
func (e *Error) Unwrap() error { return e.Err }

// Write writes files, removes the paths in remove, and returns the paths that it changed, sorted.
// It does not touch a file that already has its content. Line ends do not count, since version
// control may rewrite them, and neither does a byte order mark. An existing file keeps its
// permissions, its line ends if all are \r\n, and a byte order mark, which JSON must not have.
//
// Each file appears whole or not at all: Write creates a temporary file in the same directory,
// flushes it and renames it. It renames no file before all are written, so that a full disk changes
// nothing. After an error Write restores the files that it had renamed or removed; an error of that
// is joined to the first.
//
// After two concurrent runs in one directory, each file is that of one of them.
func Write(files []emit.File, remove []string) (changed []string, err error) {
	writing.Lock()
	defer writing.Unlock()
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
		if stopped.Load() {
			return nil, errStopped
		}
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
		if stopped.Load() {
			return nil, errStopped
		}
		if err := run.apply(&run.changes[i]); err != nil {
			return nil, failed(run.changes[i].path, err)
		}
		changed = append(changed, run.changes[i].path)
	}
	run.finish()
	slices.Sort(changed)
	return changed, nil
}

// transaction is the changes of one run, and the state of each.
type transaction struct {
	disk    disk
	changes []change
}

type change struct {
	path    string
	staged  string // the new file, in the same directory; empty for a removal
	backup  string // the old file, in the same directory, after apply; empty if there was none
	exists  bool   // there is an old file
	applied bool
}

// stage writes the new file under a temporary name, unless the old one has the same content.
func (t *transaction) stage(file emit.File) error {
	old, info, err := current(t.disk, file.Path)
	if err != nil {
		return err
	}
	if info != nil && same(old, file.Content) {
		return nil
	}
	content := likeOld(file, old)
	staged, err := t.disk.WriteBeside(file.Path, content, info)
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

// apply replaces the old file by the new one. The old file keeps a second name until the run has
// succeeded: restoring it then needs no space.
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

// undo reverts the changes of a failed run, last first.
func (t *transaction) undo() error {
	var errs []error
	note := func(path string, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, failed(path, fmt.Errorf("restoring the old file: %w", err)))
		}
	}
	for _, c := range slices.Backward(t.changes) {
		switch {
		case c.backup != "":
			note(c.path, t.disk.Rename(c.backup, c.path))
			// If both names are links to one file, rename(2) does nothing and leaves both.
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

// finish removes the old files. It ignores errors: the go command ignores a file whose name begins
// with a dot.
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

// Unchanged reports whether the disk has the content of the file: Write does not touch it, and
// Stale does not report it.
func Unchanged(file emit.File) bool {
	old, info, err := current(system{}, file.Path)
	return err == nil && info != nil && same(old, file.Content)
}

// current reads the regular file at a path. The info is nil if the path does not exist.
func current(d disk, path string) ([]byte, fs.FileInfo, error) {
	info, err := d.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf(
			"%w: %s; move it away and run mcpgen again", ErrNotRegular, kind(info))
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

// same reports whether two files are equal but for their line ends and byte order marks.
func same(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(unixLines(a), unixLines(b))
}

var byteOrderMark = []byte("\ufeff")

// unixLines returns a text without its byte order mark, and with \n for each \r\n.
func unixLines(text []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(text, byteOrderMark), []byte("\r\n"), []byte("\n"))
}

// likeOld returns the content of a file as Write writes it in place of an old text.
func likeOld(file emit.File, old []byte) []byte {
	content := file.Content
	ends := bytes.Count(old, []byte("\r\n"))
	if ends > 0 && ends == bytes.Count(old, []byte("\n")) {
		content = bytes.ReplaceAll(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n")),
			[]byte("\n"), []byte("\r\n"))
	}
	if bytes.HasPrefix(old, byteOrderMark) && !bytes.HasPrefix(content, byteOrderMark) &&
		filepath.Ext(file.Path) != ".json" {
		content = slices.Concat(byteOrderMark, content)
	}
	return content
}

// failed returns an Error with the path and, for a known cause, with an error of this package.
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
