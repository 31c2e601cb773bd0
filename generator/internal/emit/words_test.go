package emit

import (
	"bytes"
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

func TestNamesClashWithNothing(t *testing.T) {
	n := newNames([]string{"viewer", "mcpViewer", "Table"})
	for _, tc := range []struct{ want, got string }{
		{"table", "table"},
		{"table", "mcpTable"},
		{"table", "mcpTable2"},
		{"table", "mcpTable3"},
		{"viewer", "mcpViewer2"},
		{"default", "mcpDefault"},
		{"string", "mcpString"},
		{"any", "mcpAny"},
		{"init", "mcpInit"},
		{"read-only", "readOnly"},
		{"-x.y z", "xYZ"},
		{"2fa", "_2fa"},
		{"größe", "größe"},
		{"--", "mcp_"},
	} {
		if got := n.pick(tc.want); got != tc.got {
			t.Errorf("for %q: %s, want %s", tc.want, got, tc.got)
		}
	}
	if got := n.pickTest("Table"); got != "Table2" {
		t.Errorf("a test is called %s", got)
	}
}

func TestStringsSurvive(t *testing.T) {
	for _, s := range []string{"", "plain", "with `one`", "``", "`", "line\nline\n", "\n", "\r\n",
		"\x00", "\ufeff", "\xff", `back\slash`, "tab\t", "é✓"} {
		for name, source := range map[string]string{"raw": raw(s).GoString(),
			"quoted": quoted(s).GoString()} {
			var got strings.Builder
			for _, part := range pieces(t, source) {
				text, err := strconv.Unquote(part)
				if err != nil {
					t.Fatalf("%s of %q: %v in %s", name, s, err, source)
				}
				got.WriteString(text)
			}
			if got.String() != s {
				t.Errorf("%s of %q is %s", name, s, source)
			}
		}
	}
}

// pieces are the literals of a sum of strings.
func pieces(t *testing.T, source string) []string {
	t.Helper()
	files := token.NewFileSet()
	e, err := parser.ParseExprFrom(files, "", source, 0)
	if err != nil {
		t.Fatalf("%v in %s", err, source)
	}
	return literals(e)
}

func TestDurationsAreInTheLargestUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "time.Second", 30 * time.Second: "30 * time.Second",
		90 * time.Second: "90 * time.Second",
		2 * time.Minute:  "2 * time.Minute", time.Hour: "time.Hour",
		1500 * time.Millisecond: "1500 * time.Millisecond",
		7 * time.Microsecond:    "7 * time.Microsecond", 1001: "1001 * time.Nanosecond",
		0: "0 * time.Nanosecond",
	} {
		if got := duration(d).GoString(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestOneTypeHasOneSchemaAndOneDecoder(t *testing.T) {
	tool := func(name string, in model.Input, out model.Output) model.Tool {
		return model.Tool{Name: name, Const: "Tool" + name, Handler: model.Handler{Name: "H" +
			name}, Input: in, Output: out}
	}
	word := schemaOf(`{"type":"object","properties":{"w":{"type":"string","minLength":1}}}`)
	shape := schemaOf(`{"type":"object","properties":{"w":{"type":"string"}}}`)
	in := model.Input{Kind: model.StructInput, Type: here("Word"), Name: "word", Schema: word}
	out := model.Output{Kind: model.ObjectOutput, Type: here("Word"), Name: "word", Schema: shape}
	nameless := model.Input{Kind: model.StructInput, Type: here("map[string]int"), Schema: word}
	p, err := newPlan(model.Service{Name: "p", Tools: []model.Tool{
		tool("A", in, out), tool("B", in, out), tool("C", model.Input{},
			model.Output{Kind: model.ObjectOutput, Type: here("Word"), Name: "word", Schema: word}),
		tool("D", model.Input{}, model.Output{}),
		tool("E", nameless, model.Output{Kind: model.ObjectOutput, Schema: shape}),
		tool("F", model.Input{Kind: model.StructInput, Type: here("Other"), Name: "word",
			Schema: word}, model.Output{Kind: model.ObjectOutput, Name: "any"}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	type names struct{ in, out, decoder string }
	for tool, want := range map[string]names{
		"A": {"wordSchema", "wordResultSchema", "decodeWord"},
		"B": {"wordSchema", "wordResultSchema", "decodeWord"},
		"C": {"noInputSchema", "wordSchema", ""},
		"D": {"noInputSchema", "", ""},
		"E": {"heInputSchema", "heOutputSchema", "decodeHeInput"},
		"F": {"wordSchema", "", "mcpDecodeWord"},
	} {
		if got := (names{p.schemas.inputs[tool], p.schemas.outputs[tool],
			p.decoders.of[tool].name}); got != want {
			t.Errorf("%s has %+v, want %+v", tool, got, want)
		}
	}
}

func TestASchemaThatCannotBeMarshalledIsAnError(t *testing.T) {
	bad := &jsonschema.Schema{Default: func() {}}
	for _, tool := range []model.Tool{
		{Name: "t", Input: model.Input{Kind: model.StructInput, Schema: bad}},
		{Name: "t", Output: model.Output{Kind: model.ObjectOutput, Schema: bad}},
	} {
		_, err := Files(model.Service{Package: "m/p", Name: "p", Tools: []model.Tool{tool}},
			Present{})
		if err == nil || !strings.Contains(err.Error(), "package m/p: ") ||
			!strings.Contains(err.Error(), "put schema of tool t: ") {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestMarkersThatDoNotMatchAreAnError(t *testing.T) {
	_, err := Files(model.Service{Package: "m/p", Name: "p"},
		Present{Docs: []byte("<!-- mcpgen:end -->")})
	if !errors.Is(err, document.ErrMarkers) || !strings.HasPrefix(err.Error(),
		"package m/p: MCP.md: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestCodeThatDoesNotParseIsAnError(t *testing.T) {
	guard := model.CompileGuard{Kind: model.TypeGuard, Subject: here("}{"), Want: here("int")}
	s := model.Service{Package: "m/p", Name: "p", CompileGuards: []model.CompileGuard{guard}}
	if _, err := Files(s, Present{}); err == nil || !strings.HasPrefix(err.Error(),
		"package m/p: mcp_gen.go: ") {
		t.Errorf("the error is %v", err)
	}
}

func TestAPackageThatServesNothingStillCompiles(t *testing.T) {
	files, err := Files(model.Service{Package: "m/p", Name: "p", Server: model.Server{Name: "p"}},
		Present{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.Path, ".go") {
			if _, err := parser.ParseFile(token.NewFileSet(), file.Path, file.Content,
				0); err != nil {
				t.Errorf("%v\n%s", err, file.Content)
			}
		}
	}
}

func TestOutputIsTheSameEveryTime(t *testing.T) {
	for _, tc := range testCases() {
		first, err := Files(tc.service, Present{})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			again, err := Files(tc.service, Present{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range first {
				if first[i].Path != again[i].Path || !bytes.Equal(first[i].Content,
					again[i].Content) {
					t.Fatalf("%s of %s differs from run to run", first[i].Path, tc.name)
				}
			}
		}
	}
}

func TestErrorFileCarriesEveryDiagnostic(t *testing.T) {
	file := ErrorFile("/src/inventory", "inventory", diag.List{
		{Code: "MCP001", Pos: model.Position{File: "/src/inventory/devices.go", Line: 42, Col: 1},
			Message:    "handler X has no //mcp:tool directive",
			Suggestion: "write //mcp:tool or //mcp:ignore"},
		{Pos: model.Position{File: "/src/types/t.go"}, Message: "say \"no\" to `this`\nor that"},
		{Pos: model.Position{File: "relative.go", Line: 3}, Message: "odd"},
		{Message: "somewhere"},
	})
	if file.Path != "/src/inventory/aa_mcp_error.go" {
		t.Errorf("it stands at %s", file.Path)
	}
	want := `// Code generated by mcpgen; DO NOT EDIT.
// It stops the build until you fix the errors below.
// mcpgen removes it in the next run without an error.

package inventory

var _ = "mcpgen: devices.go:42: handler X has no //mcp:tool directive (MCP001); write //mcp:tool or //mcp:ignore; then run go generate".mcpgen
var _ = "mcpgen: ../types/t.go: say \"no\" to ` + "`this`" + `\nor that; then run go generate".mcpgen
var _ = "mcpgen: relative.go:3: odd; then run go generate".mcpgen
var _ = "mcpgen: somewhere; then run go generate".mcpgen
`
	if string(file.Content) != want {
		t.Errorf("got\n%s", file.Content)
	}
	if formatted, err := format.Source(file.Content); err != nil ||
		!bytes.Equal(formatted, file.Content) {
		t.Errorf("gofmt changes it: %v", err)
	}
}

func TestGoBuildPrintsTheErrorFile(t *testing.T) {
	scratch := newScratch(t)
	dir := scratch + "/relativeroles"
	copyAll(t, "testdata/relativeroles", dir)
	long := strings.Repeat("long ", 100)
	file := ErrorFile(dir, "relativeroles",
		diag.List{{Code: "MCP007", Pos: model.Position{File: dir + "/relativeroles.go", Line: 9},
			Message: long + "end"}})
	write(t, file.Path, file.Content)
	for _, command := range []string{"build", "vet", "test"} {
		out, err := goCommand(t, scratch, command, "./relativeroles")
		if err == nil || !strings.Contains(out, "mcpgen: relativeroles.go:9: "+long+
			"end (MCP007)") {
			t.Errorf("go %s: %v\n%s", command, err, out)
		}
	}
}

// literals are the string literals of an expression, in order.
func literals(e ast.Expr) []string {
	var found []string
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok {
			found = append(found, literal.Value)
		}
		return true
	})
	return found
}
