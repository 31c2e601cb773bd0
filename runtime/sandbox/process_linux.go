package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/mounts"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/proc"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/threads"
)

// process is a helper as the server sees it.
type process struct {
	proc     *os.Process
	request  *os.File // a socket, for the request with descriptors
	response *os.File
	output   *os.File
	printed  *capture
	drained  chan struct{}
	cgroup   *cgroup.Group // nil without
	group    bool          // without a pid namespace that ends with the helper
	before   time.Duration // processor time until it was warm
	data     int64         // bytes that RLIMIT_DATA counts, from when it was warm
	ended    *os.ProcessState
}

// start starts a helper. Call it on a thread that lives as long as the helpers: see the death
// signal.
func start(o Options, my role, namespaces uintptr, null *os.File) (*process, error) {
	name, err := json.Marshal(my)
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "sandbox request")
	defer theirs.Close()
	// The helper's end of the pipe blocks. This end waits in the runtime's poller.
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(pair[0]))
	}
	p := &process{
		request: os.NewFile(uintptr(pair[0]), "sandbox request"),
		printed: newCapture(o.Printed),
		drained: make(chan struct{}),
		group:   my.Group,
	}
	failed := func(err error) (*process, error) {
		p.close()
		return nil, err
	}
	var responseEnd, outputEnd *os.File
	if p.response, responseEnd, err = os.Pipe(); err != nil {
		return failed(err)
	}
	defer responseEnd.Close()
	if p.output, outputEnd, err = os.Pipe(); err != nil {
		return failed(err)
	}
	defer outputEnd.Close()

	attributes := &syscall.SysProcAttr{
		Setsid:     true,            // a process group of its own, and no terminal
		Pdeathsig:  syscall.SIGKILL, // when the thread that started it ends, so with the server
		Cloneflags: namespaces,
	}
	identify(attributes, o)
	if o.Cgroup != "" {
		if p.cgroup, err = cgroup.New(o.Cgroup); err != nil {
			return failed(err)
		}
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(p.cgroup.Dir.Fd())
	}
	if err := clonable(attributes); err != nil {
		return failed(fmt.Errorf("start a helper: %w", err))
	}
	// Not by its path: the file may be replaced, or the helper's user may lack permissions.
	p.proc, err = os.StartProcess("/proc/self/exe", []string{helperName, string(name)},
		&os.ProcAttr{
			Dir: "/", Env: o.Env, Sys: attributes,
			Files: []*os.File{null, outputEnd, outputEnd, theirs, responseEnd},
		})
	if err != nil {
		return failed(fmt.Errorf("start a helper: %w", err))
	}
	go func() {
		defer close(p.drained)
		_, _ = io.Copy(p.printed, p.output) // ends with the last process of the pipe, or with end
	}()
	return p, nil
}

