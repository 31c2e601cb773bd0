package testdisk

import (
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
)

// NeedsRoot skips a test that only root can run. In CI, which runs as root, it fails the test. The
// quick run (go test -short) skips it for root too.
func NeedsRoot(t testing.TB) {
	t.Helper()
	testdb.Full(t, "the rights of root")
	if os.Geteuid() != 0 {
		testdb.Unavailable(t,
			"this test needs root: it mounts a file system or starts a process of another user")
	}
}
