package systemtest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// programs is the folder of the built programs, which TestMain removes.
var programs struct {
	once sync.Once
	dir  string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if programs.dir != "" {
		_ = os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// program returns the path of a command of this repository. All commands that the tests of this
// package run are linked once, without debug information.
func program(t *testing.T, name string) string {
	t.Helper()
	programs.once.Do(func() {
		var err error
		if programs.dir, err = os.MkdirTemp("", "programs"); err != nil {
			t.Fatal(err)
		}
		testrepo.Output(t, testrepo.Root(t), "go build -ldflags=-w -o", programs.dir,
			"./examples/demo", "./examples/team/...", "./examples/inventory/...",
			"./examples/workspace/...", "./cmd/mcpgen")
	})
	return filepath.Join(programs.dir, name)
}
