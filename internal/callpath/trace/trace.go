// Package trace records the functions that a process enters, of all goroutines, in order of time.
// It imports no package of this module, so that every package of the module may import it.
package trace

import "sync"

// Entry is one entered function: its file, relative to the module's root, and the line of its body.
type Entry struct {
	File string
	Line int
}

var (
	mu      sync.Mutex
	entries []Entry
)

// Enter records one entered function.
func Enter(file string, line int) {
	mu.Lock()
	defer mu.Unlock()
	entries = append(entries, Entry{file, line})
}

// Len returns the number of recorded functions.
func Len() int {
	mu.Lock()
	defer mu.Unlock()
	return len(entries)
}

// Take returns the recorded functions and removes them.
func Take() []Entry {
	mu.Lock()
	defer mu.Unlock()
	taken := entries
	entries = nil
	return taken
}
