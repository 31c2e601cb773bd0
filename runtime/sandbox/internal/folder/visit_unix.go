//go:build unix

package folder

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// asFolder opens folders only, without blocking: the folder may have been replaced by a pipe or a
// link.
const asFolder = unix.O_DIRECTORY | unix.O_NONBLOCK | unix.O_NOFOLLOW

// Visit calls a function for everything below a folder, until the function or the context returns
// an error. It follows no links, and skips entries that are removed meanwhile.
func Visit(ctx context.Context, root *os.Root, visit func(Entry) error) error {
	dir, err := root.OpenFile(".", os.O_RDONLY|asFolder, 0)
	if err != nil {
		return err
	}
	return visitFolder(ctx, dir, 0, visit)
}

// visitFolder closes the folder.
func visitFolder(ctx context.Context, dir *os.File, above int, visit func(Entry) error) error {
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

func visitOne(ctx context.Context, dir int, name string, above int, visit func(Entry) error) error {
	var stat unix.Stat_t
	if err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return os.NewSyscallError("fstatat", err)
	}
	e := Entry{Above: above, Folder: stat.Mode&unix.S_IFMT == unix.S_IFDIR}
	if stat.Mode&unix.S_IFMT == unix.S_IFREG {
		e.Bytes, e.ID, e.Shared = Occupied(&stat), InodeOf(&stat), stat.Nlink > 1
	}
	if err := visit(e); err != nil || !e.Folder {
		return err
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|asFolder, 0)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil // replaced by another file, for the next count
	}
	if err != nil {
		return os.NewSyscallError("openat", err)
	}
	return visitFolder(ctx, os.NewFile(uintptr(fd), name), above+1, visit)
}

// Occupied returns the bytes that a file occupies: its length, or the space that a file system
// reserves beyond its last block.
func Occupied(stat *unix.Stat_t) int64 {
	return max(stat.Size, int64(stat.Blocks)*512-int64(stat.Blksize))
}

// InodeOf returns the identity of a file.
func InodeOf(stat *unix.Stat_t) Inode { return Inode{uint64(stat.Dev), uint64(stat.Ino)} }
