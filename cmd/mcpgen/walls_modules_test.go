package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// mayRequire are the modules that a module of this repository may require directly, by its folder.
// A nested module may also require what the root requires. Users of a module get its requirements
// as lowest versions, those of its tests as well.
var mayRequire = map[string][]string{
	// The requirements of the SDK, of a validator and of unit tests: none of the generator.
	".": {
		"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go",
		"github.com/yosida95/uritemplate/v3", "github.com/santhosh-tekuri/jsonschema/v6",
		"go.yaml.in/yaml/v4", "pgregory.net/rapid",
	},
	"generator": {
		"github.com/dave/jennifer", "github.com/ettle/strcase", "github.com/invopop/jsonschema",
		"github.com/rogpeppe/go-internal", "github.com/spf13/cobra", "golang.org/x/mod",
		"golang.org/x/sync", "golang.org/x/tools",
	},
	"cmd/mcpgen": {
		modulePath + "/generator", "github.com/rogpeppe/go-internal", "github.com/spf13/cobra",
		"golang.org/x/mod",
	},
	"cmd/mcpgen-openapi": {
		modulePath + "/generator", "github.com/getkin/kin-openapi",
		"github.com/rogpeppe/go-internal", "github.com/spf13/cobra",
	},
	"cmd/mcpgen-prove": {
		modulePath + "/generator", "github.com/google/capslock",
		"github.com/rogpeppe/go-internal", "github.com/spf13/cobra", "golang.org/x/tools",
	},
	// It requires no golangci-lint: that program is built with the plugin.
	"generator/vet/golangci": {
		modulePath + "/generator", "github.com/golangci/plugin-module-register",
		"golang.org/x/tools",
	},
	"runtime/identity/oidc": {
		"github.com/go-jose/go-jose/v4", "golang.org/x/oauth2", "golang.org/x/sync",
	},
	"runtime/sandbox": {
		"golang.org/x/sys", "golang.org/x/time",
		"github.com/landlock-lsm/go-landlock", "kernel.org/pub/linux/libs/security/libcap/psx",
	},
	"runtime/telemetry": {
		"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/metric",
		"go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/sdk",
		"go.opentelemetry.io/otel/sdk/metric",
	},
	"runtime/store": {
		"github.com/jackc/pgx/v5", "github.com/pressly/goose/v3", "modernc.org/sqlite",
	},
	"runtime/boundary/stored": {modulePath + "/runtime/store"},
	"runtime/catalog/stored":  {modulePath + "/runtime/store"},
	"runtime/grant/stored":    {modulePath + "/runtime/store"},
	"runtime/admin": {
		modulePath + "/runtime/store", modulePath + "/runtime/catalog/stored",
		modulePath + "/runtime/grant/stored",
		"github.com/danielgtaylor/huma/v2", "github.com/jackc/pgx/v5", "golang.org/x/net",
		"modernc.org/sqlite",
	},
	"internal/site": {"github.com/yuin/goldmark"},
	// Small servers, and the demo, which links neither a database nor an exporter.
	"examples": {},
	"examples/demo": {
		modulePath + "/examples", modulePath + "/examples/team",
		modulePath + "/examples/workspace", modulePath + "/runtime/sandbox",
	},
	// They may require all others.
	"examples/inventory": nil, "examples/team": nil, "examples/workspace": nil,
	"internal/systemtest": nil, "generator/internal/systemtest": nil,
}

// TestWallsBetweenModules reads the go.mod files of go.work.
func TestWallsBetweenModules(t *testing.T) {
	root := testrepo.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		t.Fatal(err)
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]bool{} // of this repository's modules
	for _, use := range work.Use {
		folder := filepath.ToSlash(filepath.Clean(use.Path))
		may, known := mayRequire[folder]
		if !known {
			t.Errorf("module %s has no rule: add it to mayRequire", folder)
			continue
		}
		name := filepath.Join(root, folder, "go.mod")
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		mod, err := modfile.Parse(name, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		replaced := map[string]bool{}
		for _, r := range mod.Replace {
			replaced[r.Old.Path] = true
		}
		for _, r := range mod.Require {
			own := within(r.Mod.Path, modulePath+"/...")
			if own {
				versions[r.Mod.Version] = true
				if !replaced[r.Mod.Path] {
					t.Errorf("%s does not replace %s by its folder", name, r.Mod.Path)
				}
			}
			allowed := may == nil || folder != "." && r.Mod.Path == modulePath ||
				slices.Contains(may, r.Mod.Path) || slices.Contains(mayRequire["."], r.Mod.Path)
			if !r.Indirect && !allowed {
				t.Errorf("%s requires %s", name, r.Mod.Path)
			}
			if folder == "." && own {
				t.Errorf("the root requires the nested module %s", r.Mod.Path)
			}
		}
		if mod.Go.Version != work.Go.Version {
			t.Errorf("%s has Go %s, and go.work %s", name, mod.Go.Version, work.Go.Version)
		}
	}
	if len(versions) != 1 {
		t.Errorf("modules require different versions of this repository's modules: %v", versions)
	}
	for folder := range mayRequire {
		if !strings.Contains(string(text), folder) {
			t.Errorf("go.work does not have %s", folder)
		}
	}
}
