package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/scaletest"
)

// generatedPackage is a package as services have it: a receiver, an enum, a few types and tools. It
// carries markers for controller-gen as well, which pays no attention to mcpgen's, nor mcpgen to
// its.
func generatedPackage(name string, edit int) string {
	return strings.NewReplacer("PACKAGE", name, "EDIT", fmt.Sprint(edit)).Replace("// Package PACKAGE is one of many.\n" + `//
// +kubebuilder:object:generate=true
//
//mcp:server name=PACKAGE
package PACKAGE

import (
	"context"
	"net/http"
	"time"
)

// Kind is one of few.
type Kind string

// The kinds.
const (
	Small Kind = "small"
	Large Kind = "large"
)

// Order is an input, edited for the EDITth time.
type Order struct {
	// Name is who ordered, EDIT.
	Name  string    ` + "`json:\"name\" jsonschema:\"minLength=1,maxLength=80\"`" + `
	Kind  Kind      ` + "`json:\"kind\"`" + `
	Count int       ` + "`json:\"count,omitempty\" jsonschema:\"minimum=1,maximum=9\"`" + `
	Note  *string   ` + "`json:\"note,omitempty\"`" + `
}

// Receipt is an output.
type Receipt struct {
	Names []string ` + "`json:\"names\"`" + `
	Next  *Receipt ` + "`json:\"next,omitempty\"`" + `
}

// Desk answers.
//
// +kubebuilder:object:generate=false
type Desk struct {
	client *http.Client
	opened time.Time
}

// Get gets.
//
//mcp:tool minrole=Viewer
func (d *Desk) Get(ctx context.Context, in Order) (Receipt, error) { return Receipt{}, nil }

// Set sets.
//
//mcp:tool minrole=Member
func (d *Desk) Set(ctx context.Context, in Order) (Receipt, error) { return Receipt{}, nil }

// Search searches.
//
//mcp:tool minrole=Viewer
func (d *Desk) Search(ctx context.Context, name string, limit int) ([]Receipt, error) { return nil, nil }
`)
}

const controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"

// BenchmarkGenerate runs the built command on a module of 50 packages, beside what any tool has to
// wait for, go list -export of the same packages, and beside controller-gen making deep copies of
// their types.
func BenchmarkGenerate(b *testing.B) {
	b.Setenv("CI", "") // which stops the use of the run cache
	const packages = 50
	bin := scratch{b.TempDir()}
	root, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	mcpgen := filepath.Join(bin.dir, "mcpgen")
	scratch{root}.run(b, "go", "build", "-C", "cmd/mcpgen", "-o", mcpgen, ".")
	controller := filepath.Join(bin.dir, "controller-gen")
	bin.run(b, "env", "GOBIN="+bin.dir, "go", "install", controllerGen)

	s := newScratch(b)
	edits := 0
	edit := func(n int) {
		edits++
		for i := range n {
			s.write(b, fmt.Sprintf("p%d/p.go", i), generatedPackage(fmt.Sprintf("p%d", i), edits))
		}
	}
	edit(packages)
	s.run(b, mcpgen, "./...")
	s.run(b, "go", "list", "-export", "./...")
	for _, scale := range []struct {
		name    string
		edited  int
		pattern string
	}{
		{"edited=50", packages, "./..."},
		{"edited=1", 1, "./p0"},
		{"edited=0", 0, "./..."},
	} {
		for _, p := range []struct {
			peer    string
			command []string
		}{
			{"mcpgen", []string{mcpgen, scale.pattern}},
			{"golist", []string{"go", "list", "-export", scale.pattern}},
			{"controller-gen", []string{controller, "object", "paths=" + scale.pattern}},
		} {
			b.Run(scale.name+"/peer="+p.peer, func(b *testing.B) {
				if scale.edited == 0 {
					s.run(b, p.command[0], p.command[1:]...) // what others have written since is a change
				}
				peak := int64(0)
				for b.Loop() {
					b.StopTimer()
					edit(scale.edited)
					b.StartTimer()
					peak = max(peak, s.run(b, p.command[0], p.command[1:]...))
				}
				b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
			})
		}
	}
}

// BenchmarkScale runs the built command on 200 packages of 20 tools: when all of them lack a
// generated file, after an edit of one, and without an edit. It also runs the check, which never
// uses the run cache, of these and of 50 packages of 3 tools.
func BenchmarkScale(b *testing.B) {
	b.Setenv("CI", "")
	root, err := filepath.Abs("../..")
	if err != nil {
		b.Fatal(err)
	}
	mcpgen := filepath.Join(b.TempDir(), "mcpgen")
	scratch{root}.run(b, "go", "build", "-C", "cmd/mcpgen", "-o", mcpgen, ".")
	module := func(packages, tools int) scratch {
		s := scratch{b.TempDir()}
		if err := scaletest.Write(s.dir, root, packages, tools); err != nil {
			b.Fatal(err)
		}
		s.run(b, mcpgen, "./...")
		return s
	}
	large, small := module(200, 20), module(50, 3)
	edits := 0
	for _, run := range []struct {
		name    string
		module  scratch
		before  func()
		command string
	}{
		{"generate/packages=200/edited=200", large, func() {
			for i := range 200 {
				if err := os.Remove(filepath.Join(large.dir, scaletest.Name(i), "mcp_gen.go")); err != nil {
					b.Fatal(err)
				}
			}
		}, "./..."},
		{"generate/packages=200/edited=1", large, func() {
			edits++
			name := scaletest.Name(7)
			large.write(b, name+"/"+name+".go", string(scaletest.Package(name, 20, edits)))
		}, "./..."},
		{"generate/packages=200/edited=0", large, func() {}, "./..."},
		{"check/packages=200", large, func() {}, "check ./..."},
		{"check/packages=50", small, func() {}, "check ./..."},
	} {
		b.Run(run.name, func(b *testing.B) {
			peak := int64(0)
			for b.Loop() {
				b.StopTimer()
				run.before()
				b.StartTimer()
				peak = max(peak, run.module.run(b, mcpgen, strings.Fields(run.command)...))
			}
			b.ReportMetric(float64(peak)/(1<<20), "peak-MB")
		})
	}
}
