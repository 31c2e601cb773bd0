package sandbox

import (
	"errors"
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// rule grants access to what a descriptor is open on.
type rule struct {
	fd     int
	access Access
}

// The rights of each kind of access, and which of them mean something for a file that is no folder
// (linux/landlock.h). Making sockets and devices is granted to nobody.
const (
	rightsRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	rightsFile = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_EXECUTE
)

// Versions of Landlock's interface. Below leastLandlock a file that can be opened for reading could be
// cut; from scopedLandlock on signals to processes outside are refused.
const (
	leastLandlock  = 3
	scopedLandlock = 6
)

// landlockVersion returns the version of the kernel's Landlock, 0 where there is none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// restrictFiles allows this process to open what the rules say, and nothing else, on
// all of its threads. Without a network TCP ports are refused too, should a socket ever be had.
func restrictFiles(rules []rule, my role) error {
	version := landlockVersion()
	if version == 0 && my.Partial {
		return nil
	}
	if version < leastLandlock && !my.Partial {
		return fmt.Errorf("the kernel has version %d of Landlock, isolation needs %d", version, leastLandlock)
	}
	handled := landlock.V9.HandledAccessFS
	granted := func(a Access, folder bool) (rights landlock.AccessFSSet) {
		if a&Read != 0 {
			rights |= rightsRead
		}
		if a&Write != 0 {
			rights |= rightsWrite
		}
		if a&Execute != 0 {
			rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
		}
		if !folder {
			rights &= rightsFile
		}
		if version < 2 {
			rights &^= unix.LANDLOCK_ACCESS_FS_REFER // asking for it here would turn all of Landlock off
		}
		return rights
	}
	// Package os/exec opens the null device for every program without standard input. No other path is
	// needed by a Go program that runs.
	all := []landlock.Rule{landlock.PathAccess(unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE, os.DevNull)}
	for _, r := range rules {
		var stat unix.Stat_t
		if err := unix.Fstat(r.fd, &stat); err != nil {
			return os.NewSyscallError("fstat", err)
		}
		if rights := granted(r.access, stat.Mode&unix.S_IFMT == unix.S_IFDIR); rights != 0 {
			all = append(all, landlock.PathAccess(rights, descriptorPath(r.fd)))
		}
	}
	parts := []any{handled, landlock.V9.Scoped}
	if !my.Net {
		parts = append(parts, landlock.V9.HandledAccessNet)
	}
	config, err := landlock.NewConfig(parts...)
	if err != nil {
		return err
	}
	// The library leaves out rights that the kernel does not know. What has to be there was checked.
	if err := config.BestEffort().Restrict(all...); err != nil {
		return errors.Join(errors.New("the kernel refused the rules on files"), err)
	}
	return nil
}
