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

const nobody = 65534

// asNobody runs a test as somebody whom no file belongs to, where the tests run as root, who may do
// everything: on a thread that ends with the test.
func asNobody(t *testing.T, test func()) {
	t.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(nobody); err != nil {
				t.Error(err)
			}
			if err := syscall.Setfsgid(nobody); err != nil {
				t.Error(err)
			}
		}
		test()
	}()
	<-done
}

func TestFileOrDirectoryThatIsNotWritableIsReported(t *testing.T) {
	// t.TempDir is below a directory that root alone may enter
	dir := must(os.MkdirTemp("", "store"))
	t.Cleanup(func() { os.RemoveAll(dir) })
	for up := filepath.Dir(dir); up != "/" && os.Geteuid() == 0; up = filepath.Dir(up) {
		if must(os.Stat(up)).Mode()&1 == 0 {
			t.Skipf("nobody cannot enter %s", up)
		}
	}
	for _, tt := range []struct {
		name      string
		dir, file os.FileMode
		cure      string
	}{
		{"new", 0o555, 0, "its directory must be writable for the server's user: "},
		{"file", 0o777, 0o400, "must be writable for the server's user"},
		{"directory", 0o555, 0o600, "must be writable for the server's user"},
		{"others", 0o777, 0o666,
			"users other than its owner can write to it (-rw-rw-rw-): make the server's user its owner " +
				"with chown"},
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
				if os.Geteuid() == 0 && tt.name != "others" {
					if err := os.Chown(file, nobody, nobody); err != nil {
						t.Fatal(err)
					}
				}
			}
			for path, mode := range map[string]os.FileMode{dir: 0o755, in: tt.dir} {
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { os.Chmod(in, 0o755) })
			if os.Geteuid() != 0 && tt.name == "others" {
				// root's, and everybody may write to it: who is not root can make no such file
				file = os.DevNull
			}
			asNobody(t, func() {
				s, err := store.Open(t.Context(), "sqlite:"+file)
				if err == nil || !strings.Contains(err.Error(), tt.cure) {
					t.Errorf("%v, %v", s, err)
				}
			})
		})
	}
}

// TestFileThatIsNoLongerWritableIsReported takes the right away while the store is open, past its
// own connections.
func TestFileThatIsNoLongerWritableIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	s := open(t, "sqlite:"+file)
	must(s.Writes().Exec("PRAGMA query_only = 1"))
	if _, err := s.CreateOrg(t.Context(), "acme", ada); err == nil || !strings.Contains(err.Error(),
		file+", the files beside it") {
		t.Error(err)
	}
}
