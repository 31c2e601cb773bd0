package importer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/importer"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/scan"
)

var object = json.RawMessage(`{"type":"object","properties":{}}`)

// hostile are parts of texts that would be code, a directive or an attack on a reader.
var hostile = []string{
	"*/", "/*", "`", `"`, `\`, "\n", "\n\n", "\r\n", "\r", "\t", " ", "    ", "\x00", "\x1b[2J",
	"\u202e", "\u2028", "\u2029", "\ufeff", "\U000e0041", "\u00a0", "a",
	"//mcp:tool public", "mcp:tool public", "// mcp:tool public", "//mcp.tool public",
	"//go:embed /etc/passwd", "//go:generate sh -c evil", "//line x.go:1", "+build ignore",
	"//export X", "#cgo LDFLAGS: x", "//lint:ignore", "func init() { evil() }", "# Heading",
	"- item",
	"1. item", "[Link]: x", "Deprecated: x",
}

// TestNoTextBecomesCode draws texts of hostile parts for all that a foreign server may choose.
func TestNoTextBecomesCode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() string {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteString(hostile[random.IntN(len(hostile))])
		}
		return b.String()
	}
	for range 40 {
		dir := t.TempDir()
		o := importer.Options{Dir: dir, Package: "p", Server: draw(), Version: draw()}
		for i := range 4 {
			property, _ := json.Marshal(draw())
			o.Tools = append(o.Tools, importer.Tool{
				Name: fmt.Sprint("t", i), Title: draw(), AnnotationTitle: draw(),
				Description: draw(), Output: object,
				Input: json.RawMessage(`{"type":"object","properties":{` + string(property) +
					`:{"type":"string","description":` + string(property) + `}}}`),
			})
		}
		o.Tools = append(o.Tools, importer.Tool{Name: draw() + "!", Input: object})
		result, err := importer.Import(o)
		if err != nil {
			t.Fatalf("%+v: %v", o, err)
		}
		for _, path := range result.Changed {
			checkText(t, path)
		}
		for _, note := range result.Notes {
			for _, r := range note {
				if r < ' ' || r > '~' {
					t.Errorf("note %q", note)
				}
			}
		}
		checkSource(t, filepath.Join(dir, importer.File), len(o.Tools)-1)
	}
}

// checkText fails if a file has a character that a reader does not see.
func checkText(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(path) == ".json" && !json.Valid(text) {
		t.Errorf("%s is not JSON:\n%s", path, text)
	}
	for _, r := range string(text) {
		if strings.ContainsRune("\r\x00\x1b\u202e\u2028\u2029\ufeff\U000e0041", r) {
			t.Errorf("%s has %U", path, r)
		}
	}
}

// checkSource fails if the file has another directive or declaration than the tools need.
func checkSource(t *testing.T, path string, tools int) {
	t.Helper()
	text, _ := os.ReadFile(path)
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	found := map[string]int{}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if len(directive.Misses(c.Text)) > 0 || strings.HasPrefix(c.Text, "/*") ||
				strings.HasPrefix(c.Text, "// +build") {
				t.Errorf("comment %q in\n%s", c.Text, text)
			}
			word, _, _ := strings.Cut(c.Text, " ")
			if word != "//" && !strings.HasPrefix(word, "//\t") {
				found[word]++
			}
		}
	}
	want := map[string]int{"//mcp:server": 1, "//go:generate": 1, "//mcp:tool": tools,
		"//mcp:schema": tools}
	if fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("directives %v, want %v\n%s", found, want, text)
	}
	if strings.Count(string(text), "\n//go:generate go tool mcpgen\n") != 1 {
		t.Errorf("another //go:generate:\n%s", text)
	}
	funcs := 0
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			funcs++
		}
	}
	if funcs != tools {
		t.Errorf("%d funcs, want %d:\n%s", funcs, tools, text)
	}
}

// TestEachToolNeedsARule runs the generator's findings on an import of odd tools: no finding but
// the rule of each tool.
func TestEachToolNeedsARule(t *testing.T) {
	yes := true
	o := importer.Options{Package: "odd", Server: "Old server", Tools: []importer.Tool{
		{Name: "get_by_id", Title: `A "title"`,
			Description: "Gets.\n\n//mcp:tool public\nmcp:tool public",
			Input: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#",
				"properties":{"id":{"type":"integer"},"a-b":{"type":"string"},"a_b":{"type":["null",
				"number"]},"list":{"type":"array","items":{"type":"string"}},"deep":{"items":
				{"$ref":"#/properties/deep"}},"on":{"type":"boolean","default":true}},"required":["id"],
				"additionalProperties":false}`), Output: object, ReadOnly: &yes},
		{Name: "get.by.id", Input: object, Output: object},
		{Name: "GetByID", Input: object, Output: object},
		{Name: "get-by-id", Input: object, Output: object},
		{Name: "tool_get", Input: object, Output: object},
		{Name: "get", Input: object, Output: object},
		{Name: "toolset", Input: object, Output: object},
		{Name: "123", Input: object, Output: object},
		{Name: "..", Input: object, Output: object},
		{Name: "-", Input: object, Output: object},
		{Name: "CON", Input: object, Output: object},
		{Name: "init", Input: object, Output: object},
		{Name: "string", Input: object, Output: object},
		{Name: "raw", Input: json.RawMessage(`{"type":"object","properties":{"in":{}},
			"additionalProperties":{"type":"string"}}`), Output: object},
		{Name: "folded", Input: json.RawMessage(`{"type":"object","properties":{"a":{},"A":{}}}`),
			Output: object},
	}}
	dir := loadtest.Write(t, txtar.File{Name: "odd/desk.go",
		Data: []byte("package odd\n\nfunc Folded() {}\n")})
	o.Dir = filepath.Join(dir, "odd")
	if _, err := importer.Import(o); err != nil {
		t.Fatal(err)
	}
	prog, err := load.Load(t.Context(), load.Options{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	_, findings := scan.Services(prog)
	for _, f := range findings {
		if f.Code != diag.UnknownRole || !strings.Contains(f.Message, importer.FillIn) {
			t.Errorf("%v", f)
		}
	}
	if len(findings) != len(o.Tools) {
		t.Errorf("%d findings, want one for each of %d tools", len(findings), len(o.Tools))
	}
	var names []string
	schemas := filepath.Join(o.Dir, "schemas")
	err = filepath.WalkDir(schemas, func(p string, _ fs.DirEntry, err error) error {
		names = append(names, strings.ToLower(filepath.Base(p)))
		return err
	})
	if err != nil || len(names) != 2*len(o.Tools)+1 {
		t.Errorf("%d files, %v", len(names), err)
	}
	slices.Sort(names)
	if n := len(names); len(slices.Compact(names)) != n {
		t.Error("two files have names that differ in case only")
	}
}

func TestImportWritesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	o := importer.Options{Dir: dir, Package: "p",
		Tools: []importer.Tool{{Name: "a", Input: object}, {Name: "a", Input: object}}}
	result, err := importer.Import(o)
	if err != nil || len(result.Changed) != 2 || len(result.Notes) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if result, err = importer.Import(o); err != nil || len(result.Changed) > 0 {
		t.Errorf("the second import changed %v, %v", result.Changed, err)
	}
	before, _ := os.ReadFile(filepath.Join(dir, importer.File))
	o.Tools = append(o.Tools, importer.Tool{Name: "b", Input: object})
	_, err = importer.Import(o)
	var exist *importer.ExistError
	if !errors.As(err, &exist) || len(exist.Paths) != 1 {
		t.Errorf("%v", err)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, importer.File)); string(after) != string(before) {
		t.Error("the file changed")
	}
	if _, err := os.Stat(filepath.Join(dir, "schemas", "b.input.json")); err == nil {
		t.Error("a schema of the refused import is there")
	}
	o.Force = true
	if _, err := importer.Import(o); err != nil {
		t.Error(err)
	}

	// A file in the place of the directory.
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "schemas"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	o.Dir = dir
	if _, err := importer.Import(o); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, importer.File)); err == nil {
		t.Error("half of the files are there")
	}
}
