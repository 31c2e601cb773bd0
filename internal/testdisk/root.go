package testdisk

import (
	"os"
	"testing"
)

// NeedsRoot skips a test that only root can run. In CI, which runs as root, it fails the test. The
// quick run (go test -short) skips it for root too.
func NeedsRoot(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a test that needs root does not run with -short")
	}
	if os.Geteuid() == 0 {
		return
	}
	const why = "this test needs root: it mounts a file system or starts a process of another user"
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
