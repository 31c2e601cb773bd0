package sandbox

import (
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A running call's memory is looked at again and again: what RLIMIT_DATA counts is what may be
// written to, and not what was and is readable only by now, nor what takes the place of a
// reservation.
const (
	lookEvery = 50 * time.Millisecond
	lookShare = 20       // as many times as long as looking took is the pause, at least
	lookSlack = 16 << 20 // stacks, above all, which RLIMIT_DATA leaves out
)

// holdMemory calls a function when the helper, or a process below it, has more private memory
// resident than a process that keeps to its RLIMIT_DATA can have. stop has to be called when the
// call is over; the function is not called any more when it returns.
func (p *process) holdMemory(l Limits, reached func()) (stop func()) {
	most := p.data + l.Memory + threadStacks + lookSlack
	var mu sync.Mutex
	var timer *time.Timer
	over := false
	look := func() {
		begin := time.Now()
		largest := p.largest()
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

// largest is the most private memory that the helper or one of the processes below it has resident.
// The helper is not waited for yet, so that its number is its own.
func (p *process) largest() (most int64) {
	for pid := range withDescendants(p.proc.Pid) {
		if statm, err := statmOf(pid); err == nil {
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

// statmOf returns the first six numbers of proc_pid_statm(5), in bytes: size resident shared text
// lib data.
func statmOf(pid int) (bytes [6]int64, err error) {
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
