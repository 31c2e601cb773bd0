// Package cgroup limits a helper and all processes that it starts together.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Group is the control group of one helper and all processes that it starts
// (Documentation/admin-guide/cgroup-v2.rst).
type Group struct {
	// Dir is open on the group, for clone(2).
	Dir  *os.File
	path string
}

var groups atomic.Int64

// New creates a group.
func New(parent string) (*Group, error) {
	path := filepath.Join(parent, fmt.Sprintf("call-%d-%d", os.Getpid(), groups.Add(1)))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cgroup: %w", err), os.Remove(path))
	}
	return &Group{dir, path}, nil
}

// Bound sets the limits. Memory is added to what the helper uses already.
func (g *Group) Bound(memory int64, processes int) error {
	now, err := os.ReadFile(filepath.Join(g.path, "memory.current"))
	if err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	var has int64
	if _, err := fmt.Sscan(string(now), &has); err != nil {
		return fmt.Errorf("cgroup: memory.current: %w", err)
	}
	for file, value := range map[string]string{
		"memory.max":      strconv.FormatInt(has+memory, 10),
		"memory.swap.max": "0",
		"pids.max":        strconv.Itoa(processes),
	} {
		err := os.WriteFile(filepath.Join(g.path, file), []byte(value), 0)
		// a kernel without swap
		if err != nil && !(file == "memory.swap.max" && errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil
}

// KilledForMemory reports whether a process was killed because of the group's memory limit.
func (g *Group) KilledForMemory() bool {
	events, _ := os.ReadFile(filepath.Join(g.path, "memory.events"))
	for line := range strings.Lines(string(events)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.Atoi(strings.TrimSpace(count))
			return err == nil && n > 0
		}
	}
	return false
}

// Kill kills all processes of the group.
func (g *Group) Kill() {
	// the process group is killed too
	_ = os.WriteFile(filepath.Join(g.path, "cgroup.kill"), []byte("1"), 0)
}

// Remove removes the group. It must be empty.
func (g *Group) Remove() {
	g.Dir.Close()
	for range 100 {
		if err := os.Remove(g.path); !errors.Is(err, syscall.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Check returns an error if a cgroup cannot contain those of calls.
func Check(path string) error {
	controllers, err := os.ReadFile(filepath.Join(path, "cgroup.subtree_control"))
	if err != nil {
		return fmt.Errorf("cgroup %s is not a readable cgroup of version 2: %w", path, err)
	}
	enabled := strings.Fields(string(controllers))
	for _, needed := range []string{"memory", "pids"} {
		if !slices.Contains(enabled, needed) {
			return fmt.Errorf("cgroup %s does not have the controller %s enabled for its children "+
				"(cgroup.subtree_control)", path, needed)
		}
	}
	return nil
}
