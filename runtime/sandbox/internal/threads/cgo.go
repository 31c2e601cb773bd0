//go:build cgo

// Package threads contains the differences of isolation in a program with cgo.
package threads

// OwnPIDs reports that helpers get a pid namespace each. In a program with cgo, threads are the C
// library's. Restricting all of them needs their numbers from /proc, in the server's pid namespace.
// So helpers stay in it, and the process group holds their programs together (see package seccomp).
const OwnPIDs = false

// Stacks is the amount of threads' stacks in RLIMIT_DATA: the C library reserves 8 MiB for each, of
// which almost nothing is used.
const Stacks = 32 * 8 << 20
