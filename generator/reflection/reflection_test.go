package reflection

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/scan"
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
	p := Package{Path: "example.com/p", Types: []scan.Reflected{
		{Type: kind("Same"), Schema: []byte(`{"type":"string"}`)},
		{Type: kind("Other"), Schema: []byte(`{"type":"string"}`)},
		{Type: kind("Refused"), Schema: []byte(`{"type":"string"}`)},
		{Type: kind("Neither"), Apart: "func() has no JSON form"},
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
		`Crash : the Reflector crashes the process on it, so that 2 types were not compared`,
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
