package runtime

import (
	"io"
	"os"
	"syscall"
)

// takeStdout returns a writer to what standard output is now, and makes both os.Stdout and
// file descriptor 1 standard error until restore is called. The descriptor matters for those
// who kept os.Stdout from before, and for C libraries.
func takeStdout() (out io.Writer, restore func(), err error) {
	fd, err := syscall.Dup(1)
	if err != nil {
		return nil, nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd) // or a process that a handler starts would hold it open
	if err := syscall.Dup3(2, 1, 0); err != nil {
		syscall.Close(fd)
		return nil, nil, os.NewSyscallError("dup3", err)
	}
	file := os.NewFile(uintptr(fd), "protocol")
	before := os.Stdout
	os.Stdout = os.Stderr
	return file, func() {
		os.Stdout = before
		_ = syscall.Dup3(fd, 1, 0) // fails only for descriptors that are not open
		file.Close()
	}, nil
}
