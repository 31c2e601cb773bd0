package sandbox

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Helpers are killed when they have answered, and may open no file by then: what they covered is written before, by their
// handlers, into a file opened earlier still, and collected by the test's process for the profile that go test writes.

func init() { beforeMain = countHelpers }

// coverDir is a folder that the helpers of this test binary find by the file they run from: they have neither its
// environment nor, in a pid namespace, its number.
func coverDir() (string, error) {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return "", err
	}
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("/tmp/sandbox-cover-%d-%d", stat.Dev, stat.Ino), nil
}

func countHelpers() {
	if testing.CoverMode() == "" {
		return
	}
	dir, err := coverDir()
	if err != nil {
		return
	}
	if !isHelper(os.Args) {
		_ = os.Mkdir(dir, 0o700)
		_ = os.Chmod(dir, 0o1777) // helpers are somebody else where this is root
		return
	}
	var meta bytes.Buffer
	if err := coverage.WriteMeta(&meta); err != nil || meta.Len() < 40 {
		return
	}
	hash := meta.Bytes()[24:40] // after magic, version, length and entries (internal/coverage.MetaFileHeader)
	name := fmt.Sprintf("covcounters.%x.%d.%d", hash, os.Getpid(), time.Now().UnixNano())
	file, err := os.OpenFile(filepath.Join(dir, "."+name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return
	}
	for name, run := range registry.handlers {
		registry.handlers[name] = func(ctx context.Context, job Job) ([]byte, error) {
			result, err := run(ctx, job)
			_ = coverage.WriteCounters(file)
			file.Close()
			return result, err
		}
	}
}

// collectCoverage moves what helpers that have ended wrote to where go test looks for it.
func collectCoverage(t testing.TB) {
	t.Helper()
	to := flag.Lookup("test.gocoverdir")
	if testing.CoverMode() == "" || to == nil || to.Value.String() == "" {
		return
	}
	dir, err := coverDir()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		from := filepath.Join(dir, e.Name())
		counters, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if len(counters) > 0 {
			if err := os.WriteFile(filepath.Join(to.Value.String(), strings.TrimPrefix(e.Name(), ".")), counters, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(from); err != nil {
			t.Fatal(err)
		}
	}
	_ = os.Remove(dir) // made again by the next test that needs it
	_ = os.Mkdir(dir, 0o700)
	_ = os.Chmod(dir, 0o1777)
}
