//go:build amd64 || arm64

package seccomp

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deadly calls end the process: no program makes them by mistake. They access other processes, or
// change the kernel or its view.
var deadly = append(archDeadly,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_BPF,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT,
)

// refused calls fail with EPERM.
var refused = append(archRefused,
	// Access to other namespaces and mounts, and so to more privileges.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT, unix.SYS_LISTNS, unix.SYS_LSM_SET_SELF_ATTR,
	// Parts of the kernel with a history of vulnerabilities.
	unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY,
	unix.SYS_REQUEST_KEY,
	unix.SYS_PERSONALITY, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT, unix.SYS_SYSLOG, unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
	unix.SYS_PROCESS_MRELEASE,
	unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	// Memory outside of a process's limits, files that Landlock does not control, and resources
	// that the processes of a user share.
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL, unix.SYS_SEMGET,
	unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	// Operations that Landlock does not control: modes, owners and extended attributes of files,
	// and watching them. The user's permissions would allow them on all of the user's files,
	// granted or not.
	unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR,
	unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR,
	unix.SYS_INOTIFY_ADD_WATCH,
	// Opening a named pipe blocks: one in a workspace would block readers of that workspace.
	unix.SYS_MKNODAT,
)

// absent calls fail with ENOSYS, so that programs use another way.
var absent = append(archAbsent,
	// work around filters
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_IO_SETUP, unix.SYS_IO_SUBMIT, unix.SYS_IO_DESTROY, unix.SYS_IO_CANCEL,
	unix.SYS_CLONE3, unix.SYS_OPENAT2, // their flags are in memory, invisible to filters
)

// mounting calls fail with EPERM, and umount2(2) is deadly, after the helper has mounted its call's
// files.
var mounting = []uint32{unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
	unix.SYS_CHROOT}

// ruling calls are absent once the helper is confined. A rule of Landlock keeps the blocks of a
// removed and closed file, which no quota counts.
var ruling = []uint32{unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE,
	unix.SYS_LANDLOCK_RESTRICT_SELF}

// serving calls make a socket reachable for others, or connect processes. Without a network no
// socket can be created.
var serving = append(archServing, unix.SYS_SOCKETPAIR, unix.SYS_BIND, unix.SYS_LISTEN,
	unix.SYS_ACCEPT4, unix.SYS_ACCEPT)

// grouping calls leave the process group.
var grouping = []uint32{unix.SYS_SETSID, unix.SYS_SETPGID}

// scheduling calls change the scheduling of the process in their first argument. Without a pid
// namespace handlers can use the server's pid.
var scheduling = []uint32{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER,
	unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR}

// Users as targets of setpriority(2) and ioprio_set(2) (linux/resource.h, linux/ioprio.h).
const (
	priorityOfUser   = 2
	ioPriorityOfUser = 3
)

// lastCall is the newest reviewed system call (Linux 6.19). Newer ones are absent: the lists above
// cannot contain them.
const lastCall = unix.SYS_RSEQ_SLICE_YIELD

// namespaces are the flags of clone(2) for new ones, which has none for time.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// spaceCalls is the type of ioctls for the space of files and file systems (XFS's, linux/falloc.h):
// some reserve it like fallocate(2).
const spaceCalls = 'X' << 8

// setID are the set-id bits of a mode.
const setID = unix.S_ISUID | unix.S_ISGID

// Restrict installs the filter on all threads of this process, and no_new_privs with it.
func Restrict(o Options) error { return filterOf(o).install(o.Partial) }

// RestrictPreparation refuses the calls that a helper needed to confine itself.
func RestrictPreparation(partial bool) error {
	var f filter
	f.load(dataCall)
	f.mounts()
	f.always(ruling, failWith(unix.ENOSYS))
	f.ret(unix.SECCOMP_RET_ALLOW)
	return f.install(partial)
}

func (f *filter) mounts() {
	f.always(mounting, failWith(unix.EPERM))
	f.always([]uint32{unix.SYS_UMOUNT2}, unix.SECCOMP_RET_KILL_PROCESS)
}

