package generator_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// constantShop has handlers whose constants only the generated file declares.
const constantShop = `// Package shop has tools.
//
//mcp:server name=shop prefix=shop_
package shop

import "context"

type Desk struct{}
type Till struct{}

// Names of generated constants that others use.
var Names = []string{ToolHello, PromptGreet}

//mcp:tool public
func Hello(ctx context.Context) error { return nil }

//mcp:tool public name=other
func Renamed(ctx context.Context) error { return nil }

//mcp:tool public name=desk_open
func (Desk) Open(ctx context.Context) error { return nil }

//mcp:tool public name=till_open
func (*Till) Open(ctx context.Context) error { return nil }

//mcp:prompt public
func Greet(ctx context.Context) (string, error) { return "", nil }

//mcp:resource uri=shop://page/{id} public
func Page(ctx context.Context, id string) (string, error) { return id, nil }
`

// generatedConstants are those of that package, as they must be.
const generatedConstants = `
const (
	ToolHello = "shop_hello"
	ToolRenamed = "shop_other"
	ToolDeskOpen = "shop_desk_open"
	ToolTillOpen = "shop_till_open"
	PromptGreet = "shop_greet"
	ResourcePage = "shop://page/{id}"
)
`

var generatedName = regexp.MustCompile(`\b(Tool|Prompt|Resource)[A-Z]\w*`)

// randomConstant is an expression of a type string or int.
func randomConstant(r *rand.Rand, of string, depth int) string {
	if of == "int" {
		switch r.IntN(3) {
		case 0:
			return fmt.Sprintf("len(%s)", randomConstant(r, "string", depth-1))
		case 1:
			return fmt.Sprintf("1 << (len(%s) %% 5)", randomConstant(r, "string", 0))
		}
		return fmt.Sprint(1 + r.IntN(5))
	}
	if depth > 0 && r.IntN(2) == 0 {
		return randomConstant(r, "string", depth-1) + " + " + randomConstant(r, "string", depth-1)
	}
	return []string{"ToolHello", "ToolRenamed", "ToolDeskOpen", "ToolTillOpen", "PromptGreet",
		"ResourcePage", `"plain"`, "Own"}[r.IntN(8)]
}

// The author's constants are made of generated ones, of the package itself or of another one. Their
// values are the compiler's once the generated file exists, whatever the pattern and the folder.
func TestGeneratedConstantsHaveTheirValues(t *testing.T) {
	r := rand.New(rand.NewPCG(38, 2))
	for i := range 12 {
		uses := "\n// Own is own.\nconst Own = \"own\"\n\n// Kind is an enum.\ntype Kind " +
			"string\n\nconst (\n"
		for i := range 3 {
			uses += fmt.Sprintf("\tKind%d Kind = Kind(\"%[1]d \" + %s)\n", i, randomConstant(r, "string", 2))
		}
		uses += ")\n\n// Level is an enum.\ntype Level int\n\n// Role is a role.\ntype Role int\n"
		for _, typ := range []string{"Level", "Role"} {
			uses += map[bool]string{true: "\n//mcp:roles"}[typ == "Role"] + "\nconst (\n"
			for i, n := range r.Perm(3) {
				uses += fmt.Sprintf("\t%s%d %[1]s = %[3]d + %[1]s(%[4]s)\n", typ, i, 1000*n,
					randomConstant(r, "int", 2))
			}
			uses += ")\n"
		}
		uses += "\n// Text describes.\nconst Text = \"Call \" + " + randomConstant(r, "string", 2) +
			"\n\n// In is an input.\ntype In struct {\n\tKind Kind `json:\"kind\"`\n" +
			"\tLevel Level `json:\"level\"`\n\tList [" +
			randomConstant(r, "int", 2) + "]int `json:\"list\"`\n}\n"
		want := wantedConstants(t, generatedConstants+uses)
		const handler = "\n//mcp:tool minrole=Role1 description=@Text\n" +
			"//mcp:meta example.com/text value=@Text\n" +
			"func Use(ctx context.Context, in In) error { return nil }\n"
		own := strings.NewReplacer("package shop", "package own", "server name=shop",
			"type Level schema=integer,enum\n//mcp:server name=own").
			Replace(constantShop + uses + handler)
		imported := "// Package use has tools.\n//\n//mcp:server name=use\n" +
			"//mcp:type Level schema=integer,enum\npackage use\n\nimport (\n" +
			"\t\"context\"\n\n\t\"example.com/scratch/shop\"\n)\n" +
			"\n// First is a generated name.\nvar First = shop.ToolHello\n" +
			generatedName.ReplaceAllString(uses, "shop.$0") + handler
		dir := loadtest.Write(t,
			txtar.File{Name: "shop/shop.go", Data: []byte(constantShop)},
			txtar.File{Name: "own/own.go", Data: []byte(own)},
			txtar.File{Name: "use/use.go", Data: []byte(imported)},
		)
		for _, run := range []generator.Options{
			{Dir: dir, Patterns: []string{"./..."}},
			{Dir: dir, Patterns: []string{"./use", "./own"}},
			{Dir: filepath.Join(dir, "use")},
			{Dir: filepath.Join(dir, "own"), Patterns: []string{"."}},
		} {
			run.Schemas = true
			result, err := generator.Run(loadtest.Context(t), run)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range result.Diagnostics {
				t.Errorf("run %d of %v: %v in\n%s", i, run.Patterns, d, uses)
			}
			for _, s := range result.Services {
				for _, tool := range s.Tools {
					if tool.Handler.Name != "Use" {
						continue
					}
					got, err := json.Marshal(tool.Input.Schema)
					if err != nil {
						t.Fatal(err)
					}
					if got := usedConstants(t, got, tool, s.Roles.Chains[0]); got != want {
						t.Errorf("%s: got  %s\nwant %s in\n%s", s.Package, got, want, uses)
					}
				}
			}
		}
	}
}

// wantedConstants type-checks declarations and returns their values.
func wantedConstants(t *testing.T, source string) string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", "package p\n"+source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var config types.Config
	pkg, err := config.Check("p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	value := func(name string) string {
		return constant.StringVal(pkg.Scope().Lookup(name).(*types.Const).Val())
	}
	number := func(name string) int {
		n, _ := constant.Int64Val(pkg.Scope().Lookup(name).(*types.Const).Val())
		return int(n)
	}
	roles := []string{"Role0", "Role1", "Role2"}
	slices.SortFunc(roles, func(a, b string) int { return number(a) - number(b) })
	list := pkg.Scope().Lookup("In").Type().Underlying().(*types.Struct).Field(2)
	return fmt.Sprintln([]string{value("Kind0"), value("Kind1"), value("Kind2")},
		[]int{number("Level0"), number("Level1"), number("Level2")},
		list.Type().(*types.Array).Len(), value("Text"), value("Text"), roles)
}

// usedConstants returns the same values as the schema and the description have them.
func usedConstants(t *testing.T, text []byte, tool model.Tool, roles []string) string {
	t.Helper()
	var schema struct {
		Properties struct {
			Kind  struct{ Enum []string }
			Level struct{ Enum []int }
			List  struct{ MaxItems int }
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var meta map[string]string
	if err := json.Unmarshal([]byte(tool.Meta), &meta); err != nil {
		t.Fatal(err)
	}
	p := schema.Properties
	return fmt.Sprintln(p.Kind.Enum, p.Level.Enum, p.List.MaxItems, tool.Description,
		meta["example.com/text"], roles)
}
