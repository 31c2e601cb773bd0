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

func TestPathThatIsNoFileOfADatabaseIsRefusedWithItsCure(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, cure := range map[string]string{
		dir:                    "name a file in that directory, as in sqlite:" + dir + "/mcpgen.db",
		dir + "/gone/store.db": "its directory must exist: make " + dir + "/gone",
		text + "/store.db":     "its directory must be a directory: " + text,
		text:                   text + " is something else: name another file in the URL, or move this one away",
	} {
		s, err := store.Open(t.Context(), "sqlite:"+path)
		if err == nil || !strings.HasSuffix(err.Error(), cure) {
			t.Errorf("%s: %v, %v", path, s, err)
		}
	}
}
