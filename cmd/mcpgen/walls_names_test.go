package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// mostNames are the largest numbers of exported names in public packages: constants, variables,
// types and functions at package level. A pattern "x/..." counts its packages together, without
// those that have a number of their own.
var mostNames = map[string]int{
	// The API for other programs, and the names that commands of other modules use.
	"generator/...": 80,
	// Generated code needs these.
	"runtime/toolset":          56,
	"runtime/decode":           86,
	"runtime/decode/validator": 1,
	"runtime/toolclient":       14,
	"sourcehash":               4,
	// Parts of other commands.
	"cmd/...": 6,
	// The API of servers.
	"runtime/...": 520,
}

// TestWallsCountExportedNames fails if public packages have more names than they may, or if a
// public package has no bound.
func TestWallsCountExportedNames(t *testing.T) {
	counted := map[string]int{}
	for _, p := range packagesOf(t, "-e", "work") {
		name := strings.TrimPrefix(p.ImportPath, modulePath+"/")
		if p.Name == "main" || within(name, "examples/...") ||
			strings.Contains("/"+name+"/", "/internal/") || strings.Contains(name, "testdata/") {
			continue
		}
		bound := name
		if _, known := mostNames[bound]; !known {
			side, _, _ := strings.Cut(name, "/")
			bound = side + "/..."
		}
		names := exportedNames(t, sourcesOf(t, name))
		counted[bound] += len(names)
		t.Logf("%4d %s", len(names), name)
	}
	for bound, n := range counted {
		if most, known := mostNames[bound]; !known || n > most {
			t.Errorf("%s exports %d names, want at most %d: make them internal", bound, n, most)
		}
	}
	if len(counted) != len(mostNames) {
		t.Errorf("names of %d packages and patterns, want %d: %v", len(counted), len(mostNames),
			counted)
	}
	t.Log(counted)
}

// exportedNames returns the exported names at package level. Files for different systems may have
// the same ones.
func exportedNames(t *testing.T, files []string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	add := func(identifiers ...*ast.Ident) {
		for _, name := range identifiers {
			if name.IsExported() {
				names[name.Name] = true
			}
		}
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s.Name)
					case *ast.ValueSpec:
						add(s.Names...)
					}
				}
			}
		}
	}
	return names
}

// TestWallsBuiltInToolsHaveOutputSchemas reads the manifests of the tools that mcpgen has itself.
func TestWallsBuiltInToolsHaveOutputSchemas(t *testing.T) {
	root, tools := testrepo.Root(t), 0
	err := filepath.WalkDir(filepath.Join(root, "runtime"),
		func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.Name() != "mcp.manifest.json" {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var manifest struct {
				Tools []struct {
					Name   string
					Output map[string]any
				}
			}
			if err := json.Unmarshal(text, &manifest); err != nil {
				return err
			}
			for _, tool := range manifest.Tools {
				if tools++; tool.Output == nil {
					t.Errorf("%s: %s has no output schema: return a value", path, tool.Name)
				}
			}
			return nil
		})
	if err != nil || tools < 7 {
		t.Errorf("%d tools, %v", tools, err)
	}
}
