package generator_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
)

// A tool of cart takes a type of shop's client, and a tool of till one of cart's client.
const clientChain = `
-- shop/shop.go --
//mcp:server name=shop client=client
package shop

import "context"

//mcp:tool public
func Find(ctx context.Context, name string, limit int) (string, error) { return name, nil }
-- cart/cart.go --
//mcp:server name=cart client=internal/api
package cart

import (
	"context"

	"example.com/scratch/shop/client"
)

var shop = client.New(nil)

//mcp:tool public
func Fill(ctx context.Context, first client.FindInput, second string) error { return nil }
-- cart/till/till.go --
//mcp:server name=till
package till

import (
	"context"

	"example.com/scratch/cart/internal/api"
)

//mcp:tool public
func Pay(ctx context.Context, in api.FillInput) (api.FillInput, error) { return in, nil }
`

func TestFirstGenerationNeedsNoGeneratedFile(t *testing.T) {
	stale := load.Header + "; DO NOT EDIT.\n\npackage client\n\ntype FindInput struct{ Old int }\n"
	for name, extra := range map[string][]txtar.File{
		"a clean checkout": nil,
		"a stale client":   {{Name: "shop/client/mcp_client.go", Data: []byte(stale)}},
		"a file of the author": {{Name: "shop/client/most.go",
			Data: []byte("package client\n\nconst Most = 3\n")}},
		"a type of the author": {{Name: "shop/client/alias.go",
			Data: []byte("package client\n\n// Alias is short.\ntype Alias = FindInput\n")}},
		"conflict markers": {{Name: "shop/client/mcp_client.go",
			Data: []byte("<<<<<<< ours\n" + stale + "=======\n" + stale + ">>>>>>> theirs\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := loadtest.Write(t, append(slices.Clone(txtar.Parse([]byte(clientChain)).Files),
				extra...)...)
			run := func(o generator.Options) map[string]string {
				t.Helper()
				result, err := generator.Run(loadtest.Context(t), o)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range result.Diagnostics {
					t.Errorf("%v", d)
				}
				files := map[string]string{}
				for _, f := range result.Files {
					files[f.Path] = string(f.Content)
				}
				return files
			}
			till := run(generator.Options{Dir: filepath.Join(dir, "cart", "till")})
			all, err := generator.Run(loadtest.Context(t),
				generator.Options{Dir: dir, Patterns: []string{"./..."}})
			if err != nil || len(all.Diagnostics) > 0 {
				t.Fatal(err, all.Diagnostics)
			}
			if _, err := all.Write(); err != nil {
				t.Fatal(err)
			}
			for _, f := range all.Files {
				if strings.Contains(f.Path, "till") && till[f.Path] != string(f.Content) {
					t.Errorf("%s is another file from the folder of its package", f.Path)
				}
			}
			if len(till) != 4 {
				t.Errorf("the folder of the package has the files %q", slices.Collect(maps.Keys(till)))
			}
			if again := run(generator.Options{Dir: dir, Patterns: []string{"./..."}}); len(again) > 0 {
				t.Errorf("a second run changes %q", slices.Collect(maps.Keys(again)))
			}
		})
	}
}
