package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/internal/testdb"
)

// old are threads that exist before any confinement: each runs what it is sent.
var old = make(chan func())

func init() {
	if isHelper(os.Args) && os.Getenv("OLD_THREADS") != "" {
		for range 8 {
			go func() {
				runtime.LockOSThread()
				for f := range old {
					f()
				}
			}()
		}
	}
	Register("allocate", func(context.Context, Job) ([]byte, error) {
		return written(make([]byte, 1<<30))[:1], nil
	})
	Register("allocate slowly", func(context.Context, Job) ([]byte, error) {
		var all [][]byte
		for range 1024 {
			all = append(all, written(make([]byte, 1<<20)))
		}
		return all[0][:1], nil
	})
	Register("allocate some", func(context.Context, Job) ([]byte, error) {
		return written(make([]byte, 48<<20))[:1], nil
	})
	Register("map shared memory", func(context.Context, Job) ([]byte, error) {
		_, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
		return nil, err
	})
	Register("map a stack", func(context.Context, Job) ([]byte, error) {
		_, err := unix.Mmap(-1, 0, 1<<30, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_GROWSDOWN|unix.MAP_NORESERVE)
		return nil, err
	})
	Register("stretch the stack", func(context.Context, Job) ([]byte, error) {
		// which lies in it
		page := uintptr(unsafe.Pointer(unsafe.StringData(os.Args[0]))) &^ uintptr(
			os.Getpagesize()-1)
		_, _, errno := unix.Syscall6(unix.SYS_MREMAP, page, uintptr(os.Getpagesize()), 1<<30,
			unix.MREMAP_MAYMOVE, 0, 0)
		if errno != 0 {
			return nil, errno
		}
		return nil, nil
	})
	Register("fill read-only memory", func(context.Context, Job) ([]byte, error) {
		for range 160 { // each is a small part of the limit, all are more than it
			b, err := unix.Mmap(-1, 0, 4<<20, unix.PROT_READ|unix.PROT_WRITE,
				unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				return nil, err
			}
			if err := unix.Mprotect(written(b), unix.PROT_READ); err != nil {
				return nil, err
			}
		}
		forever()
		return nil, nil
	})
	Register("spin", func(context.Context, Job) ([]byte, error) {
		for i := 0; ; i++ {
			_ = i
		}
	})
	Register("wait", func(_ context.Context, job Job) ([]byte, error) {
		tell(job)
		forever()
		return nil, nil
	})
	Register("listen to the context", func(ctx context.Context, _ Job) ([]byte, error) {
		<-ctx.Done()
		return nil, fmt.Errorf("gave up: %w", ctx.Err())
	})
	Register("open files", func(_ context.Context, job Job) ([]byte, error) {
		var all []*os.File
		for range 10_000 {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return nil, fmt.Errorf("after %d: %w", len(all), err)
			}
			all = append(all, f)
		}
		return nil, nil
	})
	Register("fill the disk", func(_ context.Context, job Job) ([]byte, error) {
		f, err := job.Dir.Create("big")
		if err != nil {
			return nil, err
		}
		b := make([]byte, 1<<20)
		for {
			if _, err := f.Write(b); err != nil {
				return nil, errors.New("hidden: " + err.Error())
			}
		}
	})
	Register("print", func(context.Context, Job) ([]byte, error) {
		fmt.Println("begin")
		line := []byte(strings.Repeat("x", 1023) + "\n")
		for range 10 << 10 {
			os.Stdout.Write(line)
		}
		fmt.Fprintln(os.Stderr, "end")
		return []byte("ok"), nil
	})
	Register("answer long", func(context.Context, Job) ([]byte, error) {
		return make([]byte, 100<<20), nil
	})
	Register("forge an answer", func(context.Context, Job) ([]byte, error) {
		unix.Write(responseFD, []byte{frameResult, 0xff, 0xff, 0xff, 0xff, 'x'})
		forever()
		return nil, nil
	})
	forge := func(name string, frame func() []byte) {
		Register("forge "+name, func(context.Context, Job) ([]byte, error) {
			unix.Write(responseFD, frame())
			os.Exit(0)
			return nil, nil
		})
	}
	for name, frame := range map[string]string{
		"kind":    "?\x00\x00\x00\x00",
		"failure": string(frameFailure) + "\x00\x00\x00\x01{",
		"setup":   string(frameFailure) + "\x00\x00\x00\x0e" + `{"Setup":true}`,
		"half":    string(frameResult) + "\x00\x00\x00\x09x",
		"begun":   string(frameBegun) + "\x00\x00\x00\x00",
		"journal": string(frameJournal) + "\x00\x00\x00\x02{}",
	} {
		forge(name, func() []byte { return []byte(frame) })
	}
	// They are made when they are sent: each helper runs this function.
	for name, long := range map[string]func(text string) failure{
		"limit":   func(text string) failure { return failure{Limit: limitName(text)} },
		"bound":   func(text string) failure { return failure{Limit: limitQuota, Bound: text} },
		"message": func(text string) failure { return failure{Message: text} },
		"panic": func(text string) failure {
			return failure{Panic: true, Message: text[len(text)/2:], Stack: text[len(text)/2:]}
		},
	} {
		forge(name, func() []byte { return forged(long(strings.Repeat("x", 400<<10))) })
	}
	Register("sh", func(ctx context.Context, job Job) ([]byte, error) {
		var script string
		if err := json.Unmarshal(job.Arguments, &script); err != nil {
			return nil, err
		}
		out, err := exec.Command("/bin/sh", "-c", script).CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		return out, nil
	})
	Register("fork", func(context.Context, Job) ([]byte, error) {
		var all []*exec.Cmd
		for {
			cmd := exec.Command("/bin/sleep", "3600")
			if err := cmd.Start(); err != nil {
				return nil, fmt.Errorf("after %d: %w", len(all), err)
			}
			all = append(all, cmd)
		}
	})
	Register("open", func(_ context.Context, job Job) ([]byte, error) {
		var names []string
		if err := json.Unmarshal(job.Arguments, &names); err != nil {
			return nil, err
		}
		var opened []string
		for _, name := range names {
			if f, err := os.Open(name); err == nil {
				opened = append(opened, name)
				f.Close()
			}
			if f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
				opened = append(opened, "write "+name)
				f.Close()
			}
		}
		return json.Marshal(opened)
	})
	Register("calls", func(_ context.Context, job Job) ([]byte, error) {
		var parent int
		if err := json.Unmarshal(job.Arguments, &parent); err != nil {
			return nil, err
		}
		return json.Marshal(attempts(parent, job.Dir))
	})
	for name, call := range map[string]func(pid int){
		"ptrace":   func(pid int) { unix.PtraceAttach(pid) },
		"readv":    func(pid int) { unix.ProcessVMReadv(pid, nil, nil, 0) },
		"umount":   func(int) { unix.Unmount("/", unix.MNT_DETACH) },
		"mount":    func(int) { unix.Mount("none", "/mnt", "tmpfs", 0, "") },
		"bpf":      func(int) { unix.Syscall(unix.SYS_BPF, 0, 0, 0) },
		"handle":   func(int) { unix.OpenByHandleAt(0, unix.NewFileHandle(1, []byte("x")), 0) },
		"finit":    func(int) { unix.FinitModule(0, "", 0) },
		"pidfdget": func(pid int) { unix.PidfdGetfd(0, 0, 0) },
	} {
		Register("deadly "+name, func(_ context.Context, job Job) ([]byte, error) {
			pid, err := strconv.Atoi(string(job.Arguments))
			if err != nil {
				return nil, err
			}
			call(pid)
			return []byte("survived"), nil
		})
	}
	Register("threads", func(context.Context, Job) ([]byte, error) {
		var mu sync.Mutex
		seen := map[int]bool{}
		var escaped []string
		look := func() {
			mu.Lock()
			defer mu.Unlock()
			seen[unix.Gettid()] = true
			if fd, err := unix.Open("/etc/passwd", unix.O_RDONLY, 0); err == nil {
				unix.Close(fd)
				escaped = append(escaped, "opened a file")
			}
			if socket(unix.AF_INET, unix.SOCK_STREAM, 0) == nil {
				escaped = append(escaped, "opened a socket")
			}
			if nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil ||
				nnp != 1 {
				escaped = append(escaped, "may get new privileges")
			}
		}
		var all, each sync.WaitGroup
		all.Add(8)
		for range 8 {
			each.Add(1)
			old <- func() { all.Done(); all.Wait(); look(); each.Done() }
		}
		each.Wait()
		spread(look)
		return json.Marshal(map[string]any{"threads": len(seen), "escaped": escaped})
	})
	Register("surroundings", func(context.Context, Job) ([]byte, error) {
		var open []string
		for fd := range 1024 {
			var stat unix.Stat_t
			if err := unix.Fstat(fd, &stat); err != nil {
				continue
			}
			var system unix.Statfs_t
			if err := unix.Fstatfs(fd, &system); err != nil {
				return nil, err
			}
			switch {
			case stat.Mode&unix.S_IFMT == unix.S_IFIFO:
				open = append(open, "pipe")
			// the null device
			case stat.Mode&unix.S_IFMT == unix.S_IFCHR && stat.Rdev == unix.Mkdev(1, 3):
			case system.Type == unix.ANON_INODE_FS_MAGIC: // of the runtime's poller
			// the runtime reads how many processors it may use
			case system.Type == unix.CGROUP_SUPER_MAGIC, system.Type == unix.CGROUP2_SUPER_MAGIC:
			default:
				open = append(open, fmt.Sprintf("%d: mode %o of %x", fd, stat.Mode, system.Type))
			}
		}
		return json.Marshal(map[string]any{"env": os.Environ(), "uid": os.Getuid(), "open": open})
	})
	Register("grants", func(_ context.Context, job Job) ([]byte, error) {
		var got []string
		b := make([]byte, 16)
		n, _ := job.Files["secret"].Read(b)
		got = append(got, string(b[:n]))
		if job.Dir != nil {
			if err := job.Dir.WriteFile("made", []byte("here"), 0o600); err != nil {
				return nil, err
			}
			b, err := os.ReadFile("made") // the working directory is the same
			if err != nil {
				return nil, err
			}
			got = append(got, string(b))
			if err := job.Dir.Mkdir("sub", 0o700); err != nil {
				return nil, err
			}
			if err := job.Dir.Rename("made", "sub/moved"); err != nil {
				return nil, err
			}
		}
		return []byte(strings.Join(got, ",")), nil
	})
}

