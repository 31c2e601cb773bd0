//go:build !cgo

package sandbox

// ownPIDs says that helpers get a pid namespace each.
const ownPIDs = true

// threadStacks is what the stacks of threads count towards RLIMIT_DATA: Go's are small.
const threadStacks = 0
