//go:build unix

// Package descriptors reads how many files a process may have open.
package descriptors

import "syscall"

// Limit returns how many file descriptors the process may have, or 0 if the limit is not known.
func Limit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return int(min(uint64(limit.Cur), 1<<30)) // signed on FreeBSD
}
