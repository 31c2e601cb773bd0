package commit

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/generator/emit"
)

// TestNoWritePermission runs as somebody who does not own the directory, even where tests run as root: a
// thread may lay down its rights over files alone (setfsuid(2)), and root's go with them.
func TestNoWritePermission(t *testing.T) {
	dir := t.TempDir()
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o555); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(up, 0o755)
	}
	path := filepath.Join(dir, "mcp_gen.go")
	failure := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		const nobody = 65534
		if os.Geteuid() == 0 {
			if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); errno != 0 {
				failure <- errno
				return
			}
		}
		_, err := Write([]emit.File{{Path: path, Content: []byte("x")}}, nil)
		failure <- err
	}()
	err := <-failure
	var where *Error
	if !errors.Is(err, ErrPermission) || !errors.As(err, &where) || where.Path != path {
		t.Errorf("the error is %v", err)
	}
	if held := tree(t, dir); len(held) != 0 {
		t.Errorf("left behind: %q", held)
	}
}
