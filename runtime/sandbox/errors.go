package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errClosed is the error of a call to a closed pool.
var errClosed = errors.New("the server is shutting down: no more isolated calls")

// limitName names a limit of an isolated call.
type limitName string

// The limits that a [limitError] names.
const (
	limitTime      limitName = "timeout"
	limitMemory    limitName = "memory"
	limitCPU       limitName = "cpu"
	limitOutput    limitName = "output"
	limitFiles     limitName = "open files"
	limitFileSize  limitName = "file size"
	limitProcesses limitName = "processes"
	// limitSyscall is a system call that no handler needs, such as tracing another process. The
	// process ends at once.
	limitSyscall limitName = "system call"
	// limitCalls is the limit of [Options].Max and [Options].Share, limitQuota that of a
	// [ClientWorkspace].
	limitCalls limitName = "calls at a time"
	limitQuota limitName = "workspace"
)

// limitNames are all limits.
var limitNames = []limitName{limitTime, limitMemory, limitCPU, limitOutput, limitFiles,
	limitFileSize, limitProcesses, limitSyscall, limitCalls, limitQuota}

// limitError reports that a call ended at a limit. The processes of the call have ended before it
// is returned.
type limitError struct {
	// Limit is the limit that was reached.
	Limit limitName
	// Bound is the value of the limit as text. It is empty if it is not a number.
	Bound string
}

// Error implements error.
func (e *limitError) Error() string {
	if e.Limit == limitSyscall {
		return "the tool made a system call that is forbidden in isolation"
	}
	if e.Bound == "" {
		return "the tool reached its limit on " + string(e.Limit)
	}
	return fmt.Sprintf("the tool reached its limit on %s (%s)", e.Limit, e.Bound)
}

// Reached returns the name of the limit.
func (e *limitError) Reached() string { return string(e.Limit) }

// handlerError is an error that a handler returned.
type handlerError struct {
	// Message is the error's text, cut at 64 KiB.
	Message string
}

// Error returns Message.
func (e *handlerError) Error() string { return e.Message }

// HandlerError returns the text of the handler's error.
func (e *handlerError) HandlerError() string { return e.Message }

// crashError reports that the helper ended without a response: the handler panicked or ended the
// process. The panic and its stack go to [Options].Log, not to the client.
type crashError struct {
	// Panic is true if the reason is known to be a panic.
	Panic bool
	// State is how the process ended, such as "exit status 3". It is empty for a recovered panic.
	State string
}

// Error implements error.
func (e *crashError) Error() string {
	if e.Panic {
		return "the tool panicked"
	}
	return "the tool's process ended without a result:  " + e.State
}

// missingError lists the parts that a system lacks for isolation.
type missingError struct {
	// Parts are the missing parts, a sentence each.
	Parts []string
}

// Error implements error.
func (e *missingError) Error() string {
	return "this system cannot isolate a handler: " + strings.Join(e.Parts, "; ") +
		". Run on Linux 6.2 or later with Landlock, seccomp and namespaces, " +
		"or accept less isolation (Options.BestEffort)"
}

// bound returns the value of a limit as text.
func bound(limit limitName, l Limits) string {
	switch limit {
	case limitTime:
		return lasting(l.Timeout)
	case limitCPU:
		return l.CPU.String() + " of processor time"
	case limitMemory:
		return size(l.Memory)
	case limitOutput:
		return size(l.Output)
	case limitFileSize:
		return size(l.FileSize)
	case limitFiles:
		return strconv.Itoa(l.OpenFiles)
	case limitProcesses:
		return strconv.Itoa(l.Processes)
	}
	return ""
}

// lasting formats a time limit, rounded: the server passes the time left until its deadline.
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

// size formats a number of bytes.
func size(bytes int64) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
