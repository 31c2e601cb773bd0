package systemtest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// adopter writes a module with these lines in its go.mod, which requires the root module of mcpgen
// and replaces modules by those of the checkout. It returns a func that runs the go command there.
func adopter(t *testing.T, gomod, source string) func(args ...string) string {
	t.Helper()
	dir := t.TempDir()
	gomod = "module example.com/adopter\n\ngo 1.26.0\n\nrequire " + testrepo.Module +
		" v0.0.0\n\n" + gomod
	for _, folder := range []string{"", "/generator", "/cmd/mcpgen"} {
		gomod += fmt.Sprintf("\nreplace %s => %q\n", testrepo.Module+folder,
			testrepo.Root(t)+folder)
	}
	for name, text := range map[string]string{"main.go": source, "go.mod": gomod} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		// The flags of the caller stay, so that no package is compiled a second time.
		cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		return string(out)
	}
}

// TestModuleThatPinsOpenTelemetryStillBuilds adds mcpgen to a module whose versions of
// OpenTelemetry's log modules do not build with later versions of go.opentelemetry.io/otel/log.
func TestModuleThatPinsOpenTelemetryStillBuilds(t *testing.T) {
	run := adopter(t, `require (
	go.opentelemetry.io/contrib/bridges/otelslog v0.18.0
	go.opentelemetry.io/otel/sdk/log v0.19.0
)
`, `package main

import (
	_ "github.com/mcpgen/mcpgen/runtime"
	_ "go.opentelemetry.io/contrib/bridges/otelslog"
	_ "go.opentelemetry.io/otel/sdk/log"
)

func main() {}
`)
	run("build", "-o", os.DevNull, ".")
	got := run("list", "-m", "go.opentelemetry.io/otel/log")
	if want := "go.opentelemetry.io/otel/log v0.19.0\n"; got != want {
		t.Errorf("mcpgen changes the version: %q, want %q", got, want)
	}
}

// TestInstallDownloadsLittle adds up what a first use of mcpgen puts into an empty module cache:
// archive and files of each module that the command or a service of one tool is built from. go mod
// tidy of the service also loads the tests of these packages.
func TestInstallDownloadsLittle(t *testing.T) {
	const most, mostOfTidy = 90 << 20, 80 << 20
	run := adopter(t, tool, `package main

import (
	_ "github.com/mcpgen/mcpgen/runtime"
	_ "github.com/mcpgen/mcpgen/runtime/toolset"
)

func main() {}
`)
	list := func(args ...string) []string {
		return strings.Fields(run(append([]string{"list", "-deps", "-f"}, args...)...))
	}
	const modules = "{{with .Module}}{{if not .Replace}}{{.Path}}@{{.Version}}{{end}}{{end}}"
	downloads(t, run, most, list(modules, ".", testrepo.Module+"/cmd/mcpgen"))
	packages := list("{{if not .Standard}}{{.ImportPath}}{{end}}", ".",
		testrepo.Module+"/cmd/mcpgen")
	downloads(t, run, mostOfTidy, list(append([]string{modules, "-test"}, packages...)...))
}

// downloads adds up the archives and files of modules.
func downloads(t *testing.T, run func(...string) string, most int64, modules []string) {
	t.Helper()
	slices.Sort(modules)
	var total int64
	for _, module := range slices.Compact(modules) {
		if strings.HasPrefix(module, "example.com/") {
			continue
		}
		var at struct{ Zip, Dir string }
		if err := json.Unmarshal([]byte(run("mod", "download", "-json", module)), &at); err != nil {
			t.Fatal(err)
		}
		size := bytesBelow(t, at.Zip) + bytesBelow(t, at.Dir)
		total += size
		t.Logf("%6d KiB %s", size>>10, module)
	}
	t.Logf("%6d KiB", total>>10)
	if total > most || len(modules) == 0 {
		t.Errorf("%d MiB from %d modules, want at most %d", total>>20, len(modules), most>>20)
	}
}

// bytesBelow adds up the sizes of files.
func bytesBelow(t *testing.T, path string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// tool is a line of go.mod that adds the command mcpgen.
const tool = "tool " + testrepo.Module + "/cmd/mcpgen\n"

// TestServiceOfOneToolListsFewModules counts the modules of a service that serves generated code,
// without and with the command as a tool.
func TestServiceOfOneToolListsFewModules(t *testing.T) {
	for _, test := range []struct {
		gomod string
		most  int
		none  []string // words in the paths of modules that the service must not list
	}{
		{"", 20, []string{"jennifer", "invopop", "ordered-map", "cobra", "mcpgen/mcpgen/"}},
		{tool, 43, nil},
	} {
		run := adopter(t, test.gomod, `package main

import (
	_ "github.com/mcpgen/mcpgen/runtime"
	_ "github.com/mcpgen/mcpgen/runtime/toolset"
)

func main() {}
`)
		run("mod", "tidy")
		all := strings.Fields(run("list", "-m", "-f", "{{.Path}}", "all"))
		t.Logf("%d modules", len(all))
		unwanted := slices.ContainsFunc(all, func(path string) bool {
			return slices.ContainsFunc(test.none, func(word string) bool {
				return strings.Contains(path, word)
			})
		})
		if len(all) > test.most || unwanted {
			t.Errorf("%d modules, want at most %d, and none of %v:\n%s\n%s", len(all), test.most,
				test.none, strings.Join(all, "\n"), run("mod", "graph"))
		}
	}
}

// TestRuntimeKeepsTheReflectorOfItsUser adds the runtime to a module that sets the properties of a
// schema to the map of invopop/jsonschema 0.13. Version 0.14, which the generator requires, has
// another map.
func TestRuntimeKeepsTheReflectorOfItsUser(t *testing.T) {
	run := adopter(t, `require (
	github.com/invopop/jsonschema v0.13.0
	github.com/wk8/go-ordered-map/v2 v2.1.8
)
`, `package main

import (
	"github.com/invopop/jsonschema"
	orderedmap "github.com/wk8/go-ordered-map/v2"

	_ "github.com/mcpgen/mcpgen/runtime"
	_ "github.com/mcpgen/mcpgen/runtime/toolset"
)

func main() {
	s := &jsonschema.Schema{Properties: orderedmap.New[string, *jsonschema.Schema]()}
	s.Properties.Set("name", &jsonschema.Schema{Type: "string"})
}
`)
	run("mod", "tidy")
	run("build", "-o", os.DevNull, ".")
	got := run("list", "-m", "github.com/invopop/jsonschema")
	if want := "github.com/invopop/jsonschema v0.13.0\n"; got != want {
		t.Errorf("mcpgen changes the version: %q, want %q", got, want)
	}
}
