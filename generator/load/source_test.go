package load_test

import (
	"go/constant"
	"go/types"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/generator/load/loadtest"
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
	// ID is unique.
	//
	//nolint:all
	ID string // not this

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

func TestDocCommentsArePlainText(t *testing.T) {
	prog := loadtest.Load(t, files(documented))
	scope := prog.Package(loadtest.Module + "/a").Types.Scope()
	for _, c := range []struct {
		typ  string
		path []string
		want string
	}{
		{"Device", nil, "Device is a thing that answers.\n\nIt has ports:\n  - one\n  - two"},
		{"Device", []string{"ID"}, "ID is unique."},
		{"Device", []string{"Name"}, "what people call it"},
		{"Device", []string{"Label"}, "what people call it"},
		{"Device", []string{"Embedded"}, "taken over"},
		{"Device", []string{"Pointed"}, ""},
		{"Device", []string{"Ports"}, "Ports by name."},
		{"Device", []string{"Ports", "Speed"}, "Speed in bit/s."},
		{"Device", []string{"Rows", "Cells", "Text"}, "Text of the cell."},
		{"Device", []string{"Nothing"}, ""},
		{"Device", []string{"ID", "Below"}, ""},
		{"Device", []string{}, ""},
		{"Page", nil, "Page is generic."},
		{"Page", []string{"Items"}, "Items of the page."},
		{"Grouped", nil, "Grouped has its own doc."},
		{"Bare", nil, ""},
		{"Copy", []string{"ID"}, "ID is unique."},
		{"Far", []string{"Inner"}, "Inner of b."},
		{"Paged", []string{"Next"}, "Next page."},
		{"Number", []string{"X"}, ""},
	} {
		name := scope.Lookup(c.typ).(*types.TypeName)
		got := prog.TypeDoc(name)
		if c.path != nil {
			got = prog.FieldDoc(name, c.path...)
		}
		if got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.typ, c.path, got, c.want)
		}
	}
	if got := prog.TypeDoc(types.Universe.Lookup("error").(*types.TypeName)); got != "" {
		t.Errorf("error: %q", got)
	}
}

func TestEnumsAreStringTypesWithOneBlockOfConstants(t *testing.T) {
	prog := loadtest.Load(t, files(documented))
	scope := prog.Package(loadtest.Module + "/e").Types.Scope()
	for name, want := range map[string][]string{
		"Single": nil, "Spread": nil, "Level": nil, "None": nil, "Status": nil,
	} {
		var got []string
		for _, c := range prog.Enum(scope.Lookup(name).(*types.TypeName)) {
			got = append(got, constant.StringVal(c.Val()))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := prog.Enum(types.Universe.Lookup("string").(*types.TypeName)); got != nil {
		t.Errorf("string: %v", got)
	}
	if prog.Local(nil) || prog.Local(types.NewPackage("fmt", "fmt")) || !prog.Local(prog.Roots[0].Types) {
		t.Error("local packages are those of the main module")
	}

	prog = loadtest.Load(t, files("-- a.go --\npackage a\n\ntype S string\n\nconst (\n\tB S = \"b\"\n\t_ S = \"x\"\n\tA = S(\"a\")\n\tc = \"c\"\n)\n"))
	var got []string
	for _, c := range prog.Enum(prog.Roots[0].Types.Scope().Lookup("S").(*types.TypeName)) {
		got = append(got, c.Name())
	}
	if !slices.Equal(got, []string{"B", "A"}) {
		t.Errorf("got %v", got)
	}
}
