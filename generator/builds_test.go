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
	{"a comment before a constraint", "",
		map[string]string{"b.go": "/* x */ //go:build extra\n\npackage p\n\n" + buildTool}},
	{"a syntax error of no build", "", map[string]string{"b.go": "package p\n\n" + buildTool,
		"c.go": "//go:build ignore && extra\n\npackage p\n\nfunc {\n",
		"d.go": "//go:build ignore\n\nno code\n", "e_linux.go": "//go:build windows\n\n"}},
	{"a syntax error of one system", "MCP026",
		map[string]string{"b.go": "package p\n\n" + buildTool, "c_windows.go": "package p\n\nfunc {\n"}},
	{"a directive of no build", "MCP022",
		map[string]string{"b.go": "//go:build ignore\n\npackage p\n\n" + buildTool}},
	{"a length of no build", "", map[string]string{
		"b.go": "package p\n\nconst N = 1\n\ntype In struct{ A [N]int }\n\n" + useIn,
		"c.go": "//go:build ignore\n\npackage p\n\nconst N = 2\n"}},
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
	{"a text", "MCP022", map[string]string{
		"b.go": "package p\n\n//mcp:tool public description=@Text\n" +
			"func Use(ctx context.Context) error { return nil }\n",
		"c.go": "//go:build extra\n\npackage p\n\nconst Text = \"text\"\n",
	}},
	{"the value of a text", "MCP022", onSystems(`const Text = "x" + base

//mcp:tool public description=@Text
func Use(ctx context.Context) error { return nil }
`, `const base = "a"`, `const base = "b"`)},
	{"a value of an enum", "MCP022", onSystems(`type Kind string

const (
	A Kind = "x"
	B Kind = Kind(base)
)

`+useKind, `const base = "a"`, `const base = "b"`)},
	{"a constant by inference", "MCP022", onSystems(`type Kind string

const (
	A Kind = "a"
	B Kind = "b"
)

`+useKind, `const C = A + "x"`, ``)},
	{"constants of another type", "", onSystems(`type Kind string

const (
	A Kind = "a"
	B Kind = "b"
)

`+useKind, `const C = string(A) + "x"`, `const D = A == B`)},
	{"the length of an array", "MCP022", onSystems(`type In struct{ A [M]int }

const M = N + 1

`+useIn, `const N = 1`, `const N = 2`)},
	{"a repeated length", "MCP022", onSystems(`const (
	L = N
	M
)

//mcp:tool public
func Use(ctx context.Context, l [M]int) error { return nil }
`, `const N = 1`, `const N = 2`)},
	{"the length of a variable", "MCP022", onSystems(`type In struct{ A [len(names)]int }

`+useIn, `var names = [...]string{"a"}`, `var names = [...]string{"a", "b"}`)},
	{"the length of a variable by its type", "MCP022", onSystems(`type In struct{ A [M]int }

const M = len(names)

var names [N]string

`+useIn, `const N = 1`, `const N = 2`)},
	{"the length of a variable by a key", "MCP022", onSystems(`type In struct{ A [len(names)]int }

var names = &[...]string{N: "a"}

`+useIn, `const N = 1`, `const N = 2`)},
	{"the length of a result", "", onSystems(`type In struct{ A [len(names)]int }

var n, names = call()

func call() (int, [2]int) { return 0, [2]int{} }

`+useIn, ``, ``)},
	{"the elements of a variable", "", onSystems(`type In struct{ A [len(names)]int }

var names = [...]string{0: N, 1: other}

var other = "b"

`+useIn, `const N = "a"`, `const N = "b"`)},
	{"a length from another package", "MCP022", map[string]string{
		"b.go": "package p\n\nimport \"./c\"\n\ntype In struct{ A [c.N]int }\n\n" +
			strings.Replace(useIn, "ctx context.Context, ", "ctx c.Context, ", 1),
		"c/c.go": "package c\n\nimport \"context\"\n\ntype Context = " +
			"context.Context\n\nconst N = n\n",
		"c/n_linux.go":   "package c\n\nconst n = 1\n",
		"c/n_windows.go": "package c\n\nconst n = 2\n",
	}},
	{"a type of another one", "MCP022", onSystems(`type In base

type base struct{ A [N]int }

`+useIn, `const N = 1`, `const N = 2`)},
	{"an alias in a field", "MCP022", onSystems(`type In struct{ ID *ID }

`+useIn, `type ID = string`, `type ID = int`)},
	{"an alias as parameter", "MCP022", onSystems(`//mcp:tool public
func Use(ctx context.Context, id map[string]ID) error { return nil }
`, `type ID = string`, `type ID = int`)},
	{"an alias of an alias as result", "MCP022", onSystems(`type List = []ID

//mcp:tool public
func Use(ctx context.Context) (List, error) { return nil, nil }
`, `type ID = string`, `type ID = int`)},
	{"what JSON does not see", "", onSystems(`type In struct {
	A      int
	hidden [N]int
	B      ID `+"`json:\"-\"`"+`
}

`+useIn, "const N = 1\n\ntype ID = string", "const N = 2\n\ntype ID = int")},
	{"a type parameter", "", onSystems(`type Page[ID any] struct{ Items []ID }

//mcp:tool public
func Use(ctx context.Context) (Page[string], error) { return Page[string]{}, nil }
`, `type ID = string`, `type ID = int`)},
	{"a method of an embedded type", "MCP022", onSystems(`type In struct{ base }

type base struct{ A int }

//mcp:tool public
func Use(ctx context.Context, in struct{ In In }) error { return nil }
`, ``, `func (*base) UnmarshalJSON([]byte) error { return nil }`)},
	{"a method of a result", "MCP022", onSystems(`type Out struct{ A int }

//mcp:tool public
func Use(ctx context.Context) (Out, error) { return Out{}, nil }
`, `func (Out) MarshalJSON() ([]byte, error) { return nil, nil }`, ``)},
	{"a method that makes a schema", "MCP022", onSystems(`type In struct{ A int }

`+useIn, ``, `func (In) JSONSchemaAlias() any { return nil }`)},
	{"a method of the input", "MCP022", onSystems(`type In struct{ A int }

`+useIn, ``, `func (*In) UnmarshalJSON([]byte) error { return nil }`)},
	{"a value of cgo", "MCP022", withC(`type Kind string

const (
	A Kind = "a"
	B Kind = Kind(N)
)

` + useKind)},
	{"a length of cgo", "MCP022", withC("type In struct{ A [N]int }\n\n" + useIn)},
	{"a length of cgo in a sum", "MCP022", withC("type In struct{ A [M]int }\n\n" +
		"const M = N + 1\n\n" + useIn)},
	{"a text of cgo", "MCP022", withC("//mcp:tool public description=@N\n" +
		"func Use(ctx context.Context) error { return nil }\n")},
	{"roles", "MCP022", onSystems(`type Role int

//mcp:roles
const (
	Low  Role = first
	High Role = 3 - first
)

//mcp:tool minrole=High
func Use(ctx context.Context) error { return nil }
`, `const first = 1`, `const first = 2`)},
}

