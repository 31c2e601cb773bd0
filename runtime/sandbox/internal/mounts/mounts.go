// Package mounts gives a helper a root of its own, with granted files only.
//
// Landlock controls opening and changing files, but not stat(2) or mmap(2) with PROT_EXEC. A mount
// namespace closes both: the helper's root contains only what the call needs, and nothing in it is
// executable unless granted so.
package mounts

// Granted lists the mounts of a helper's call.
type Granted struct {
	// Names are the names of all descriptors, empty for an open file. Open is the number of the
	// first ones that are passed open. The last ones are paths: Execute reports for each whether it
	// may be executed.
	Names   []string
	Open    int
	Execute []bool
	Links   []Link
	// Named finds each by its name, because the server may not clone mounts.
	Named bool
}

// Link is a symbolic link.
type Link struct{ Name, To string }
