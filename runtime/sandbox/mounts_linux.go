package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// Landlock rules on opening and changing files, and not on stat(2) or on mmap(2) with PROT_EXEC.
// A mount namespace closes both: the helper's root is empty but for what the call needs, and
// nothing in it is executable that was not granted so.

const (
	// oldRoot is where a helper has the server's root until it is confined.
	oldRoot = "/old"
	// inert are the attributes of the workspace's mount, and of folders that are handed over open.
	inert = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
)

// attributesOf returns those of a path's mount. A device may be granted by its path; what may be
// written is for Landlock.
func attributesOf(access Access) uint64 {
	if access&Execute != 0 {
		return unix.MOUNT_ATTR_NOSUID
	}
	return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
}

// cloneTree returns a copy of the mount that a file or folder is in, from that file or folder down.
// It is attached nowhere: ".." does not leave it.
func cloneTree(dir int, name string, attributes uint64) (tree int, err error) {
	tree, err = unix.OpenTree(dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|
		unix.AT_RECURSIVE|unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, os.NewSyscallError("open_tree", err)
	}
	// Private: what is mounted in it later appears nowhere else.
	attr := unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if err != nil {
		unix.Close(tree)
		return -1, os.NewSyscallError("mount_setattr", err)
	}
	return tree, nil
}

// attach mounts a tree at a name that exists.
func attach(tree int, name string) error {
	err := unix.MoveMount(tree, "", unix.AT_FDCWD, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return &os.PathError{Op: "move_mount", Path: name, Err: err}
	}
	return nil
}

// openTree opens the folder that a tree begins with.
func openTree(tree int) (fd int, err error) {
	fd, err = unix.Openat(tree, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, os.NewSyscallError("openat", err)
}

// mountable says why helpers cannot have mounts of their own, by starting one that tries, and
// whether they have to find folders by name because the server itself may not clone mounts.
func mountable(o Options, namespaces uintptr) (named bool, err error) {
	if namespaces&cloneNewUser == 0 {
		return false, errors.New("user namespaces are not available")
	}
	tree, err := cloneTree(unix.AT_FDCWD, os.DevNull, inert)
	switch {
	case err == nil:
		unix.Close(tree)
	case os.Geteuid() == 0:
		return false, fmt.Errorf("the server is root without CAP_SYS_ADMIN: %w", err)
	default:
		named = true
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Dir, cmd.Env = []string{helperName, `{"Mounts":true,"Trial":true}`}, "/", o.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: namespaces | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
	}
	identify(cmd.SysProcAttr, o)
	defer time.AfterFunc(startWithin, func() { _ = cmd.Cancel() }).Stop()
	if output, err := cmd.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%w: %s", err, strings.TrimSpace(string(output)))
	}
	return named, nil
}

