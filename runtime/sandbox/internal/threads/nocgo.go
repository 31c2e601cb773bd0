//go:build !cgo

// Package threads contains the differences of isolation in a program with cgo.
package threads

// OwnPIDs reports that helpers get a pid namespace each.
const OwnPIDs = true

// Stacks is the amount of threads' stacks in RLIMIT_DATA: Go's are small.
const Stacks = 0
