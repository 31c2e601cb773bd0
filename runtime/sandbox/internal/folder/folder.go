// Package folder counts and removes the content of a folder that others change at the same time.
package folder

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
)

// Entry describes a file or folder for counting.
type Entry struct {
	Above  int // number of enclosing folders
	Folder bool
	Bytes  int64 // occupied bytes, 0 unless it is a regular file
	ID     Inode // of a regular file
	Shared bool  // the file has more than one name
}

// Inode identifies a file.
type Inode struct{ Device, Number uint64 }

// RemoveContents removes the content of a folder. It leaves no root: it removes links without
// following them. A mount in the folder is an error.
func RemoveContents(dir *os.Root) error {
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		err = errors.Join(err, removeAll(dir, e.Name()))
	}
	return err
}

// removeAll removes a folder and its content, at any depth and with any modes. The standard library
// holds a descriptor for each level.
func removeAll(root *os.Root, name string) error {
	pending := []string{name}
	for len(pending) > 0 {
		last := pending[len(pending)-1]
		below, err := lift(root, last)
		if err != nil {
			return err
		}
		if below == nil {
			pending = pending[:len(pending)-1]
		}
		pending = append(pending, below...)
	}
	return nil
}

// lift removes a file, or a folder whose folders are empty. It moves other folders in it to the
// top, if it may, and returns their new names.
func lift(root *os.Root, name string) (moved []string, err error) {
	if err := root.Remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	open := func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|asFolder, 0) }
	dir, err := open()
	if errors.Is(err, fs.ErrPermission) {
		if err = root.Chmod(name, 0o700); err == nil {
			dir, err = open()
		}
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := sameMount(root, dir); err != nil {
		return nil, err
	}
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			below := name + "/" + e.Name()
			if err := root.Remove(below); err == nil || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !e.IsDir() {
				return nil, &fs.PathError{Op: "remove", Path: below, Err: err}
			}
			top := SpareName()
			err := root.Rename(below, top)
			if errors.Is(err, fs.ErrPermission) { // to move a folder, it must be writable
				if err = root.Chmod(below, 0o700); err == nil {
					err = root.Rename(below, top)
				}
			}
			if errors.Is(err, fs.ErrPermission) { // a call that may only remove cannot move it
				top, err = below, nil
			}
			if err != nil {
				return nil, err
			}
			moved = append(moved, top)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if moved == nil {
		return nil, root.Remove(name)
	}
	return moved, nil
}

// SpareName returns an unused name like a workspace's: after a killed server, the directory expires
// like one.
func SpareName() string {
	b := make([]byte, sha256.Size)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