// written writes to each page of memory.
func written(b []byte) []byte {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	return b
}

// forged is a frame with a failure.
func forged(f failure) []byte {
	b, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return append(appendFrame(nil, frameFailure, len(b)), b...)
}

var kindsOfSockets = []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET}

// socket makes a socket and closes it.
func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// attempts makes calls that have to fail and returns those that did not.
func attempts(parent int, dir *os.Root) (made []string) {
	try := func(name string, err error) {
		if err == nil {
			made = append(made, name)
		}
	}
	for family := range 50 {
		for _, kind := range kindsOfSockets {
			try(fmt.Sprintf("socket(%d, %d)", family, kind), socket(family, kind, 0))
		}
	}
	const mptcp = 262
	try("mptcp", socket(unix.AF_INET, unix.SOCK_STREAM, mptcp))
	_, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	try("socketpair", err)
	for _, signal := range []syscall.Signal{0, unix.SIGCONT} {
		try("kill", syscall.Kill(parent, signal))
		try("kill the group", syscall.Kill(-parent, signal))
	}
	fd, err := unix.PidfdOpen(parent, 0)
	if err == nil {
		try("pidfd_send_signal", unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0))
	}
	var limit unix.Rlimit
	try("prlimit of the server", unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &limit))
	_, err = unix.MemfdCreate("x", 0)
	try("memfd_create", err)
	try("unshare", unix.Unshare(unix.CLONE_NEWUSER))
	try("chroot", unix.Chroot("/"))
	_, err = unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
	try("open_tree", err)
	_, err = unix.OpenTree(unix.AT_FDCWD, "/", 0) // which takes no privileges
	try("open_tree without a clone", err)
	try("mount_setattr", unix.MountSetattr(unix.AT_FDCWD, ".", 0,
		&unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NOEXEC}))
	try("move_mount", unix.MoveMount(unix.AT_FDCWD, ".", unix.AT_FDCWD, "/dev", 0))
	try("chmod", os.Chmod("/tmp", 0o777))
	try("chown", os.Chown("/tmp", os.Getuid(), -1))
	now := time.Now()
	if dir != nil {
		f, err := dir.Create("own")
		if err != nil {
			made = append(made, "no file of its own: "+err.Error())
		} else {
			try("fchmod", f.Chmod(0o777))
			try("fchown", f.Chown(os.Getuid(), -1))
			f.Close()
		}
	}
	try("utimes", os.Chtimes("/tmp", now, now))
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	if errno != unix.ENOSYS {
		made = append(made, "io_uring: "+errno.Error())
	}
	_, _, errno = unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	if errno != unix.ENOSYS {
		made = append(made, "clone3: "+errno.Error())
	}
	_, _, errno = unix.Syscall(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0)
	if errno != unix.EPERM {
		made = append(made, "clone into a namespace: "+errno.Error())
	}
	_, _, errno = unix.Syscall(unix.SYS_CLONE, unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0, 0)
	if errno != unix.EPERM {
		made = append(made, "clone a sibling: "+errno.Error())
	}
	try("prctl(PR_SET_PDEATHSIG)", unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0))
	if dir != nil {
		try("mkfifo", unix.Mkfifo("fifo", 0o600))
		try("mknod", unix.Mknod("file", unix.S_IFREG|0o600, 0))
		if f, err := dir.Create("reserved"); err != nil {
			made = append(made, err.Error())
		} else {
			for _, mode := range []uint32{0, unix.FALLOC_FL_ZERO_RANGE} {
				if err := unix.Fallocate(int(f.Fd()), mode|unix.FALLOC_FL_KEEP_SIZE, 0,
					1<<20); !errors.Is(err, unix.EOPNOTSUPP) {
					made = append(made, fmt.Sprintf("fallocate %d: %v", mode, err))
				}
			}
			// FS_IOC_RESVSP, FS_IOC_RESVSP64 and FS_IOC_ZERO_RANGE (linux/falloc.h)
			for _, number := range []uintptr{40, 42, 57} {
				space := struct {
					kind, whence  int16
					start, length int64
					rest          [6]int32
				}{length: 1 << 20}
				if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), 0x40305800|number,
					uintptr(unsafe.Pointer(&space))); errno != unix.EOPNOTSUPP {
					made = append(made, fmt.Sprintf("ioctl %d: %v", number, errno))
				}
			}
			f.Close()
		}
	}
	_, _, errno = unix.Syscall(900, 0, 0, 0)
	if errno != unix.ENOSYS {
		made = append(made, "a call of the future: "+errno.Error())
	}
	_, _, errno = unix.Syscall(unix.SYS_USERFAULTFD, 0, 0, 0)
	if errno != unix.EPERM {
		made = append(made, "userfaultfd: "+errno.Error())
	}
	_, err = unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_SESSION_KEYRING, 0, 0, 0)
	try("keyctl", err)
	_, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o600)
	try("shmget", err)
	w, err := unix.InotifyInit1(0)
	if err == nil {
		_, err = unix.InotifyAddWatch(w, "/etc", unix.IN_OPEN)
		try("inotify", err)
	}
	return made
}

