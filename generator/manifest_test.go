package generator

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/internal/scaletest"
)

// TestManifestOf100Tools keeps the size of the manifest: at most a third of the 11,920 lines of
// its first version.
func TestManifestOf100Tools(t *testing.T) {
	const first = 11920
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if err := scaletest.Write(dir, root, 1, 100); err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), Options{Dir: dir, Patterns: []string{"./..."}})
	if err != nil || len(r.Diagnostics) > 0 {
		t.Fatal(err, r.Diagnostics)
	}
	for _, f := range r.Files {
		if filepath.Base(f.Path) != emit.Manifest {
			continue
		}
		lines := bytes.Count(f.Content, []byte("\n"))
		if t.Logf("%d lines", lines); lines > first/3 {
			t.Errorf("%d lines, want at most a third of %d", lines, first)
		}
		return
	}
	t.Error("no manifest")
}
