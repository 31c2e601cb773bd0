package prove

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Source is a package whose files count.
type Source struct{ Path, Dir string }

// Digest is that of the source which a handler's call graph is made from, as far as it can be had
// at once: every Go file of the packages, those for other systems included, tests and what mcpgen
// writes left out, and go.mod and go.sum, which fix the other modules. Line ends do not count.
//
// It does not see vendor/, whose files the go command holds against go.mod by its list of modules
// alone, the standard library, build tags and the go command's other settings, modules that go.mod
// replaces by directories, go.work, and an edited module cache; C and assembly are not read, and
// unknown whatever is in them.
func Digest(gomod string, packages []Source) (string, error) {
	sum := sha256.New()
	add := func(name, path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %x\n", name, sha256.Sum256(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))))
		return nil
	}
	if gomod != "" {
		for _, name := range []string{"go.mod", "go.sum"} {
			if err := add(name, filepath.Join(filepath.Dir(gomod), name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", fmt.Errorf("reading mcp.proven.json: %w", err)
			}
		}
	}
	packages = slices.Clone(packages)
	slices.SortFunc(packages, func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
	for _, p := range packages {
		entries, err := os.ReadDir(p.Dir)
		if err != nil {
			return "", fmt.Errorf("reading mcp.proven.json: %w", err)
		}
		fmt.Fprintf(sum, "%q\n", p.Path)
		for _, entry := range entries {
			if name := entry.Name(); !entry.IsDir() && isSource(name) {
				if err := add(name, filepath.Join(p.Dir, name)); err != nil {
					return "", fmt.Errorf("reading mcp.proven.json: %w", err)
				}
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// isSource reports whether a file of a package counts.
func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") &&
		name[0] != '.' && name[0] != '_' && name != "mcp_gen.go" && name != "aa_mcp_error.go"
}
