package starter

import (
	"bytes"
	"encoding/json"
	"go/format"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestFilesAreValidInTheirFormats(t *testing.T) {
	files, err := Files("shop")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		".github/workflows/ci.yml", ".mcp.json", "Makefile", "main.go", "main_test.go", "tools.go",
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	for name, text := range files {
		var value any
		switch {
		case strings.HasSuffix(name, ".go"):
			formatted, err := format.Source(text)
			if err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("gofmt would change %s: %v", name, err)
			}
		case strings.HasSuffix(name, ".json"):
			err = json.Unmarshal(text, &value)
		case strings.HasSuffix(name, ".yml"):
			err = yaml.Unmarshal(text, &value)
		}
		if err != nil || bytes.Contains(text, []byte("{{")) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if !bytes.Contains(files["main.go"], []byte("//mcp:server name=shop version=0.1.0\n")) {
		t.Errorf("main.go does not have the name:\n%s", files["main.go"])
	}
}

func TestWriteLeavesFilesAsTheyAre(t *testing.T) {
	checkout := t.TempDir()
	text := "module " + ownModule + "\n\ngo 1.26.0\n"
	if err := os.WriteFile(filepath.Join(checkout, "go.mod"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for module, want := range map[string]string{"a b": "is not the path of a module",
		"example.com/9": "is not the path of a module"} {
		if _, err := Write(dir, module, checkout); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", module, err)
		}
	}
	if _, err := Write(dir, "example.com/shop", dir); err == nil {
		t.Error("a directory without go.mod is a checkout")
	}
	written, err := Write(dir, "example.com/shop/v2", checkout)
	if err != nil || len(written) != 7 {
		t.Fatal(written, err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.Contains(string(mod), "replace "+ownModule+" => "+checkout+"\n") {
		t.Errorf("%s%v", mod, err)
	}
	_, err = Write(dir, "example.com/shop/v2", checkout)
	if err == nil || !strings.HasSuffix(err.Error(), "these exist: main.go, main_test.go, tools.go, "+
		filepath.FromSlash(".github/workflows/ci.yml, .mcp.json, Makefile, go.mod")) {
		t.Error(err)
	}
}
