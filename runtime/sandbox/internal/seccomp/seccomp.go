// Package seccomp refuses the system calls that no handler needs, on all threads of this process
// and in all programs that it starts.
package seccomp

// Options choose the filter, before the request is known.
type Options struct {
	// Net leaves TCP and UDP.
	Net bool
	// Group keeps all processes in the process group: nothing else holds them together.
	Group bool
	// Mounts leaves the calls that mount, in a mount namespace, until [RestrictPreparation].
	Mounts bool
	// Partial accepts a kernel without some of the parts.
	Partial bool
}