// workspace returns a directory that helpers may use.
func workspace(t testing.TB) *os.Root {
	t.Helper()
	dir := t.TempDir()
	owned(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func arguments(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEachLimitEndsTheWork(t *testing.T) {
	p := newPool(t, Options{})
	dir := workspace(t)
	roomy := hostile // the server looks at memory once in a while
	roomy.CPU = time.Minute
	for _, test := range []struct {
		handler string
		limits  Limits
		want    limitName
	}{
		{"allocate", hostile, limitMemory},
		{"allocate slowly", hostile, limitMemory},
		{"map shared memory", hostile, limitMemory},
		{"map a stack", hostile, limitMemory},
		{"fill read-only memory", roomy, limitMemory},
		{"stretch the stack", hostile, limitMemory},
		{"spin", hostile, limitCPU},
		{"spin", quickly, limitTime},
		{"wait", quickly, limitTime},
		{"listen to the context", quickly, limitTime},
		{"open files", hostile, limitFiles},
		{"fill the disk", hostile, limitFileSize},
		{"answer long", Limits{}, limitOutput},
		{"forge an answer", hostile, limitOutput},
		{"fork", hostile, limitProcesses},
	} {
		if testing.Short() && (test.handler == "allocate slowly" || test.handler == "spin") {
			continue // they compute for seconds before the limit
		}
		t.Run(test.handler+" "+string(test.want), func(t *testing.T) {
			warm(p, 1)
			before := openDescriptors(t)
			a, err := p.Run(context.Background(), request{Name: test.handler, Dir: dir,
				Paths: programs(), Limits: test.limits})
			var limit *limitError
			if !errors.As(err, &limit) || limit.Limit != test.want {
				t.Fatalf("ended with %v; printed %.300s", err, a.Printed)
			}
			if limit.Bound == "" || !strings.Contains(err.Error(), string(test.want)) {
				t.Errorf("the error does not say what the limit is: %v", err)
			}
			warm(p, 1)
			if after := openDescriptors(t); after > before {
				t.Errorf("%d descriptors, %d before", after, before)
			}
		})
	}
	a, err := p.Run(context.Background(), request{Name: "allocate some", Limits: hostile})
	if err != nil || a.MaxRSS < 48<<20 {
		t.Errorf("memory below the limit: %v, peak %d", err, a.MaxRSS)
	}
}

func TestAnswersThatNoHelperSendsAreErrors(t *testing.T) {
	logged := 0
	p := newPool(t, Options{Log: func(_, message string) { logged = max(logged, len(message)) }})
	for name, most := range map[string]int{
		"kind": 200, "failure": 200, "setup": 200, "half": 200, "begun": 200, "journal": 200,
		"limit": 200, "bound": 300, "message": maxMessage + 3, "panic": 200,
	} {
		a, err := p.Run(context.Background(), request{Name: "forge " + name})
		if err == nil || len(a.Result) > 0 {
			t.Errorf("%s: %q, %v", name, a.Result, err)
		} else if text := err.Error(); len(text) > most {
			t.Errorf("%s: an error of %d bytes, %.100s", name, len(text), text)
		}
	}
	if logged == 0 || logged > maxMessage+maxStack+100 {
		t.Errorf("as many as %d bytes were logged at a time", logged)
	}
}

func TestWhatIsPrintedIsBounded(t *testing.T) {
	p := newPool(t, Options{Printed: 1000})
	a, err := p.Run(context.Background(),
		request{Name: "print", Limits: Limits{CPU: 10 * time.Second}})
	if err != nil || string(a.Result) != "ok" {
		t.Fatalf("%q, %v", a.Result, err)
	}
	printed := string(a.Printed)
	if len(printed) > 1010 || !strings.HasPrefix(printed, "begin\n") ||
		!strings.HasSuffix(printed, "end\n") {
		t.Errorf("%d bytes: %.20q … %.20q", len(printed), printed, printed[len(printed)-10:])
	}
}

// tagged returns the processes of this machine whose command line has a text in it.
func tagged(t *testing.T, tag string) (all []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), tag) {
			all = append(all, name)
		}
	}
	return all
}

