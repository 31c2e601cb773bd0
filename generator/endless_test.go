package generator_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
)

// endlessTypes are generic types with a fault that only some walks reach, by what they have.
var endlessTypes = map[string]string{
	"grows":          "type A[T any] struct { Next *A[[]T] }",
	"hidden":         "type A[T any] struct { Next *A[[]T] `json:\"-\"` }",
	"unexported":     "type A[T any] struct { next *A[[]T] }",
	"as an argument": "type A[T any] struct { Next []A[A[T]] }",
	"two types":      "type A[T any] struct { B *B[T] }\ntype B[T any] struct { A *A[*T] }",
	"embedded":       "type A[T any] struct { *B[T] }\ntype B[T any] struct { *A[struct{ X T }] }",
	"an alias":       "type A[T any] struct { B Alias[T] }\ntype Alias[T any] = map[string]*A[[]T]",
	"a declared map": "type A[T any] B[[]T]\ntype B[T any] map[string]A[T]",
	"a method":       "type A[T any] struct { X T }\nfunc (A[U]) M(*A[[]U]) {}",
	"a constraint":   "type A[T any] struct { X *B[A[T]] }\ntype B[T any] struct { X *A[T] }",
	"a func":         "type A[T any] struct { F func(A[chan T]) `json:\"-\"` }",
	"an interface":   "type A[T any] interface { M() A[[]T] }",
	"finite":         "type A[T any] struct { Next *A[T]; All []A[T] }",
	"finite, swapped": "type A[T any] struct { B *B[T, int] }\ntype B[T, U any] struct { B " +
		"*B[U, T] }",
	"finite, constant": "type A[T any] struct { Next *A[[]string] }",
	"finite, an alias": "type A[T any] struct { X int; Next *A[Number[T]] }\n" +
		"type Number[T any] = int",
	"finite, aliases": "type A[T any] struct { X int; Next *A[struct{ X []Number[T] }] }\n" +
		"type Number[T any] = int",
	"finite, deep":   deepTypes(),
	"finite, nested": "type A[T any] struct { B *B[[]T] }\ntype B[T any] struct { X *B[T] }",
}

// deepTypes declares a chain of types, each of which has the next one in two ways: a walk that
// reads both ways anew at each level does not end in the time of a test.
func deepTypes() string {
	var b strings.Builder
	b.WriteString("type A[T any] struct { L *B0; M map[string]B0 }\n")
	for i := range 40 {
		fmt.Fprintf(&b, "type B%d struct { L *B%d; M map[string]B%[2]d }\n", i, i+1)
	}
	return b.String() + "type B40 struct { X int }"
}

// randomTypes declares types A to D with one parameter or two. Each value of them can be finite.
func randomTypes(r *rand.Rand) string {
	names := []string{"A", "B", "C", "D"}
	count := map[string]int{"A": 1}
	for _, name := range names[1:] {
		count[name] = 1 + r.IntN(2)
	}
	var typ func(params []string, depth int) string
	instance := func(params []string, depth int) string {
		name := names[r.IntN(len(names))]
		var args []string
		for range count[name] {
			args = append(args, typ(params, depth-1))
		}
		return name + "[" + strings.Join(args, ", ") + "]"
	}
	typ = func(params []string, depth int) string {
		switch n := r.IntN(16); {
		case n < 8 || depth == 0:
			return params[r.IntN(len(params))]
		case n < 10:
			return "int"
		case n == 10:
			return "[]" + typ(params, depth-1)
		case n == 11:
			return "map[string]" + typ(params, depth-1)
		case n == 12:
			return "Number[" + typ(params, depth-1) + "]"
		case n == 13:
			return "List[" + typ(params, depth-1) + "]"
		default:
			return "*" + instance(params, depth)
		}
	}
	var b strings.Builder
	b.WriteString("type Number[T any] = int\ntype List[T any] = []T\n")
	for _, name := range names {
		params := []string{"T", "U"}[:count[name]]
		fmt.Fprintf(&b, "type %s[%s any] struct {\n", name, strings.Join(params, ", "))
		for i := range 1 + r.IntN(2) {
			form := []string{"*", "[]", "map[string]"}[r.IntN(3)]
			fmt.Fprintf(&b, "\tF%d %s%s `json:\"f%[1]d,omitempty\"`\n", i, form, instance(params, 2))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// endless reports whether the compiler refuses the declarations for their instances.
func endless(t *testing.T, source string) bool {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", "package p\n"+source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var config types.Config
	_, err = config.Check("p", files, []*ast.File{file}, nil)
	if err != nil && !strings.Contains(err.Error(), "instantiation cycle") {
		t.Fatalf("%v in\n%s", err, source)
	}
	return err != nil
}

// The verdict about each package is the compiler's, also beside another error, after which go/types
// looks for no cycle of instances.
func TestTypesWithoutEndAreTheCompilers(t *testing.T) {
	sources := map[string]string{}
	for name, source := range endlessTypes {
		sources[name] = source
	}
	r := rand.New(rand.NewPCG(38, 1))
	for i := range 150 {
		sources[fmt.Sprint("random ", i)] = randomTypes(r)
	}
	const handler = "package p\n\nimport \"context\"\n\n//mcp:tool public\n" +
		"func Walk(ctx context.Context, in In) (In, error) { return in, nil }\n" +
		"\ntype In struct{ X *A[int] }\n\n"
	var files []txtar.File
	folders := map[string]string{}
	add := func(name, text string) {
		folder := fmt.Sprintf("p%03d", len(folders))
		folders[folder] = name
		files = append(files, txtar.File{Name: folder + "/p.go", Data: []byte(text)})
	}
	for name, source := range sources {
		add(name, handler+source)
		add(name, handler+source+"\nvar _ = undeclared\n")
	}
	dir := loadtest.Write(t, files...)
	result, err := generator.Run(loadtest.Context(t),
		generator.Options{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, d := range result.Diagnostics {
		folder := filepath.Base(filepath.Dir(d.Pos.File))
		if strings.HasPrefix(d.Message, "instantiation cycle: ") {
			found[folder]++
		}
	}
	verdicts := map[bool]int{}
	for folder, name := range folders {
		want := endless(t, sources[name])
		verdicts[want]++
		if got := found[folder] == 1; got != want {
			t.Errorf("%s: got %v (%d findings), the compiler %v:\n%s",
				name, got, found[folder], want, sources[name])
		}
	}
	if min(verdicts[true], verdicts[false]) < 20 {
		t.Errorf("the random types are not of both kinds: %v", verdicts)
	}
}
