package mounts

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAFolderThatWasReplacedIsNotShown: a helper that finds a folder by its name takes no other.
func TestAFolderThatWasReplacedIsNotShown(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("old", 0o700), os.Mkdir("new", 0o700)); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open("old", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	same := func(name string) error {
		other, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(other)
		return sameFile(name, other, fd)
	}
	if err := same("old"); err != nil {
		t.Error(err)
	}
	if err := same("new"); err == nil || !strings.Contains(err.Error(), "replaced") {
		t.Errorf("another folder: %v", err)
	}
}
