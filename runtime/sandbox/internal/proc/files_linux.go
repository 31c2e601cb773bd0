package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/folder"
)

// OpenFiles finds the files without a name that a helper and the processes below it have open or
// mapped. It counts those of all file systems: on some, device numbers differ between stat and
// maps. A handler can create files only in the workspace.
type OpenFiles struct {
	pid int
	// given are the files that the server passed. mapped are those that the helper mapped before
	// its call, as in maps: the program, which may have been replaced since. The server holds both,
	// so that no other file gets their numbers.
	given  map[folder.Inode]bool
	mapped map[string]bool
}

// FilesOf returns the OpenFiles of a helper before its call, which gets the descriptors.
func FilesOf(pid int, descriptors []int) (*OpenFiles, error) {
	o := &OpenFiles{pid: pid, given: map[folder.Inode]bool{}, mapped: map[string]bool{}}
	for _, fd := range descriptors {
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			return nil, os.NewSyscallError("fstat", err)
		}
		o.given[folder.InodeOf(&stat)] = true
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

// Unlinked adds the open or mapped files without a name of the processes, with their sizes. An
// error denies: some files could not be read.
func (o *OpenFiles) Unlinked(ctx context.Context, found map[folder.Inode]int64) error {
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

// unlinkedOf adds the files of one process. Each thread may have its own table of descriptors, and
// the first one may have ended. Descriptors come before mappings: a mapped file may be closed
// meanwhile, and a file without a name is not opened again.
func (o *OpenFiles) unlinkedOf(pid int, found map[folder.Inode]int64) error {
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

// opened adds the open files of a thread.
func (o *OpenFiles) opened(tid int, found map[folder.Inode]int64) error {
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
		err := unix.Fstatat(int(dir.Fd()), name, &stat, 0) // of the link's target
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

// mappedBy adds the mapped files of a thread.
func (o *OpenFiles) mappedBy(tid int, maps []byte, found map[folder.Inode]int64) error {
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
func known(found map[folder.Inode]int64, number uint64) bool {
	for id := range found {
		if id.Number == number {
			return true
		}
	}
	return false
}

func (o *OpenFiles) add(stat *unix.Stat_t, found map[folder.Inode]int64) {
	if stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Nlink == 0 && !o.given[folder.InodeOf(stat)] {
		found[folder.InodeOf(stat)] = folder.Occupied(stat)
	}
}

// unlessEnding returns the error of reading about a thread, and nil if the thread has ended or is
// ending, because the kernel then shows it to root only.
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
	return fmt.Errorf("the open files of a call's processes cannot be read: %w: allow user "+
		"namespaces or give the server CAP_SYS_PTRACE, and mount /proc without hidepid", err)
}
