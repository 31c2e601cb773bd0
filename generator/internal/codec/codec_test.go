package codec

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

var (
	files   = token.NewFileSet()
	library = importer.ForCompiler(files, "source", nil)
)

// plan plans the decoder of type Root of a source file and writes its codecs in short.
func plan(t *testing.T, src string) string {
	t.Helper()
	file, err := parser.ParseFile(files, "source.go", "package p\n"+src,
		parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: library}
	pkg, err := config.Check("example.com/p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var source schema.Source
	if strings.Contains(src, ",string") {
		source = foreign{} // in a module of one's own, the option is a finding
	}
	walker := schema.New(pkg, source)
	root := pkg.Scope().Lookup("Root").Type()
	s, problems := walker.Input(root)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	planner := New(pkg, walker)
	if _, err := planner.Input(root, s); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, object := range planner.Objects() {
		fmt.Fprintf(&b, "%s:", strings.TrimPrefix(object.Name, "example.com/p."))
		for _, f := range object.Fields {
			fmt.Fprintf(&b, " %s=%s", f.Name, short(f.Codec))
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// foreign is the source of a module whose types nobody can edit.
type foreign struct{}

func (foreign) TypeDoc(*types.TypeName) string        { return "" }
func (foreign) FieldDoc(*types.Var) string            { return "" }
func (foreign) Enum(*types.TypeName) []*types.Const   { return nil }
func (foreign) Local(*types.Package) bool             { return false }
func (foreign) ConditionalMethod(fn *types.Func) bool { return false }

// short writes a codec: ? for null, * for each pointer, the type, and the element.
func short(c model.Codec) string {
	text := strings.Repeat("*", c.Pointers) + c.Type.String()
	if c.Nullable {
		text = "?" + text
	}
	if c.Elem != nil {
		text += "(" + short(*c.Elem) + ")"
	}
	for _, check := range c.Checks {
		text += " " + check.Keyword + strings.Join(check.Values, ",")
	}
	return text
}

func TestPlans(t *testing.T) {
	for _, test := range []struct{ name, src, want string }{
		{"pointer", "type Root struct { A *int8; B **string }", "Root: A=*int8 B=**string"},
		{"nullable", "type Root struct { A *int8 `jsonschema:\"nullable\"` }", "Root: A=?*int8"},
		{"a pointer that leads back", "type Root struct { Next *Root; Two [2]*Root }",
			"Root: Next=?*Root Two=[2]*Root(?*Root) minItems2 maxItems2"},
		{"pointers to any value",
			"import \"encoding/json\"\ntype Root struct { A *any; B []*json.RawMessage; C any; D " +
				"json.RawMessage }",
			"Root: A=?*any B=[]*json.RawMessage(?*json.RawMessage) C=any D=json.RawMessage"},
		{"pointers to values of some types",
			"type Root struct { A *any `jsonschema:\"type=string\"`; B *any `jsonschema:\"anyof_type=string;null\"` }",
			"Root: A=*any typestring B=?*any typestring,null"},
		{"an own method",
			"type T struct{}\nfunc (*T) UnmarshalJSON([]byte) error { return nil }\ntype Root struct { A T `jsonschema:\"type=string\"` }",
			"A: p.T has its own UnmarshalJSON"},
		{"text in a string",
			"type T int\nfunc (*T) UnmarshalText([]byte) error { return nil }\ntype Root struct { A *T `json:\",string\"` }",
			"A: a string option on p.T, which has a method"},
		{"a level in a string",
			"import \"log/slog\"\ntype Root struct { A slog.Level `json:\",string\"` }",
			"A: a string option on slog.Level, which has a method"},
		{"a number in a string", "type T int\ntype Root struct { A T `json:\",string\"` }",
			"Root: A=T pattern^(0|-?[1-9][0-9]*)$"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := plan(t, test.src); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
