package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFiles finds the files without a name that a helper and the processes below it have open or
// mapped. It counts all of them, of whichever file system: device numbers differ between stat and
// maps on some, and a handler can make files in the workspace alone.
type openFiles struct {
	pid int
	// given are the files that the server handed over, and mapped those that the helper mapped
	// before its call, as maps spells them: the program, which may have been replaced since. The
	// server holds both, so that no other file gets their numbers.
	given  map[inode]bool
	mapped map[string]bool
}

// filesOf begins with a helper before its call, which is handed the descriptors.
func filesOf(pid int, descriptors []int) (*openFiles, error) {
	o := &openFiles{pid: pid, given: map[inode]bool{}, mapped: map[string]bool{}}
	for _, fd := range descriptors {
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			return nil, os.NewSyscallError("fstat", err)
		}
		o.given[inodeOf(&stat)] = true
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err := unlessEnding(pid, err); err != nil {
		return nil, err
	}
	for line := range bytes.Lines(maps) {
		if m, ok := readMapping(line); ok {
			o.mapped[m.file] = true
		}
	}
	return o, nil
}

// mapping is a line of proc_pid_maps(5) that is about a file.
type mapping struct {
	addresses string
	file      string // its device and inode
	number    uint64 // the inode
	removed   bool   // its name, or one of its names
}

func readMapping(line []byte) (mapping, bool) {
	fields := bytes.Fields(line) // address perms offset dev inode pathname
	if len(fields) < 6 {
		return mapping{}, false
	}
	number, err := strconv.ParseUint(string(fields[4]), 10, 64)
	if err != nil || number == 0 {
		return mapping{}, false
	}
	removed := bytes.HasSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte(" (deleted)"))
	file := string(fields[3]) + " " + string(fields[4])
	return mapping{string(fields[0]), file, number, removed}, true
}

func (o *openFiles) unlinked(ctx context.Context, found map[inode]int64) error {
	for pid := range withDescendants(o.pid) {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := o.unlinkedOf(pid, found); err != nil {
			return err
		}
	}
	return nil
}

// unlinkedOf adds the files of one process. Each thread may have a table of descriptors of its
// own, and the first one may have ended. Descriptors come before mappings: what is mapped may be
// closed meanwhile, and what has no name is not opened again.
func (o *openFiles) unlinkedOf(pid int, found map[inode]int64) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return unlessEnding(pid, err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			return err
		}
		if err := unlessEnding(tid, o.opened(tid, found)); err != nil {
			return err
		}
	}
	for _, thread := range threads {
		// Threads share their memory: the first one that has not ended shows all of it.
		tid, _ := strconv.Atoi(thread.Name())
		maps, err := os.ReadFile("/proc/" + thread.Name() + "/maps")
		if err != nil || len(maps) == 0 {
			if err := unlessEnding(tid, err); err != nil {
				return err
			}
			continue
		}
		return o.mappedBy(tid, maps, found)
	}
	return nil
}

// opened adds what a thread has open.
func (o *openFiles) opened(tid int, found map[inode]int64) error {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/fd", tid))
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		var stat unix.Stat_t
		err := unix.Fstatat(int(dir.Fd()), name, &stat, 0) // of the file that the link is about
		if errors.Is(err, unix.ENOENT) {
			continue // closed meanwhile
		}
		if err != nil {
			return err
		}
		o.add(&stat, found)
	}
	return nil
}

// mappedBy adds what a thread has mapped.
func (o *openFiles) mappedBy(tid int, maps []byte, found map[inode]int64) error {
	for line := range bytes.Lines(maps) {
		m, ok := readMapping(line)
		if !ok || !m.removed || o.mapped[m.file] {
			continue
		}
		var stat unix.Stat_t
		err := unix.Stat(fmt.Sprintf("/proc/%d/map_files/%s", tid, m.addresses), &stat)
		switch {
		case err == nil:
			o.add(&stat, found)
		case errors.Is(err, unix.ENOENT): // unmapped meanwhile
		case !known(found, m.number):
			if err = unlessEnding(tid, err); err != nil {
				return fmt.Errorf("%w; for a removed file that is mapped and not open, "+
					"give it CAP_CHECKPOINT_RESTORE", err)
			}
		}
	}
	return nil
}

// known reports whether a file is counted already. Devices are left out, since maps has others.
func known(found map[inode]int64, number uint64) bool {
	for id := range found {
		if id.number == number {
			return true
		}
	}
	return false
}

func (o *openFiles) add(stat *unix.Stat_t, found map[inode]int64) {
	if stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Nlink == 0 && !o.given[inodeOf(stat)] {
		found[inodeOf(stat)] = occupied(stat)
	}
}

// unlessEnding returns the error of reading about a thread, and nil if the thread has ended or is
// ending: the kernel shows it to root alone then.
func unlessEnding(tid int, err error) error {
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	stat, gone := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if gone != nil {
		return nil
	}
	// proc_pid_stat(5): the name is in parentheses and may hold some, the flags are the seventh
	// after it.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const exiting = 0x4 // PF_EXITING (linux/sched.h)
	if len(fields) > 6 {
		if flags, err := strconv.ParseUint(fields[6], 10, 64); err == nil && flags&exiting != 0 {
			return nil
		}
	}
	return unread(err)
}

// unread is the error that denies.
func unread(err error) error {
	return fmt.Errorf("the open files of a call's processes cannot be read: %w: allow user "+
		"namespaces or give the server CAP_SYS_PTRACE, and mount /proc without hidepid", err)
}

// readable tries to read the open files of a helper that is started in namespaces, and ended at
// once.
func readable(o Options, namespaces uintptr) error {
	a := &syscall.SysProcAttr{Cloneflags: namespaces, Pdeathsig: syscall.SIGKILL}
	identify(a, o)
	p, err := os.StartProcess("/proc/self/exe", []string{helperName, "{}"},
		&os.ProcAttr{Dir: "/", Env: []string{}, Sys: a})
	if err != nil {
		return fmt.Errorf("start a helper: %w", err)
	}
	files, err := filesOf(p.Pid, nil)
	if err == nil {
		err = files.unlinkedOf(p.Pid, map[inode]int64{})
	}
	_ = p.Kill()
	_, _ = p.Wait()
	return err
}

// sameMount refuses a folder that something is mounted on: it is not the workspace's.
func sameMount(root *os.Root, dir *os.File) error {
	top, err := root.Open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	above, err := mountOf(top)
	if err != nil {
		return err
	}
	own, err := mountOf(dir)
	if err == nil && own != above {
		err = fmt.Errorf("%s is a mount point: unmount it", dir.Name())
	}
	return err
}

func mountOf(dir *os.File) (uint64, error) {
	var stat unix.Statx_t
	err := unix.Statx(int(dir.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &stat)
	return stat.Mnt_id, os.NewSyscallError("statx", err)
}
