package generator_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/load/loadtest"
)

// moved has handlers of every kind whose generated names depend on each other.
const moved = `// Package moved serves what may stand in any file.
//
//mcp:server name=moved prefix=m_
//mcp:default minrole=Clerk
package moved

import "context"

// Rank of a caller.
type Rank int

//mcp:roles
const (
	Guest Rank = iota + 1
	Clerk
	Chief
)

// Color of a parcel.
type Color string

const (
	Red  Color = "red"
	Blue Color = "blue"
)

// Size of a parcel.
type Size string

const (
	Small Size = "small"
	Large Size = "large"
)

// Parcel is sent.
type Parcel struct {
	// Color of the paper.
	Color Color ` + "`json:\"color\"`" + `
	Size  *Size ` + "`json:\"size,omitempty\"`" + `
	Inner *Parcel ` + "`json:\"inner,omitempty\"`" + `
	Box   struct{ Edge int } ` + "`json:\"box\"`" + `
}

// Desk is at the entrance.
type Desk struct{}

// Store is behind it.
//
//mcp:default minrole=Chief
type Store struct{}

// Send sends.
//
//mcp:tool
func (*Desk) Send(ctx context.Context, in Parcel) ([]Parcel, error) { return nil, nil }

// Get gets.
//
//mcp:tool
func (*Desk) Get(ctx context.Context, in *Parcel) (Parcel, error) { return Parcel{}, nil }

// Get gets from the store.
//
//mcp:tool name=store_get
func (Store) Get(ctx context.Context, in struct{ ID int }) (*Parcel, error) { return nil, nil }

// Put puts.
//
//mcp:tool
func (Store) Put(ctx context.Context, in struct{ ID int }) (struct{ Done bool }, error) {
	return struct{ Done bool }{}, nil
}

//mcp:tool
func Put2(ctx context.Context, put struct{ ID int }, color Color) (map[string]Parcel, error) {
	return nil, nil
}

//mcp:tool
func All(ctx context.Context, sizes []Size) ([]Parcel, error) { return nil, nil }

//mcp:prompt
func Welcome(ctx context.Context, color Color, name string) (string, error) { return "", nil }

//mcp:resource uri=moved://{id}/{kind}
func Read(ctx context.Context, id int, kind string) (string, error) { return "", nil }

//mcp:complete ref=welcome argument=name
func Names(ctx context.Context, begun string) ([]string, error) { return nil, nil }

//mcp:complete ref=moved://{id}/{kind} argument=kind
func Kinds(ctx context.Context, begun string) ([]string, error) { return nil, nil }

//mcp:ignore reason="for the scheduler"
func Sweep(ctx context.Context) error { return nil }

// Jobs run apart.
type Jobs struct{}

//mcp:worker
func NewJobs() (*Jobs, error) { return &Jobs{}, nil }

//mcp:worker
func NewTasks() Tasks { return Tasks{} }

// Tasks run apart as well.
type Tasks struct{}

//mcp:tool
//mcp:limit isolate=process
func (*Jobs) Run(ctx context.Context, in Parcel) error { return nil }

//mcp:tool
//mcp:limit isolate=process
func (Tasks) Do(ctx context.Context, in Parcel) error { return nil }
`

// TestMovedDeclarationsChangeNothingThatIsGenerated puts the declarations of a package into other
// orders and files. mcpgen check reports a difference of the generated files, and the generated
// test does not: the source hash does not depend on the order.
func TestMovedDeclarationsChangeNothingThatIsGenerated(t *testing.T) {
	head, decls := cut(t, moved)
	want := generated(t, head+strings.Join(decls, "\n\n"))
	random := rand.New(rand.NewPCG(16, 7))
	for n := range 8 {
		order := slices.Clone(decls)
		files := make([]string, 1)
		switch n {
		case 0:
			slices.Reverse(order)
		case 1: // a file each, in the reverse order of their names
			slices.Reverse(order)
			files = make([]string, len(order))
		default:
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			files = make([]string, 1+random.IntN(4))
		}
		for i, decl := range order {
			files[i%len(files)] += decl + "\n\n"
		}
		files[random.IntN(len(files))] += "// The end.\n"
		files[0] = head + files[0]
		got := generated(t, files...)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				t.Errorf("order %d: %s differs", n, name)
			}
		}
	}
}

// cut returns the package clause with the imports, and the declarations with their comments.
func cut(t *testing.T, source string) (head string, decls []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "moved.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	offset := func(pos token.Pos) int { return files.Position(pos).Offset }
	head = source[:offset(file.Decls[0].End())] + "\n\n"
	for _, decl := range file.Decls[1:] {
		from := decl.Pos()
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		case *ast.GenDecl:
			if d.Doc != nil {
				from = d.Doc.Pos()
			}
		}
		decls = append(decls, source[offset(from):offset(decl.End())])
	}
	return head, decls
}

// generated are the files that a run makes of a package, by name. The first source has its package
// clause and imports; the others get both.
func generated(t *testing.T, sources ...string) map[string]string {
	t.Helper()
	var files []txtar.File
	for i, source := range sources {
		if i > 0 {
			source = "package moved\n\nimport \"context\"\n\nvar _ context.Context\n\n" + source
		}
		files = append(files, txtar.File{Name: fmt.Sprintf("file%02d.go", i), Data: []byte(source)})
	}
	dir := loadtest.Write(t, files...)
	result, err := generator.Run(t.Context(), generator.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Diagnostics) > 0 {
		t.Fatal(result.Diagnostics.Err())
	}
	content := map[string]string{}
	for _, f := range result.Files {
		content[filepath.Base(f.Path)] = string(f.Content)
	}
	return content
}
