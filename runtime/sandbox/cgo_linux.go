//go:build cgo

package sandbox

// In a program with cgo, threads are the C library's. Restricting all of them needs their numbers
// as /proc has them, which are those of the server's pid namespace: so helpers stay in it, and
// the process group is what holds their programs together (see restrictCalls).
const ownPIDs = false

// threadStacks is what the stacks of threads count towards RLIMIT_DATA: the C library
// takes 8 MiB for each, of which next to nothing is used.
const threadStacks = 32 * 8 << 20
