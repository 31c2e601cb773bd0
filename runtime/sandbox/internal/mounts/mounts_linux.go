package mounts

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/threads"
)

const (
	// oldRoot is the path of the server's root in a helper until it is confined.
	oldRoot = "/old"
	// Inert are the attributes of the workspace's mount, and of folders that are passed open.
	Inert = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC
)

// Attributes returns the attributes of a path's mount. Devices are allowed, because a path may
// grant one. Landlock controls writing.
func Attributes(execute bool) uint64 {
	if execute {
		return unix.MOUNT_ATTR_NOSUID
	}
	return unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
}

// cloneTree returns a copy of a file's or folder's mount, from that file or folder down. It is
// detached: ".." does not leave it.
func cloneTree(dir int, name string, attributes uint64) (tree int, err error) {
	tree, err = unix.OpenTree(dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|
		unix.AT_RECURSIVE|unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, os.NewSyscallError("open_tree", err)
	}
	// Private: later mounts in it appear nowhere else.
	attr := unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
	if err != nil {
		unix.Close(tree)
		return -1, os.NewSyscallError("mount_setattr", err)
	}
	return tree, nil
}

// attach mounts a tree at an existing name.
func attach(tree int, name string) error {
	err := unix.MoveMount(tree, "", unix.AT_FDCWD, name, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return &os.PathError{Op: "move_mount", Path: name, Err: err}
	}
	return nil
}

// openTree opens the root folder of a tree.
func openTree(tree int) (fd int, err error) {
	fd, err = unix.Openat(tree, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return fd, os.NewSyscallError("openat", err)
}

// Clonable returns an error if this process may clone no mounts.
func Clonable() error {
	tree, err := cloneTree(unix.AT_FDCWD, os.DevNull, Inert)
	if err == nil {
		unix.Close(tree)
	}
	return err
}

// Show returns a helper's descriptor for an open file, and the name to show it at: for a folder or
// a path a mount of its own, from which ".." does not lead into the server's folders. If named,
// because the server may not clone mounts, it returns the file itself, and its name to find it by.
// Open files and folders are not shown: a folder has a mount of its own too.
func Show(file *os.File, open, named bool, attributes uint64) (*os.File, string, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, "", err
	}
	if open && !info.IsDir() {
		return file, "", nil
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(file.Fd())))
	if err != nil || named {
		return file, name, err
	}
	tree, err := cloneTree(int(file.Fd()), "", attributes)
	if err == nil && open {
		defer unix.Close(tree)
		tree, err = openTree(tree)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s cannot be mounted for a helper: %w", name, err)
	}
	shown := os.NewFile(uintptr(tree), name)
	if open {
		name = ""
	}
	return shown, name, nil
}

// Seclude gives this process a root of its own that contains only the null device. Named keeps the
// server's root there until [Arrange].
func Seclude(named bool) error {
	null, err := cloneTree(unix.AT_FDCWD, os.DevNull, Inert&^unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	tasks, task := -1, fmt.Sprintf("/proc/%d/task", os.Getpid())
	if !threads.OwnPIDs { // see package landlock
		if tasks, err = cloneTree(unix.AT_FDCWD, task, Inert); err != nil {
			return err
		}
		defer unix.Close(tasks)
	}
	// The new root needs a temporary place.
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
	if tasks >= 0 {
		if err := errors.Join(standIn(task, true), attach(tasks, task)); err != nil {
			return err
		}
	}
	// Programs get no capabilities from here on. A helper's first call on all threads is also the
	// slowest, and a waiting helper has the time.
	_, _, errno := psx.Syscall6(unix.SYS_PRCTL,
		unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("prctl", errno)
	}
	if named {
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

// standIn creates the mount point of a tree.
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

// Arrange mounts the granted files and folders of a call at their own names, and then drops the
// capabilities for mounting. It replaces their descriptors by the mounts.
func Arrange(g Granted, descriptors []int) error {
	type place struct {
		name            string
		tree            int
		folder, execute bool
	}
	var places []place
	for i, name := range g.Names {
		if name == "" {
			continue // an open file
		}
		p := place{name: name, tree: descriptors[i]}
		attributes := uint64(Inert)
		if at := i - (len(descriptors) - len(g.Execute)); at >= 0 {
			p.execute = g.Execute[at]
			attributes = Attributes(p.execute)
		}
		if g.Named {
			var err error
			if p.tree, err = cloneNamed(name, descriptors[i], attributes); err != nil {
				return err
			}
		}
		if i < g.Open {
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
	// Folders come before their content. All names are created before anything is mounted, so that
	// none is created in a folder of the server.
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.name, b.name) })
	above := func(i int) int { // the place that already shows this one, or -1
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
	for _, link := range g.Links {
		if err := standIn(filepath.Dir(link.Name), true); err != nil {
			return err
		}
		if err := os.Symlink(link.To, link.Name); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if g.Named {
		if err := leaveOldRoot(); err != nil {
			return err
		}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &readOnly); err != nil {
		return os.NewSyscallError("mount_setattr", err)
	}
	for i, p := range places {
		if up := above(i); up >= 0 && (!p.execute || places[up].execute) {
			continue
		}
		if err := attach(p.tree, p.name); err != nil {
			return err
		}
		if p.name == "/" { // a mount on the own root is never seen
			if err := errors.Join(unix.Fchdir(p.tree), unix.Chroot(".")); err != nil {
				return os.NewSyscallError("chroot", err)
			}
		}
	}
	return dropCapabilities()
}

// cloneNamed clones the server's tree of a name, if it is the file of its descriptor.
func cloneNamed(name string, descriptor int, attributes uint64) (tree int, err error) {
	tree, err = cloneTree(unix.AT_FDCWD, oldRoot+name, attributes)
	if err != nil {
		return -1, fmt.Errorf("%s the helper's user cannot open it by name: %w", name, err)
	}
	return tree, sameFile(name, tree, descriptor)
}

// sameFile returns an error unless two descriptors are of the same file or folder.
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

// none are no capabilities for capset(2). They are not on a stack, which may move.
var none struct {
	header unix.CapUserHeader
	data   [2]unix.CapUserData
}

// dropCapabilities drops all capabilities of all threads, and so of all programs.
func dropCapabilities() error {
	none.header.Version = unix.LINUX_CAPABILITY_VERSION_3
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&none.header)), uintptr(unsafe.Pointer(&none.data)), 0)
	if errno != 0 {
		return os.NewSyscallError("capset", errno)
	}
	return nil
}
