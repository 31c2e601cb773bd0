package transport

import (
	"io"
	"os"
	"syscall"
)

// TakeStdout returns the output and redirects os.Stdout and descriptor 1 to standard error.
func TakeStdout() (out io.Writer, restore func(), err error) {
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
