package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// validSchemas checks every schema of the manifests below a directory against the meta-schema of draft
// 2020-12, and says how many there are.
func validSchemas(dir string) (count int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == ".tools") {
			return fs.SkipDir
		}
		if err != nil || entry.Name() != "mcp.manifest.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var m struct {
			Tools []struct {
				Name          string
				Input, Output json.RawMessage
			}
		}
		if err := json.Unmarshal(text, &m); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, tool := range m.Tools {
			for _, s := range []json.RawMessage{tool.Input, tool.Output} {
				if len(s) == 0 || string(s) == "null" {
					continue
				}
				count++
				if err := validSchema(string(s)); err != nil {
					return fmt.Errorf("%s: tool %s: %w\n%s", path, tool.Name, err, s)
				}
			}
		}
		return nil
	})
	return count, err
}

func validSchema(text string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("mcpgen:///schema", doc); err != nil {
		return err
	}
	_, err = compiler.Compile("mcpgen:///schema")
	if root, _ := doc.(map[string]any); err == nil && (root["type"] != "object" || root["$ref"] != nil) {
		return fmt.Errorf("the root is no object")
	}
	return err
}

// TestEverySchemaOfTheRepositoryPassesTheMetaSchema reads the manifests of the examples and goldens;
// TestScripts does the same for what each script has generated.
func TestEverySchemaOfTheRepositoryPassesTheMetaSchema(t *testing.T) {
	count, err := validSchemas(testrepo.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	if count < 20 {
		t.Errorf("%d schemas found, want those of the examples and goldens", count)
	}
	t.Logf("%d schemas", count)
}
