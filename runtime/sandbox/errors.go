package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errClosed is what a call gets from a pool that was closed.
var errClosed = errors.New("the server is shutting down: no more isolated calls")

// Limit names a limit of an isolated call.
type Limit string

// The limits that a [LimitError] names.
const (
	Timeout   Limit = "timeout"
	Memory    Limit = "memory"
	CPU       Limit = "cpu"
	Output    Limit = "output"
	OpenFiles Limit = "open files"
	FileSize  Limit = "file size"
	Processes Limit = "processes"
	// SystemCall is a call to the kernel that no handler has business with, such as tracing another
	// process. The process ends at once.
	SystemCall Limit = "system call"
	// Concurrency and Rate are those of a [Limiter], Quota that of a [ClientWorkspace].
	Concurrency Limit = "calls at a time"
	Rate        Limit = "rate"
	Quota       Limit = "workspace"
)

// known reports whether there is such a limit.
func (l Limit) known() bool {
	switch l {
	case Timeout, Memory, CPU, Output, OpenFiles, FileSize, Processes, SystemCall, Concurrency, Rate, Quota:
		return true
	}
	return false
}

// LimitError says that a call ended because it reached a limit. By the time it is returned the
// call's processes have ended.
type LimitError struct {
	// Limit is the one that was reached.
	Limit Limit
	// Bound is where it lies, for people; empty where it is not a number.
	Bound string
	// After is how long to wait before a call may be let in, where the limit is on the rate.
	After time.Duration
}

// Error implements error.
func (e *LimitError) Error() string {
	if e.Limit == SystemCall {
		return "the tool made a system call that is forbidden in isolation"
	}
	if e.After > 0 {
		return fmt.Sprintf("the limit on the %s (%s) is reached: try again after %s", e.Limit, e.Bound, e.After.Round(time.Millisecond))
	}
	if e.Bound == "" {
		return "the tool reached its limit on " + string(e.Limit)
	}
	return fmt.Sprintf("the tool reached its limit on %s (%s)", e.Limit, e.Bound)
}

// Reached names the limit.
func (e *LimitError) Reached() string { return string(e.Limit) }

// HandlerError is an error that a handler returned.
type HandlerError struct {
	// Message is the error's text, cut at 64 KiB.
	Message string
}

// Error returns Message.
func (e *HandlerError) Error() string { return e.Message }

// HandlerError returns the words of the handler's error.
func (e *HandlerError) HandlerError() string { return e.Message }

// CrashError says that the helper ended without an answer: the handler panicked or ended the
// process. What it was, and a stack, are for the log ([Options].Log), not for the client.
type CrashError struct {
	// Panic says that a panic was the reason, as far as that is known.
	Panic bool
	// State is how the process ended, such as "exit status 3"; empty where the panic was recovered.
	State string
}

// Error implements error.
func (e *CrashError) Error() string {
	if e.Panic {
		return "the tool panicked"
	}
	return "the tool's process ended without a result:  " + e.State
}

// MissingError says what a machine lacks for isolation.
type MissingError struct {
	// Parts are what is missing, a sentence each.
	Parts []string
}

// Error implements error.
func (e *MissingError) Error() string {
	return "this system cannot isolate a handler: " + strings.Join(e.Parts, "; ") +
		". Run on Linux 6.2 or later with Landlock, seccomp and namespaces, or accept less isolation (SandboxBestEffort)"
}

// bound returns where a limit lies, for people.
func bound(limit Limit, l Limits) string {
	switch limit {
	case Timeout:
		return lasting(l.Timeout)
	case CPU:
		return l.CPU.String() + " of processor time"
	case Memory:
		return size(l.Memory)
	case Output:
		return size(l.Output)
	case FileSize:
		return size(l.FileSize)
	case OpenFiles:
		return strconv.Itoa(l.OpenFiles)
	case Processes:
		return strconv.Itoa(l.Processes)
	}
	return ""
}

// lasting returns a time without what it has lost since the call came: a server gives a call what
// is left until its deadline.
func lasting(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d >= 10*time.Second:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	case d >= 20*time.Millisecond:
		d = d.Round(10 * time.Millisecond)
	}
	return d.String()
}

// size returns a number of bytes, for people.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