// seclude gives this process a root of its own, with nothing in it but the null device.
func seclude(my role) error {
	if !my.Mounts {
		return nil
	}
	null, err := cloneTree(unix.AT_FDCWD, os.DevNull, inert&^unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	threads, task := -1, fmt.Sprintf("/proc/%d/task", os.Getpid())
	if !ownPIDs { // see restrictFiles
		if threads, err = cloneTree(unix.AT_FDCWD, task, inert); err != nil {
			return err
		}
		defer unix.Close(threads)
	}
	// The root that is about to be needs a place, which it leaves at once.
	const place = "/proc"
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("tmpfs", place, "tmpfs", flags, "mode=755,size=1m"); err != nil {
		return os.NewSyscallError("mount", err)
	}
	if err := os.Mkdir(place+oldRoot, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(place, place+oldRoot); err != nil {
		return os.NewSyscallError("pivot_root", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := errors.Join(standIn(os.DevNull, false), attach(null, os.DevNull)); err != nil {
		return err
	}
	if threads >= 0 {
		if err := errors.Join(standIn(task, true), attach(threads, task)); err != nil {
			return err
		}
	}
	// Programs get no capabilities from here on. A helper's first call on all threads also takes
	// longest, and a helper that waits has the time.
	_, _, errno := psx.Syscall6(unix.SYS_PRCTL,
		unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	if my.Named {
		return nil
	}
	return leaveOldRoot()
}

func leaveOldRoot() error {
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return os.NewSyscallError("umount2", err)
	}
	return os.Remove(oldRoot)
}

// standIn makes what a tree can be attached to.
func standIn(name string, folder bool) error {
	if !folder {
		if err := standIn(filepath.Dir(name), true); err != nil {
			return err
		}
		return os.WriteFile(name, nil, 0o600)
	}
	for i := 1; i <= len(name); i++ { // os.MkdirAll makes twice as many calls
		if i < len(name) && name[i] != '/' {
			continue
		}
		if err := unix.Mkdir(name[:i], 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return &os.PathError{Op: "mkdir", Path: name, Err: err}
		}
	}
	return nil
}

// arrange mounts what a call was granted, at its own names, and then drops the
// capabilities that mounting needs.
func arrange(my role, o order, descriptors []int) error {
	if !my.Mounts {
		return nil
	}
	type place struct {
		name   string
		tree   int
		folder bool
		access Access
	}
	var places []place
	for i, name := range o.Names {
		if name == "" {
			continue // a file that is open
		}
		p := place{name: name, tree: descriptors[i]}
		attributes := uint64(inert)
		if at := i - (len(descriptors) - len(o.Paths)); at >= 0 {
			p.access = o.Paths[at]
			attributes = attributesOf(p.access)
		}
		if my.Named {
			var err error
			if p.tree, err = cloneNamed(name, descriptors[i], attributes); err != nil {
				return err
			}
		}
		if i < len(o.Files) {
			fd, err := openTree(p.tree)
			if err == nil {
				err = os.NewSyscallError("dup3", unix.Dup3(fd, descriptors[i], unix.O_CLOEXEC))
				unix.Close(fd)
			}
			unix.Close(p.tree)
			if err != nil {
				return err
			}
			continue
		}
		if p.tree != descriptors[i] {
			unix.Close(descriptors[i])
			descriptors[i] = p.tree
		}
		var stat unix.Stat_t
		if err := unix.Fstat(p.tree, &stat); err != nil {
			return os.NewSyscallError("fstat", err)
		}
		p.folder = stat.Mode&unix.S_IFMT == unix.S_IFDIR
		places = append(places, p)
	}
	// Folders come before what is below them. All names are made before anything is mounted, so
	// that none is made in a folder of the server.
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.name, b.name) })
	above := func(i int) int { // the place that shows this one already, or -1
		return slices.IndexFunc(places[:i], func(p place) bool {
			within := strings.TrimSuffix(p.name, "/") + "/"
			return places[i].name == p.name || p.folder && strings.HasPrefix(places[i].name, within)
		})
	}
	for i, p := range places {
		if above(i) < 0 {
			if err := standIn(p.name, p.folder); err != nil {
				return err
			}
		}
	}
	for _, link := range o.Links {
		if err := standIn(filepath.Dir(link.Name), true); err != nil {
			return err
		}
		if err := os.Symlink(link.To, link.Name); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if my.Named {
		if err := leaveOldRoot(); err != nil {
			return err
		}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &readOnly); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	for i, p := range places {
		if up := above(i); up >= 0 && p.access&Execute&^places[up].access == 0 {
			continue
		}
		if err := attach(p.tree, p.name); err != nil {
			return err
		}
		if p.name == "/" { // nobody looks at what is mounted on their own root
			if err := errors.Join(unix.Fchdir(p.tree), unix.Chroot(".")); err != nil {
				return os.NewSyscallError("chroot", err)
			}
		}
	}
	return dropCapabilities()
}

// cloneNamed clones the tree that the server has by a name, if it is what its descriptor is open
// on.
func cloneNamed(name string, descriptor int, attributes uint64) (tree int, err error) {
	tree, err = cloneTree(unix.AT_FDCWD, oldRoot+name, attributes)
	if err != nil {
		return -1, fmt.Errorf("%s the helper's user cannot open it by name: %w", name, err)
	}
	return tree, sameFile(name, tree, descriptor)
}

// sameFile refuses what is not the file or folder that the server has opened.
func sameFile(name string, found, opened int) error {
	var is, wanted unix.Stat_t
	if err := errors.Join(unix.Fstat(found, &is), unix.Fstat(opened, &wanted)); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if is.Dev != wanted.Dev || is.Ino != wanted.Ino {
		return fmt.Errorf("%s was replaced after the server opened it", name)
	}
	return nil
}

// none are no capabilities, as capset(2) takes them. They do not lie on a stack, which may move.
var none struct {
	header unix.CapUserHeader
	data   [2]unix.CapUserData
}

// dropCapabilities takes all capabilities from all threads, and from all programs with them.
func dropCapabilities() error {
	none.header.Version = unix.LINUX_CAPABILITY_VERSION_3
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&none.header)), uintptr(unsafe.Pointer(&none.data)), 0)
	if errno != 0 {
		return os.NewSyscallError("capset", errno)
	}
	return nil
}
