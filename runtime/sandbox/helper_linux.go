package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/landlock"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/mounts"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/rlimit"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/seccomp"
)

// Descriptors of a helper besides the standard three: a socket for the request with its
// descriptors, and a pipe for the response.
const (
	requestFD  = 3
	responseFD = 4
)

// help runs a helper process. It does not return.
func help() {
	if err := helpOnce(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox helper:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

func helpOnce() error {
	if err := closeInherited(); err != nil {
		return err
	}
	var my role
	if err := json.Unmarshal([]byte(os.Args[1]), &my); err != nil {
		return fmt.Errorf("role: %w", err)
	}
	if my.Trial {
		return mounts.Seclude(my.Named)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(responseFD, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return errors.New("only a server starts a helper")
	}
	response := os.NewFile(responseFD, "answer")
	// Read now the files of a first use: they cannot be opened later.
	_, _ = time.Now().Local().Zone()
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return err
	}
	// Writing beyond the limit on file sizes is then an error, here and in programs, instead of the
	// end of the process.
	signal.Ignore(unix.SIGXFSZ)

	if err := warmUp(); err != nil {
		return err
	}
	if my.Group {
		// Without a pid namespace, orphaned processes would not be found below this one.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl", err)
		}
	}
	if my.Mounts {
		if err := mounts.Seclude(my.Named); err != nil {
			return err
		}
	}
	if err := seccomp.Restrict(my.Options); err != nil {
		return err
	}
	if err := writeJSON(response, frameWarm, rlimit.OwnCPU()); err != nil {
		return err
	}
	payload, descriptors, err := receive(requestFD)
	if errors.Is(err, io.EOF) {
		return nil // the server needs no more helpers
	} else if err != nil {
		return err
	}
	unix.Close(requestFD)

	o, arguments, caller, err := decodeRequest(payload)
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	job, err := confine(my, o, descriptors, statm)
	statm.Close()
	if err != nil {
		return writeJSON(response, frameFailure, failure{Message: err.Error(), Setup: true})
	}
	job.Arguments, job.Caller = arguments, caller
	if err := writeFrame(response, frameBegun, nil); err != nil {
		return err
	}
	result, changed, failed := perform(o, job, response)
	if err := respond(response, result, changed, failed); err != nil {
		return err
	}
	// The server reads what this process used while there is one, and ends it. Until then the pipe
	// stays open: unused, it would be closed by the garbage collector.
	for {
		time.Sleep(time.Hour)
		goruntime.KeepAlive(response)
	}
}

// confine removes, for good, the rights that the request does not grant, and returns the granted
// resources. System calls are already restricted, because that depends on the role alone.
func confine(my role, o order, descriptors []int, statm io.ReaderAt) (Job, error) {
	wanted := len(o.Files) + len(o.Paths)
	if o.Dir {
		wanted++
	}
	if len(descriptors) != wanted {
		return Job{}, fmt.Errorf("%d descriptors arrived of %d: the server may have reached its own "+
			"limit on open files", len(descriptors), wanted)
	}
	if my.Mounts {
		g := mounts.Granted{Names: o.Names, Open: len(o.Files), Links: o.Links, Named: my.Named}
		for _, access := range o.Paths {
			g.Execute = append(g.Execute, access&mayExec != 0)
		}
		if err := mounts.Arrange(g, descriptors); err != nil {
			return Job{}, err
		}
	}
	job := Job{Files: make(map[string]*os.File, len(o.Files))}
	for i, name := range o.Files {
		job.Files[name] = os.NewFile(uintptr(descriptors[i]), name)
	}
	rest := descriptors[len(o.Files):]
	var rules []landlock.Rule
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
		// A call in a workspace that exceeds its quota may only remove.
		rules = append(rules, landlock.Rule{FD: dir, Read: true, Write: o.Full == "", Remove: true})
	}
	for i, access := range o.Paths {
		rules = append(rules, landlock.Rule{FD: rest[i], Read: access&mayRead != 0,
			Write: access&mayWrite != 0, Execute: access&mayExec != 0})
	}
	// The collector runs more often before the kernel refuses memory.
	debug.SetMemoryLimit(max(o.Limits.Memory, leastMemory))
	l := rlimit.Limits{Memory: o.Limits.Memory, FileSize: o.Limits.FileSize, CPU: o.Limits.CPU,
		Processes: o.Limits.Processes}
	if err := rlimit.Lower(l, statm); err != nil {
		return Job{}, err
	}
	if err := landlock.Restrict(rules, my.Net, my.Partial); err != nil {
		return Job{}, err
	}
	if err := seccomp.RestrictPreparation(my.Partial); err != nil {
		return Job{}, err
	}
	highest := max(responseFD, int(job.highest()))
	for _, r := range rules {
		unix.Close(r.FD)
	}
	// Four more are for the runtime's own poller.
	return job, rlimit.LowerFiles(uint64(highest) + 1 + 4 + uint64(o.Limits.OpenFiles))
}

