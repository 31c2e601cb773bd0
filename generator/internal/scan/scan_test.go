package scan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
	"github.com/mcpgen/mcpgen/internal/roleorder"
)

var update = flag.Bool("update", false, "write the goldens anew")

func TestServicesHoldWhatTheSourceContains(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/inventory.txtar")
	if err != nil {
		t.Fatal(err)
	}
	prog := loadtest.Load(t, archive.Files)
	services, findings := scan.Services(prog)
	for _, d := range findings {
		t.Errorf("%v", d)
	}
	var got bytes.Buffer
	for _, s := range services {
		dump(&got, s)
	}
	const golden = "testdata/inventory.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got:\n%s", got.String())
	}
}

// dump writes a service as text that a reader can judge.
func dump(w *bytes.Buffer, s model.Service) {
	fmt.Fprintf(w, "service %s, package %s of %s\n", s.Package, s.Name, s.Module)
	fmt.Fprintf(w, "  server %q %q %q app %q prefix %q at %s\n", s.Server.Name, s.Server.Title, s.Server.Version, s.Server.App, s.Server.Prefix, load.Short(s.Server.Pos))
	fmt.Fprintf(w, "  roles %s own %v type %q\n", roleorder.Text(s.Roles.Chains), s.Roles.Own,
		s.Roles.Type)
	for _, r := range s.Receivers {
		fmt.Fprintf(w, "  receiver %s %+v\n", r.Param, r)
	}
	for _, i := range s.Ignored {
		fmt.Fprintf(w, "  ignored %s: %s\n", i.Handler, i.Reason)
	}
	fmt.Fprintf(w, "  scope %v\n", s.Scope)
	dirs := make([]string, 0)
	for dir := range s.HashInputs.Decls {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		fmt.Fprintf(w, "  hash %s %v\n", dir, s.HashInputs.Decls[dir])
	}
	for _, t := range s.Tools {
		fmt.Fprintf(w, "\n  tool %s, constant %s, handler %s at %s\n", t.Name, t.Const, t.Handler, load.Short(t.Handler.Pos))
		fmt.Fprintf(w, "    directive at %s:%d-%d, title %q, denial %q, timeout %s\n", load.Short(t.Pos), t.Pos.Col, t.Pos.EndCol, t.Title, t.Denial, t.Limits.Timeout)
		fmt.Fprintf(w, "    %q\n", t.Description)
		fmt.Fprintf(w, "    pointer %v, sdk %v\n", t.Handler.PointerRecv, t.Handler.SDK)
		fmt.Fprintf(w, "    access %+v\n", t.Access)
		if t.Facts != nil {
			fmt.Fprintf(w, "    facts %q\n", t.Facts)
		}
		for _, h := range []struct {
			name string
			hint *bool
		}{{"readonly", t.Hints.ReadOnly}, {"destructive", t.Hints.Destructive}, {"idempotent", t.Hints.Idempotent}, {"openworld", t.Hints.OpenWorld}} {
			if h.hint != nil {
				fmt.Fprintf(w, "    %s %v\n", h.name, *h.hint)
			}
		}
		if len(t.Catalogs) > 0 {
			fmt.Fprintf(w, "    catalogs %q\n", t.Catalogs)
		}
		fmt.Fprintf(w, "    input %q kind %d type %s pointer %v\n      %s\n", t.Input.Name, t.Input.Kind, t.Input.Type, t.Input.Pointer, schemaText(t.Input.Schema))
		for _, p := range t.Input.Params {
			fmt.Fprintf(w, "      parameter %+v\n", p)
		}
		fmt.Fprintf(w, "    output %q kind %d type %s\n      %s\n", t.Output.Name, t.Output.Kind, t.Output.Type, schemaText(t.Output.Schema))
	}
	w.WriteString("\n")
}

func schemaText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Whatever order the program is read in, the services are equal.
func TestServicesAreTheSameOnEveryRun(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/inventory.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := loadtest.Write(t, archive.Files...)
	var first string
	for range 3 {
		prog, err := load.Load(loadtest.Context(t), load.Options{Dir: dir, Patterns: []string{"./..."}})
		if err != nil {
			t.Fatal(err)
		}
		services, _ := scan.Services(prog)
		text := schemaText(services)
		if first == "" {
			first = text
		}
		if text != first {
			t.Fatal("two runs over one source differ")
		}
	}
}

func TestPackagesWithoutDirectivesHaveNoService(t *testing.T) {
	prog := loadtest.Load(t, txtar.Parse([]byte(`
-- a/a.go --
package a

import "context"

func Run(ctx context.Context) error { return nil }

var broken NoSuchType
-- a/a_test.go --
package a

//mcp:tool minrole=Viewer
func Helper() {}
`)).Files)
	services, findings := scan.Services(prog)
	if len(services) != 0 || len(findings) != 0 {
		t.Errorf("got %v, %v", services, findings)
	}
}

// A file that does not parse suppresses the other findings of its package, and what follows
// from it elsewhere, but not the findings of other packages.
func TestFindingsDoNotFollowFromUnparsableSource(t *testing.T) {
	prog := loadtest.Load(t, txtar.Parse([]byte(`
-- a/a.go --
package a

import "example.com/scratch/b"

import "context"

//mcp:tool minrole=Viewer
func Run(ctx context.Context, in b.In) error { return nil }
-- b/b.go --
package b

type Out struct{

type In struct{}
-- c/c.go --
package c

import "context"

//mcp:tool minrole=Nobody
func Run(ctx context.Context) error { return nil }
`)).Files)
	_, findings := scan.Services(prog)
	var got []string
	for _, d := range findings {
		got = append(got, filepath.Base(d.Pos.File)+" "+string(d.Code))
	}
	slices.Sort(got)
	got = slices.Compact(got)
	if want := []string{"b.go MCP026", "c.go MCP009"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", findings, want)
	}
}

// The rules of a type count if its package is imported, and is not scanned itself.
func TestRulesOfATypeOfAnImportedPackageCount(t *testing.T) {
	archive, err := txtar.ParseFile("../check/testdata/codes/MCP052-packages.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	for _, f := range archive.Files {
		if f.Name != "want" {
			files = append(files, txtar.File{Name: "mcp052-packages/" + f.Name, Data: f.Data})
		}
	}
	of := func(patterns ...string) (found []string) {
		_, findings := scan.Services(loadtest.Load(t, files, patterns...))
		for _, d := range findings {
			found = append(found, string(d.Code)+" "+d.Message)
		}
		return found
	}
	alone, all := of("./mcp052-packages/plans"), of()
	if len(alone) == 0 || !slices.Equal(alone, all) {
		t.Errorf("alone: %q, together: %q", alone, all)
	}
}
