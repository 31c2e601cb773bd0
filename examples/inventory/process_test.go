package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// process is a program that answers each line with a line, and ends with its standard input.
type process struct {
	t        testing.TB
	in       io.WriteCloser
	out      *bufio.Reader
	problems *notes // what it has written to standard error
}

// notes are text that may be read while it is written.
type notes struct {
	mu      sync.Mutex
	text    strings.Builder
	written sync.Cond
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.written.Broadcast()
	return n.text.Write(b)
}

// await waits until the text contains a part.
func (n *notes) await(part string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !strings.Contains(n.text.String(), part) {
		n.written.Wait()
	}
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// start runs a program for the length of a test.
func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	problems := new(notes)
	problems.written.L = &problems.mu
	cmd.Stderr = problems
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if t.Failed() { // it may wait for a signal that the test did not send
			_ = cmd.Process.Kill()
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("%s: %v\n%s", cmd.Path, err, problems)
		}
	})
	return &process{t, in, bufio.NewReader(out), problems}
}

// line is what it says next.
func (p *process) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("it says %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

// ask tells it something and returns what it answers.
func (p *process) ask(v any) string {
	p.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		p.t.Fatal(err)
	}
	return p.line()
}

// command outlives the context of a test, which ends before its clean-up.
func command(t testing.TB, name string, args ...string) *exec.Cmd {
	return exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
}
