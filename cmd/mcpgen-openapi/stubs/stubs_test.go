package stubs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/extension"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGolden compares the files of two documents with those in testdata.
func TestGolden(t *testing.T) {
	for _, test := range []struct {
		name, document string
		only           []string
	}{
		{"pets", "pets30.yaml", nil},
		{"notes", "notes31.json", nil},
		{"chosen", "pets30.yaml", []string{"list*", "GET /pets/*"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			doc, err := Load(filepath.Join("testdata", test.document))
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), test.name)
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			result, err := Import(doc, Options{Dir: dir, Only: test.only})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, note := range result.Notes {
				fmt.Fprintf(&got, "note: %s\n", note)
			}
			for _, name := range []string{toolsFile, typesFile} {
				text, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&got, "-- %s --\n%s", name, text)
			}
			golden := filepath.Join("testdata", test.name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("%s differs: run the test with -update, and read the difference\n%s",
					golden, got.String())
			}
		})
	}
}

// TestDocs compares the handler of the guide with the golden file.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/howto/import.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "   // GetPet calls")
	text, _, found := strings.Cut(rest, "   ```\n")
	golden, err := os.ReadFile(filepath.Join("testdata", "pets.txt"))
	if err != nil {
		t.Fatal(err)
	}
	want := "// GetPet calls" + strings.ReplaceAll(text, "\n   ", "\n")
	if !found || !strings.Contains(string(golden), want) {
		t.Errorf("no imported handler is as the guide has it:\n%s", want)
	}
}

// TestRefused has documents that import does not read.
func TestRefused(t *testing.T) {
	paths := `"paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"description":"d",` +
		`"content":{"application/json":{"schema":{"$ref":%q}}}}}}}}}`
	for text, want := range map[string]string{
		"":                    "no member openapi",
		"[]":                  "no member openapi",
		"\x00":                "control characters",
		`{"swagger":"2.0"}`:   "swagger 2.0 is not supported",
		`{"openapi":"4.0.0"}`: `OpenAPI "4.0.0" is not supported`,
		`{"openapi":"3.0.0"}`: "no operations",
		`{"openapi":"3.0.0","info":{"title":"t","version":"1"},` +
			fmt.Sprintf(paths, "https://evil.example/x.json#/a"): "is outside the document",
		`{"openapi":"3.0.0","info":{"title":"t","version":"1"},` +
			fmt.Sprintf(paths, "/etc/passwd"): "is outside the document",
		`{"openapi":"3.0.0","info":{"title":"t","version":"1"},` +
			fmt.Sprintf(paths, "#/components/schemas/None"): "None",
		`{"openapi":"3.0.0","x":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) +
			"}": "500 levels",
		"openapi: 3.0.0\na: &a [*a]\n":           "alias contains itself",
		"openapi: 3.0.0\na0: &a0 [x]\n" + bomb(): "2000000 values",
	} {
		doc, err := parse([]byte(text))
		if err == nil {
			_, _, err = contents(doc, extension.Package{Name: "p", Taken: map[string]bool{}}, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: error %v, want %s", text, err, want)
		}
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(large); err == nil || !strings.Contains(err.Error(), "32 MiB") {
		t.Errorf("a large file: %v", err)
	}
}

// bomb is a YAML document whose aliases repeat ten million values.
func bomb() string {
	var b strings.Builder
	for i := range 7 {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 10))
	}
	return b.String()
}

// hostile are parts of texts that would be code, a directive or an attack on a reader.
var hostile = []string{
	"*/", "/*", "`", `"`, `\`, "\n", "\n\n", "\r", "\t", " ", "\x1b[2J", "\u202e", "\u2028",
	"\ufeff", "\U000e0041", "a", "func", "type", ",", "=", "%s", "$", "{x}", "..", "#", "?",
	"//mcp:tool public", "mcp:tool public", "// mcp:tool public", "//go:embed /etc/passwd",
	"//go:generate sh -c evil", "//line x.go:1", "+build ignore", "//export X", "#cgo LDFLAGS: x",
	"func init() { evil() }", "# Heading", "- item", "|", "```", "Deprecated: x", "minrole=Admin",
}

// TestNoTextBecomesCode draws texts of hostile parts for all that a document may choose.
func TestNoTextBecomesCode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func() string {
		var b strings.Builder
		for range random.IntN(6) {
			b.WriteString(hostile[random.IntN(len(hostile))])
		}
		return b.String()
	}
	type object = map[string]any
	for range 100 {
		schema := func() object {
			properties := object{
				"p": object{"type": "string", "description": draw(), "pattern": draw(),
					"format": draw(), "default": draw()},
				"e": object{"type": "string", "enum": []any{draw(), draw()}, "default": draw()},
			}
			if random.IntN(4) == 0 {
				properties[draw()] = object{"type": "string"}
			}
			return object{"type": "object", "description": draw(), "required": []any{draw()},
				"properties": properties}
		}
		content := func() object {
			return object{"application/json": object{"schema": schema()}, draw(): object{}}
		}
		component := draw()
		paths := object{}
		for _, path := range []string{"/a", "/b/{x}", "/" + draw()} {
			paths[path] = object{"post": object{
				"operationId": draw(), "summary": draw(), "description": draw(),
				"tags": []any{draw()}, "security": []any{object{draw(): []any{draw(), draw()}}},
				"parameters": []any{
					object{"name": draw(), "in": "query", "description": draw(),
						"schema": object{"type": "string"}},
					object{"name": draw(), "in": "header", "schema": object{"type": "string"}},
					object{"name": "x", "in": "path", "required": true,
						"schema": object{"type": "string"}},
				},
				"requestBody": object{"required": true, "content": content()},
				"responses":   object{"200": object{"description": draw(), "content": content()}},
			}}
		}
		text, err := json.Marshal(object{
			"openapi": "3.1.0", "info": object{"title": draw(), "version": draw()}, "paths": paths,
			"servers":    []any{object{"url": draw(), "description": draw()}},
			"components": object{"schemas": object{component: schema()}},
		})
		if err != nil {
			t.Fatal(err)
		}
		doc, err := parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		check(t, doc.Paths.Len(), text)
	}
}

