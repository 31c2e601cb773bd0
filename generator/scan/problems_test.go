package scan_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/scan"
)

const unreadable = `
-- third/go.mod --
module example.com/third

go 1.26.0
-- third/third.go --
package third

// Quantity is read and written by methods.
type Quantity struct{ n int }

func (*Quantity) UnmarshalJSON([]byte) error  { return nil }
func (Quantity) MarshalJSON() ([]byte, error) { return nil, nil }

type Limits map[string]Quantity

// Container has three fields without a schema.
type Container struct {
	Requests, Limits Limits
	Get              func() error
	Stop             chan int
	Weight           int ` + "`jsonschema:\"minimum=x\"`" + `
}

type Pod struct {
	Containers, Init []Container
	Overhead         Limits
	Next             *Pod
}

type Hook struct{ A int }

func (Hook) JSONSchemaAlias() any { return nil }

type Text struct{ A int }

func (*Text) MarshalText() ([]byte, error) { return nil, nil }

type Watch interface{ Changed() }

// Fine has a fault that no handler meets.
type Fine struct {
	A    int
	Skip func() ` + "`json:\"-\"`" + `
}
-- own/own.go --
package own

type Odd struct{ A int }

func (*Odd) UnmarshalJSON([]byte) error  { return nil }
func (Odd) MarshalJSON() ([]byte, error) { return nil, nil }

type Wide struct {
	F func()
	L []Odd
}
`

const unreadableUse = `package %s

import (
	"context"

	"example.com/scratch/own"
	"example.com/third"
)

type In struct {
	Q third.Quantity
	P third.Pod
	O own.Odd
	H third.Hook
	W own.Wide
	C third.Watch
	F third.Fine
	// The tag declares what the methods do not show.
	T third.Quantity ` + "`jsonschema:\"type=string\"`" + `
	N third.Quantity ` + "`json:\"-\"`" + `
}

type Out struct {
	T third.Text
	Q *third.Quantity
}
`

const unreadableHandlers = `
//mcp:tool public
func F%d(ctx context.Context, in third.Pod) (third.Pod, error) { return third.Pod{}, nil }

//mcp:tool public
func G%[1]d(ctx context.Context, in In) (Out, error) { return Out{}, nil }

//mcp:tool public
func H%[1]d(ctx context.Context, q third.Quantity, o own.Odd) (own.Wide, error) { return own.Wide{}, nil }

//mcp:tool public
//mcp:schema input=any.json output=any.json
func S%[1]d(ctx context.Context, in third.Pod) (third.Pod, error) { return third.Pod{}, nil }
`

// TestOneRootCauseIsOneFinding has 200 handlers of types that cannot be read.
func TestOneRootCauseIsOneFinding(t *testing.T) {
	files := txtar.Parse([]byte(unreadable)).Files
	for _, name := range []string{"a", "b"} {
		source := fmt.Sprintf(unreadableUse, name)
		for i := range 25 {
			source += fmt.Sprintf(unreadableHandlers, i)
		}
		files = append(files, txtar.File{Name: name + "/handlers.go", Data: []byte(source)},
			txtar.File{Name: name + "/any.json", Data: []byte(`{"type": "object"}`)})
	}
	dir := loadtest.Write(t, files...)
	mod, err := os.OpenFile(filepath.Join(dir, "go.mod"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mod.WriteString("\nrequire example.com/third v0.0.0\n\nreplace example.com/third => ./third\n"); err != nil {
		t.Fatal(err)
	}
	if err := mod.Close(); err != nil {
		t.Fatal(err)
	}
	prog, err := load.Load(t.Context(), load.Options{Dir: dir, Patterns: []string{"./..."}})
	if err != nil {
		t.Fatal(err)
	}
	_, findings := scan.Services(prog)
	var got bytes.Buffer
	if err := findings.Render(&got, diag.Style{Base: dir}); err != nil {
		t.Fatal(err)
	}
	const want = `
a/handlers.go:11:2: MCP015: In.Q: third.Quantity has its own UnmarshalJSON, so that its JSON form cannot be known; places with third.Quantity: 156 (handlers.go:11, handlers.go:12, handlers.go:25, …)
	fix: declare the form in the field's tag, as in jsonschema:"type=string"; elsewhere leave the field out with json:"-", use a type of your own in its place, or write the schema by hand: //mcp:schema
a/handlers.go:12:2: MCP015: In.P.Init[].Stop: chan int has no JSON form; fields of third.Container with a fault: 3; places with third.Container: 102 (handlers.go:12, handlers.go:29, handlers.go:42, …)
	fix: leave the field out with json:"-", use a type of your own in its place, or write the schema by hand: //mcp:schema
a/handlers.go:14:2: MCP034: In.H: third.Hook has a method JSONSchemaAlias, whose schema is known only when the program runs; places with third.Hook: 2 (handlers.go:14, b/handlers.go:14)
	fix: declare the form in the field's tag, as in jsonschema:"type=string", or write the schema by hand: //mcp:schema
a/handlers.go:16:2: MCP015: In.C: third.Watch, an interface with methods, cannot be filled from JSON; places with third.Watch: 2 (handlers.go:16, b/handlers.go:16)
	fix: use a concrete type, or any
a/handlers.go:24:2: MCP015: Out.T: third.Text has MarshalText on its pointer, and encoding/json passes it over for a value; places with third.Text: 2 (handlers.go:24, b/handlers.go:24)
	fix: return a pointer to it
own/own.go:3:6: MCP015: In.O: own.Odd has its own UnmarshalJSON, so that its JSON form cannot be known; places with own.Odd: 53 (a/handlers.go:13, a/handlers.go:35, a/handlers.go:48, …)
	fix: declare the form in the field's tag, as in jsonschema:"type=string"; elsewhere use a type without the method, or write the schema by hand: //mcp:schema
own/own.go:9:2: MCP015: In.W.F: func() has no JSON form
	fix: use another type, or leave the field out with json:"-"
`
	if got.String() != strings.TrimPrefix(want, "\n") {
		t.Errorf("got %d findings:\n%s", len(findings), got.String())
	}
}
