package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCountingWaitsForNothing(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{Bytes: 1000})
	space, _ := acquire(t, w, "a")
	dir := filepath.Join(root.Name(), space.name)
	if err := errors.Join(unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		unix.Symlink("pipe", filepath.Join(dir, "link")),
		unix.Symlink(".", filepath.Join(dir, "round"))); err != nil {
		t.Fatal(err)
	}
	if left, err := space.Room(); err != nil || left != 1000 {
		t.Errorf("room for %d, %v", left, err)
	}
	// A folder that is a pipe by the time it is opened is left to the next count.
	if err := space.Clear(); err != nil {
		t.Fatal(err)
	}
	if entries, err := fs.ReadDir(space.Dir().FS(), "."); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	why := errors.New("over")
	cancel(why)
	if err := space.Dir().WriteFile("f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := space.used(ended); !errors.Is(err, why) {
		t.Errorf("a count for a call that is over: %v", err)
	}
}

func TestWhatFilesTakeIsCountedOnce(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{Bytes: 10 << 20})
	space, _ := acquire(t, w, "a")
	dir := space.Dir()
	if err := dir.WriteFile("short", make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dir.Link("short", "again"); err != nil {
		t.Fatal(err)
	}
	if bytes, _, err := space.used(t.Context()); err != nil || bytes != 1000 {
		t.Errorf("one file with two names takes %d, %v", bytes, err)
	}
	f, err := dir.Create("sparse")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	if bytes, _, err := space.used(t.Context()); err != nil || bytes != 1000+1<<20 {
		t.Errorf("with a sparse file of 1 MiB it takes %d, %v", bytes, err)
	}
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, 5<<20); err != nil {
		t.Fatalf("%s: %v", root.Name(), err)
	}
	if bytes, _, err := space.used(t.Context()); err != nil || bytes < 4<<20 {
		t.Errorf("with 5 MiB reserved it takes %d, %v", bytes, err)
	}
}
