package audit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

func write(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTrailIsNotWrittenToWhereALinkLeads(t *testing.T) {
	dir := t.TempDir()
	elsewhere := write(t, filepath.Join(dir, "elsewhere"))
	aside := filepath.Join(dir, "c-20260504T030201.000000000Z.jsonl")
	for name, link := range map[string]string{"a.jsonl": "a.jsonl", "b.jsonl": "b.jsonl.lock",
		"c.jsonl": filepath.Base(aside)} {
		if err := os.Symlink(elsewhere, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		_, err := audit.Rotating(filepath.Join(dir, name), audit.RotateOptions{})
		if err == nil || !strings.Contains(err.Error(), link+" is a link") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "d.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Rotating(filepath.Join(dir, "d.jsonl"), audit.RotateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if info, err := os.Stat(elsewhere); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	// One that leads to a directory is the owner's to make.
	way := filepath.Join(t.TempDir(), "logs")
	if err := os.Symlink(dir, way); err != nil {
		t.Fatal(err)
	}
	record(t, rotating(t, filepath.Join(way, "e.jsonl"), audit.RotateOptions{}), "a")
}

// ofSomebody is a file of a user.
type ofSomebody struct {
	fs.FileInfo
	uid int
}

func (f ofSomebody) Sys() any { return &syscall.Stat_t{Uid: uint32(f.uid)} }

func TestFileOfSomebodyElseIsNoTrail(t *testing.T) {
	own := os.Geteuid()
	for uid, want := range map[int]bool{own: true, 0: true, own + 1: false, 65534: own == 65534} {
		if err := audit.OfUser("audit.jsonl", ofSomebody{uid: uid}); (err == nil) != want ||
			err != nil && !strings.Contains(err.Error(), "chown") {
			t.Errorf("of %d, by %d: %v", uid, own, err)
		}
	}
	dir := t.TempDir()
	for name, other := range map[string]string{"a.jsonl": "a.jsonl", "b.jsonl": "b.jsonl.lock"} {
		// which root alone can
		given := os.Chown(write(t, filepath.Join(dir, other)), own+1, -1) == nil
		r, err := audit.Rotating(filepath.Join(dir, name), audit.RotateOptions{})
		if given != (err != nil) || given && !strings.Contains(err.Error(),
			other+" belongs to the user with id") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			r.Close()
		}
	}
}

func TestLockThatOthersMayTakeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.Chmod(write(t, path+".lock"), 0o604); err != nil {
		t.Fatal(err)
	}
	if _, err := audit.Rotating(path, audit.RotateOptions{}); err == nil ||
		!strings.Contains(err.Error(), ".lock has the permissions 0604") ||
		!strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

func TestDirectoryInWhichAnybodyMayExchangeFilesIsRefused(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o777: false, 0o702: false,
		0o777 | os.ModeSticky: true, 0o775: true, 0o755: true, 0o700: true} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		r, err := audit.Rotating(filepath.Join(dir, "audit.jsonl"), audit.RotateOptions{})
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "chmod o-w") {
			t.Errorf("%s: %v", mode, err)
		}
		if err == nil {
			r.Close()
		}
		if entries, err := os.ReadDir(dir); err != nil || !want && len(entries) > 0 {
			t.Errorf("%s: %v, %v", mode, entries, err)
		}
	}
}

// TestRotationThatIsCutShortFollowsNoLink has the file exchanged while the process has none open.
func TestRotationThatIsCutShortFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path, elsewhere := filepath.Join(dir, "audit.jsonl"), write(t, filepath.Join(dir, "elsewhere"))
	r := rotating(t, path, audit.RotateOptions{MaxBytes: 1})
	record(t, r, "a")
	r.At(func() time.Time { // for the name of the file that is set aside, when it has been closed
		os.Remove(path)
		return time.Now()
	})
	// there is nothing to set aside
	if err := r.Record(t.Context(), audit.Event{RequestID: "b"}); err == nil {
		t.Fatal("recorded")
	}
	r.At(time.Now)
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	if err := r.Record(t.Context(), audit.Event{RequestID: "c"}); err == nil ||
		!strings.Contains(err.Error(), "is a link") {
		t.Error(err)
	}
	if info, err := os.Stat(elsewhere); err != nil || info.Size() != 0 {
		t.Errorf("%v, %v", info, err)
	}
}
