package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

// TestOneRootCauseIsOneFinding has 200 handlers of types that cannot be read.
func TestOneRootCauseIsOneFinding(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/rootcause.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	text := map[string]string{}
	for _, f := range archive.Files {
		if strings.Contains(f.Name, "/") {
			files = append(files, f)
		} else {
			text[f.Name] = string(f.Data)
		}
	}
	for _, name := range []string{"a", "b"} {
		source := fmt.Sprintf(text["use"], name)
		for i := range 25 {
			source += fmt.Sprintf(text["handlers"], i)
		}
		files = append(files, txtar.File{Name: name + "/handlers.go", Data: []byte(source)},
			txtar.File{Name: name + "/any.json", Data: []byte(`{"type": "object"}`)})
	}
	dir := loadtest.Write(t, files...)
	mod, err := os.OpenFile(filepath.Join(dir, "go.mod"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = mod.WriteString(`
require example.com/third v0.0.0

replace example.com/third => ./third
`)
	if err := errors.Join(err, mod.Close()); err != nil {
		t.Fatal(err)
	}
	prog, err := load.Load(loadtest.Context(t), load.Options{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	_, findings := scan.Services(prog)
	var got bytes.Buffer
	if err := findings.Render(&got, diag.Style{Base: dir}); err != nil {
		t.Fatal(err)
	}
	if got.String() != text["want"] {
		t.Errorf("got %d findings:\n%s", len(findings), got.String())
	}
}
