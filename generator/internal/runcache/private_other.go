//go:build !unix

package runcache

import "io/fs"

// private returns true: the system's own rules protect the user's cache directory.
func private(fs.FileInfo) bool { return true }
