//go:build !unix

package seal

import "io/fs"

// private is what the system's own rules for a user's cache directory see to.
func private(fs.FileInfo) bool { return true }
