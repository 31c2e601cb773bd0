//go:build unix

package grant

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

// nonblock keeps an open from waiting, as that of a FIFO does. It has no effect on regular files
// and directories.
const nonblock = syscall.O_NONBLOCK

// linked reports whether a file has more than one link.
func linked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink > 1
}

// group gives a command a process group of its own, and ends all of it with the context.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			return os.ErrProcessDone // the only possible cause
		}
		return nil
	}
}
