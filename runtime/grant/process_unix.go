//go:build unix

package grant

import (
	"os"
	"os/exec"
	"syscall"
)

// nonblock keeps an open from waiting, as that of a FIFO does. Regular files and directories do not know it.
const nonblock = syscall.O_NONBLOCK

// group gives a command a process group of its own, and ends all of it with the context.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
			return os.ErrProcessDone // it can have gone, and nothing else
		}
		return nil
	}
}
