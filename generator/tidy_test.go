package generator

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestImportsWithoutAModuleAreDoubtful has a go.mod above the package, and a generated file on the
// disk with some of the imports.
func TestImportsWithoutAModuleAreDoubtful(t *testing.T) {
	dir := t.TempDir()
	text := "module example.com/shop\n\nrequire (\n\tgithub.com/mcpgen/mcpgen v0.0.0\n" +
		"\tgithub.com/modelcontextprotocol/go-sdk v1.8.0 // indirect\n)\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o777); err != nil {
		t.Fatal(err)
	}
	code := func(imports ...string) []byte {
		return []byte("package b\n\nimport (\n\t\"" + strings.Join(imports, "\"\n\t\"") + "\"\n)\n")
	}
	const runtime = "github.com/mcpgen/mcpgen/runtime/"
	for _, tt := range []struct {
		old, imports []string
		want         string
	}{
		{nil, []string{"context", "encoding/json", runtime + "toolset", "example.com/shop/c",
			"github.com/modelcontextprotocol/go-sdk/mcp"}, ""},
		{nil, []string{"example.com/shopping"}, "example.com/shopping"},
		{nil, []string{runtime + "decode/validator"}, runtime + "decode/validator"},
		{nil, []string{runtime + "sandbox"}, runtime + "sandbox"},
		{[]string{runtime + "sandbox"}, []string{runtime + "sandbox", runtime + "decode"}, ""},
		{[]string{runtime + "decode"}, []string{runtime + "sandbox", runtime + "decode"},
			runtime + "sandbox"},
	} {
		file := filepath.Join(below, emit.Code)
		if tt.old != nil {
			if err := os.WriteFile(file, code(tt.old...), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got := doubtful([]emit.File{{Path: file, Content: code(tt.imports...)},
			{Path: filepath.Join(below, emit.Test), Content: code("example.net/x")}})
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q after %q: got %q", tt.imports, tt.old, got)
		}
	}
}

// TestFurtherModulesAreComplete lists the modules of the packages that generated code imports. The
// command needs all but furtherModules itself, so that they are in go.mod with the command.
func TestFurtherModulesAreComplete(t *testing.T) {
	root := testrepo.Root(t)
	modules := func(packages ...string) []string {
		cmd := exec.Command("go", append([]string{"list", "-deps",
			"-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Fields(string(out))
		slices.Sort(all)
		return slices.Compact(all)
	}
	known := modules("./cmd/mcpgen")
	for _, further := range furtherModules {
		known = append(known, further)
	}
	for _, module := range modules("./runtime/access", "./runtime/decode", "./runtime/decode/validator",
		"./runtime/grant", "./runtime/isolate", "./runtime/toolclient", "./runtime/toolset") {
		// golang.org/x/text comes with the validator's own module.
		if !slices.Contains(known, module) && module != "golang.org/x/text" {
			t.Errorf("generated code needs %s, which furtherModules lacks", module)
		}
	}
}
