package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
	"github.com/mcpgen/mcpgen/generator/internal/scan/faults"
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

// A finding names each of its places, also in folders of one name.
func TestPlacesOfOneFaultDiffer(t *testing.T) {
	pkg := types.NewPackage("example.com/own", "own")
	typ := types.NewTypeName(token.NoPos, pkg, "Odd", nil)
	for _, tt := range []struct{ files, want string }{
		{"m/x.go m/y.go", "x.go:1, y.go:1"},
		{"m/a/x.go m/b/x.go", "x.go:1, b/x.go:1"},
		{"m/a/tools/x.go m/b/tools/x.go m/c/tools/x.go", "x.go:1, b/tools/x.go:1, c/tools/x.go:1"},
		{"m/a/a.go m/a/b/x.go", "a.go:1, b/x.go:1"},
		{"m/a/b/x.go m/x.go", "x.go:1, m/x.go:1"},
		{"m/a/b/x.go m/m/x.go m/x.go", "x.go:1, m/m/x.go:1, m/x.go:1"},
	} {
		set := faults.Set{}
		for _, file := range strings.Fields(tt.files) {
			file = filepath.Join(string(filepath.Separator), filepath.FromSlash(file))
			set.Add(diag.UnsupportedType, typ, diag.Diagnostic{Pos: model.Position{File: file, Line: 1}})
		}
		list := set.List()
		if len(list) != 1 || !strings.HasSuffix(list[0].Message, "("+tt.want+")") {
			t.Errorf("%s: got %v", tt.files, list)
		}
	}
}
