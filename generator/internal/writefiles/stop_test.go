package writefiles

import (
	"errors"
	"io/fs"
	"testing"
)

// stoppingDisk is the real file system. A signal arrives during one of its renames or new files.
type stoppingDisk struct {
	system
	left int
}

func (d *stoppingDisk) step() {
	if d.left--; d.left == 0 {
		stopped.Store(true)
	}
}

func (d *stoppingDisk) Rename(from, to string) error {
	d.step()
	return d.system.Rename(from, to)
}

func (d *stoppingDisk) WriteBeside(
	path string, content []byte, old fs.FileInfo,
) (string, error) {
	d.step()
	return d.system.WriteBeside(path, content, old)
}

func TestStopLeavesAllFilesOrNone(t *testing.T) {
	t.Cleanup(func() { stopped.Store(false) })
	whole, files, remove := scene(t)
	if _, err := writeTo(system{}, files, remove); err != nil {
		t.Fatal(err)
	}
	undone := 0
	for at := 1; ; at++ {
		stopped.Store(false)
		dir, files, remove := scene(t)
		before := tree(t, dir)
		disk := &stoppingDisk{left: at}
		switch _, err := writeTo(disk, files, remove); {
		case errors.Is(err, errStopped):
			undone++
			expect(t, "tree", tree(t, dir), before)
		case err != nil:
			t.Fatal(err)
		default:
			expect(t, "tree", tree(t, dir), tree(t, whole))
		}
		if disk.left > 0 {
			break
		}
	}
	if undone < 3 {
		t.Errorf("%d runs were undone", undone)
	}
}
