//go:build unix

package main

import (
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
