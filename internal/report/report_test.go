package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/report"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

var findings = []report.Finding{
	{Code: "MCP001", Level: report.Error, Message: "100% wrong:\r\nsee, here", Cure: "fix it",
		File: "a b,c:d%/x.go", Line: 3, Column: 5},
	{Code: "widened", Level: report.Warning, Message: "a", File: "/tmp/ä.json", Line: 1},
	{Code: "MCP001", Level: report.Error, Message: "b", File: "x.go"},
	{Code: "cut off", Level: report.Note, Message: "c"},
}

func written(t *testing.T, f report.Format, findings []report.Finding) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, f, findings); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGitHubFormatEscapes follows the documentation of workflow commands: % CR LF in a message, and
// : and , too in a property.
func TestGitHubFormatEscapes(t *testing.T) {
	want := strings.Join([]string{
		"::error file=a b%2Cc%3Ad%25/x.go,line=3,col=5,title=MCP001::" +
			"100%25 wrong:%0D%0Asee, here%0Afix: fix it",
		"::warning file=/tmp/ä.json,line=1,title=widened::a",
		"::error file=x.go,title=MCP001::b",
		"::notice title=cut off::c", "",
	}, "\n")
	if got := written(t, report.GitHub, findings); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestGitHubFormatHasOneLineForEachFinding draws texts, and reads the commands back as the runner
// of GitHub Actions does.
func TestGitHubFormatHasOneLineForEachFinding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := report.Finding{Code: "c", Level: report.Error,
			Message: rapid.StringOf(rapid.RuneFrom([]rune("a%:,\r\n02AD5C3"))).Draw(t, "message"),
			File:    "f" + rapid.StringOf(rapid.RuneFrom([]rune("a%:,\r\n02AD5C3"))).Draw(t, "file")}
		var b bytes.Buffer
		if err := report.Write(&b, report.GitHub, []report.Finding{f}); err != nil {
			t.Fatal(err)
		}
		line, rest, _ := strings.Cut(b.String(), "\n")
		properties, message, ok := strings.Cut(strings.TrimPrefix(line, "::error "), "::")
		file, title, _ := strings.Cut(properties, ",")
		unescape := func(s string) string {
			for _, pair := range [][2]string{{"%0D", "\r"}, {"%0A", "\n"}, {"%3A", ":"},
				{"%2C", ","}, {"%25", "%"}} {
				s = strings.ReplaceAll(s, pair[0], pair[1])
			}
			return s
		}
		if !ok || rest != "" || title != "title=c" ||
			unescape(strings.TrimPrefix(file, "file=")) != f.File ||
			unescape(message) != f.Message {
			t.Errorf("%+v is %q", f, b.String())
		}
	})
}

func TestJSONFormatIsAnObject(t *testing.T) {
	var got struct {
		Version  int
		Findings []report.Finding
	}
	d := json.NewDecoder(strings.NewReader(written(t, report.JSON, findings)))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || got.Version != 1 || len(got.Findings) != 4 ||
		got.Findings[0] != findings[0] {
		t.Errorf("%+v, %v", got, err)
	}
	if got := written(t, report.JSON, nil); !strings.Contains(got, `"findings": []`) {
		t.Errorf("no list: %s", got)
	}
}

// sarifSchema compiles the schema of SARIF 2.1.0, which make setup installs. Without it the
// test is skipped, and in CI it fails.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file := filepath.Join(testrepo.Root(t), ".tools", "node_modules", "@microsoft", "jest-sarif",
		"lib", "schemas", "sarif-2.1.0-rtm.5.json")
	text, err := os.ReadFile(file)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("the schema of SARIF is missing: run make setup, which needs npm")
	} else if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("sarif.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestSARIFFitsItsSchema(t *testing.T) {
	schema := sarifSchema(t)
	validate := func(text string) error {
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return schema.Validate(document)
	}
	for name, list := range map[string][]report.Finding{"none": nil, "some": findings} {
		if err := validate(written(t, report.SARIF, list)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The schema refuses what is no SARIF.
	bad := []report.Finding{{Code: "x", Level: "fatal", Message: "m", File: "f", Line: 1}}
	if err := validate(written(t, report.SARIF, bad)); err == nil {
		t.Error("a level that SARIF does not have is valid")
	}
	text := written(t, report.SARIF, findings)
	for _, want := range []string{`"uri": "./a%20b,c:d%25/x.go"`, `"uri": "file:///tmp/%C3%A4.json"`,
		`"uriBaseId": "%SRCROOT%"`, `"startColumn": 5`, `"ruleIndex": 2`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestFormatsOfAFlag(t *testing.T) {
	f := report.Text
	for _, name := range []string{"json", "github", "sarif", "text"} {
		if err := f.Set(name); err != nil || f.String() != name {
			t.Errorf("%s: %v, %s", name, err, f)
		}
	}
	if err := f.Set("xml"); err == nil || f != report.Text {
		t.Errorf("xml: %v, %s", err, f)
	}
	if err := report.Write(&bytes.Buffer{}, report.Text, nil); err == nil {
		t.Error("text is no document")
	}
}