// zombies returns the children of this process that ended, and that nothing waits for.
func zombies(t *testing.T) (all []string) {
	t.Helper()
	settles(func() bool {
		all = nil
		for _, child := range children(t) {
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child)); err == nil &&
				strings.Contains(string(b), ") Z ") {
				all = append(all, strconv.Itoa(child))
			}
		}
		return all == nil
	})
	return all
}

func TestNoProcessOutlivesItsCall(t *testing.T) {
	p := newPool(t, Options{})
	t.Run("siblings", func(t *testing.T) {
		a, err := p.Run(context.Background(), request{Name: "have siblings"})
		if err != nil || string(a.Result) != "0" {
			t.Errorf("it has %s, %v", a.Result, err)
		}
		if left := zombies(t); len(left) > 0 {
			t.Errorf("there are %v left", left)
		}
	})
	for name, script := range map[string]string{
		"child":             "sleep %s",
		"background":        "sleep %s & sleep 0.1",
		"own session":       "setsid sleep %s & sleep 0.1",
		"forked twice":      "(setsid sh -c '(sleep %s &) ; exit' &) ; sleep 0.1",
		"ignoring signals":  "trap '' TERM HUP INT; (trap '' TERM HUP; sleep %s &) ; sleep 0.1",
		"fork bomb":         "f() { sleep %s & f | f & }; f; sleep 0.2",
		"closing its files": "(setsid sh -c 'exec 0<&- 1>&- 2>&-; sleep %s' &) ; sleep 0.1",
	} {
		t.Run(name, func(t *testing.T) {
			// A duration that no other process sleeps for tells these apart.
			tag := fmt.Sprintf("3600.%d%d", os.Getpid(), time.Now().UnixNano()%1e6)
			_, err := p.Run(context.Background(),
				request{Name: "sh", Arguments: arguments(t, fmt.Sprintf(script, tag)),
					Paths: programs(), Limits: quickly})
			if left := tagged(t, tag); len(left) > 0 {
				t.Errorf("after %v there are still %v", err, left)
			}
			if left := zombies(t); len(left) > 0 {
				t.Errorf(
					"after %v the server has children that ended and that it does not wait for: %v",
					err, left)
			}
		})
	}
}

