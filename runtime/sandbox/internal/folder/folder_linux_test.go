package folder

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFoldersAloneOpen(t *testing.T) {
	t.Chdir(t.TempDir())
	root, err := os.OpenRoot(".")
	if err = errors.Join(err, unix.Mkfifo("pipe", 0o600), unix.Symlink("pipe", "link")); err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"pipe", "link"} {
		if _, err := root.OpenFile(name, asFolder, 0); err == nil {
			t.Errorf("%s opens as a folder", name)
		}
	}
}
