package audit_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// children are what this binary does when it is run again as another process, with a file's path.
var children = map[string]func(path string) error{"write": writeUntilKilled, "full": fill}

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // others may not write to the folders of tests
	do, found := children[os.Getenv("AUDIT_CHILD")]
	if !found {
		os.Exit(m.Run())
	}
	if err := do(os.Getenv("AUDIT_PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type child struct {
	*exec.Cmd
	stdout io.Reader
}

func command(name, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_CHILD="+name, "AUDIT_PATH="+path)
	cmd.Stderr = os.Stderr
	return cmd
}

func newChild(t *testing.T, name, path string) *child {
	t.Helper()
	cmd := command(name, path)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // most have ended
		cmd.Wait()
	})
	return &child{cmd, stdout}
}

func runChild(t *testing.T, name, path string) []byte {
	t.Helper()
	out, err := command(name, path).Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// limitFiles lets no file of this process grow beyond so many bytes, until raise is called.
func limitFiles(most uint64) (raise func() error, err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		return nil, err
	}
	raise = func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) }
	return raise, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: before.Max})
}