func init() {
	Register("have siblings", func(context.Context, Job) ([]byte, error) {
		made := 0
		for range 10 {
			pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE,
				uintptr(syscall.SIGCHLD)|unix.CLONE_PARENT, 0, 0, 0, 0, 0)
			if errno == 0 && pid == 0 {
				for {
					syscall.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
				}
			}
			if errno == 0 {
				made++
			}
		}
		return []byte(strconv.Itoa(made)), nil
	})
	// What the server runs with is changed from a helper in its pid namespace.
	Register("slow the server down", func(context.Context, Job) ([]byte, error) {
		server := os.Getppid()
		var made []string
		try := func(name string, err error) {
			if err == nil {
				made = append(made, name)
			}
		}
		var cpus unix.CPUSet
		cpus.Set(0)
		try("setpriority", unix.Setpriority(unix.PRIO_PROCESS, server, 19))
		try("setpriority of all", unix.Setpriority(unix.PRIO_USER, 0, 19))
		try("sched_setaffinity", unix.SchedSetaffinity(server, &cpus))
		try("sched_setattr", unix.SchedSetAttr(server, &unix.SchedAttr{Size: unix.SizeofSchedAttr,
			Policy: unix.SCHED_IDLE}, 0))
		for name, arguments := range map[string][3]uintptr{
			"ioprio_set":         {unix.SYS_IOPRIO_SET, 1, uintptr(server)},
			"ioprio_set of all":  {unix.SYS_IOPRIO_SET, 3, 0},
			"sched_setscheduler": {unix.SYS_SCHED_SETSCHEDULER, uintptr(server), unix.SCHED_IDLE},
		} {
			nothing := new(int32)
			third := uintptr(3 << 13) // the idle class
			if arguments[0] == unix.SYS_SCHED_SETSCHEDULER {
				third = uintptr(unsafe.Pointer(nothing))
			}
			if _, _, errno := unix.Syscall(arguments[0], arguments[1], arguments[2],
				third); errno == 0 {
				made = append(made, name)
			}
		}
		// 19 is the lowest priority: a process of any priority may change to it.
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, 19); err != nil {
			made = append(made, "not even its own priority: "+err.Error())
		}
		return json.Marshal(made)
	})
}

