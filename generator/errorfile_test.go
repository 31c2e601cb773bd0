package generator_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
)

// TestEachPackageOfASharedFindingHasAnErrorFile has two packages with one unsupported type, or with
// a field of a third package, which are one finding. The old generated code of neither builds.
func TestEachPackageOfASharedFindingHasAnErrorFile(t *testing.T) {
	for typ, source := range map[string]string{
		"net.Dialer": `"net"`, "kinds.Bad": `"example.com/scratch/kinds"`,
		"kinds.Holder": `"example.com/scratch/kinds"`, "kinds.Tagged": `"example.com/scratch/kinds"`,
	} {
		files := []txtar.File{{
			Name: "kinds/kinds.go", Data: []byte("package kinds\n\ntype Bad func()\n" +
				"type Holder struct{ F func() }\n" +
				"type Tagged struct{ N int `jsonschema:\"minimum=x\"` }\n"),
		}}
		for _, name := range []string{"a", "b"} {
			files = append(files, txtar.File{Name: name + "/file.go", Data: []byte(`// Package ` +
				name + ` serves.
//
//mcp:server name=` + name + `
package ` + name + `

import (
	"context"

	` + source + `
)

//mcp:tool public
func Do` + name + `(ctx context.Context, in struct{ Field ` + typ + ` }) error { return nil }
`)})
		}
		dir := loadtest.Write(t, files...)
		result, err := generator.Run(loadtest.Context(t), generator.Options{
			Dir: dir, Patterns: []string{"./a", "./b"},
		})
		if err != nil || len(result.Diagnostics) == 0 {
			t.Fatal(err, result.Diagnostics)
		}
		written := map[string]bool{}
		for _, f := range result.Files {
			written[filepath.Base(filepath.Dir(f.Path))+"/"+filepath.Base(f.Path)] = true
		}
		for _, want := range []string{"a/aa_mcp_error.go", "b/aa_mcp_error.go"} {
			if !written[want] {
				t.Errorf("%s: %s is not written: %v", typ, want, result.Diagnostics)
			}
		}
	}
}
