//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package audit

import (
	"io/fs"
	"os"
)

const posix = false

const noFollow = 0

// ofUser does nothing: the standard library has no owner here.
func ofUser(string, fs.FileInfo) error { return nil }

// lockFile opens the file without a lock: the standard library has none here.
func lockFile(path string) (*os.File, error) {
	return openOwn(path, os.O_RDWR|os.O_CREATE)
}

// syncDirectory does nothing: directories cannot be synced.
func syncDirectory(string) error { return nil }
