// Package rlimit lowers the kernel's limits of this process.
package rlimit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/threads"
)

// Limits are the limits of a call, each added to what this process has used before it.
type Limits struct {
	Memory, FileSize int64
	CPU              time.Duration
	Processes        int
}

// Lower lowers the hard limits of this process, so that nothing can raise them. Programs that it
// starts inherit them. statm is /proc/self/statm.
func Lower(l Limits, statm io.ReaderAt) error {
	data, err := dataBytes(statm)
	if err != nil {
		return err
	}
	seconds := uint64((OwnCPU() + l.CPU + time.Second - 1) / time.Second)
	for _, r := range []struct {
		resource int
		bound    uint64
	}{
		// Not RLIMIT_AS: a Go program reserves more address space than any useful limit.
		// RLIMIT_DATA counts private writable memory, which a handler can exhaust.
		{unix.RLIMIT_DATA, data + uint64(l.Memory) + threads.Stacks},
		// The hard limit kills. The soft one would only send a signal that can be caught.
		{unix.RLIMIT_STACK, 8 << 20}, // which RLIMIT_DATA omits
		{unix.RLIMIT_CPU, seconds},
		{unix.RLIMIT_FSIZE, uint64(l.FileSize)},
		// One byte instead of none also prevents piping a core to a program, which the kernel does
		// for any other limit (fs/coredump.c).
		{unix.RLIMIT_CORE, 1},
		{unix.RLIMIT_NPROC, uint64(l.Processes)},
		{unix.RLIMIT_MSGQUEUE, 0},
	} {
		if err := lower(r.resource, r.bound); err != nil {
			return err
		}
	}
	return nil
}

// LowerFiles lowers the limit on descriptor numbers, not on the number of open ones.
func LowerFiles(bound uint64) error { return lower(unix.RLIMIT_NOFILE, bound) }

// lower sets a limit, unless it is lower already.
func lower(resource int, bound uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(resource, &now); err != nil {
		return os.NewSyscallError("getrlimit", err)
	}
	bound = min(bound, now.Max)
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: bound, Max: bound}); err != nil {
		return os.NewSyscallError("setrlimit", err)
	}
	return nil
}

// dataBytes returns the bytes of this process that RLIMIT_DATA counts, with its small stack.
func dataBytes(statm io.ReaderAt) (uint64, error) {
	b := make([]byte, 256)
	n, err := statm.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	// proc_pid_statm(5): size resident shared text lib data dt
	fields := strings.Fields(string(b[:n]))
	if len(fields) < 6 {
		return 0, fmt.Errorf("/proc/self/statm: %q", b[:n])
	}
	pages, err := strconv.ParseUint(fields[5], 10, 64)
	return pages * uint64(os.Getpagesize()), err
}

// OwnCPU returns the processor time of this process.
func OwnCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
