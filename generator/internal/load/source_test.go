package load_test

import (
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
)

const documented = `
-- a/a.go --
package a

import "example.com/scratch/b"

// Device is a thing
// that answers.
//
// It has ports:
//   - one
//   - two
//
//mcp:default minrole=Viewer
type Device struct {
	// @gotags: valid:"ip"
	// +optional
	Rack string // where it is
	// ID is unique.
	//
	//nolint:all
	ID string // not this
	// required: true
	Kind string // which kind
	// unique: true
	Serial string

	Name, Label string // what people call it
	b.Embedded         // taken over
	*Pointed
	// Ports by name.
	Ports map[string]*struct {
		// Speed in bit/s.
		Speed int
	}
	Rows []struct{ Cells [2]struct {
		// Text of the cell.
		Text string
	} }
}

type Pointed struct{}

// Page is generic.
type Page[T any] struct {
	// Items of the page.
	Items []T
	// Next page.
	Next *Page[T]
}

// The group.
type (
	// Grouped has its own doc.
	Grouped struct{}
	Bare    struct{}
)

type Copy Device

type Far b.Embedded

type Paged Page[int]

type Number int
-- b/b.go --
package b

type Embedded struct {
	// Inner of b.
	Inner string
}
-- e/e.go --
package e

type Status string

const (
	Active  Status = "active"
	Planned        = Status("planned")
	_       Status = "blank"
	other          = "untyped"
	retired Status = "retired"
)

type Single string

const OnlyOne Single = "one"

type Spread string

const (
	S1 Spread = "1"
	S2 Spread = "2"
)

const S3 Spread = "3"

type Level int

const (
	Low Level = iota
	High
)

type None string

type Alias = Status

const (
	A1 Alias = "a1"
)
`

// declared finds a type, or a field of it by its way through structs.
func declared(scope *types.Scope, typ string, path ...string) types.Object {
	of := scope.Lookup(typ)
	for _, name := range path {
		t := of.Type()
		for done := false; !done; {
			switch u := t.Underlying().(type) {
			case *types.Pointer:
				t = u.Elem()
			case *types.Slice:
				t = u.Elem()
			case *types.Array:
				t = u.Elem()
			case *types.Map:
				t = u.Elem()
			case *types.Struct:
				for f := range u.Fields() {
					if f.Name() == name {
						of = f
					}
				}
				done = true
			}
		}
	}
	return of
}

// documentation is the comment of a type, or of a field of it.
func documentation(prog *load.Program, of types.Object) string {
	if field, ok := of.(*types.Var); ok {
		return prog.FieldDoc(field)
	}
	return prog.TypeDoc(of.(*types.TypeName))
}

func TestCommentsAreThoseOfTheDeclaration(t *testing.T) {
	prog := loadtest.Load(t, files(documented))
	scope := prog.Package(loadtest.Module + "/a").Types.Scope()
	for _, c := range []struct {
		typ  string
		path []string
		want string
	}{
		{"Device", nil, "Device is a thing\nthat answers.\n\nIt has ports:\n  - one\n  - two"},
		{"Device", []string{"ID"}, "ID is unique."},
		{"Device", []string{"Rack"}, "where it is"},
		{"Device", []string{"Kind"}, "which kind"},
		{"Device", []string{"Serial"}, "unique: true"},
		{"Device", []string{"Name"}, "what people call it"},
		{"Device", []string{"Label"}, "what people call it"},
		{"Device", []string{"Embedded"}, "taken over"},
		{"Device", []string{"Pointed"}, ""},
		{"Device", []string{"Ports"}, "Ports by name."},
		{"Device", []string{"Ports", "Speed"}, "Speed in bit/s."},
		{"Device", []string{"Rows", "Cells", "Text"}, "Text of the cell."},
		{"Page", nil, "Page is generic."},
		{"Page", []string{"Items"}, "Items of the page."},
		{"Grouped", nil, "Grouped has its own doc."},
		{"Bare", nil, ""},
		{"Copy", []string{"ID"}, "ID is unique."},
		{"Far", []string{"Inner"}, "Inner of b."},
		{"Paged", []string{"Next"}, "Next page."},
		{"Number", nil, ""},
	} {
		if got := documentation(prog, declared(scope, c.typ, c.path...)); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.typ, c.path, got, c.want)
		}
	}
	if got := prog.TypeDoc(types.Universe.Lookup("error").(*types.TypeName)); got != "" {
		t.Errorf("error: %q", got)
	}
	field := types.NewField(token.NoPos, prog.Roots[0].Types, "ID", types.Typ[types.String], false)
	if got := prog.FieldDoc(field); got != "" {
		t.Errorf("a field without a position: %q", got)
	}
}

// elsewhere is a type of another module, with every kind of field, in its second file.
const elsewhere = `
-- go.mod --
module example.com/scratch

go 1.26.0

require example.com/far v1.0.0

replace example.com/far => ./far
-- a.go --
package a

import (
	"net/http"

	"example.com/far"
)

type Here struct {
	Thing far.Thing[int]
	Copy  far.Copy
	Std   http.Cookie
}
-- far/go.mod --
module example.com/far

go 1.26.0
-- far/a.go --
package far

// Copy of another type.
type Copy Thing[string]
-- far/b.go --
package far

// Thing is far
// away.
type Thing[T any] struct {
	// Items of the thing.
	Items []T
	Sub   *struct {
		A, B int // two of them
	}
	inner
	Inner string ` + "`" + `json:"x"` + "`" + ` // not the embedded one
}

type inner struct {
	// Deep is promoted.
	Deep int
}

func body() {
	type Thing struct {
		// Items of a local type.
		Items int
	}
}
`

