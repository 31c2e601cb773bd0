// Package landlock restricts this process to the files that it was granted.
package landlock

import (
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/threads"
)

// Rule grants access to the file or folder of a descriptor. Remove is removing files and folders,
// which Write includes.
type Rule struct {
	FD                           int
	Read, Write, Remove, Execute bool
}

// The rights of each kind of access, and those that apply to files other than folders
// (linux/landlock.h). No rule grants making sockets, pipes and devices.
const (
	rightsRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	rightsRemove = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	rightsFile   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// Versions of Landlock's interface. Below Least a readable file could be truncated; from Scoped on
// signals to processes outside are refused.
const (
	Least  = 3
	Scoped = 6
)

// Version returns the version of the kernel's Landlock, 0 without Landlock.
func Version() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0,
		unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Rights by the first version of the interface with them (linux/landlock.h). Unhandled rights are
// not refused, so all rights of the kernel are handled.
func handledBy(version int, net bool) ll.RulesetAttr {
	var a ll.RulesetAttr
	files := map[int]uint64{
		1: unix.LANDLOCK_ACCESS_FS_REFER - 1, // the thirteen rights below it
		2: unix.LANDLOCK_ACCESS_FS_REFER,
		3: unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		5: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		9: ll.AccessFSResolveUnix,
	}
	for since, rights := range files {
		if version >= since {
			a.HandledAccessFS |= rights
		}
	}
	if version >= 4 && !net {
		a.HandledAccessNet = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= Scoped {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// Restrict allows this process to open what the rules grant, and nothing else, on all of its
// threads. Without a network, TCP ports are refused too, in case it gets a socket. Partial accepts
// an older kernel, or one without Landlock. No_new_privs is set on all threads already, unless the
// kernel lacks seccomp.
//
// It uses the lower half of go-landlock: rules are for descriptors, without names, and the upper
// half would interrupt all threads twice, which is most of a call's cost.
func Restrict(rules []Rule, net, partial bool) error {
	version := Version()
	if version == 0 && partial {
		return nil
	}
	if version < Least && !partial {
		return fmt.Errorf("the kernel has version %d of Landlock, isolation needs %d", version,
			Least)
	}
	if partial {
		// Seccomp has done this already.
		if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl", err)
		}
	}
	handled := handledBy(version, net)
	set, err := ll.LandlockCreateRuleset(&handled, 0)
	if err != nil {
		return os.NewSyscallError("landlock_create_ruleset", err)
	}
	defer unix.Close(set)

	// Package os/exec opens the null device for every program without standard input. A running Go
	// program needs no other path.
	null, err := unix.Open(os.DevNull, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer unix.Close(null)
	for _, r := range append(rules, Rule{FD: null, Read: true, Write: true}) {
		if err := grant(set, r, handled.HandledAccessFS); err != nil {
			return err
		}
	}
	if !threads.OwnPIDs {
		// To include all threads, it lists them if some are restricted already.
		tasks, err := unix.Open(fmt.Sprintf("/proc/%d/task", os.Getpid()),
			unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return os.NewSyscallError("open", err)
		}
		defer unix.Close(tasks)
		attr := ll.PathBeneathAttr{ParentFd: tasks, AllowedAccess: unix.LANDLOCK_ACCESS_FS_READ_DIR}
		if err := ll.LandlockAddPathBeneathRule(set, &attr, 0); err != nil {
			return os.NewSyscallError("landlock_add_rule", err)
		}
	}
	if version >= 8 {
		return os.NewSyscallError("landlock_restrict_self", ll.LandlockRestrictSelf(set,
			ll.FlagRestrictSelfTSync))
	}
	return os.NewSyscallError("landlock_restrict_self", ll.AllThreadsLandlockRestrictSelf(set, 0))
}

// grant adds a rule to a set, as far as the kernel handles the rights.
func grant(set int, r Rule, handled uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(r.FD, &stat); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	var rights uint64
	if r.Read {
		rights |= rightsRead
	}
	if r.Write {
		rights |= rightsWrite
	}
	if r.Remove {
		rights |= rightsRemove
	}
	if r.Execute {
		rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile
	}
	if rights &= handled; rights == 0 {
		return nil
	}
	attr := ll.PathBeneathAttr{ParentFd: r.FD, AllowedAccess: rights}
	return os.NewSyscallError("landlock_add_rule", ll.LandlockAddPathBeneathRule(set, &attr, 0))
}
