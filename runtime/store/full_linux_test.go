package store_test

import (
	"errors"
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
	if !errors.Is(err, store.ErrUnwritable) || !strings.Contains(err.Error(), "make room on the disk") {
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

// TestSQLiteOnAReadOnlyFileSystemDoesNotOpen mounts the file system again, without the right to write.
func TestSQLiteOnAReadOnlyFileSystemDoesNotOpen(t *testing.T) {
	dir, _, _ := testdisk.Small(t)
	url := "sqlite:" + filepath.Join(dir, "store.db")
	do(t, store.Migrate(t.Context(), url, newest))
	do(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	s, err := store.Open(t.Context(), url)
	if err == nil || !strings.Contains(err.Error(), "must be writable for the user") {
		t.Errorf("%v, %v", s, err)
	}
}
