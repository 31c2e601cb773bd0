package audit

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// openOwn opens a file that no other user can have created or can change: a regular file and no
// link, of this process's user or root, that only its owner may write and not all may read.
func openOwn(path string, flags int) (*os.File, error) {
	// before it is opened: a pipe would wait for its other end
	if there, err := os.Lstat(path); err == nil {
		switch {
		case there.Mode()&fs.ModeSymlink != 0:
			return nil, linked(path)
		case !there.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file: use another path", path)
		}
	}
	file, err := os.OpenFile(path, flags|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := owned(path, file); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func owned(path string, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	there, err := os.Lstat(path)
	if err != nil || !os.SameFile(there, info) || !info.Mode().IsRegular() {
		return linked(path)
	}
	if err := ofUser(path, info); err != nil {
		return err
	}
	if loose := info.Mode().Perm() & 0o037; loose != 0 && posix {
		return fmt.Errorf("%s has the permissions %#o: others may read or change it; chmod 600 it",
			path, info.Mode().Perm())
	}
	return nil
}

func linked(path string) error {
	return fmt.Errorf("%s is a link, or was replaced during opening: use the path of the file "+
		"itself, in a directory that only you can write", path)
}

// sheltered refuses a directory in which other users can replace this file.
func sheltered(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 && posix {
		return fmt.Errorf("any user can replace the files in %s, which has the permissions %#o: "+
			"chmod o-w it, or create a directory for the trail with mkdir -m 700", dir, info.Mode().Perm())
	}
	return nil
}
