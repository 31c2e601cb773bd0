package folder

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// sameMount returns an error for a mount point, which is not the workspace's.
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
