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
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
)

// What a helper finds open besides the standard three: a socket that brings the request with its
// descriptors, and a pipe for the answer.
const (
	requestFD = 3
	answerFD  = 4
)

// help is the life of a helper process. It does not return.
func help() {
	err := helpOnce()
	if err != nil {
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
		return seclude(my)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(answerFD, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return errors.New("only a server starts a helper")
	}
	answer := os.NewFile(answerFD, "answer")
	// What is read on first use is read now: it cannot be opened later.
	_, _ = time.Now().Local().Zone()
	statm, err := os.Open("/proc/self/statm")
	if err != nil {
		return err
	}
	// Writing beyond the limit on file sizes is an error then, here and in programs, and not the
	// end of the process.
	signal.Ignore(unix.SIGXFSZ)

	if err := rehearse(); err != nil {
		return err
	}
	if my.Group {
		// Without a pid namespace, processes whose parent ended would not be found below this one.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl", err)
		}
	}
	if err := seclude(my); err != nil {
		return err
	}
	if err := restrictCalls(my); err != nil {
		return err
	}
	warm, err := json.Marshal(used{CPU: ownCPU()})
	if err != nil {
		return err
	}
	if err := writeFrame(answer, frameWarm, warm); err != nil {
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
		return writeFailure(answer, failure{Message: err.Error(), Setup: true})
	}
	job.Arguments, job.Caller = arguments, caller
	if err := writeFrame(answer, frameBegun, nil); err != nil {
		return err
	}
	result, changed, failed := perform(o, job, answer)
	if err := respond(answer, result, changed, failed); err != nil {
		return err
	}
	// The server reads what this process used while there is one, and ends it. Until then the pipe
	// stays open: unused, it would be closed by the garbage collector.
	for {
		time.Sleep(time.Hour)
		goruntime.KeepAlive(answer)
	}
}

// rehearse does what takes longer the first time, such as learning how a request is decoded: a
// helper that waits has the time.
func rehearse() error {
	frame, err := encodeRequest(order{
		Files: []string{""}, Paths: []Access{0}, Names: []string{""}, Links: []link{{}},
	}, nil, nil)
	if err != nil {
		return err
	}
	_, _, _, err = decodeRequest(frame[prefix:])
	return err
}

// respond sends what a call came to.
func respond(answer io.Writer, result []byte, changed *journal, failed *failure) error {
	if changed != nil {
		b, err := json.Marshal(changed)
		if err != nil {
			return err
		}
		if err := writeFrame(answer, frameJournal, b); err != nil {
			return err
		}
	}
	if failed != nil {
		return writeFailure(answer, *failed)
	}
	return writeFrame(answer, frameResult, result)
}

// spaceOf returns where the handler finds the client's workspace.
func spaceOf(o order, dir *os.Root) given {
	switch {
	case o.Space != nil:
		return given{space: o.Space.workspace(dir)}
	case o.NoSpaceLimit != nil:
		return given{err: o.NoSpaceLimit}
	case o.NoSpace != "":
		return given{err: errors.New(o.NoSpace)}
	}
	return given{err: errKeepsNone}
}

// perform runs the handler in a goroutine of its own, so that nothing it does to its goroutine ends
// this one. What it says goes to the answer, and none of that any more when perform has returned.
func perform(o order, job Job,
	answer io.Writer) (result []byte, changed *journal, failed *failure) {
	run, found := handlerOf(o.Name)
	if o.Name == probeName {
		run, found = probe, true
	}
	if !found {
		return nil, nil, &failure{Message: notRegistered(o.Name).Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.Limits.Timeout)
	defer cancel()
	from := spaceOf(o, job.Dir)
	ctx = context.WithValue(ctx, workspaceKey{}, from)
	if o.Emits {
		speaker := newSpeaker(answer)
		defer speaker.hush()
		var end func()
		ctx, end = notify.Emitting(ctx, speaker.say)
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
			value := recover() // nil where the goroutine ended by runtime.Goexit
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
	if from.space != nil {
		changed = from.space.journal(o.Space)
	}
	switch {
	case err != nil:
		limit, bound := limitOf(err, ctx)
		if limit == "" && o.Full != "" && errors.Is(err, unix.EACCES) {
			limit, bound = Quota, o.Full // which is why the handler may only remove
		}
		return nil, changed, &failure{Message: cut(err.Error(), maxMessage), Limit: limit,
			Bound: cut(bound, maxBound)}
	case int64(len(result)) > o.Limits.Output:
		return nil, changed, &failure{Limit: Output}
	}
	return result, changed, nil
}

// limitOf returns the limit that a handler's error comes from, if it is one, and its bound where it
// is none of the call's: it wraps the operating system's error, or at least has its words.
func limitOf(err error, ctx context.Context) (limit Limit, bound string) {
	var own *LimitError
	if errors.As(err, &own) { // of a workspace
		return own.Limit, own.Bound
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	switch {
	case ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, os.ErrDeadlineExceeded)):
		return Timeout, ""
	case errno == unix.EMFILE || strings.Contains(err.Error(), unix.EMFILE.Error()):
		return OpenFiles, ""
	case errno == unix.EFBIG || strings.Contains(err.Error(), unix.EFBIG.Error()):
		return FileSize, ""
	case errno == unix.EAGAIN:
		return Processes, "" // descriptors do not block here: what would have to wait is a fork
	case errno == unix.ENOMEM:
		return Memory, ""
	}
	return "", ""
}

func writeFailure(w io.Writer, f failure) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return writeFrame(w, frameFailure, b)
}

// cut shortens a text to as many bytes, and says so.
func cut(s string, most int) string {
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// receive reads a request frame from the socket, and the descriptors that come with its first
// byte. It blocks: there is nothing else to do.
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

// closeInherited closes what the server inherited itself without knowing, and would have handed on:
// descriptors that Go did not open, which therefore do not close at exec.
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
		if fd == requestFD || fd == answerFD {
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

// ownCPU is the processor time this process has used.
func ownCPU() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// probeName is the name of the handler that NewPool tries out; no handler can have it.
const probeName = "\x00probe"

// probe reports whether confinement holds, on this thread and on others, some of them older
// than the confinement.
func probe(_ context.Context, job Job) ([]byte, error) {
	var wanted struct{ Landlock, Seccomp, Mounts bool }
	if err := json.Unmarshal(job.Arguments, &wanted); err != nil {
		return nil, err
	}
	var failed atomic.Pointer[error]
	spread(func() {
		if wanted.Landlock {
			if fd, err := unix.Open("/", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
				unix.Close(fd)
				err := errors.New("the process can open the root directory despite Landlock")
				failed.Store(&err)
			}
		}
		if wanted.Seccomp {
			if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err == nil {
				unix.Close(fd)
				err := errors.New("the process can open a socket despite seccomp")
				failed.Store(&err)
			}
		}
		if wanted.Mounts {
			var has [2]unix.CapUserData
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			if err := unix.Access("/proc/self", unix.F_OK); err == nil {
				err := errors.New("a file of the server is visible despite the mount namespace")
				failed.Store(&err)
			} else if err := unix.Capget(&header, &has[0]); err != nil ||
				has != [2]unix.CapUserData{} {
				err := errors.New("a thread kept its capabilities despite the mount namespace")
				failed.Store(&err)
			}
		}
	})
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return nil, nil
}
