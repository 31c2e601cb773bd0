package generator

import (
	"context"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

// furtherModules are modules that generated code needs if it imports a package, in addition to one
// whose path the package's path begins with.
var furtherModules = map[string]string{
	"github.com/mcpgen/mcpgen/runtime/sandbox":          "github.com/mcpgen/mcpgen/runtime/sandbox",
	"github.com/mcpgen/mcpgen/runtime/decode/validator": "github.com/santhosh-tekuri/jsonschema/v6",
}

// doubtful returns the packages that generated files import, which the file on the disk does not
// import, and whose module go.mod does not require.
func doubtful(files []emit.File) (packages []string) {
	for _, f := range files {
		dir := filepath.Dir(f.Path)
		if filepath.Base(f.Path) != emit.Code {
			continue
		}
		old, _ := os.ReadFile(f.Path)
		known, modules := imports(old), []string(nil)
		for _, path := range imports(f.Content) {
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") || slices.Contains(known, path) {
				continue // of the standard library, or the last run has found it
			}
			if modules == nil {
				modules = required(dir)
			}
			further := furtherModules[path]
			if further != "" && !slices.Contains(modules, further) ||
				!slices.ContainsFunc(modules, func(module string) bool {
					return strings.HasPrefix(path+"/", module+"/")
				}) {
				packages = append(packages, path)
			}
		}
	}
	return packages
}

func imports(source []byte) (paths []string) {
	f, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ImportsOnly)
	if err != nil {
		return nil // there is no file yet
	}
	for _, spec := range f.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// required returns the module that a directory is in, and those that its go.mod requires.
func required(dir string) (modules []string) {
	for ; ; dir = filepath.Dir(dir) {
		name := filepath.Join(dir, "go.mod")
		text, err := os.ReadFile(name)
		if err != nil && dir != filepath.Dir(dir) {
			continue
		}
		f, err := modfile.ParseLax(name, text, nil)
		if err != nil || f.Module == nil {
			return nil
		}
		modules = append(modules, f.Module.Mod.Path)
		for _, r := range f.Require {
			modules = append(modules, r.Mod.Path)
		}
		return modules
	}
}

// unprovided returns those of packages, and of what they import, that the go command does not find:
// a workspace or a vendor directory may have what go.mod lacks. Handlers may import a package that
// is not found as well, which is not among them. Neither is a package of the main modules, such as
// a typed client that is not generated yet.
func unprovided(ctx context.Context, o Options, packages []string) []string {
	if len(packages) == 0 {
		return nil
	}
	// It returns nothing after an error, which the next build reports.
	list := func(args ...string) []string {
		cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
		cmd.Dir = o.Dir
		out, err := cmd.Output()
		if err != nil {
			return nil
		}
		return strings.Fields(string(out))
	}
	missing := list(append([]string{"-e", "-deps",
		"-f", "{{if and .Error (not .Dir)}}{{.ImportPath}}{{end}}", "--"}, packages...)...)
	if len(missing) == 0 {
		return nil
	}
	modules := list("-m")
	return slices.DeleteFunc(missing, func(path string) bool {
		return slices.ContainsFunc(modules, func(module string) bool {
			return strings.HasPrefix(path+"/", module+"/")
		})
	})
}
