package reach

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// capabilitiesPath is the package of handlers, each with its code capabilities.
const capabilitiesPath = "github.com/mcpgen/mcpgen/cmd/mcpgen-prove/reach/testdata/codecapabilities"

// TestCodeCapabilitiesOfHandlers compares the capabilities of each func and method of
// testdata/codecapabilities with its comment "want …"; the permissions of its arguments are after
// "allow".
func TestCodeCapabilitiesOfHandlers(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join("testdata", "codecapabilities"))
	if err != nil {
		t.Fatal(err)
	}
	service := extension.Service{Package: capabilitiesPath, Dir: dir}
	var wanted []string
	add := func(recv, name string, doc *ast.CommentGroup) {
		if want, ok := strings.CutPrefix(strings.TrimSpace(doc.Text()), "want "); ok {
			tool := extension.Tool{Name: recv + name,
				Handler: extension.Handler{Recv: recv, Name: name}}
			want, allows, _ := strings.Cut(want, " allow ")
			for allow := range strings.FieldsSeq(allows) {
				kind, argument, _ := strings.Cut(allow, "=")
				tool.Allows = append(tool.Allows, extension.Allow{
					Argument: strings.Trim(argument, "{}"), Kinds: []string{kind},
				})
			}
			wanted = append(wanted, want)
			service.Tools = append(service.Tools, tool)
		}
	}
	inspect := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			recv := ""
			if n.Recv != nil {
				recv = strings.TrimPrefix(typeName(n.Recv.List[0].Type), "*")
			}
			add(recv, n.Name.Name, n.Doc)
		case *ast.TypeSpec:
			if i, ok := n.Type.(*ast.InterfaceType); ok {
				for _, m := range i.Methods.List {
					add(n.Name.Name, m.Names[0].Name, m.Doc)
				}
			}
		}
		return true
	}
	for _, name := range []string{"codecapabilities.go", "driver.go", "flows.go"} {
		source, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil,
			parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, inspect)
	}
	program, found, err := Load(t.Context(), dir, []string{capabilitiesPath})
	if err != nil || len(found) > 0 {
		t.Fatal(err, found)
	}
	proven, err := program.Tools(service)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range proven {
		var got []string
		for _, r := range row.Reaches {
			got = append(got, r.Capability)
			if len(r.Path) == 0 || r.Path[0].Func == "" {
				t.Errorf("%s reaches %s without a path", row.Handler, r.Capability)
			}
		}
		if got == nil {
			got = []string{"none"}
		}
		if got := strings.Join(got, " "); got != wanted[i] {
			t.Errorf("%s reaches %s, want %s: %v", row.Handler, got, wanted[i], row.Reaches)
		}
	}
}

func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if generic, ok := e.(*ast.IndexExpr); ok {
		e = generic.X
	}
	return e.(*ast.Ident).Name
}

func TestToolsOfAPackageThatWasNotLoadedIsAnError(t *testing.T) {
	if _, err := (&Program{}).Tools(extension.Service{Package: "nowhere"}); err == nil {
		t.Error("Tools analyses a package that was not loaded")
	}
}