func (code filter) install(partial bool) error {
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	// Both calls must come from one thread. The second one includes the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0 && partial:
		return nil
	case errno != 0:
		return os.NewSyscallError("seccomp", errno)
	case thread != 0:
		return fmt.Errorf("seccomp: cannot apply the filter to thread %d", thread)
	}
	return nil
}

// Available returns an error unless the kernel supports filters that can end a process.
func Available() error {
	action := uint32(unix.SECCOMP_RET_KILL_PROCESS)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0,
		uintptr(unsafe.Pointer(&action)))
	if errno != 0 {
		return errors.Join(errors.New("the kernel has no seccomp filters"),
			os.NewSyscallError("seccomp", errno))
	}
	return nil
}

// The input of a filter: struct seccomp_data (linux/seccomp.h). Arguments have eight bytes, the
// lower four first on these processors, and no argument below uses more.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16
)

// filter is a program for the kernel's packet filter machine (Documentation/networking/filter.rst),
// a sequence of rules. Each begins with the call's number loaded, and keeps it or returns.
type filter []unix.SockFilter

func (f *filter) add(code uint16, jt, jf uint8, k uint32) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (f *filter) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }
func (f *filter) ret(value uint32)   { f.add(unix.BPF_RET|unix.BPF_K, 0, 0, value) }

const (
	equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	greater = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	hasAny  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	and     = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
)

// always returns a value for calls with any arguments.
func (f *filter) always(calls []uint32, value uint32) {
	for _, call := range calls {
		f.add(equal, 0, 1, call)
		f.ret(value)
	}
}

// when adds a rule for the arguments of one call: body continues at its end if the call is allowed
// so far, and returns otherwise.
func (f *filter) when(call uint32, body func(*filter)) {
	var inner filter
	body(&inner)
	inner.load(dataCall)
	f.add(equal, 0, uint8(len(inner)), call)
	*f = append(*f, inner...)
}

// argument loads the lower half of an argument.
func (f *filter) argument(i uint32) { f.load(dataArgs + 8*i) }

