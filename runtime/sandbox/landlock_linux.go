package sandbox

import (
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// rule grants access to what a descriptor is open on.
type rule struct {
	fd     int
	access Access
}

// The rights of each kind of access, and which of them mean something for a file that is no folder
// (linux/landlock.h). Making sockets, pipes and devices is granted to nobody.
const (
	rightsRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_REFER
	rightsRemove = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE
	rightsFile   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// remove is removing files and folders, for calls in a workspace that exceeds its quota.
const remove Access = 1 << 7

// Versions of Landlock's interface. Below leastLandlock a file that can be opened for reading could
// be cut; from scopedLandlock on signals to processes outside are refused.
const (
	leastLandlock  = 3
	scopedLandlock = 6
)

// landlockVersion returns the version of the kernel's Landlock, 0 without Landlock.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0,
		unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Rights by the version of the interface that knows them (linux/landlock.h). What is not handled is
// not refused, so all that the kernel knows is.
func handledBy(version int, net bool) ll.RulesetAttr {
	var a ll.RulesetAttr
	files := map[int]uint64{
		1: unix.LANDLOCK_ACCESS_FS_REFER - 1, // the thirteen below it
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
	if version >= scopedLandlock {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// restrictFiles allows this process to open what the rules say, and nothing else, on
// all of its threads. Without a network, TCP ports are refused too, should a socket ever be had.
// No_new_privs is set on all threads already, unless the kernel lacks seccomp.
//
// It uses the lower half of go-landlock: rules are about descriptors, whose names are of no
// interest, and the upper half would interrupt all threads twice, which is most of what a call
// costs.
func restrictFiles(rules []rule, my role) error {
	version := landlockVersion()
	if version == 0 && my.Partial {
		return nil
	}
	if version < leastLandlock && !my.Partial {
		return fmt.Errorf("the kernel has version %d of Landlock, isolation needs %d", version,
			leastLandlock)
	}
	if my.Partial {
		// Where there is seccomp this was done with it.
		if err := ll.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl", err)
		}
	}
	handled := handledBy(version, my.Net)
	set, err := ll.LandlockCreateRuleset(&handled, 0)
	if err != nil {
		return os.NewSyscallError("landlock_create_ruleset", err)
	}
	defer unix.Close(set)

	// Package os/exec opens the null device for every program without standard input. No other path
	// is needed by a Go program that runs.
	null, err := unix.Open(os.DevNull, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer unix.Close(null)
	for _, r := range append(rules, rule{null, Read | Write}) {
		if err := grant(set, r, handled.HandledAccessFS); err != nil {
			return err
		}
	}
	if !ownPIDs {
		// Bringing all threads along means listing them, when some are restricted already.
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
func grant(set int, r rule, handled uint64) error {
	var stat unix.Stat_t
	if err := unix.Fstat(r.fd, &stat); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	var rights uint64
	if r.access&Read != 0 {
		rights |= rightsRead
	}
	if r.access&Write != 0 {
		rights |= rightsWrite
	}
	if r.access&remove != 0 {
		rights |= rightsRemove
	}
	if r.access&Execute != 0 {
		rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile
	}
	if rights &= handled; rights == 0 {
		return nil
	}
	attr := ll.PathBeneathAttr{ParentFd: r.fd, AllowedAccess: rights}
	return os.NewSyscallError("landlock_add_rule", ll.LandlockAddPathBeneathRule(set, &attr, 0))
}
