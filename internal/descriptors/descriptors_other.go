//go:build !unix

// Package descriptors reads how many files a process may have open.
package descriptors

// Limit returns 0: the system has no such limit.
func Limit() int { return 0 }