// TestIsolationBoundsWhatAnInterpretersModulesReach holds docs/howto/isolating-tools.md to its
// table: an isolated interpreter imports all its modules, and they reach what the call may reach.
func TestIsolationBoundsWhatAnInterpretersModulesReach(t *testing.T) {
	const script = `/usr/bin/python3 -I -c '
import json, math, re, datetime, os, socket, subprocess
def attempt(what):
    try:
        return str(what())
    except OSError:
        return "refused"
print(json.dumps([math.sqrt(4), re.findall("a+", "baa"), str(datetime.date(2026, 1, 2)),
    attempt(lambda: open("/etc/passwd")), attempt(lambda: open("/tmp/x", "w")),
    attempt(lambda: socket.create_connection(("127.0.0.1", 1))),
    attempt(lambda: subprocess.check_output(["/bin/echo", "one"])),
    attempt(lambda: open("kept", "w").write("two")), attempt(lambda: open("kept").read())]))
'`
	testdb.Full(t, "Python")
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		testdb.Unavailable(t, "no Python: `apt-get install python3` installs it")
	}
	p := newPool(t, Options{})
	a, err := p.Run(context.Background(), request{Name: "sh", Paths: programs(), Dir: workspace(t),
		Arguments: arguments(t, script)})
	const want = `[2.0, ["aa"], "2026-01-02", "refused", "refused", "refused", ` +
		`"b'one\\n'", "3", "two"]` + "\n"
	if err != nil || string(a.Result) != want {
		t.Errorf("%s, %v", a.Result, err)
	}
}

func TestProgramsStart(t *testing.T) {
	p := newPool(t, Options{})
	a, err := p.Run(context.Background(),
		request{Name: "sh", Arguments: arguments(t, "echo one; ls / >/dev/null 2>&1 || echo two"),
			Paths: programs()})
	if err != nil || string(a.Result) != "one\ntwo\n" {
		t.Errorf("%q, %v, printed %s", a.Result, err, a.Printed)
	}
	if _, err := p.Run(context.Background(),
		request{Name: "sh", Arguments: arguments(t, "echo one")}); err == nil {
		t.Error("a program started that was not granted")
	}
}

