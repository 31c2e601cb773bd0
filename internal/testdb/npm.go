package testdb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Npm returns the path of a file in a package of npm, as package/file, and node, both installed by
// make npm. Checkouts share the folder of the packages: the file .npm of a checkout has its path.
// Without the package a test is skipped, and fails if CI=true.
func Npm(t testing.TB, file string) (path, node string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ".npm"))
	for ; err != nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		text, err = os.ReadFile(filepath.Join(filepath.Dir(dir), ".npm"))
	}
	modules := filepath.Join(strings.TrimSpace(string(text)), "node_modules")
	path = filepath.Join(modules, filepath.FromSlash(file))
	if err == nil {
		_, err = os.Stat(path)
	}
	nodes, _ := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node"))
	if err != nil || len(nodes) == 0 {
		Unavailable(t, "no %s of npm: run make npm, which needs npm", file)
	}
	return path, nodes[0]
}
