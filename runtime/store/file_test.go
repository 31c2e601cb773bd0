package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestFilesOfSQLiteAreTheOwnersAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	s := open(t, "sqlite:"+file)
	must(s.CreateOrg(t.Context(), "acme", ada))
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if mode := must(os.Stat(name)).Mode(); mode != 0o600 {
			t.Errorf("%s: %s", name, mode)
		}
	}
}

// TestFileThatOthersCouldReadIsTheOwnersOnceItIsOpened has a file that was made by other means, or
// by a program before this, and is open to all; the files beside it are left by one that was
// killed.
func TestFileThatOthersCouldReadIsTheOwnersOnceItIsOpened(t *testing.T) {
	for _, mode := range []os.FileMode{0o644, 0o640, 0o666, 0o660, 0o755, 0o604} {
		for _, linked := range []bool{false, true} {
			dir := t.TempDir()
			file := filepath.Join(dir, "store.db")
			before := open(t, "sqlite:"+file) // which keeps the files beside it there
			must(before.CreateOrg(t.Context(), "acme", ada))
			names := []string{file, file + "-wal", file + "-shm"}
			for _, name := range names {
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			path := file
			if linked {
				path = filepath.Join(t.TempDir(), "link.db")
				if err := os.Symlink(file, path); err != nil {
					t.Fatal(err)
				}
			}
			s := open(t, "sqlite:"+path)
			must(s.CreateOrg(t.Context(), "rival", ada))
			for _, name := range names {
				if got := must(os.Stat(name)).Mode(); got != 0o600 {
					t.Errorf("%s of %s: %s", mode, filepath.Base(name), got)
				}
			}
		}
	}
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(filepath.Join(filepath.Dir(link), "new.db"), link); err != nil {
		t.Fatal(err)
	}
	open(t, "sqlite:"+link)
	if got := must(os.Stat(link)).Mode(); got != 0o600 {
		t.Error(got)
	}
}

func TestPathThatIsNoFileOfADatabaseIsRefusedWithItsCure(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, cure := range map[string]string{
		dir:                    "use a file in that directory, for example sqlite:" + dir + "/mcpgen.db",
		dir + "/gone/store.db": "its directory must exist: create " + dir + "/gone",
		text + "/store.db":     "its directory must be a directory: " + text,
		text:                   text + " is not a database: use another file in the URL, or move this one away",
	} {
		s, err := store.Open(t.Context(), "sqlite:"+path)
		if err == nil || !strings.HasSuffix(err.Error(), cure) {
			t.Errorf("%s: %v, %v", path, s, err)
		}
	}
}
