package command

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/internal/testrepo"
	"github.com/mcpgen/mcpgen/internal/testschema"
)

// documented returns the JSON schemas of docs/reference/report.md: of findings, changes, lists,
// matrices and blast radii.
func documented(t *testing.T) (schemas []testschema.Schema) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(testrepo.Root(t), "docs", "reference", "report.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```json\n(.*?)^```$").
		FindAllStringSubmatch(string(page), -1) {
		schema, err := testschema.Compile([]byte(block[1]))
		if err != nil {
			t.Fatal(err)
		}
		schemas = append(schemas, schema)
	}
	if len(schemas) != 5 {
		t.Fatalf("the page has %d schemas", len(schemas))
	}
	return schemas
}

// shop has one item of each kind.
const shop = `// Package shop sells.
//
//mcp:server unannotated=ignore
package shop

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

type Mode string

const (
	Read  Mode = "read"
	Write Mode = "write"
)

//mcp:tool minrole=Member catalog=a
//mcp:rule mode=write minrole=Admin scopes=s
func Use(ctx context.Context, mode Mode) error { return nil }

//mcp:tool authenticated
//mcp:allow file.read={path}
//mcp:limit isolate=process
func Open(ctx context.Context, path string) error {
	_, err := grant.File(ctx, "path")
	return err
}

//mcp:prompt public
func Hello(ctx context.Context, tone string) (string, error) { return "", nil }

//mcp:resource public uri=page://{id}
func Page(ctx context.Context, id string) (string, error) { return "", nil }

//mcp:complete ref=hello argument=tone
func Tones(ctx context.Context, begun string) ([]string, error) { return nil, nil }

//mcp:ignore reason="no tool"
func Other(ctx context.Context) error { return nil }
`

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
	bounded := file("bounded.yaml", "boundaries: [{issuer: i, client: a, subject: b, items: '*', "+
		"until: 2099-01-01T00:00:00Z}, {issuer: i, actor: b}]")
	listed := t.TempDir()
	err := testrepo.WriteModule(testrepo.Root(t), "example.com/shop", listed, "runtime/sandbox")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(listed, "shop.go"), []byte(shop), 0o666); err != nil {
		t.Fatal(err)
	}
	agents := file("agents.yaml", "boundaries: [{issuer: i, client: c, items: '*', roles: '*'}]\n")
	ctx := loadtest.Context(t)
	t.Chdir(listed)
	for _, test := range []struct {
		schema testschema.Schema
		want   int
		args   []string
	}{
		{schemas[1], 1, []string{"diff", "--base", before, "--head", after, "--fail-on=widen",
			"--allow", accepted}},
		{schemas[1], 0, []string{"diff", "--base", before, "--head", before}},
		{schemas[0], 1, []string{"diff", "--lists", old, current}},
		{schemas[0], 0, []string{"diff", "--lists", old, old}},
		{schemas[2], 0, []string{"list"}},
		{schemas[3], 0, []string{"matrix"}},
		{schemas[3], 0, []string{"matrix", "--client", bounded + "#a"}},
		{schemas[4], 1, []string{"radius", "--roles=Admin", "--boundaries", agents}},
		{schemas[1], 1, []string{"diff", "--base", before, "--head", after, "--fail-on=radius",
			"--boundaries", agents + "," + agents, "--roles=A"}},
	} {
		var stdout, stderr bytes.Buffer
		code := run(ctx, append(test.args, "--format=json"), &stdout, &stderr)
		document := stdout.Bytes()
		if err := test.schema.Validate(document); err != nil || code != test.want {
			t.Errorf("%v: %v, exit code %d, %s", test.args, err, code, stderr.String())
		}
		for _, other := range schemas {
			if other != test.schema && other.Validate(document) == nil {
				t.Errorf("%v: the other schema fits as well", test.args)
			}
		}
	}
}