func TestFilesOutsideStayClosed(t *testing.T) {
	p := newPool(t, Options{})
	dir := workspace(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(os.Getpid())
	names := []string{
		"/", "/etc/passwd", "/etc/hosts", "/proc/1/environ", "/proc/1/root/etc/passwd",
		"/proc/self/root/etc/passwd", "/proc/self/environ", "/proc/self/mem",
		"/proc/" + pid + "/mem", "/proc/" + pid + "/environ", "/proc/" + pid + "/root/etc/passwd",
		"/proc/" + pid + "/fd/0",
		"/dev/shm/x", "/tmp/x-" + pid, "/var/tmp/x-" + pid, secret, "../secret",
		"../../../etc/passwd", "/sys/kernel/uevent_helper",
		"/dev/tty", "/dev/mem", "/dev/zero", binary,
	}
	a, err := p.Run(context.Background(), request{Name: "open", Arguments: arguments(t, names),
		Dir: dir})
	if err != nil || string(a.Result) != "null" {
		t.Errorf("opened %s, %v", a.Result, err)
	}
	// A granted one opens, as it was granted, and its neighbours do not.
	neighbour := filepath.Join(filepath.Dir(secret), "neighbour")
	if err := os.WriteFile(neighbour, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	passable(t, filepath.Dir(secret))
	os.Chmod(secret, 0o666)
	a, err = p.Run(context.Background(),
		request{Name: "open", Arguments: arguments(t, []string{secret, neighbour}),
			Paths: []granted{{Name: secret, Access: mayRead}}})
	if want := string(arguments(t, []string{secret})); err != nil || string(a.Result) != want {
		t.Errorf("opened %s of %s, %v", a.Result, want, err)
	}
}

func TestGrantsAreHandedOver(t *testing.T) {
	p := newPool(t, Options{})
	dir := workspace(t)
	name := filepath.Join(t.TempDir(), "secret")
	// which the helper's user may not open
	if err := os.WriteFile(name, []byte("granted"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := p.Run(context.Background(),
		request{Name: "grants", Files: map[string]*os.File{"secret": file}, Dir: dir})
	if err != nil || string(a.Result) != "granted,here" {
		t.Errorf("%q, %v, printed %s", a.Result, err, a.Printed)
	}
	if b, err := dir.ReadFile("sub/moved"); err != nil || string(b) != "here" {
		t.Errorf("the file in the workspace: %q, %v", b, err)
	}
}

func TestPathsThatCannotBeGranted(t *testing.T) {
	p := newPool(t, Options{Warm: 1})
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, filepath.Join(dir, "missing")} {
		if _, err := p.Run(context.Background(),
			request{Name: "echo", Paths: []granted{{Name: name, Access: mayRead}}}); err == nil {
			t.Errorf("%s was granted", name)
		}
	}
}

func TestForbiddenCallsFail(t *testing.T) {
	p := newPool(t, Options{})
	a, err := p.Run(context.Background(),
		request{Name: "calls", Arguments: arguments(t, os.Getpid()), Dir: workspace(t)})
	if err != nil || string(a.Result) != "null" {
		t.Errorf("succeeded: %s, %v, printed %s", a.Result, err, a.Printed)
	}
}

func TestDeadlyCallsEndTheHelper(t *testing.T) {
	p := newPool(t, Options{})
	for _, name := range []string{"ptrace", "readv", "mount", "umount", "bpf", "handle", "finit",
		"pidfdget"} {
		a, err := p.Run(context.Background(), request{Name: "deadly " + name,
			Arguments: arguments(t, os.Getpid())})
		var limit *limitError
		if !errors.As(err, &limit) || limit.Limit != limitSyscall {
			t.Errorf("%s: %q, %v", name, a.Result, err)
		}
	}
}

func TestEveryThreadIsConfined(t *testing.T) {
	p := newPool(t, Options{Env: []string{"OLD_THREADS=8"}})
	for range 5 {
		a, err := p.Run(context.Background(), request{Name: "threads"})
		if err != nil {
			t.Fatalf("%v, printed %s", err, a.Printed)
		}
		var got struct {
			Threads int
			Escaped []string
		}
		if err := json.Unmarshal(a.Result, &got); err != nil {
			t.Fatal(err)
		}
		if got.Threads < 9 || len(got.Escaped) > 0 {
			t.Errorf("%d threads; %v", got.Threads, got.Escaped)
		}
	}
}

func TestNothingOfTheServerReachesAHelper(t *testing.T) {
	t.Setenv("DATABASE_PASSWORD", "hunter2")
	// A descriptor that was not opened by Go, and so does not close at exec.
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	p := newPool(t, Options{})
	a, err := p.Run(context.Background(), request{Name: "surroundings"})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Env, Open []string
		UID       int
	}
	if err := json.Unmarshal(a.Result, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Env) != 2 || !strings.HasPrefix(got.Env[0], "PATH=") ||
		!strings.HasPrefix(got.Env[1], "GOMAXPROCS=") {
		t.Errorf("environment: %v", got.Env)
	}
	if got.UID == 0 {
		t.Error("the helper is root")
	}
	// output twice, and the answer
	if want := []string{"pipe", "pipe", "pipe"}; !slices.Equal(got.Open, want) {
		t.Errorf("descriptors are open: %q", got.Open)
	}
}

func TestNetworkIsOnlyForWhoHasIt(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("hello"))
			c.Close()
		}
	}()
	p := newPool(t, Options{})
	address := arguments(t, listener.Addr().String())
	if a, err := p.Run(context.Background(),
		request{Name: "dial", Arguments: address}); err == nil {
		t.Errorf("without a grant: %q", a.Result)
	}
	a, err := p.Run(context.Background(), request{Name: "dial", Arguments: address, Net: true})
	if err != nil || string(a.Result) != "hello" {
		t.Errorf("with a grant: %q, %v, printed %s", a.Result, err, a.Printed)
	}
	a, err = p.Run(context.Background(), request{Name: "other sockets", Net: true})
	if err != nil || string(a.Result) != "null" {
		t.Errorf("with a grant: %s, %v", a.Result, err)
	}
}

