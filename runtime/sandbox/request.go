package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// request is one isolated call.
type request struct {
	// Name is the registered name of the handler.
	Name string
	// Arguments are passed to the handler unchanged.
	Arguments json.RawMessage
	// Caller describes the call, as JSON that a server made. The handler's context is made from it.
	// If it is empty, the context holds no caller and no grants.
	Caller json.RawMessage
	// Files are passed to the helper as descriptors, by name: at most 128. The caller keeps them
	// open and closes them. The helper gets the rights that they were opened with.
	Files map[string]*os.File
	// Dir becomes the handler's Job.Dir and working directory, readable and writable. The caller
	// closes it. The helper's user needs permissions on it: see [Options].UID.
	Dir *os.Root
	// Paths are the files and folders that the handler may open by name, besides Dir. It can open
	// no others.
	Paths []granted
	// Net allows TCP and UDP connections to any address, and reading [Options].NetPaths. Listening
	// is never allowed.
	Net bool
	// Limits are the limits of the call. A zero field is taken from [Options].Limits.
	Limits Limits

	// If soon is not nil, Run returns its answer right after killing the call's processes. The
	// system takes as long again to end them. Then Run calls soon with the final answer.
	soon func(response)
	// emitted receives the handler's messages, in order and before Run returns. If it is nil, the
	// handler may send none.
	emitted func(json.RawMessage)
	// The workspace of Dir for its variables, or the reason why it has none. quota enforces the
	// quota.
	space   *ClientWorkspace
	noSpace error
	quota   *quotaWatch
}

// rights is a union of the constants below.
type rights uint8

// Kinds of access.
const (
	// mayRead allows reading files, and listing folders.
	mayRead rights = 1 << iota
	// mayWrite allows writing and truncating files. In folders it allows creating, renaming and
	// removing files, folders and symbolic links, but no devices, pipes and sockets.
	mayWrite
	// mayExec allows starting programs. Most need Read on their libraries too: see [programs].
	mayExec
)

// granted grants access to a file, or to a folder and everything below it.
type granted struct {
	// Name is the path. Its last element must not be a symbolic link: resolve it first, and decide
	// on the result.
	Name string
	// File is the opened file or folder, if it is not nil, whatever Name refers to by now. The
	// caller closes it.
	File *os.File
	// Access contains the granted kinds of access.
	Access rights

	as string // the name that programs use, if it is a symbolic link
}

// Limits are the limits of a call. A zero field has its default; no limit can be switched off.
type Limits struct {
	// Timeout bounds the time of the handler. The handler's context ends then, and its processes
	// [Options].Grace later. Zero is 30 s.
	Timeout time.Duration
	// Memory is the number of bytes of private memory that the helper may allocate beyond what it
	// had when the call came. Each program that the handler starts has the same limit for itself.
	// The Go runtime allocates in steps of 4 MiB. Zero is 512 MiB.
	Memory int64
	// Output is the number of bytes of the result. Zero is 1 MiB.
	Output int64
	// CPU bounds the processor time of the handler, on all processors together. The kernel counts
	// whole seconds, so it is rounded up. Each program that the handler starts has the same limit
	// for itself. Zero is 30 s.
	CPU time.Duration
	// OpenFiles is the number of files that may be open at a time, besides those handed over. Zero
	// is 256.
	OpenFiles int
	// FileSize is the number of bytes of a file that is written. Zero is 64 MiB.
	FileSize int64
	// Processes is the number of processes and threads at a time, the dozen of the helper included.
	// Zero is 256.
	Processes int
}

// standard are the default limits.
var standard = Limits{
	Timeout:   30 * time.Second,
	Memory:    512 << 20,
	Output:    1 << 20,
	CPU:       30 * time.Second,
	OpenFiles: 256,
	FileSize:  64 << 20,
	Processes: 256,
}

// over returns the limits with zero fields taken from another.
func (l Limits) over(other Limits) Limits {
	fill(&l.Timeout, other.Timeout)
	fill(&l.Memory, other.Memory)
	fill(&l.Output, other.Output)
	fill(&l.CPU, other.CPU)
	fill(&l.OpenFiles, other.OpenFiles)
	fill(&l.FileSize, other.FileSize)
	fill(&l.Processes, other.Processes)
	return l
}

func fill[T int | int64 | time.Duration](to *T, from T) {
	if *to == 0 {
		*to = from
	}
}

// check refuses negative limits and limits too small to run.
func (l Limits) check() error {
	if l.Timeout < 0 || l.Memory < 0 || l.Output < 0 || l.CPU < 0 || l.OpenFiles < 0 ||
		l.FileSize < 0 || l.Processes < 0 {
		return fmt.Errorf("limits must not be negative: %+v", l)
	}
	if l.Memory != 0 && l.Memory < leastMemory {
		return fmt.Errorf("a memory limit of %d bytes is too small for a handler: set at least %d",
			l.Memory, leastMemory)
	}
	if l.Processes != 0 && l.Processes < leastProcesses {
		return fmt.Errorf("a limit of %d processes and threads is too small for the helper itself: "+
			"set at least %d", l.Processes, leastProcesses)
	}
	return nil
}

const (
	leastMemory    = 8 << 20
	leastProcesses = 32
)

// response is the result of a call. If Run returns an error, Result is empty and the other fields
// contain what is known.
type response struct {
	// Result is the handler's result.
	Result []byte
	// Printed is the output of the handler and its programs to standard output and standard error.
	// Beyond [Options].Printed bytes, only the beginning and the end are kept.
	Printed []byte
	// CPU is the processor time of the call, including programs that it started and waited for.
	CPU time.Duration
	// MaxRSS is the largest resident memory of the helper in bytes, including memory from before
	// the call. It is 0 if the helper ended before it could be read.
	MaxRSS int64

	begun bool // the handler began
	// the handler's changes of variables; nil without changes, or if it has not returned
	journal *journal
}
