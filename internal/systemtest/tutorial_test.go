//go:build unix

package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestTutorials follows the tutorials: all files, commands and outputs on the pages.
func TestTutorials(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(testrepo.Root(t), "docs", "tutorial", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(err, pages)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			w := testrepo.NewWalk(t)
			w.Follow(testrepo.CodeBlocks(string(text)))
			if _, err := os.Stat(filepath.Join(w.Dir, "mcp_gen.go")); err != nil {
				t.Error(err)
			}
		})
	}
}