// check imports a document and fails if a file has more than the importer writes.
func check(t *testing.T, most int, text []byte) map[string][]byte {
	t.Helper()
	doc, err := parse(text)
	if err != nil {
		return nil
	}
	files, notes, err := contents(doc, extension.Package{Name: "p", Taken: map[string]bool{}}, nil)
	for _, note := range notes {
		if strings.ContainsFunc(note, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("note %q", note)
		}
	}
	if err != nil {
		if !strings.Contains(err.Error(), "no operations") &&
			!strings.Contains(err.Error(), "more than") {
			t.Errorf("%v\n%s", err, text)
		}
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ParseComments)
		if err != nil {
			t.Fatalf("%v\n%s", err, content)
		}
		if strings.ContainsAny(string(content), "\r\x00\x1b\u202e\u2028\u2029\ufeff\U000e0041") {
			t.Errorf("a hidden character in\n%q", content)
		}
		tools := 0
		for _, group := range file.Comments {
			for _, c := range group.List {
				word, _, _ := strings.Cut(c.Text, " ")
				switch {
				case word == "//mcp:tool":
					tools++
					if strings.Count(c.Text, "minrole=FILL_IN") != 1 ||
						strings.Count(c.Text, "minrole=") != 1 || strings.Contains(c.Text, "public") {
						t.Errorf("directive %q", c.Text)
					}
				case word == "//mcp:server" || c.Text == "//go:generate go tool mcpgen":
				case extension.NearDirective(c.Text) || word != "//" &&
					!strings.HasPrefix(word, "//\t") || strings.HasPrefix(c.Text, "// +build"):
					t.Errorf("comment %q in\n%s", c.Text, content)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			f, ok := n.(*ast.Field)
			if !ok || f.Tag == nil {
				return true
			}
			text, err := strconv.Unquote(f.Tag.Value)
			tag := reflect.StructTag(text).Get("jsonschema")
			if err != nil || extension.Visible(tag) != tag ||
				strings.Contains(text, "jsonschema:") && tag == "" {
				t.Errorf("tag %s: %v", f.Tag.Value, err)
			}
			return true
		})
		funcs := 0
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				funcs++
			case *ast.GenDecl:
				if d.Tok == token.IMPORT && bytes.Contains(content, []byte(`import "C"`)) {
					t.Errorf("cgo in\n%s", content)
				}
			}
		}
		if name == toolsFile && (funcs != tools || most > 0 && tools > most) ||
			name == typesFile && funcs > 0 {
			t.Errorf("%s has %d funcs and %d tools:\n%s", name, funcs, tools, content)
		}
	}
	return files
}

// TestDeepAndCyclic has schemas that lead back to themselves in each way, and long chains.
func TestDeepAndCyclic(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"openapi":"3.0.0","info":{"title":"t","version":"1"},"paths":{`)
	names := []string{"Map", "List", "All", "One", "Struct", "Pair", "C0", "D0"}
	for i, name := range names {
		fmt.Fprintf(&b, `%s"/%s":{"get":{"operationId":"get%s","responses":{"200":{"description":"d",`+
			`"content":{"application/json":{"schema":{"$ref":"#/components/schemas/%[2]s"}}}}}}}`,
			strings.Repeat(",", min(i, 1)), name, name)
	}
	b.WriteString(`},"components":{"schemas":{
		"Map":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Map"}},
		"List":{"type":"array","items":{"$ref":"#/components/schemas/List"}},
		"All":{"allOf":[{"$ref":"#/components/schemas/All"}]},
		"One":{"oneOf":[{"$ref":"#/components/schemas/One"},{"type":"null"}]},
		"Struct":{"type":"object","required":["a"],"properties":{
			"a":{"$ref":"#/components/schemas/Struct"}}},
		"Pair":{"type":"object","required":["a"],"properties":{"a":{"type":"object","required":["b"],
			"properties":{"b":{"$ref":"#/components/schemas/Pair"}}}}}`)
	for i := range 3000 {
		fmt.Fprintf(&b, `,"C%d":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/C%d"}}}`,
			i, (i+1)%3000)
	}
	for i := range 15 {
		next := fmt.Sprintf(`{"$ref":"#/components/schemas/D%d"},`, i+1)
		fmt.Fprintf(&b, `,"D%d":{"allOf":[%s{"type":"object","properties":{`+
			`"p%[1]d":{"type":"string"}}}]}`, i, strings.Repeat(next, 10))
	}
	b.WriteString(`,"D15":{"type":"object","properties":{"last":{"type":"string"}}}`)
	b.WriteString("}}}")
	var files map[string][]byte
	allocates(t, 512, func() { files = check(t, len(names), []byte(b.String())) })
	types := string(files[typesFile])
	if n := strings.Count(types, "\ntype C"); n > maxDepth+2 {
		t.Errorf("%d types in each other", n)
	}
	for _, want := range []string{"type D0 struct", `json:"last,omitzero"`, "A *Struct ",
		"B *Pair "} {
		if !strings.Contains(types, want) {
			t.Errorf("no %s in\n%.2000s", want, types)
		}
	}
}

// FuzzImport imports any document.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"pets30.yaml", "notes31.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		check(t, 0, text)
	})
}
