//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package audit

import "os"

const posix = false

// lockFile opens the file: what locks there are, the standard library does not have.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// syncDirectory does nothing: directories cannot be synced.
func syncDirectory(string) error { return nil }
