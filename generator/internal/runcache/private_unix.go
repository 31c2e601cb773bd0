//go:build unix

package runcache

import (
	"io/fs"
	"os"
	"syscall"
)

// private reports whether a directory is the user's own, and neither its group nor others may write
// to it.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
