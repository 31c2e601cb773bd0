package generator_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/testgo"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestTypedClientsCompile generates a typed client for each example, for the runtime's own packages
// and for a package with every shape of handler, in a scratch copy, and vets it. No package can
// import package main: its copy has another name.
func TestTypedClientsCompile(t *testing.T) {
	root, scratch := testrepo.Root(t), t.TempDir()
	sources := []string{"testdata/bench/freight", "runtime/sandbox/workspacetools",
		"runtime/debugtools", "runtime/grant/permissionrequest",
		"generator/internal/emit/testdata/codecs", "generator/internal/emit/testdata/relativeroles",
		"generator/testdata/client"}
	folders := []string{"runtime/sandbox"}
	if !testing.Short() {
		sources = append(sources, "examples/quickstart", "examples/conformance",
			"examples/team/directory", "examples/inventory/dcim", "examples/workspace/desk")
		folders = append(folders, "examples/inventory")
	}
	err := testrepo.WriteModule(root, "example.com/scratch", scratch, folders...)
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		copyForClient(t, filepath.Join(root, filepath.FromSlash(source)),
			filepath.Join(scratch, served(source)), source)
	}
	if testing.Short() {
		clientsInProcess(t, scratch)
	} else {
		for _, command := range []string{"go tool mcpgen ./...", "go vet ./...",
			"go tool mcpgen check ./...", "go test -run TestMcpgen ./..."} {
			testrepo.Output(t, scratch, command)
		}
	}
	for _, source := range sources {
		file := filepath.Join(scratch, served(source), "client", "mcp_client.go")
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), "\nfunc (c *Client) ") == 0 {
			t.Errorf("%s has no client with methods: %v", source, err)
		}
	}
}

// clientsInProcess generates for the packages of a module, compares the files with those of another
// run, type-checks them, and runs the generated tests.
func clientsInProcess(t *testing.T, dir string) {
	t.Helper()
	options := generator.Options{Dir: dir, Patterns: []string{"./..."}}
	for first := range 2 {
		result, err := generator.Run(loadtest.Context(t), options)
		if err != nil || len(result.Diagnostics) > 0 {
			t.Fatal(err, result.Diagnostics)
		}
		changed, err := result.Write()
		if err != nil || (len(changed) > 0) != (first == 0) {
			t.Fatal(err, changed)
		}
	}
	var out bytes.Buffer
	if ok, err := testgo.Shared(t).Test(&out, dir, "./..."); !ok || err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

// served is the directory of a copy. The go command ignores those with the name testdata.
func served(source string) string {
	return filepath.FromSlash(strings.ReplaceAll(source, "testdata/", ""))
}

var (
	mainClause = regexp.MustCompile(`(?m)^package main$`)
	server     = regexp.MustCompile(`(?m)^//mcp:server.*$`)
)

// copyForClient copies the source of a package, without tests and generated files, and adds client=
// to its directive.
func copyForClient(t *testing.T, from, to, name string) {
	t.Helper()
	found := false
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(from, path)
		file := filepath.Base(path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel == "client":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case strings.HasSuffix(file, "_test.go"), file == "mcp_gen.go", file == "MCP.md",
			file == "mcp.manifest.json", file == "mcp.proven.json":
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if text := string(content); strings.HasSuffix(file, ".go") {
			text = mainClause.ReplaceAllString(text, "package served")
			text = server.ReplaceAllStringFunc(text, func(line string) string {
				found = true
				return strings.Replace(line, " client=client", "", 1) + " client=client"
			})
			content = []byte(text)
		}
		return os.WriteFile(filepath.Join(to, rel), content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Errorf("%s has no //mcp:server", name)
	}
}
