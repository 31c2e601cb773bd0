package store_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// asNobody runs a test as somebody whom no file belongs to, where the tests run as root, who may do everything: on a
// thread that ends with the test.
func asNobody(t *testing.T, test func()) {
	t.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				t.Error(err)
			}
			if err := syscall.Setfsgid(65534); err != nil {
				t.Error(err)
			}
		}
		test()
	}()
	<-done
}

func TestFileOrDirectoryThatIsNotWritableIsTold(t *testing.T) {
	dir := must(os.MkdirTemp("", "store")) // t.TempDir is below a directory that root alone may enter
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, tt := range []struct {
		name      string
		dir, file os.FileMode
		cure      string
	}{
		{"new", 0o555, 0, "its directory must be writable for the user that the server runs as: "},
		{"file", 0o777, 0o444, "the file must be readable and writable for the user"},
		{"directory", 0o555, 0o666, "SQLite makes files beside the database's: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := filepath.Join(dir, tt.name)
			if err := os.Mkdir(in, 0o755); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(in, "store.db")
			if tt.file != 0 {
				if err := store.Migrate(t.Context(), "sqlite:"+file, newest); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(file, tt.file); err != nil {
					t.Fatal(err)
				}
			}
			for path, mode := range map[string]os.FileMode{dir: 0o755, in: tt.dir} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { os.Chmod(in, 0o755) })
			asNobody(t, func() {
				s, err := store.Open(t.Context(), "sqlite:"+file)
				if err == nil || !strings.Contains(err.Error(), tt.cure) {
					t.Errorf("%v, %v", s, err)
				}
			})
		})
	}
}

// TestFileThatIsNoLongerWritableIsTold takes the right away while the store is open, past its own connections.
func TestFileThatIsNoLongerWritableIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	s := open(t, "sqlite:"+file)
	must(s.Writes().Exec("PRAGMA query_only = 1"))
	if _, err := s.CreateOrg(t.Context(), "acme", ada); err == nil || !strings.Contains(err.Error(), file+" and the files beside it") {
		t.Error(err)
	}
}
