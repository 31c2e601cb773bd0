package schema

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/types"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/internal/structured"

	"github.com/mcpgen/mcpgen/internal/testschema"
)

var update = flag.Bool("update", false, "write the golden files anew")

// compile compiles a schema.
func compile(t *testing.T, s *jsonschema.Schema) testschema.Schema {
	t.Helper()
	return compileText(t, []byte(compact(t, s)))
}

func compileText(t *testing.T, b []byte) testschema.Schema {
	t.Helper()
	compiled, err := testschema.Compile(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return compiled
}

// fit checks what every schema for clients keeps to.
func fit(t *testing.T, s *jsonschema.Schema) {
	t.Helper()
	fitText(t, []byte(compact(t, s)))
}

// fitOutput checks what versions of MCP with sessions get of the schema of a result.
func fitOutput(t *testing.T, s *jsonschema.Schema) {
	t.Helper()
	fitText(t, structured.New([]byte(compact(t, s))).InSessions)
}

func fitText(t *testing.T, schema []byte) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(schema, &doc); err != nil {
		t.Fatal(err)
	}
	if doc["type"] != "object" || doc["$ref"] != nil || doc["$id"] != nil || doc["$schema"] != nil ||
		doc["properties"] == nil {
		t.Errorf("the root is no plain object: %s", schema)
	}
	defs := map[string]bool{}
	definitions, _ := doc["$defs"].(map[string]any)
	for name := range definitions {
		if strings.ContainsAny(name, "/[]*{} ,\"") {
			t.Errorf("definition %q needs escapes", name)
		}
		defs["#/$defs/"+name] = false
	}
	var visit func(v any, where string)
	visit = func(v any, where string) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				if _, known := defs[ref]; !known {
					t.Errorf("%s dangles at %s", ref, where)
				}
				defs[ref] = true
			}
			for key, sub := range v {
				if sub == true && strings.HasSuffix(where, "/properties") {
					t.Errorf("the property %s%s/%s is a boolean schema", where, "", key)
				}
				visit(sub, where+"/"+key)
			}
		case []any:
			for i, sub := range v {
				visit(sub, fmt.Sprint(where, "/", i))
			}
		}
	}
	visit(doc, "")
	for ref, used := range defs {
		if !used {
			t.Errorf("nothing refers to %s", ref)
		}
	}
	compileText(t, schema)
}

// golden compares text with a file of testdata/golden, or writes it under -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := "testdata/golden/" + name
	if *update {
		if err := os.MkdirAll("testdata/golden", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; go test -update writes it anew. Got:\n%s", file, got)
	}
}

func problemText(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s: %s\n\t%s\n", p.Path, p.Message, p.Cure)
	}
	return b.String()
}

func TestInputsOfTheCorpus(t *testing.T) {
	var all strings.Builder
	cases(t, func(t *testing.T, static types.Type, _ reflect.Type) {
		s, problems := walker(t, "types", source(t)).Input(static)
		fmt.Fprintf(&all, "== %s\n", t.Name()[strings.LastIndexByte(t.Name(), '/')+1:])
		if len(problems) > 0 {
			if s != nil {
				t.Error("a schema beside problems")
			}
			all.WriteString(problemText(problems))
			return
		}
		fit(t, s)
		all.WriteString(encode(t, s) + "\n")
	})
	golden(t, "inputs.txt", all.String())
}

func TestOutputsOfTheCorpus(t *testing.T) {
	var all strings.Builder
	cases(t, func(t *testing.T, static types.Type, _ reflect.Type) {
		s, object, problems := walker(t, "types", source(t)).Output(static)
		fmt.Fprintf(&all, "== %s object=%t\n", t.Name()[strings.LastIndexByte(t.Name(), '/')+1:], object)
		if len(problems) > 0 {
			if s != nil {
				t.Error("a schema beside problems")
			}
			all.WriteString(problemText(problems))
			return
		}
		fitOutput(t, s)
		all.WriteString(encode(t, s) + "\n")
	})
	golden(t, "outputs.txt", all.String())
}
