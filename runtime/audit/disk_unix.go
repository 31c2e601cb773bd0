//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// posix is whether permissions and the syncing of directories have an effect.
const posix = true

// noFollow opens no link.
const noFollow = syscall.O_NOFOLLOW

// ofUser refuses a file of another user than this process's and root, who could change it at any
// time.
func ofUser(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if own := os.Geteuid(); ok && stat.Uid != 0 && int(stat.Uid) != own {
		return fmt.Errorf("%s belongs to the user with id %d, not to this one, %d: move it away, or "+
			"chown it", path, stat.Uid, own)
	}
	return nil
}

// lockFile takes a lock that ends with the process. The file stays: after its deletion two
// processes could hold the lock.
func lockFile(path string) (*os.File, error) {
	file, err := openOwn(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another process, or this one, already writes this trail: give each its " +
				"own file")
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return file, nil
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