const (
	useIn   = "//mcp:tool public\nfunc Use(ctx context.Context, in In) error { return nil }\n"
	useKind = "//mcp:tool public\nfunc Use(ctx context.Context, kind Kind) error { return nil }\n"
)

// withC are the files of a package with a constant that only cgo has.
func withC(all string) map[string]string {
	return map[string]string{"b.go": "package p\n\n" + all,
		"c.go": "package p\n\n// #define NAME 1\nimport \"C\"\n\nconst N = C.NAME\n"}
}

// onSystems are the files of a package with declarations of Linux, and others of Windows.
func onSystems(all, linux, windows string) map[string]string {
	const head = "package p\n\n"
	return map[string]string{
		"b.go": head + all, "n_linux.go": head + linux + "\n", "n_windows.go": head + windows + "\n",
	}
}

const buildTool = "//mcp:tool public\nfunc Use(ctx context.Context) error { return nil }\n"

// The findings are the same with and without cgo, on each system, and whatever tags a build has.
func TestEveryBuildHasOneVerdict(t *testing.T) {
	var files []txtar.File
	for i, test := range builds {
		plain := fmt.Sprintf("p%02d/a.go", i) // without it, ./... does not match in some builds
		files = append(files, txtar.File{Name: plain, Data: []byte("package p\n")})
		for name, text := range test.files {
			if strings.Contains(text, "ctx context.") {
				text = strings.Replace(text, "package p\n", "package p\n\nimport \"context\"\n", 1)
			}
			text = strings.Replace(text, "./", fmt.Sprintf("%s/p%02d/", loadtest.Module, i), 1)
			files = append(files, txtar.File{Name: fmt.Sprintf("p%02d/%s", i, name), Data: []byte(text)})
		}
	}
	dir := loadtest.Write(t, files...)
	var first map[string][]string // of the first build
	for _, setting := range []string{"CGO_ENABLED=1", "CGO_ENABLED=0", "GOFLAGS=-tags=extra",
		"GOOS=windows"} {
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
				file, err := filepath.Rel(dir, d.Pos.File)
				if err != nil {
					t.Fatal(err)
				}
				p, _, _ := strings.Cut(filepath.ToSlash(file), "/")
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
