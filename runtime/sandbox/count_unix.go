//go:build unix

package sandbox

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// asFolder opens folders only, and waits for nobody: what was a folder a moment ago may be a pipe
// or a link now.
const asFolder = unix.O_DIRECTORY | unix.O_NONBLOCK | unix.O_NOFOLLOW

// visitAll calls a function with all below a folder, until it or the context has an error. It
// follows no link, and leaves out what is removed meanwhile.
func visitAll(ctx context.Context, root *os.Root, visit func(entry) error) error {
	dir, err := root.OpenFile(".", os.O_RDONLY|asFolder, 0)
	if err != nil {
		return err
	}
	return visitFolder(ctx, dir, 0, visit)
}

// visitFolder closes the folder.
func visitFolder(ctx context.Context, dir *os.File, above int, visit func(entry) error) error {
	defer dir.Close()
	fd := int(dir.Fd())
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := visitOne(ctx, fd, name, above, visit); err != nil &&
				!errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func visitOne(ctx context.Context, dir int, name string, above int, visit func(entry) error) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return os.NewSyscallError("fstatat", err)
	}
	e := entry{above: above, folder: stat.Mode&unix.S_IFMT == unix.S_IFDIR}
	if stat.Mode&unix.S_IFMT == unix.S_IFREG {
		e.bytes, e.id, e.shared = occupied(&stat), inodeOf(&stat), stat.Nlink > 1
	}
	if err := visit(e); err != nil || !e.folder {
		return err
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|asFolder, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil // another file is there by now, for the next count
	}
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	return visitFolder(ctx, os.NewFile(uintptr(fd), name), above+1, visit)
}

// occupied returns how many bytes a file takes: its length, or what a file system reserves beyond
// the end, which is none of the file's last block.
func occupied(stat *unix.Stat_t) int64 {
	return max(stat.Size, int64(stat.Blocks)*512-int64(stat.Blksize))
}

func inodeOf(stat *unix.Stat_t) inode { return inode{uint64(stat.Dev), uint64(stat.Ino)} }
