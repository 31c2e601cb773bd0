package generator_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
)

// builds are packages with files that some builds lack, each with the code of its findings.
var builds = []struct {
	name, code string
	files      map[string]string
}{
	{"an old release", "", map[string]string{"b.go": "//go:build go1.20\n\npackage p\n\n" +
		buildTool}},
	{"a later release", "MCP022", map[string]string{"b.go": "//go:build go1.99\n\npackage p\n\n" +
		buildTool}},
	{"before a later release", "MCP022",
		map[string]string{"b.go": "//go:build !go1.99\n\npackage p\n\n" + buildTool}},
	{"always", "", map[string]string{"b.go": "//go:build extra || !extra\n\npackage p\n\n" +
		buildTool}},
	{"cgo", "MCP022", map[string]string{"b.go": "package p\n\nimport \"C\"\n\n" + buildTool}},
	{"constants", "MCP022", map[string]string{
		"b.go": "package p\n\ntype Kind string\n\n//mcp:tool public\n" +
			"func Use(ctx context.Context, kind Kind) error { return nil }\n",
		"c.go": "//go:build extra\n\npackage p\n\nconst (\n\tA Kind = \"a\"\n\tB Kind = \"b\"\n)\n",
	}},
	{"constants of cgo", "MCP022", map[string]string{
		"b.go": "package p\n\ntype Kind string\n\n//mcp:tool public\n" +
			"func Use(ctx context.Context, kind Kind) error { return nil }\n",
		"c.go": "package p\n\nimport \"C\"\n\nconst (\n\tA = Kind(\"a\")\n\tB = Kind(\"b\")\n)\n",
	}},
	{"a method", "MCP022", map[string]string{
		"b.go": "package p\n\ntype In struct{ A int }\n\n//mcp:tool public\n" +
			"func Use(ctx context.Context, in struct{ In In }) error { return nil }\n",
		"c.go": "//go:build extra\n\npackage p\n\nfunc (*In) UnmarshalText([]byte) error { " +
			"return nil }\n",
	}},
	{"a type", "MCP022", map[string]string{
		"b.go": "package p\n\n//mcp:tool public\nfunc Use(ctx context.Context, in In) error { " +
			"return nil }\n",
		"c.go": "//go:build extra\n\npackage p\n\ntype In struct{ A int }\n",
		"d.go": "//go:build !extra\n\npackage p\n\ntype In struct{ B int }\n",
	}},
	{"a handler without a directive", "", map[string]string{
		"b.go": "package p\n\n" + buildTool,
		"c.go": "//go:build extra\n\npackage p\n\nfunc Other(ctx context.Context) error { return nil }\n",
	}},
	{"a promoted handler", "", map[string]string{
		"b.go": "package p\n\ntype base struct{}\n\ntype Desk struct{ base }\n\n//mcp:tool public\n" +
			"func (Desk) Use(ctx context.Context) error { return nil }\n",
		"c.go": "//go:build extra\n\npackage p\n\nfunc (base) Other(ctx context.Context) error " +
			"{ return nil }\n",
	}},
	{"a text", "MCP008", map[string]string{
		"b.go": "package p\n\n//mcp:tool public description=@Text\n" +
			"func Use(ctx context.Context) error { return nil }\n",
		"c.go": "//go:build extra\n\npackage p\n\nconst Text = \"text\"\n",
	}},
}

const buildTool = "//mcp:tool public\nfunc Use(ctx context.Context) error { return nil }\n"

// The findings are the same with and without cgo, and whatever tags a build has.
func TestEveryBuildHasOneVerdict(t *testing.T) {
	var files []txtar.File
	for i, test := range builds {
		plain := fmt.Sprintf("p%02d/a.go", i) // without it, ./... does not match in some builds
		files = append(files, txtar.File{Name: plain, Data: []byte("package p\n")})
		for name, text := range test.files {
			if strings.Contains(text, "context.") {
				text = strings.Replace(text, "package p\n", "package p\n\nimport \"context\"\n", 1)
			}
			files = append(files, txtar.File{Name: fmt.Sprintf("p%02d/%s", i, name), Data: []byte(text)})
		}
	}
	dir := loadtest.Write(t, files...)
	var first map[string][]string // of the first build
	for _, setting := range []string{"CGO_ENABLED=1", "CGO_ENABLED=0", "GOFLAGS=-tags=extra"} {
		t.Run(setting, func(t *testing.T) {
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
			result, err := generator.Run(t.Context(), generator.Options{Dir: dir,
				Patterns: []string{"./..."}})
			if err != nil {
				t.Fatal(err)
			}
			found := map[string][]string{}
			for _, d := range result.Diagnostics {
				if d.Code == "MCP013" {
					continue // all packages are one server, with tools of one name
				}
				p := filepath.Base(filepath.Dir(d.Pos.File))
				found[p] = append(found[p], fmt.Sprintf("%s %s:%d %s", d.Code,
					filepath.Base(d.Pos.File), d.Pos.Line, d.Message))
			}
			if first == nil {
				first = found
			}
			for i, test := range builds {
				p := fmt.Sprintf("p%02d", i)
				code, _, _ := strings.Cut(strings.Join(found[p], ""), " ")
				if code != test.code || !slices.Equal(found[p], first[p]) {
					t.Errorf("%s: got %q, want %q, and in the first build %q",
						test.name, found[p], test.code, first[p])
				}
			}
		})
	}
}