// clonable returns an error if clone(2) fails with these attributes. Package syscall does not close
// its pipe for UidMappings if clone fails, so a helper with them is started only after a clone
// without them has succeeded: it ends at once, because it has no program.
func clonable(a *syscall.SysProcAttr) error {
	if a.UidMappings == nil {
		return nil
	}
	_, err := os.StartProcess("", nil, &os.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: a.Cloneflags, UseCgroupFD: a.UseCgroupFD, CgroupFD: a.CgroupFD}})
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// identify chooses the user of a helper: never root.
func identify(a *syscall.SysProcAttr, o Options) {
	root := os.Geteuid() == 0
	uid, gid := os.Getuid(), os.Getgid()
	if root {
		uid, gid = o.UID, o.GID
		// and no further groups
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if a.Cloneflags&unix.CLONE_NEWUSER != 0 {
		// Map only its own numbers, unchanged. RLIMIT_NPROC then counts each helper for itself
		// (ucounts, Linux 5.14).
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		a.GidMappingsEnableSetgroups = root
	}
	if a.Cloneflags&unix.CLONE_NEWNS != 0 {
		// In its own namespaces, until it is confined.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_CHROOT}
	}
}

// warm waits until the helper has started.
func (p *process) warm(within time.Duration) error {
	_ = p.response.SetReadDeadline(time.Now().Add(within)) // pipes have deadlines
	kind, length, err := readPrefix(p.response)
	if err != nil {
		return fmt.Errorf("the helper did not start: %w%s", err, printedText(p.printed.bytes()))
	}
	payload := make([]byte, min(length, maxFailure))
	if _, err := io.ReadFull(p.response, payload); err != nil {
		return fmt.Errorf("the helper did not start: %w", err)
	}
	if kind != frameWarm {
		return fmt.Errorf("the helper began with a frame of kind %q", kind)
	}
	if p.data, err = proc.Data(p.proc.Pid); err != nil {
		return fmt.Errorf("cannot measure the helper's memory: %w", err)
	}
	return json.Unmarshal(payload, &p.before)
}

// printedText returns the output of a helper for an error message.
func printedText(printed []byte) string {
	if text := strings.TrimSpace(string(printed[:min(len(printed), 2048)])); text != "" {
		return ". Its output: " + text
	}
	return ""
}

// send sends a request frame and the descriptors. They are this process's own and stay open.
func (p *process) send(frame []byte, descriptors []int) error {
	raw, err := p.request.SyscallConn()
	if err != nil {
		return err
	}
	first := min(len(frame), 64<<10)
	var rights []byte
	if len(descriptors) > 0 {
		rights = unix.UnixRights(descriptors...)
	}
	var sent int
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for {
			sent, failed = unix.SendmsgN(int(fd), frame[:first], rights, nil, unix.MSG_NOSIGNAL)
			if !errors.Is(failed, unix.EINTR) {
				return !errors.Is(failed, unix.EAGAIN)
			}
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return os.NewSyscallError("sendmsg", err)
	}
	if sent == len(frame) {
		return nil // the helper may have closed its end: then even an empty write fails
	}
	_, err = p.request.Write(frame[sent:])
	return err
}

// end ends the helper and all processes that it started, and waits for them.
func (p *process) end() {
	p.kill()
	p.gone()
}

// kill kills the helper and all processes that it started.
func (p *process) kill() {
	if p.cgroup != nil {
		p.cgroup.Kill()
	}
	// The helper is not waited for yet, so its pid is not reused.
	_ = syscall.Kill(-p.proc.Pid, syscall.SIGKILL)
	_ = p.proc.Kill()
}

// gone waits until none of the killed processes is left.
func (p *process) gone() {
	// In a pid namespace of its own it is the first process, which ends after all others.
	p.ended, _ = p.proc.Wait()
	if p.group {
		// One signal reaches all: a concurrent fork fails. They take a moment to end.
		for range 1000 {
			if errors.Is(syscall.Kill(-p.proc.Pid, 0), syscall.ESRCH) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	_ = p.output.SetReadDeadline(time.Now().Add(time.Second))
	<-p.drained
	p.close()
}

// close closes this process's descriptors of the helper, or of one that did not start.
func (p *process) close() {
	for _, f := range []*os.File{p.request, p.response, p.output} {
		f.Close() // also nil
	}
	if p.cgroup != nil {
		p.cgroup.Remove()
	}
}

// cpu returns the processor time since the helper was warm. It is valid after end.
func (p *process) cpu() time.Duration {
	if p.ended == nil {
		return 0
	}
	return max(0, p.ended.UserTime()+p.ended.SystemTime()-p.before)
}

// causeOf returns the limit that made a helper end by itself, or "".
func causeOf(ended *os.ProcessState, a response, l Limits, starved bool) limitName {
	if ended == nil {
		return ""
	}
	status, _ := ended.Sys().(syscall.WaitStatus)
	printed := string(a.Printed)
	switch {
	case starved:
		return limitMemory
	case status.Signaled() && status.Signal() == unix.SIGSYS:
		return limitSyscall
	case status.Signaled() && status.Signal() == unix.SIGKILL &&
		a.CPU >= l.CPU-100*time.Millisecond:
		return limitCPU
	case ended.ExitCode() <= 0:
		return ""
	case strings.Contains(printed, "failed to create new OS thread"): // text of the Go runtime
		return limitProcesses
	}
	// The runtime's message at its end is the only sign.
	for _, words := range []string{
		"fatal error: runtime: out of memory", "fatal error: runtime: cannot allocate memory",
		"fatal error: out of memory",
		"runtime: cannot map pages in arena address space", "pageAlloc: out of memory",
		// no memory for a thread's stack
		"runtime/cgo: pthread_create failed",
		"ThreadSanitizer failed to allocate", // the race detector's
	} {
		if strings.Contains(printed, words) {
			return limitMemory
		}
	}
	// The collector does not check the allocation of its own tables, and so fails outside of any
	// goroutine.
	if strings.Contains(printed, "SIGSEGV: segmentation violation\nPC=") &&
		strings.Contains(printed, "\ngoroutine 0 ") {
		return limitMemory
	}
	return ""
}

func state(s *os.ProcessState) string {
	if s == nil {
		return "in an unknown state"
	}
	return s.String()
}

// trial starts a helper in namespaces, to kill it.
func trial(o Options, namespaces uintptr) (p *os.Process, end func(), err error) {
	a := &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	identify(a, o)
	if err := clonable(a); err != nil {
		return nil, nil, err
	}
	p, err = os.StartProcess("/proc/self/exe", []string{helperName, "{}"},
		&os.ProcAttr{Dir: "/", Env: []string{}, Sys: a})
	return p, func() { _ = p.Kill(); _, _ = p.Wait() }, err
}

// namespacesOf returns the namespaces that a helper can be started in, by a trial.
func namespacesOf(o Options) uintptr {
	wanted := []uintptr{unix.CLONE_NEWUSER}
	if threads.OwnPIDs {
		wanted = []uintptr{unix.CLONE_NEWUSER | unix.CLONE_NEWPID, unix.CLONE_NEWPID,
			unix.CLONE_NEWUSER}
	}
	for _, namespaces := range wanted {
		if _, end, err := trial(o, namespaces); err == nil {
			end()
			return namespaces
		}
	}
	return 0
}

// readable tries to read the open files of a helper.
func readable(o Options, namespaces uintptr) error {
	p, end, err := trial(o, namespaces)
	if err != nil {
		return fmt.Errorf("start a helper: %w", err)
	}
	defer end()
	files, err := proc.FilesOf(p.Pid, nil)
	if err != nil {
		return err
	}
	return files.Unlinked(context.Background(), map[folder.Inode]int64{})
}

// mountable returns an error if helpers cannot have mounts of their own, from a trial. named
// reports that they have to find folders by name, because the server may not clone mounts.
func mountable(o Options, namespaces uintptr) (named bool, err error) {
	if namespaces&unix.CLONE_NEWUSER == 0 {
		return false, errors.New("user namespaces are not available")
	}
	if err := mounts.Clonable(); err != nil && os.Geteuid() == 0 {
		return false, fmt.Errorf("the server is root without CAP_SYS_ADMIN: %w", err)
	} else if err != nil {
		named = true
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Dir, cmd.Env = []string{helperName, `{"Mounts":true,"Trial":true}`}, "/", o.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: namespaces | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	identify(cmd.SysProcAttr, o)
	if err := clonable(cmd.SysProcAttr); err != nil {
		return false, err
	}
	defer time.AfterFunc(startWithin, func() { _ = cmd.Cancel() }).Stop()
	if output, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
	}
	return named, nil
}

// capture keeps the beginning and the end of the written bytes. It is safe for concurrent use.
type capture struct {
	mu      sync.Mutex
	half    int
	first   []byte
	last    []byte
	dropped bool
}

func newCapture(limit int) *capture { return &capture{half: limit / 2} }

// Write never fails.
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := min(c.half-len(c.first), len(b))
	c.first = append(c.first, b[:room]...)
	c.last = append(c.last, b[room:]...)
	if more := len(c.last) - c.half; more > 0 {
		c.dropped = true
		c.last = c.last[more:] // append frees the part before it
	}
	return len(b), nil
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append([]byte(nil), c.first...)
	if c.dropped {
		all = append(all, "\n…\n"...)
	}
	return append(all, c.last...)
}
