//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestQuickStart follows the quick start of the README as a reader does: main.go and the commands
// come from its text, in an empty folder beside a checkout. Only the port differs, because 8080 may
// be in use. The calls must print what the README has, and the client of the page about clients
// gets the same result.
func TestQuickStart(t *testing.T) {
	blocks := testrepo.CodeBlocks(section(t, "README.md", "quickstart"))
	if len(blocks) != 6 {
		t.Fatalf("the quick start has %d code blocks, want 6", len(blocks))
	}
	if program := page(t, "examples/quickstart/main.go"); blocks[0].Text != program {
		t.Error("examples/quickstart/main.go is not the program of the README")
	}
	if setup := blocks[1].Text; strings.Count(setup, "\n") > 3 {
		t.Errorf("want at most three commands:\n%s", setup)
	}
	w := testrepo.NewWalk(t)
	w.Follow(blocks)
	w.Follow(testrepo.CodeBlocks(section(t, "docs/howto/clients.md", "go-sdk")))
	w.Run("gofmt -l . | diff /dev/null -\ngo vet ./...\ngo test ./...\ngo tool mcpgen check ./...",
		false)
}

// TestTutorials follows the tutorials: all files, commands and outputs on the pages. Those that
// need a database or an identity provider are followed in internal/systemtest.
func TestTutorials(t *testing.T) {
	for _, name := range []string{"first-tool", "roles-and-tokens"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testrepo.NewWalk(t)
			w.Follow(testrepo.CodeBlocks(page(t, "docs/tutorial/"+name+".md")))
			if _, err := os.Stat(filepath.Join(w.Dir, "mcp_gen.go")); err != nil {
				t.Error(err)
			}
		})
	}
}