func init() {
	Register("dial", func(ctx context.Context, job Job) ([]byte, error) {
		var address string
		if err := json.Unmarshal(job.Arguments, &address); err != nil {
			return nil, err
		}
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		b := make([]byte, 16)
		n, err := c.Read(b)
		return b[:n], err
	})
	Register("other sockets", func(context.Context, Job) ([]byte, error) {
		var made []string
		for family := range 50 {
			for _, kind := range kindsOfSockets {
				for _, protocol := range []int{0, unix.IPPROTO_ICMP, 262, unix.IPPROTO_SCTP} {
					allowed := (family == unix.AF_INET || family == unix.AF_INET6) &&
						(kind == unix.SOCK_STREAM || kind == unix.SOCK_DGRAM) && protocol == 0
					if !allowed && socket(family, kind, protocol) == nil {
						made = append(made, fmt.Sprint(family, kind, protocol))
					}
				}
			}
		}
		if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
			made = append(made, "listen "+l.Addr().String())
		}
		return json.Marshal(made)
	})
}

func TestHelpersServeOneCallEach(t *testing.T) {
	p := newPool(t, Options{Warm: 2})
	var mu sync.Mutex
	var wait sync.WaitGroup
	failed := 0
	callers, calls := 8, 5
	if testing.Short() {
		callers, calls = 4, 3
	}
	for i := range callers {
		wait.Go(func() {
			for n := range calls {
				want := fmt.Sprintf(`"%d of %d"`, n, i)
				a, err := p.Run(context.Background(),
					request{Name: "echo", Arguments: json.RawMessage(want)})
				if err != nil || string(a.Result) != want {
					mu.Lock()
					failed++
					t.Errorf("%s: %q, %v", want, a.Result, err)
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
}

func TestOtherCallsGoOnBesideHostileOnes(t *testing.T) {
	p := newPool(t, Options{})
	dir := workspace(t)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	stop := make(chan struct{})
	var hostiles sync.WaitGroup
	for _, name := range []string{"allocate", "spin", "open files", "fill the disk", "answer long",
		"wait"} {
		hostiles.Go(func() {
			limits := hostile
			limits.Timeout = quickly.Timeout
			for {
				if _, err := p.Run(context.Background(), request{Name: name, Dir: dir,
					Limits: limits}); err == nil {
					t.Errorf("%s succeeded", name)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	calls := 20
	if testing.Short() {
		calls = 3
	}
	var good sync.WaitGroup
	for range 2 {
		good.Go(func() {
			for range calls {
				if a, err := p.Run(context.Background(),
					request{Name: "echo", Arguments: json.RawMessage(`1`)}); err != nil ||
					string(a.Result) != "1" {
					t.Errorf("%q, %v", a.Result, err)
				}
			}
		})
	}
	good.Wait()
	close(stop)
	hostiles.Wait()
	var after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&after)
	if after.HeapAlloc > before.HeapAlloc+8<<20 {
		t.Errorf("the server's heap grew from %d to %d bytes", before.HeapAlloc, after.HeapAlloc)
	}
}

func TestACancelledCallEnds(t *testing.T) {
	p := newPool(t, Options{})
	why := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(context.Background())
	if _, err := p.Run(ctx, request{Name: "wait", Arguments: telling,
		emitted: func(json.RawMessage) { cancel(why) }}); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if _, err := p.Run(ctx, request{Name: "echo"}); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

func TestCloseEndsCalls(t *testing.T) {
	p := newPool(t, Options{})
	result := make(chan error)
	begun := make(chan struct{})
	go func() {
		_, err := p.Run(context.Background(), request{Name: "wait", Arguments: telling,
			emitted: func(json.RawMessage) { close(begun) }})
		result <- err
	}()
	<-begun
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}
