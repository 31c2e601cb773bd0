package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// deprecated is a service whose source uses deprecated declarations of another package.
const deprecated = `// Package old serves a deprecated type.
//
//mcp:server name=old
package old

import (
	"context"

	"example.com/scratch/legacy"
)

// Order is an input.
type Order struct {
	Old legacy.Old ` + "`json:\"old\"`" + ` //lint:ignore SA1019 a client still sends it
}

// Get returns a deprecated type.
//
//mcp:tool public
//
//lint:ignore SA1019 a client still reads it
func Get(ctx context.Context, in Order) (legacy.Old, error) { return in.Old, nil }

// Put takes structs without names.
//
//mcp:tool public
func Put(ctx context.Context, in struct {
	Page
	Lines []struct {
		Key   string            ` + "`json:\"key\" jsonschema:\"minLength=1\"`" + `
		Value map[string]struct {
			A, B int
		}
	}
}) error {
	return nil
}

// Page is a page.
type Page struct {
	Page int ` + "`json:\"page\"`" + `
}
`

const legacy = `// Package legacy has a deprecated type.
package legacy

// Old is old.
//
// Deprecated: use another type.
type Old struct {
	Name string ` + "`json:\"name\"`" + `
}
`

// TestGeneratedCodeIsCleanForLinters runs staticcheck and gofumpt, in the versions of the Makefile,
// on what mcpgen writes for a service that uses deprecated declarations.
func TestGeneratedCodeIsCleanForLinters(t *testing.T) {
	if testing.Short() {
		t.Skip("the linters are programs of other modules")
	}
	root := testrepo.Root(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	tool := func(name string) string {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + name + ` = (\S+)$`).FindSubmatch(makefile)
		if m == nil {
			t.Fatalf("the Makefile has no %s", name)
		}
		return string(m[1])
	}
	dir := t.TempDir()
	if err := testrepo.WriteModule(root, "example.com/scratch", dir); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"old/old.go": deprecated, "legacy/legacy.go": legacy,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	mcpgen := exec.Command(os.Args[0])
	mcpgen.Args, mcpgen.Dir = []string{"mcpgen", "./..."}, dir
	if out, err := mcpgen.CombinedOutput(); err != nil {
		t.Fatalf("mcpgen: %v\n%s", err, out)
	}
	for _, args := range [][]string{
		{tool("STATICCHECK"), "./..."},
		{tool("GOFUMPT"), "-l", "old/mcp_gen.go", "old/mcp_gen_test.go"},
	} {
		bin := t.TempDir()
		install := exec.Command("go", "install", args[0])
		install.Env = append(os.Environ(), "GOBIN="+bin)
		if out, err := install.CombinedOutput(); err != nil {
			testdb.Unavailable(t, "%s cannot be installed: %v\n%s", args[0], err, out)
		}
		programs, err := filepath.Glob(filepath.Join(bin, "*"))
		if err != nil || len(programs) != 1 {
			t.Fatal(programs, err)
		}
		linter := exec.Command(programs[0], args[1:]...)
		linter.Dir = dir
		out, err := linter.CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", args[0], err, out)
		}
	}
}
