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

// Digest is that of the source of a handler's call graph, as far as it is quickly available: every
// Go file of the packages, those for other systems included, without tests and mcpgen's own files,
// and go.mod and go.sum, which fix the other modules. Line ends do not count.
//
// It does not cover vendor/, of which the go command compares only the list of modules with go.mod,
// the standard library, build tags and the go command's other settings, modules that go.mod
// replaces by directories, go.work, and an edited module cache; C and assembly are not read, and
// always unknown.
func Digest(gomod string, packages []Source) (string, error) {
	sum := sha256.New()
	add := func(name, path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		fmt.Fprintf(sum, "%q %x\n", name, sha256.Sum256(content))
		return nil
	}
	if gomod != "" {
		for _, name := range []string{"go.mod", "go.sum"} {
			err := add(name, filepath.Join(filepath.Dir(gomod), name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
			name := entry.Name()
			if !entry.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") &&
				name[0] != '.' && name[0] != '_' && name != "mcp_gen.go" && name != "aa_mcp_error.go" {
				if err := add(name, filepath.Join(p.Dir, name)); err != nil {
					return "", fmt.Errorf("reading mcp.proven.json: %w", err)
				}
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}
