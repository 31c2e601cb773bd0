package starter

import (
	"bytes"
	"encoding/json"
	"go/format"
	"maps"
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