// highest returns the highest of the passed descriptors.
func (j Job) highest() (fd uintptr) {
	for _, f := range j.Files {
		fd = max(fd, f.Fd())
	}
	if j.Dir != nil {
		if f, err := j.Dir.Open("."); err == nil { // higher than the root's own
			fd = max(fd, f.Fd())
			f.Close()
		}
	}
	return fd
}

// warmUp runs code that is slower the first time, such as decoding a request, while the helper
// waits.
func warmUp() error {
	frame, err := encodeRequest(order{
		Files: []string{""}, Paths: []rights{0}, Names: []string{""}, Links: []mounts.Link{{}},
	}, nil, nil)
	if err != nil {
		return err
	}
	_, _, _, err = decodeRequest(frame[prefix:])
	return err
}

// respond sends the result of a call.
func respond(response io.Writer, result []byte, changed *journal, failed *failure) error {
	if changed != nil {
		if err := writeJSON(response, frameJournal, changed); err != nil {
			return err
		}
	}
	if failed != nil {
		return writeJSON(response, frameFailure, failed)
	}
	return writeFrame(response, frameResult, result)
}

// spaceOf returns the client's workspace for the handler, or an error with the reason.
func spaceOf(o order, dir *os.Root) (*ClientWorkspace, error) {
	switch {
	case o.Space != nil:
		return o.Space.workspace(dir), nil
	case o.NoSpaceLimit != nil:
		return nil, o.NoSpaceLimit
	case o.NoSpace != "":
		return nil, errors.New(o.NoSpace)
	}
	return nil, errKeepsNone
}

// perform runs the handler in a goroutine of its own, so that this one survives runtime.Goexit. The
// handler's messages go to response, and none after perform has returned.
func perform(o order, job Job,
	response io.Writer) (result []byte, changed *journal, failed *failure) {
	run, found := handlerOf(o.Name)
	if o.Name == probeName {
		run, found = probe, true
	}
	if !found {
		return nil, nil, &failure{Message: notRegistered(o.Name).Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Limits.Timeout)
	defer cancel()
	space, noSpace := spaceOf(o, job.Dir)
	ctx = withWorkspace(ctx, space, noSpace)
	if o.Emits {
		emitter := newEmitter(response)
		defer emitter.stop()
		var end func()
		ctx, end = notify.Emitting(ctx, emitter.emit)
		defer end()
	}
	var err error
	done := make(chan struct{})
	returned := false
	go func() {
		defer close(done)
		defer func() {
			if returned {
				return
			}
			value := recover() // nil after runtime.Goexit
			failed = &failure{Panic: true, Message: cut(fmt.Sprint(value), maxMessage),
				Stack: cut(string(debug.Stack()), maxStack)}
		}()
		// After Emitting, because Inherit readies its emitter for what the server requests.
		inside := ctx
		if len(job.Caller) > 0 {
			inside, err = invoke.ChildContext(ctx, job.Caller, job.Files)
		}
		if err == nil {
			result, err = run(inside, job)
		}
		returned = true
	}()
	<-done
	if failed != nil {
		return nil, nil, failed
	}
	if space != nil {
		changed = space.journal(o.Space)
	}
	switch {
	case err != nil:
		limit, bound := limitOf(err, ctx)
		if limit == "" && o.Full != "" && errors.Is(err, unix.EACCES) {
			limit, bound = limitQuota, o.Full // the handler may only remove
		}
		return nil, changed, &failure{Message: cut(err.Error(), maxMessage), Limit: limit,
			Bound: cut(bound, maxBound)}
	case int64(len(result)) > o.Limits.Output:
		return nil, changed, &failure{Limit: limitOutput}
	}
	return result, changed, nil
}

// limitOf returns the limit that caused a handler's error, if any, and its bound if it is not the
// call's. The error wraps the operating system's, or has its text.
func limitOf(err error, ctx context.Context) (limit limitName, bound string) {
	var own *limitError
	if errors.As(err, &own) { // of a workspace
		return own.Limit, own.Bound
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	switch {
	case ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded)):
		return limitTime, ""
	case errno == unix.EMFILE || strings.Contains(err.Error(), unix.EMFILE.Error()):
		return limitFiles, ""
	case errno == unix.EFBIG || strings.Contains(err.Error(), unix.EFBIG.Error()):
		return limitFileSize, ""
	case errno == unix.EAGAIN:
		return limitProcesses, "" // descriptors do not block here: a fork would wait
	case errno == unix.ENOMEM:
		return limitMemory, ""
	}
	return "", ""
}

