package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdisk"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestSQLiteOnAFullDiskIsNotReadyUntilThereIsRoom has no record written after the one that fails.
func TestSQLiteOnAFullDiskIsNotReadyUntilThereIsRoom(t *testing.T) {
	dir, fill, free := testdisk.Small(t)
	s := open(t, "sqlite:"+filepath.Join(dir, "store.db"))
	do(t, s.Audit().Record(t.Context(), ada))
	fill()
	kept := 1
	var err error
	for ; err == nil; kept++ { // in the room that the log has
		err = s.Audit().Record(t.Context(), audit.Event{Tool: strings.Repeat("x", 8<<10)})
	}
	if !errors.Is(err, store.ErrUnwritable) || !strings.Contains(err.Error(),
		"make room on the disk") {
		t.Error(err)
	}
	for range 2 {
		if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnwritable) {
			t.Errorf("ready on a full disk: %v", err)
		}
	}
	free()
	do(t, s.Ping(t.Context()))
	do(t, s.Audit().Record(t.Context(), ada))
	if n := len(trail(t, s)); n != kept {
		t.Errorf("%d events of %d", n, kept)
	}
	if names := must(filepath.Glob(filepath.Join(dir, "*-probe-*"))); len(names) > 0 {
		t.Error(names)
	}
}

// TestSQLiteOnAReadOnlyFileSystemDoesNotOpen mounts the file system again, without the right to
// write.
func TestSQLiteOnAReadOnlyFileSystemDoesNotOpen(t *testing.T) {
	dir, _, _ := testdisk.Small(t)
	url := "sqlite:" + filepath.Join(dir, "store.db")
	do(t, store.Migrate(t.Context(), url, newest))
	do(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	s, err := store.Open(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "on a file system that is not mounted read-only") {
		t.Errorf("%v, %v", s, err)
	}
}

// TestStoreThatIsOpenedAgainKeepsTheLocksOfTheFirst reads the locks of this process: a program such
// as sqlite3 deletes the log of a database whose file nobody else has locked. A process loses all
// locks on a file when it closes any descriptor of it (fcntl(2)).
func TestStoreThatIsOpenedAgainKeepsTheLocksOfTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	open(t, "sqlite:"+path)
	info := must(os.Stat(path)).Sys().(*syscall.Stat_t)
	locked := func() (n int) {
		for line := range strings.Lines(string(must(os.ReadFile("/proc/locks")))) {
			f := strings.Fields(line) // 1: POSIX ADVISORY READ PID MAJOR:MINOR:INODE FIRST LAST
			if len(f) == 8 && f[4] == fmt.Sprint(os.Getpid()) &&
				strings.HasSuffix(f[5], fmt.Sprint(":", info.Ino)) {
				n++
			}
		}
		return n
	}
	if n := locked(); n != 1 {
		t.Fatalf("%d locks", n)
	}
	open(t, "sqlite:"+path)
	if n := locked(); n != 1 {
		t.Errorf("%d locks after it was opened again", n)
	}
}
