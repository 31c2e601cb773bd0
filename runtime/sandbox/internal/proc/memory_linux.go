// Package proc reads a helper's and its descendants' memory and files without a name from /proc.
package proc

import (
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A running call's memory is checked repeatedly: RLIMIT_DATA counts writable memory only, not
// memory that was made read-only, nor memory that replaces a reservation.
const (
	lookEvery = 50 * time.Millisecond
	lookShare = 20       // minimum pause, as a multiple of the time of a check
	lookSlack = 16 << 20 // mainly for stacks, which RLIMIT_DATA omits
)

// HoldMemory calls a function when the helper, or a process below it, has more private memory
// resident than its RLIMIT_DATA, most, allows. Call stop when the call is over. The function is not
// called after stop has returned.
func HoldMemory(pid int, most int64, reached func()) (stop func()) {
	most += lookSlack
	var mu sync.Mutex
	var timer *time.Timer
	over := false
	look := func() {
		begin := time.Now()
		largest := largest(pid)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case over:
		case largest > most:
			reached()
		default:
			timer.Reset(max(lookEvery, lookShare*time.Since(begin)))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(lookEvery, look)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}

// largest returns the largest private resident memory of the helper and the processes below it. The
// helper is not waited for yet, so its pid is not reused.
func largest(pid int) (most int64) {
	for pid := range withDescendants(pid) {
		if statm, err := statm(pid); err == nil {
			most = max(most, statm[1]-statm[2])
		}
	}
	return most
}

// withDescendants yields a process and those below it.
func withDescendants(pid int) iter.Seq[int] {
	return func(yield func(int) bool) {
		pending := []int{pid}
		for looked := 0; len(pending) > 0 && looked < 1000; looked++ {
			pid := pending[len(pending)-1]
			pending = append(pending[:len(pending)-1], childrenOf(pid)...)
			if !yield(pid) {
				return
			}
		}
	}
}

// childrenOf returns the children of all threads of a process.
func childrenOf(pid int) (all []int) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, thread := range threads {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// Data returns the bytes of a process that RLIMIT_DATA counts.
func Data(pid int) (int64, error) {
	statm, err := statm(pid)
	return statm[5], err
}

// PeakMemory returns the peak resident memory of a process, 0 if it has ended. The kernel's
// accounting of an ended process would include the server's memory at the fork.
func PeakMemory(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(after, " kB")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0
	}
	return kilobytes << 10
}

// statm returns the first six numbers of proc_pid_statm(5), in bytes: size resident shared text
// lib data.
func statm(pid int) (bytes [6]int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return bytes, err
	}
	fields := strings.Fields(string(b))
	if len(fields) < len(bytes) {
		return bytes, fmt.Errorf("/proc/%d/statm: %q", pid, b)
	}
	for i := range bytes {
		pages, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return bytes, err
		}
		bytes[i] = pages * int64(os.Getpagesize())
	}
	return bytes, nil
}
