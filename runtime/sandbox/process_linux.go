package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a helper as the server sees it.
type process struct {
	proc    *os.Process
	request *os.File // a socket: descriptors travel with the request
	answer  *os.File
	output  *os.File
	printed *capture
	drained chan struct{}
	cgroup  *cgroup // nil without
	group   bool    // there is no pid namespace that ends with the helper
	before  used
	data    int64 // what RLIMIT_DATA counts of it, since it is warm
	ended   *os.ProcessState
}

// start starts a helper. It has to be called by the thread that lives as long as helpers do: see
// the death signal.
func start(o Options, my role, namespaces uintptr, null *os.File) (*process, error) {
	name, err := json.Marshal(my)
	if err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	// The helper's end blocks, this one waits in the runtime's poller.
	if err := unix.SetNonblock(pair[0], true); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(pair[0]),
			unix.Close(pair[1]))
	}
	p := &process{
		request: os.NewFile(uintptr(pair[0]), "sandbox request"),
		printed: newCapture(o.Printed),
		drained: make(chan struct{}),
		group:   my.Group,
	}
	theirs := []*os.File{os.NewFile(uintptr(pair[1]), "sandbox request")}
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	failed := func(err error) (*process, error) {
		for _, f := range []*os.File{p.request, p.answer, p.output} {
			if f != nil {
				f.Close()
			}
		}
		if p.cgroup != nil {
			p.cgroup.remove()
		}
		return nil, err
	}
	var answerEnd, outputEnd *os.File
	if p.answer, answerEnd, err = os.Pipe(); err != nil {
		return failed(err)
	}
	theirs = append(theirs, answerEnd)
	if p.output, outputEnd, err = os.Pipe(); err != nil {
		return failed(err)
	}
	theirs = append(theirs, outputEnd)

	attributes := &syscall.SysProcAttr{
		Setsid:     true,            // a process group of its own, and no terminal
		Pdeathsig:  syscall.SIGKILL, // when the thread that started it ends, so with the server
		Cloneflags: namespaces,
	}
	identify(attributes, o)
	if o.Cgroup != "" {
		if p.cgroup, err = newCgroup(o.Cgroup); err != nil {
			return failed(err)
		}
		attributes.UseCgroupFD, attributes.CgroupFD = true, int(p.cgroup.dir.Fd())
	}
	// Not by its path: the file may have been replaced since, or lie where the helper's user may
	// not look.
	p.proc, err = os.StartProcess("/proc/self/exe", []string{helperName, string(name)},
		&os.ProcAttr{
			Dir: "/", Env: o.Env, Sys: attributes,
			Files: []*os.File{null, outputEnd, outputEnd, theirs[0], answerEnd},
		})
	if err != nil {
		return failed(fmt.Errorf("start a helper: %w", err))
	}
	go func() {
		defer close(p.drained)
		_, _ = io.Copy(p.printed, p.output) // ends with the last process that has it, or with end
	}()
	return p, nil
}

// identify chooses whom a helper runs as: never root.
func identify(a *syscall.SysProcAttr, o Options) {
	root := os.Geteuid() == 0
	uid, gid := os.Getuid(), os.Getgid()
	if root {
		uid, gid = o.UID, o.GID
		// and no further groups
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	if a.Cloneflags&unix.CLONE_NEWUSER != 0 {
		// The same numbers inside as outside, and no others. RLIMIT_NPROC then counts each helper
		// for itself (ucounts, Linux 5.14).
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
	_ = p.answer.SetReadDeadline(time.Now().Add(within)) // pipes have deadlines
	kind, length, err := readPrefix(p.answer)
	if err != nil {
		return fmt.Errorf("the helper did not start: %w%s", err, printedText(p.printed.bytes()))
	}
	payload := make([]byte, min(length, maxFailure))
	if _, err := io.ReadFull(p.answer, payload); err != nil {
		return fmt.Errorf("the helper did not start: %w", err)
	}
	if kind != frameWarm {
		return fmt.Errorf("the helper began with a frame of kind %q", kind)
	}
	statm, err := statmOf(p.proc.Pid)
	if err != nil {
		return fmt.Errorf("cannot measure the helper's memory: %w", err)
	}
	p.data = statm[5]
	return json.Unmarshal(payload, &p.before)
}

// said returns what a helper printed, for an error message.
func printedText(printed []byte) string {
	if text := strings.TrimSpace(string(printed[:min(len(printed), 2048)])); text != "" {
		return ". It said: " + text
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
		return nil // the helper may have closed its end by now: not even nothing can be written
	}
	_, err = p.request.Write(frame[sent:])
	return err
}

// peakMemory reads the most memory the helper had resident. The kernel's accounting for a process
// that has ended would include what the server had when it forked.
func (p *process) peakMemory() int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.proc.Pid) + "/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(after, " kB")
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		return 0 // it has ended
	}
	return kilobytes << 10
}

// end ends the helper and all that it started, and returns when none of that is left.
func (p *process) end() {
	p.kill()
	p.gone()
}

// kill has the helper and all that it started end.
func (p *process) kill() {
	if p.cgroup != nil {
		p.cgroup.kill()
	}
	// The helper is not waited for yet, so its number is still its own.
	_ = syscall.Kill(-p.proc.Pid, syscall.SIGKILL)
	_ = p.proc.Kill()
}

// gone returns when there is no process left of what kill was called for.
func (p *process) gone() {
	// In a pid namespace of its own it is the first process: the kernel lets it end after all
	// others.
	p.ended, _ = p.proc.Wait()
	if p.group {
		// One signal reaches all: a fork that is under way fails. They take a moment.
		for range 1000 {
			if errors.Is(syscall.Kill(-p.proc.Pid, 0), syscall.ESRCH) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	_ = p.output.SetReadDeadline(time.Now().Add(time.Second))
	<-p.drained
	p.request.Close()
	p.answer.Close()
	p.output.Close()
	if p.cgroup != nil {
		p.cgroup.remove()
	}
}

// cpu returns the processor time since the helper was warm. It is known after end.
func (p *process) cpu() time.Duration {
	if p.ended == nil {
		return 0
	}
	return max(0, p.ended.UserTime()+p.ended.SystemTime()-p.before.CPU)
}

// capture keeps the beginning and the end of what is written to it, and drops what is between.
// It is safe for concurrent use.
type capture struct {
	mu      sync.Mutex
	half    int
	first   []byte
	last    []byte // a ring once it is full
	next    int
	dropped bool
}

func newCapture(limit int) *capture { return &capture{half: limit / 2} }

// Write never fails.
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(b)
	room := min(c.half-len(c.first), len(b))
	c.first = append(c.first, b[:room]...)
	b = b[room:]
	if len(b) > c.half {
		c.dropped = true
		b = b[len(b)-c.half:]
	}
	if room := min(c.half-len(c.last), len(b)); room > 0 {
		c.last = append(c.last, b[:room]...)
		b = b[room:]
	}
	for len(b) > 0 {
		c.dropped = true
		written := copy(c.last[c.next:], b)
		b = b[written:]
		c.next = (c.next + written) % c.half
	}
	return n, nil
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append([]byte(nil), c.first...)
	if c.dropped {
		all = append(all, "\n…\n"...)
	}
	all = append(all, c.last[c.next:]...)
	return append(all, c.last[:c.next]...)
}
