package reflection

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

func TestDifferencesCarryTheirPointer(t *testing.T) {
	tests := []struct{ walker, reflector, want string }{
		{`{"type":"object"}`, `{"type":"object"}`, ""},
		{`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, "/a~1b/~0: 1, 2"},
		{`{"properties":{"a":{"type":"string"}}}`, `{"properties":{"b":true}}`, `/properties/a: {"type":"string"}, nothing; /properties/b: nothing, true`},
		{`{"enum":["a","b"]}`, `{"enum":["a","c"]}`, `/enum/1: "b", "c"`},
		{`{"enum":["a"]}`, `{"enum":["a","c"]}`, `/enum: ["a"], ["a","c"]`},
		{`true`, `{}`, `: true, {}`},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, `: the same members in another order, the same members in another order`},
		{`{"a":[]}`, `{"a":{}}`, `/a: [], {}`},
	}
	for _, test := range tests {
		var got []string
		for _, p := range compare([]byte(test.walker), []byte(test.reflector)) {
			got = append(got, fmt.Sprintf("%s: %s, %s", p.pointer, p.walker, p.reflector))
		}
		if text := strings.Join(got, "; "); text != test.want {
			t.Errorf("%s against %s\ngot  %s\nwant %s", test.walker, test.reflector, text, test.want)
		}
	}
}

func TestWhatTheProgramWritesBecomesFindings(t *testing.T) {
	kind := func(name string) model.Expr { return model.Expr{{Text: name}} }
	p := Package{Path: "example.com/p", Types: []Reflected{
		{Type: kind("Same"), Schema: []byte(`{"type":"string"}`)},
		{Type: kind("Other"), Schema: []byte(`{"type":"string"}`)},
		{Type: kind("Refused"), Schema: []byte(`{"type":"string"}`)},
		{Type: kind("Neither"), Apart: "func() has no JSON representation"},
		{Type: kind("Apart"), Apart: "a hook"},
		{Type: kind("Crash")},
		{Type: kind("Never")},
	}}
	out := filepath.Join(t.TempDir(), "out")
	written := `{"index":0}
{"Index":0,"Done":true,"Schema":{"type":"string"}}
{"Index":1,"Done":true,"Schema":{"type":"number"}}
{"Index":2,"Done":true,"Schema":null,"Refused":"no"}
{"Index":3,"Done":true,"Refused":"no"}
{"Index":4,"Done":true,"Schema":{}}
{"index":5}
`
	if err := os.WriteFile(out, []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := r.read(p, out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`Other /type: mcpgen reads "string", the Reflector makes "number"`,
		`Refused : the Reflector refuses it: no`,
		`Apart : mcpgen reads no schema: a hook; the Reflector makes {}`,
		`Crash : the Reflector crashes the process on it; 2 types were not compared`,
	}
	var got []string
	for _, d := range r.Differences {
		got = append(got, fmt.Sprintf("%s %s: %s", d.Type, d.Pointer, d.Message))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || r.Compared != 5 {
		t.Errorf("%d compared, got\n%s\nwant\n%s", r.Compared, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheVersionIsThatOfGoMod(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range file.Require {
		if r.Mod.Path == module && r.Mod.Version != version {
			t.Errorf("go.mod has %s %s, this package %s", module, r.Mod.Version, version)
		}
	}
}

const described = `
-- go.mod --
module example.com/scratch

go 1.26.0

require example.com/far v1.0.0

replace example.com/far => ./far
-- a.go --
// Package a has comments.
package a

import (
	"context"

	"example.com/far"
)

// The types of one declaration.
type (
	First struct {
		// Wrapped is of two
		// lines.
		Wrapped far.Thing ` + "`json:\"wrapped\"`" + `
	}
	// Second has a comment.
	Second []string
)

//mcp:tool public
func Do(ctx context.Context, in First) (Second, error) { return nil, nil }
-- far/go.mod --
module example.com/far

go 1.26.0
-- far/far.go --
package far

// Thing is far.
type Thing struct {
	Name string // Name of the thing.
	Mixed struct {
		// Late takes the place of a comment.
		Late int
	}
	Late int
}
-- far/other.go --
package far

// Base is in another file.
type Base struct {
	X int
}
`

// TestDescriptionsAreCompared runs the Reflector with the comments of this module and of another
// one. The schemas are equal and have the descriptions, so both sides have them.
func TestDescriptionsAreCompared(t *testing.T) {
	prog := loadtest.Load(t, txtar.Parse([]byte(described)).Files, ".")
	services, found := scan.Services(prog)
	if len(found) > 0 || len(services) != 1 {
		t.Fatal(found)
	}
	list := TypesOf(prog, services[0])
	files := map[string][]string{}
	for i := range list {
		for _, path := range list[i].Reflect(nil) {
			files[path] = prog.GoFiles(path)
		}
	}
	comments, err := Comments(files)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || comments["example.com/far.Base"] != "Base is in another file." {
		t.Errorf("files of %d packages, comments %q", len(files), comments)
	}
	s := services[0]
	p := Package{Path: s.Package, Name: s.Name, Dir: s.Dir, Types: list}
	r, err := Compare(t.Context(), s.Dir, []Package{p}, comments)
	if err != nil || r.Compared != 2 || len(r.Differences) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	for _, want := range []string{
		"The types of one declaration.", `Wrapped is of two\nlines.`, "Second has a comment.",
		"Thing is far.", "Name of the thing.", "Late takes the place of a comment.",
	} {
		if text := fmt.Sprintf("%s\n%s", list[0].Schema, list[1].Schema); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
