package writefiles

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

// TestNoWritePermission runs as somebody who does not own the directory, even where tests run as
// root: a thread may lay down its rights over files alone (setfsuid(2)), and root's go with them.
func TestNoWritePermission(t *testing.T) {
	dir := t.TempDir()
	for _, up := range []string{dir, filepath.Dir(dir)} { // the folder of the test alone
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

// TestAFileThatCannotBeWrittenWholeIsNotLeft lets the system cut a write short, as a full disk
// does: by the limit on the size of files, which needs no disk of its own. The limit is that of a
// process, so the test runs itself once more and sets it there.
func TestAFileThatCannotBeWrittenWholeIsNotLeft(t *testing.T) {
	const child = "MCPGEN_TEST_LIMITED"
	if os.Getenv(child) == "" {
		again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), child+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	dir, files, remove := scene(t)
	before := tree(t, dir)
	signal.Ignore(syscall.SIGXFSZ) // the write then fails with EFBIG
	files[2].Content = []byte("longer than that")
	const enough = 7 // for two of the files, not for the third
	var usual syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &usual); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: enough, Max: usual.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := Write(files, remove)
	// coverage is written at the end
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &usual); err != nil {
		t.Fatal(err)
	}
	var where *Error
	if !errors.Is(err, syscall.EFBIG) || !errors.As(err, &where) || where.Path != files[2].Path {
		t.Errorf("the error is %v", err)
	}
	expect(t, "tree", tree(t, dir), before)
}
