package sandbox

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

// cgroup is the control group of one helper and all it starts
// (Documentation/admin-guide/cgroup-v2.rst).
type cgroup struct {
	path string
	dir  *os.File
}

var cgroups atomic.Int64

func newCgroup(parent string) (*cgroup, error) {
	path := filepath.Join(parent, fmt.Sprintf("call-%d-%d", os.Getpid(), cgroups.Add(1)))
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("cgroup: %w", err)
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cgroup: %w", err), os.Remove(path))
	}
	return &cgroup{path, dir}, nil
}

// bound sets the limits. Memory is over what the helper has already.
func (c *cgroup) bound(l Limits) error {
	now, err := os.ReadFile(filepath.Join(c.path, "memory.current"))
	if err != nil {
		return fmt.Errorf("cgroup: %w", err)
	}
	var has int64
	if _, err := fmt.Sscan(string(now), &has); err != nil {
		return fmt.Errorf("cgroup: memory.current: %w", err)
	}
	for file, value := range map[string]string{
		"memory.max":      strconv.FormatInt(has+l.Memory, 10),
		"memory.swap.max": "0",
		"pids.max":        strconv.Itoa(l.Processes),
	} {
		err := os.WriteFile(filepath.Join(c.path, file), []byte(value), 0)
		// a kernel without swap
		if err != nil && !(file == "memory.swap.max" && errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil
}

// killedForMemory reports whether a process was killed because the group had no more.
func (c *cgroup) killedForMemory() bool {
	events, err := os.ReadFile(filepath.Join(c.path, "memory.events"))
	return err == nil && countOf(string(events), "oom_kill") > 0
}

func (c *cgroup) kill() {
	// the process group is killed too
	_ = os.WriteFile(filepath.Join(c.path, "cgroup.kill"), []byte("1"), 0)
}

// remove removes the group, which is possible once its last process is gone.
func (c *cgroup) remove() {
	c.dir.Close()
	for range 100 {
		if err := os.Remove(c.path); !errors.Is(err, syscall.EBUSY) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// countOf returns a number from lines of "name number".
func countOf(lines, name string) int {
	for line := range strings.Lines(lines) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), " "); found && key == name {
			n, err := strconv.Atoi(value)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

// checkCgroup reports what is wrong with a cgroup that is to hold those of calls.
func checkCgroup(path string) error {
	controllers, err := os.ReadFile(filepath.Join(path, "cgroup.subtree_control"))
	if err != nil {
		return fmt.Errorf("cgroup %s is not a readable cgroup of version 2: %w", path, err)
	}
	enabled := strings.Fields(string(controllers))
	for _, needed := range []string{"memory", "pids"} {
		if !slices.Contains(enabled, needed) {
			return fmt.Errorf("cgroup %s does not have the controller %s enabled for its children (cgroup.subtree_control)", path, needed)
		}
	}
	return nil
}
