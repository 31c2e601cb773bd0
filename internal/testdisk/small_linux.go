// Package testdisk provides tests with a file system that fills up.
package testdisk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Size is the size of a file system of [Small], in bytes.
const Size = 4 << 20

// Small mounts an empty file system of [Size] bytes until the test ends. It needs root,
// see [NeedsRoot]. Fill writes a file that leaves no byte free, and free removes that file.
func Small(t testing.TB) (dir string, fill, free func()) {
	t.Helper()
	NeedsRoot(t)
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	fill = func() {
		t.Helper()
		err := os.WriteFile(ballast, make([]byte, Size), 0o600)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the file system has room left: %v", err)
		}
	}
	free = func() {
		t.Helper()
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	return dir, fill, free
}