// TestTypesOfOtherModulesHaveTheirComments reads comments from the files that export data names,
// with directories and without.
func TestTypesOfOtherModulesHaveTheirComments(t *testing.T) {
	dir := loadtest.Write(t, files(elsewhere)...)
	for _, flags := range []string{"GOFLAGS=-mod=mod", "GOFLAGS=-mod=mod -trimpath"} {
		prog, err := load.Load(t.Context(), load.Options{Dir: dir, Env: append(os.Environ(),
			flags)})
		if err != nil {
			t.Fatal(err)
		}
		scope := prog.Roots[0].Types.Scope()
		here := scope.Lookup("Here").Type().Underlying().(*types.Struct)
		far := here.Field(1).Type().(*types.Named).Obj().Pkg()
		std := here.Field(2).Type().(*types.Named).Obj().Pkg()
		for _, c := range []struct {
			of   types.Object
			want string
		}{
			{declared(far.Scope(), "Thing"), "Thing is far\naway."},
			{declared(far.Scope(), "Copy"), "Copy of another type."},
			{declared(scope, "Here", "Thing", "Items"), "Items of the thing."},
			{declared(scope, "Here", "Copy", "Items"), "Items of the thing."},
			{declared(scope, "Here", "Copy", "Sub", "B"), "two of them"},
			{declared(scope, "Here", "Copy", "inner"), ""},
			{declared(scope, "Here", "Copy", "inner", "Deep"), "Deep is promoted."},
			{declared(scope, "Here", "Copy", "Inner"), "not the embedded one"},
			{declared(std.Scope(), "Cookie", "MaxAge"),
				"MaxAge=0 means no 'Max-Age' attribute specified.\n" +
					"MaxAge<0 means delete cookie now, equivalently 'Max-Age: 0'\n" +
					"MaxAge>0 means Max-Age attribute present and given in seconds"},
		} {
			if got := documentation(prog, c.of); got != c.want {
				t.Errorf("%s: %s: got %q, want %q", flags, c.of, got, c.want)
			}
		}
	}
}

// TestMissingSourceMeansNoComment: the types are known from export data and the file is gone.
func TestMissingSourceMeansNoComment(t *testing.T) {
	dir := loadtest.Write(t, files(elsewhere)...)
	prog, err := load.Load(t.Context(), load.Options{Dir: dir, Env: append(os.Environ(),
		"GOFLAGS=-mod=mod")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "far", "b.go")); err != nil {
		t.Fatal(err)
	}
	scope := prog.Roots[0].Types.Scope()
	if got := documentation(prog, declared(scope, "Here", "Copy", "Items")); got != "" {
		t.Errorf("got %q", got)
	}
	here := scope.Lookup("Here").Type().Underlying().(*types.Struct)
	if got := documentation(prog,
		here.Field(1).Type().(*types.Named).Obj()); got != "Copy of another type." {
		t.Errorf("of the file that is there: %q", got)
	}
}

func TestAnEnumIsTheLargestConstBlockOfAType(t *testing.T) {
	prog := loadtest.Load(t, files(documented))
	scope := prog.Package(loadtest.Module + "/e").Types.Scope()
	value := func(c *types.Const) string {
		if c.Val().Kind() == constant.Int {
			return c.Val().ExactString()
		}
		return constant.StringVal(c.Val())
	}
	for name, want := range map[string][]string{
		"Single": nil, "Spread": {"1", "2", "not 3"}, "Level": {"0", "1"}, "None": nil,
		"Status": {"active", "planned", "retired", "not a1"},
	} {
		var got []string
		typ := scope.Lookup(name).(*types.TypeName)
		for _, c := range prog.Enum(typ) {
			got = append(got, value(c))
		}
		for _, block := range prog.Stray(typ) {
			for _, c := range block {
				got = append(got, "not "+value(c))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := prog.Enum(types.Universe.Lookup("string").(*types.TypeName)); got != nil {
		t.Errorf("string: %v", got)
	}
	if prog.Local(nil) || prog.Local(types.NewPackage("fmt", "fmt")) ||
		!prog.Local(prog.Roots[0].Types) {
		t.Error("local packages are those of the main module")
	}

	prog = loadtest.Load(
		t,
		files(
			"-- a.go --\npackage a\n\ntype S string\n\nconst (\n\tB S = \"b\"\n\t_ S = "+
				"\"x\"\n\tA = S(\"a\")\n\tc = \"c\"\n)\n"))
	var got []string
	for _, c := range prog.Enum(prog.Roots[0].Types.Scope().Lookup("S").(*types.TypeName)) {
		got = append(got, c.Name())
	}
	if !slices.Equal(got, []string{"B", "A"}) {
		t.Errorf("got %v", got)
	}
}