func failWith(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// filterOf returns the filter for a helper.
func filterOf(o Options) filter {
	const kill = unix.SECCOMP_RET_KILL_PROCESS
	deny := failWith(unix.EPERM)
	var f filter
	f.load(dataArch) // other ABIs number the calls differently
	f.add(equal, 1, 0, nativeArch)
	f.ret(kill)
	f.load(dataCall)
	f.add(greater, 0, 1, lastCall) // and x32 numbers, which begin at 1<<30
	f.ret(failWith(unix.ENOSYS))

	f.always(deadly, kill)
	f.always(refused, deny)
	f.always(absent, failWith(unix.ENOSYS))
	f.always(serving, deny)
	if !o.Mounts {
		f.mounts()
	}
	// It extends stacks, which no limit counts. Allocators copy instead.
	f.always([]uint32{unix.SYS_MREMAP}, failWith(unix.ENOMEM))
	if o.Group {
		f.always(grouping, deny)
		for _, call := range scheduling {
			f.when(call, func(f *filter) {
				f.argument(0)
				f.add(equal, 1, 0, 0)
				f.ret(deny)
			})
		}
		for call, user := range map[uint32]uint32{unix.SYS_SETPRIORITY: priorityOfUser,
			unix.SYS_IOPRIO_SET: ioPriorityOfUser} {
			f.when(call, func(f *filter) {
				f.argument(0)
				f.add(equal, 2, 0, user) // the server may be among them
				f.argument(1)
				f.add(equal, 1, 0, 0)
				f.ret(deny)
			})
		}
	}
	if !o.Net {
		f.always([]uint32{unix.SYS_SOCKET, unix.SYS_CONNECT}, deny)
	} else {
		// TCP and UDP. Not UNIX sockets, whose services trust every process that reaches them. Not
		// MPTCP, which Landlock's rules on TCP do not cover.
		f.when(unix.SYS_SOCKET, func(f *filter) {
			f.argument(0)
			f.add(equal, 2, 0, unix.AF_INET)
			f.add(equal, 1, 0, unix.AF_INET6)
			f.ret(deny)
			f.argument(1)
			f.add(and, 0, 0, 0xf) // without the flags
			f.add(equal, 2, 0, unix.SOCK_STREAM)
			f.add(equal, 1, 0, unix.SOCK_DGRAM)
			f.ret(deny)
			f.argument(2)
			f.add(equal, 3, 0, 0)
			f.add(equal, 2, 0, unix.IPPROTO_TCP)
			f.add(equal, 1, 0, unix.IPPROTO_UDP)
			f.ret(deny)
		})
	}
	f.when(unix.SYS_CLONE, func(f *filter) {
		f.argument(0)
		// A sibling would be the server's child, and never waited for.
		f.add(hasAny, 0, 1, namespaces|unix.CLONE_PARENT)
		f.ret(deny)
	})
	// It replaces the file with a device.
	f.when(unix.SYS_RENAMEAT2, func(f *filter) {
		f.argument(4)
		f.add(hasAny, 0, 1, unix.RENAME_WHITEOUT)
		f.ret(deny)
	})
	// RLIMIT_DATA counts no shared memory without a file, and no stacks.
	f.when(unix.SYS_MMAP, func(f *filter) {
		f.argument(3)
		f.add(hasAny, 2, 0, unix.MAP_GROWSDOWN)
		f.add(hasAny, 0, 2, unix.MAP_ANONYMOUS)
		f.add(hasAny, 0, 1, unix.MAP_SHARED)
		f.ret(failWith(unix.ENOMEM))
	})
	// The signal that ends a helper with its server, and the helper's adoption of its processes.
	f.when(unix.SYS_PRCTL, func(f *filter) {
		f.argument(0)
		f.add(equal, 1, 0, unix.PR_SET_PDEATHSIG)
		f.add(equal, 0, 1, unix.PR_SET_CHILD_SUBREAPER)
		f.ret(deny)
	})
	// A workspace's count omits files without a name, and no tool may leave a file with a set-id
	// bit. The mode matters when a file is created.
	for call, flags := range archOpen {
		f.when(call, func(f *filter) {
			f.argument(flags)
			f.add(hasAny, 0, 1, unix.O_TMPFILE&^unix.O_DIRECTORY)
			f.ret(failWith(unix.EOPNOTSUPP))
			f.add(hasAny, 0, 3, unix.O_CREAT)
			f.argument(flags + 1)
			f.add(hasAny, 0, 1, setID)
			f.ret(deny)
		})
	}
	for call, mode := range archMake {
		f.when(call, func(f *filter) {
			f.argument(mode)
			f.add(hasAny, 0, 1, setID)
			f.ret(deny)
		})
	}
	// No size limit counts space beyond a file's end.
	f.when(unix.SYS_FALLOCATE, func(f *filter) {
		f.argument(1)
		f.add(hasAny, 0, 1, unix.FALLOC_FL_KEEP_SIZE)
		f.ret(failWith(unix.EOPNOTSUPP))
	})
	// Limits of another process, possibly the server's.
	f.when(unix.SYS_PRLIMIT64, func(f *filter) {
		f.argument(0)
		f.add(equal, 1, 0, 0)
		f.ret(deny)
	})
	// Times of a file by name. Without a name it is an open file.
	f.when(unix.SYS_UTIMENSAT, func(f *filter) {
		f.argument(1)
		f.add(equal, 0, 2, 0)
		f.load(dataArgs + 8 + 4) // the upper half of the pointer
		f.add(equal, 1, 0, 0)
		f.ret(deny)
	})
	// Input into a terminal.
	f.when(unix.SYS_IOCTL, func(f *filter) {
		f.argument(1)
		f.add(equal, 1, 0, unix.TIOCSTI)
		f.add(equal, 0, 1, tioclinux)
		f.ret(deny)
		f.add(and, 0, 0, 0xff00)
		f.add(equal, 0, 1, spaceCalls)
		f.ret(failWith(unix.EOPNOTSUPP))
	})
	f.ret(unix.SECCOMP_RET_ALLOW)
	return f
}

// tioclinux is TIOCLINUX (asm-generic/ioctls.h).
const tioclinux = 0x541c
