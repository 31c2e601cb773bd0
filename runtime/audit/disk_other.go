//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package audit

import (
	"io/fs"
	"os"
)

const posix = false

const noFollow = 0

// ofUser does nothing: the standard library knows no owner.
func ofUser(string, fs.FileInfo) error { return nil }

// lockFile opens the file: what locks there are, the standard library does not have.
func lockFile(path string) (*os.File, error) {
	return openOwn(path, os.O_RDWR|os.O_CREATE)
}

// syncDirectory does nothing: directories cannot be synced.
func syncDirectory(string) error { return nil }
