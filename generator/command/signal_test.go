//go:build unix

package command

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
)

// Each command waits for something that does not end with its context. The test has no limit of
// time: without the end of the process, it does not end.
func TestFirstSignalEndsEveryCommand(t *testing.T) {
	// The child of a program keeps its output open when the program is killed.
	bin := t.TempDir()
	for _, name := range []string{"go", "git"} {
		const stuck = "#!/bin/sh\ncat \"$PIPE\" &\nwait\n"
		if err := os.WriteFile(filepath.Join(bin, name), []byte(stuck), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	const program, pipe, server = "program", "pipe", "server"
	for i, test := range []struct{ args, waitsFor string }{
		{"", program},
		{"check", program},
		{"vet", program},
		{"vet --fix", program},
		{"list", program},
		{"matrix", program},
		{"docs", program},
		{"diff --base main", program},
		{"prove", program},
		{"init shop", program},
		{"./...", pipe}, // the file of a schema
		{"import pipe", pipe},
		{"diff --lists pipe pipe", pipe},
		{"call -- cat pipe", pipe},
		{"call --url URL", server},
		{"verify URL --token-env TOKEN shop.json", server},
	} {
		sig := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[i%2]
		t.Run(test.args+" "+sig.String(), func(t *testing.T) {
			t.Parallel()
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			args := strings.ReplaceAll(test.args, "URL", "http://"+silent.Addr().String())
			dir := loadtest.Write(t,
				txtar.File{Name: "shop.go", Data: []byte(withSchema)},
				txtar.File{Name: "shop.json", Data: []byte(`{"manifest": 2, "package": "p"}`)})
			path := filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.Command("mcpgen", strings.Fields(args)...)
			command.Dir, command.Env = dir, append(os.Environ(), "CI=1", "PIPE="+path, "TOKEN=x")
			if test.waitsFor == program {
				path := bin + string(os.PathListSeparator) + os.Getenv("PATH")
				command.Env = append(command.Env, "PATH="+path)
			}
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			ended, waits := make(chan error, 1), make(chan io.Closer, 1)
			go func() { ended <- command.Wait() }()
			go func() {
				var held io.Closer
				if test.waitsFor == server {
					held, _ = silent.Accept()
				} else {
					held, _ = os.OpenFile(path, os.O_WRONLY, 0) // returns when there is a reader
				}
				waits <- held
			}()
			select {
			case err := <-ended:
				t.Fatalf("ended before it waited: %v", err)
			case held := <-waits:
				defer held.Close()
			}
			if err := command.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			<-ended
			if code := command.ProcessState.ExitCode(); code != 2 {
				t.Errorf("exit code %d, want 2", code)
			}
		})
	}
}

// withSchema is a package whose schema is in a file with the name of the test's pipe.
const withSchema = `package shop

import "context"

//mcp:tool public
//mcp:schema input=pipe
func Walk(ctx context.Context, in struct{}) error { return nil }
`