func writeJSON(w io.Writer, kind byte, payload any) error {
	b, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	return writeFrame(w, kind, b)
}

// cut shortens a text to n bytes, with a mark.
func cut(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// receive reads a request frame from the socket, and the descriptors that come with its first byte.
// It blocks.
func receive(fd int) (payload []byte, descriptors []int, err error) {
	buffer := make([]byte, 64<<10)
	control := make([]byte, unix.CmsgSpace(4*253))
	var got []byte
	want := prefix
	for len(got) < want {
		n, controls, _, _, err := unix.Recvmsg(fd, buffer, control, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, nil, os.NewSyscallError("recvmsg", err)
		case n == 0 && len(got) == 0:
			return nil, nil, io.EOF
		case n == 0:
			return nil, nil, io.ErrUnexpectedEOF
		}
		if controls > 0 {
			messages, err := unix.ParseSocketControlMessage(control[:controls])
			if err != nil {
				return nil, nil, os.NewSyscallError("recvmsg", err)
			}
			for _, m := range messages {
				fds, err := unix.ParseUnixRights(&m)
				if err != nil {
					return nil, nil, os.NewSyscallError("recvmsg", err)
				}
				descriptors = append(descriptors, fds...)
			}
		}
		had := len(got)
		got = append(got, buffer[:n]...)
		if had < prefix && len(got) >= prefix {
			length := int(got[1])<<24 | int(got[2])<<16 | int(got[3])<<8 | int(got[4])
			if got[0] != frameRequest || length > maxRequest {
				return nil, nil, fmt.Errorf("a frame of kind %q with %d bytes is not a request",
					got[0], length)
			}
			want = prefix + length
		}
	}
	if len(got) > want {
		return nil, nil, errors.New("more than one request arrived")
	}
	return got[prefix:], descriptors, nil
}

// closeInherited closes the descriptors that the server inherited and passed on: Go did not open
// them, so they do not close at exec.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("a helper needs /proc: %w", err)
	}
	for _, e := range entries {
		var fd int
		if _, err := fmt.Sscan(e.Name(), &fd); err != nil || fd < requestFD {
			continue
		}
		if fd == requestFD || fd == responseFD {
			unix.CloseOnExec(fd)
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil &&
			flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
	return nil
}

// probeName is the name of the handler that NewPool runs as a test. No other handler can have it.
const probeName = "\x00probe"

// probe reports whether confinement holds, on this thread and on others, some of them older
// than the confinement.
func probe(_ context.Context, job Job) ([]byte, error) {
	var wanted struct{ Landlock, Seccomp, Mounts bool }
	if err := json.Unmarshal(job.Arguments, &wanted); err != nil {
		return nil, err
	}
	var failed atomic.Pointer[string]
	fail := func(what string) { failed.Store(&what) }
	spread(func() {
		if wanted.Landlock {
			if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
				unix.Close(fd)
				fail("the process can open the root directory despite Landlock")
			}
		}
		if wanted.Seccomp {
			if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
				unix.Close(fd)
				fail("the process can open a socket despite seccomp")
			}
		}
		if wanted.Mounts {
			var has [2]unix.CapUserData
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			if err := unix.Access("/proc/self", unix.F_OK); err == nil {
				fail("a file of the server is visible despite the mount namespace")
			} else if err := unix.Capget(&header, &has[0]); err != nil ||
				has != [2]unix.CapUserData{} {
				fail("a thread kept its capabilities despite the mount namespace")
			}
		}
	})
	if what := failed.Load(); what != nil {
		return nil, errors.New(*what)
	}
	return nil, nil
}

// spread calls a function on several threads at a time, and waits.
func spread(f func()) {
	const threads = 8
	var all, both sync.WaitGroup
	all.Add(threads)
	for range threads {
		both.Go(func() {
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			all.Done()
			all.Wait() // so that each has another thread
			f()
		})
	}
	both.Wait()
}
