package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// children are what this binary does when it is run again as another process: with a database by
// its URL, and once its standard input has a first line.
var children = map[string]func(ctx context.Context, url string) error{
	"open":   openOnce,
	"write":  writeUntilKilled,
	"record": recordUntilKilled,
}

func TestMain(m *testing.M) {
	do, found := children[os.Getenv("STORE_CHILD")]
	if !found {
		os.Exit(m.Run())
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := do(context.Background(), os.Getenv("STORE_URL")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is another process that does one of the children's things, once start is called.
type child struct {
	*exec.Cmd
	start  func()
	stdout io.Reader
}

func newChild(t *testing.T, name, url string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_CHILD="+name, "STORE_URL="+url)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
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
	return &child{cmd, func() { io.WriteString(stdin, "\n") }, stdout}
}

func openOnce(ctx context.Context, url string) error {
	s, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	if _, err := s.CreateOrg(ctx, fmt.Sprint("process ", os.Getpid()), ada); err != nil {
		return err
	}
	return s.Close()
}
