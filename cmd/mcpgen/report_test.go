package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// documented returns the JSON schemas of docs/reference/report.md: of findings and of changes.
func documented(t *testing.T) (schemas []*jsonschema.Schema) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(testrepo.Root(t), "docs", "reference", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```json\n(.*?)^```$").
		FindAllStringSubmatch(string(page), -1) {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(block[1]))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("page.json", document); err != nil {
			t.Fatal(err)
		}
		schema, err := compiler.Compile("page.json")
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, schema)
	}
	if len(schemas) != 2 {
		t.Fatalf("the page has %d schemas", len(schemas))
	}
	return schemas
}

// TestReportsFitTheirDocumentedSchemas holds the JSON of commands against the schemas of the page.
func TestReportsFitTheirDocumentedSchemas(t *testing.T) {
	schemas := documented(t)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const head = `{"manifest": 2, "package": "p", "server": {"name": "s"}, "roles": ["A", "B"],
		"tools": [{"name": "t", "handler": "T", "access": `
	before := file("before.json", head+`{"minRole": "B"}, "input": {"/a": {}}}]}`)
	after := file("after.json", strings.Replace(head, `"B"`, `"C"`, 1)+`{"public": true}}]}`)
	accepted := file("some.allow", "widened role C (p): a new role, which may use t # new\n")
	old := file("old.json", `{"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}`)
	current := file("new.json", `{"tools": [{"name": "b", "inputSchema": {"type": "object"}}]}`)
	key := file("key", strings.Repeat("k", 32))
	for _, test := range []struct {
		schema *jsonschema.Schema
		want   int
		args   []string
	}{
		{schemas[1], 1, []string{"diff", "--base", before, "--head", after, "--fail-on=widen",
			"--allow", accepted}},
		{schemas[1], 0, []string{"diff", "--base", before, "--head", before}},
		{schemas[0], 1, []string{"diff", "--lists", old, current}},
		{schemas[0], 0, []string{"diff", "--lists", old, old}},
		{schemas[0], 1, []string{"audit", "verify", "--key-file", key, file("no.jsonl", "{}\n")}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), append(test.args, "--format=json"), &stdout, &stderr)
		document, err := jsonschema.UnmarshalJSON(&stdout)
		if err == nil {
			err = test.schema.Validate(document)
		}
		if err != nil || code != test.want {
			t.Errorf("%v: %v, exit code %d, %s", test.args, err, code, stderr.String())
		}
		for _, other := range schemas {
			if other != test.schema && other.Validate(document) == nil {
				t.Errorf("%v: the other schema fits as well", test.args)
			}
		}
	}
}
