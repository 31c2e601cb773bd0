package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// confine takes from this process, for good, whatever the request does not grant, and returns
// what it does. System calls are restricted already: that depends on the role alone.
func confine(my role, o order, descriptors []int, statm io.ReaderAt) (Job, error) {
	wanted := len(o.Files) + len(o.Paths)
	if o.Dir {
		wanted++
	}
	if len(descriptors) != wanted {
		return Job{}, fmt.Errorf("%d descriptors arrived of %d: the server may have reached its own limit on open files", len(descriptors), wanted)
	}
	if err := arrange(my, o, descriptors); err != nil {
		return Job{}, err
	}
	job := Job{Files: make(map[string]*os.File, len(o.Files))}
	for i, name := range o.Files {
		job.Files[name] = os.NewFile(uintptr(descriptors[i]), name)
	}
	rest := descriptors[len(o.Files):]
	var rules []rule
	if o.Dir {
		dir := rest[0]
		rest = rest[1:]
		if err := unix.Fchdir(dir); err != nil {
			return Job{}, fmt.Errorf("directory: the helper's user may not enter it: %w", err)
		}
		root, err := os.OpenRoot(".")
		if err != nil {
			return Job{}, fmt.Errorf("directory: %w", err)
		}
		job.Dir = root
		access := Read | Write
		if o.Full != "" {
			access = Read | remove
		}
		rules = append(rules, rule{dir, access})
	}
	for i, access := range o.Paths {
		rules = append(rules, rule{rest[i], access})
	}
	if err := limit(o, statm); err != nil {
		return Job{}, err
	}
	if err := restrictFiles(rules, my); err != nil {
		return Job{}, err
	}
	if err := restrictPreparation(my); err != nil {
		return Job{}, err
	}
	highest := max(answerFD, int(job.highest()))
	for _, r := range rules {
		unix.Close(r.fd)
	}
	// The limit is on numbers, not on how many are open. Four more are for the runtime's own
	// poller.
	if err := lower(unix.RLIMIT_NOFILE, uint64(highest)+1+4+
		uint64(o.Limits.OpenFiles)); err != nil {
		return Job{}, err
	}
	return job, nil
}

// highest returns the highest descriptor of what was handed over.
func (j Job) highest() (fd uintptr) {
	for _, f := range j.Files {
		fd = max(fd, f.Fd())
	}
	if j.Dir != nil {
		if f, err := j.Dir.Open("."); err == nil { // one above the root's own, at least
			fd = max(fd, f.Fd())
			f.Close()
		}
	}
	return fd
}

// descriptorPath is a path to what a descriptor is open on, whatever its name is by now.
func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// limit lowers the limits of this process, hard ones, so that nothing raises them again. Programs
// it starts inherit them.
func limit(o order, statm io.ReaderAt) error {
	data, err := dataBytes(statm)
	if err != nil {
		return err
	}
	// The collector tries harder before the kernel refuses.
	debug.SetMemoryLimit(max(o.Limits.Memory, leastMemory))
	seconds := uint64((ownCPU() + o.Limits.CPU + time.Second - 1) / time.Second)
	for _, l := range []struct {
		resource int
		bound    uint64
	}{
		// Not RLIMIT_AS: a Go program reserves more address space than any useful bound. Private
		// writable memory is what RLIMIT_DATA counts, and what a handler can exhaust.
		{unix.RLIMIT_DATA, data + uint64(o.Limits.Memory) + threadStacks},
		// The hard limit kills. The soft one would only send a signal that can be caught.
		{unix.RLIMIT_STACK, 8 << 20}, // which RLIMIT_DATA leaves out
		{unix.RLIMIT_CPU, seconds},
		{unix.RLIMIT_FSIZE, uint64(o.Limits.FileSize)},
		// One byte rather than none: it also keeps a core from being piped to a program, which the
		// kernel does whatever the limit is, unless it is 1 (fs/coredump.c).
		{unix.RLIMIT_CORE, 1},
		{unix.RLIMIT_NPROC, uint64(o.Limits.Processes)},
		{unix.RLIMIT_MSGQUEUE, 0},
	} {
		if err := lower(l.resource, l.bound); err != nil {
			return err
		}
	}
	return nil
}

// lower sets a limit, or leaves it where it is lower already.
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

// dataBytes is what RLIMIT_DATA counts of this process; with its stack, which is small.
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

// spread calls a function on several threads at a time, and waits.
func spread(f func()) {
	const threads = 8
	var all, both sync.WaitGroup
	all.Add(threads)
	for range threads {
		both.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait() // so that no two have the same thread
			f()
		})
	}
	both.Wait()
}
