package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCgroupFiles tries what is written and read, on plain files: a delegated cgroup is not to be
// had everywhere.
func TestCgroupFiles(t *testing.T) {
	parent := t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Check(parent); err == nil {
		t.Error("a plain directory is a cgroup")
	}
	write(parent, "cgroup.subtree_control", "cpu memory\n")
	if err := Check(parent); err == nil {
		t.Error("pids is not missed")
	}
	write(parent, "cgroup.subtree_control", "memory pids\n")
	if err := Check(parent); err != nil {
		t.Error(err)
	}
	c, err := New(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Remove()
	if err := c.Bound(5000, 7); err == nil {
		t.Error("there is no memory.current, and no error")
	}
	for _, name := range []string{"memory.max", "memory.swap.max", "pids.max"} {
		write(c.path, name, "max")
	}
	write(c.path, "memory.current", "1000\n")
	if err := c.Bound(5000, 7); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"memory.max": "6000", "memory.swap.max": "0",
		"pids.max": "7"} {
		if b, err := os.ReadFile(filepath.Join(c.path, name)); err != nil || string(b) != want {
			t.Errorf("%s is %q, want %s, %v", name, b, want, err)
		}
	}
	for events, want := range map[string]bool{
		"":                                  false,
		"low 0\noom 3\noom_kill 0\n":        false,
		"low 0\noom 1\noom_kill 2\nmax 1\n": true,
		"oom_kill x\n":                      false,
	} {
		write(c.path, "memory.events", events)
		if got := c.KilledForMemory(); got != want {
			t.Errorf("%q: %v", events, got)
		}
	}
}
