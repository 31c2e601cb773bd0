package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestErrorOfALostFileNamesTheFileAndTheCure covers the connections of an open store and new ones,
// which get other codes of SQLite.
func TestErrorOfALostFileNamesTheFileAndTheCure(t *testing.T) {
	for name, test := range map[string]struct {
		lose func(file string) error
		want string
	}{
		"database deleted": {os.Remove, "the open file was deleted or moved: "},
		"database moved": {func(f string) error { return os.Rename(f, f+".1") },
			"the open file was deleted or moved: "},
		"database replaced": {func(f string) error {
			return errors.Join(os.Rename(f, f+".1"), os.WriteFile(f, nil, 0o600))
		}, "the open file was deleted or moved: "},
		"directory deleted": {func(f string) error { return os.RemoveAll(filepath.Dir(f)) },
			"the open file was deleted or moved: "},
		"directory moved": {func(f string) error {
			return os.Rename(filepath.Dir(f), filepath.Dir(f)+".1")
		}, "the open file was deleted or moved: "},
		"log deleted": {func(f string) error { return os.Remove(f + "-wal") },
			"the open file was deleted or moved: "},
		"index cut": {func(f string) error { return os.Truncate(f+"-shm", 0) },
			"stop all servers of the database and start them again"},
		"database overwritten": {func(f string) error {
			return os.WriteFile(f, []byte(strings.Repeat("no database\n", 5000)), 0o600)
		}, "from a backup and restart the server"},
	} {
		for _, anew := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " before new connections"}[anew], func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "in", "store.db")
				do(t, os.Mkdir(filepath.Dir(file), 0o700))
				s := open(t, "sqlite:"+file)
				must(s.CreateOrg(t.Context(), "first", ada))
				if anew {
					s.Writes().SetMaxIdleConns(0)
					s.Reads().SetMaxIdleConns(0)
				}
				do(t, test.lose(file))
				errs := map[string]error{}
				_, errs["change"] = s.CreateOrg(t.Context(), "second", ada)
				_, errs["revision"] = s.Revision(t.Context())
				_, errs["list"] = orgsOf(s, t)
				errs["ready"] = s.Ping(t.Context())
				errs["event"] = s.Audit().Record(t.Context(), ada)
				failed := 0
				for what, err := range errs {
					if err == nil {
						continue
					}
					failed++
					if !strings.Contains(err.Error(), test.want) || !errors.Is(err, store.ErrUnwritable) &&
						name != "database overwritten" || strings.Contains(err.Error(), "read-only") {
						t.Errorf("%s, new connections %t: %v", what, anew, err)
					}
				}
				if failed == 0 && anew && name != "database overwritten" {
					t.Error("nothing fails")
				}
				if _, err := os.Stat(file); err == nil && strings.Contains(name, "deleted") &&
					strings.HasPrefix(name, "database") {
					t.Error("a connection has created the file again")
				}
			})
		}
	}
}
