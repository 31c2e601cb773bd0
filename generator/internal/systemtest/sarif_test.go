package systemtest

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/internal/testdb"
)

func sarifOf(t *testing.T, findings []report.Finding) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, report.SARIF, findings); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sarifSchema compiles the schema of SARIF 2.1.0, which make npm installs.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, _ := testdb.Npm(t, "@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("test:///sarif.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("test:///sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSARIFFitsItsSchema(t *testing.T) {
	findings := []report.Finding{
		{Code: "MCP001", Level: report.Error, Message: "100% wrong:\r\nsee, here", Cure: "fix it",
			File: "a b,c:d%/x.go", Line: 3, Column: 5},
		{Code: "widened", Level: report.Warning, Message: "a", File: "/tmp/ä.json", Line: 1},
		{Code: "MCP001", Level: report.Error, Message: "b", File: "x.go"},
		{Code: "cut off", Level: report.Note, Message: "c"},
	}
	schema := sarifSchema(t)
	validate := func(text string) error {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(document)
	}
	for name, list := range map[string][]report.Finding{"none": nil, "some": findings} {
		if err := validate(sarifOf(t, list)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The schema refuses what is no SARIF.
	bad := []report.Finding{{Code: "x", Level: "fatal", Message: "m", File: "f", Line: 1}}
	if err := validate(sarifOf(t, bad)); err == nil {
		t.Error("a level that SARIF does not have is valid")
	}
	text := sarifOf(t, findings)
	for _, want := range []string{`"uri": "./a%20b,c:d%25/x.go"`, `"uri": "file:///tmp/%C3%A4.json"`,
		`"uriBaseId": "%SRCROOT%"`, `"startColumn": 5`, `"ruleIndex": 2`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}
