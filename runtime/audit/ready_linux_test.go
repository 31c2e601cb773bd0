package audit_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdisk"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// TestFileOnAFullDiskIsNotReadyUntilThereIsRoom has no record written after the failed one: Ready
// itself finds out that there is room again, and leaves nothing in the file.
func TestFileOnAFullDiskIsNotReadyUntilThereIsRoom(t *testing.T) {
	dir, fill, free := testdisk.Small(t)
	path := filepath.Join(dir, "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{})
	record(t, r, "a")
	fill()
	// more than its last page holds
	long := audit.Event{RequestID: "b", Tool: strings.Repeat("x", 8<<10)}
	if err := r.Record(t.Context(), long); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	for range 2 {
		if err := r.Ready(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("ready on a full disk: %v", err)
		}
	}
	free()
	if err := r.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if got := ids(t, path); strings.Join(got, "") != "a" {
		t.Errorf("%q", got)
	}
	record(t, r, "c")
	if got := ids(t, path); strings.Join(got, "") != "ac" {
		t.Errorf("%q", got)
	}
}
