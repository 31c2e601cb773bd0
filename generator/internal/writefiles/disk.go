package writefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

// disk is the file system of a transaction. Tests have one that fails.
type disk interface {
	Lstat(path string) (fs.FileInfo, error)
	ReadFile(path string) ([]byte, error)
	// WriteBeside writes and flushes a temporary file in the directory of path, with the
	// permissions of old unless it is nil, and returns its path. After an error it leaves no file.
	WriteBeside(path string, content []byte, old fs.FileInfo) (string, error)
	// Backup gives a file a second name.
	Backup(path, backup string) error
	Rename(from, to string) error
	Remove(path string) error
	// Sync flushes a directory, so that its names survive a loss of power, if the system can do it.
	Sync(dir string)
}

// system is the real one.
type system struct{}

func (system) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

func (system) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

func (system) Rename(from, to string) error { return os.Rename(from, to) }

func (system) Remove(path string) error { return os.Remove(path) }

// beside names a file of this process in the directory of path. The go command ignores names
// with a leading dot.
func beside(path, what string) string {
	name := fmt.Sprintf(".%s.%d.%s", filepath.Base(path), os.Getpid(), what)
	return filepath.Join(filepath.Dir(path), name)
}

func (s system) WriteBeside(path string, content []byte, old fs.FileInfo) (
	staged string, err error,
) {
	mode := fs.FileMode(0o644)
	if old != nil {
		mode = old.Mode().Perm()
	}
	// The directory of a typed client may not exist yet; all others are those of packages.
	if filepath.Base(path) == emit.Client {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
	}
	name := beside(path, "new")
	// A killed process with the same id may have left a file of this name.
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	// O_EXCL does not follow a link of another user.
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(name))
		}
	}()
	if err := fill(file, content, mode, old != nil); err != nil {
		return "", errors.Join(err, file.Close())
	}
	return name, file.Close()
}

// fill writes and flushes a file. exact sets the permissions of the old file; those of a new file
// depend on the user's umask.
func fill(file *os.File, content []byte, mode fs.FileMode, exact bool) error {
	if _, err := file.Write(content); err != nil {
		return err
	}
	if exact {
		if err := file.Chmod(mode); err != nil {
			return err
		}
	}
	return file.Sync()
}

// Backup links the file, or copies it if the file system has no links.
func (s system) Backup(path, backup string) error {
	if err := os.Remove(backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Link(path, backup) == nil {
		return nil
	}
	return s.copyTo(backup, path)
}

func (s system) copyTo(to, from string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	written, err := s.WriteBeside(to, content, info)
	if err != nil {
		return err
	}
	return os.Rename(written, to)
}

func (system) Sync(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // some systems refuse this for directories
		_ = d.Close()
	}
}
