//go:build unix

package systemtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestTutorials follows the tutorials about a database and about going live: all files, commands
// and outputs on the pages. cmd/mcpgen follows the others.
func TestTutorials(t *testing.T) {
	for _, name := range []string{"database", "going-live"} {
		t.Run(name, func(t *testing.T) {
			page := filepath.Join(testrepo.Root(t), "docs", "tutorial", name+".md")
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			testrepo.NewWalk(t).Follow(testrepo.CodeBlocks(string(text)))
		})
	}
}
