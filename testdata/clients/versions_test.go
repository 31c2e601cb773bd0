package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// moduleVersion is the version of a Go module or an npm package.
func moduleVersion(t *testing.T, module string) string {
	if strings.HasPrefix(module, "github.com/") {
		text, err := os.ReadFile("go.mod")
		_, rest, found := strings.Cut(string(text), module+" v")
		if err != nil || !found {
			t.Fatal(module, err)
		}
		return strings.Fields(rest)[0]
	}
	text, err := os.ReadFile(filepath.Join(packages(t), "node_modules", module, "package.json"))
	var of struct{ Version string }
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err != nil {
		t.Fatal(module, err)
	}
	return of.Version
}
