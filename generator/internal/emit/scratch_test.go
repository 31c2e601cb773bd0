package emit

import (
	"bytes"
	"errors"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator/internal/compileguard"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/testgo"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// newScratch makes a module example.com that uses this repository by replace directives and
// requires the modules that it needs, so that the go command does not resolve anything.
func newScratch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := testrepo.WriteModule(testrepo.Root(t), "example.com", dir, "runtime/sandbox")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// copySources copies what the author wrote.
func copySources(t *testing.T, from, to string) {
	t.Helper()
	copyFiles(t, from, to, func(name string) bool { return name != Code && name != Test })
}

// copyAll copies what is generated as well.
func copyAll(t *testing.T, from, to string) {
	t.Helper()
	copyFiles(t, from, to, func(string) bool { return true })
}

func copyFiles(t *testing.T, from, to string, want func(name string) bool) {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	nested, err := filepath.Glob(filepath.Join(from, "*", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range append(sources, nested...) {
		rel, err := filepath.Rel(from, source)
		if err != nil {
			t.Fatal(err)
		}
		if !want(rel) {
			continue
		}
		content, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, rel), content)
	}
}

// goCommand runs the go command in a module and returns what it prints. In the quick run, packages
// are type-checked in process, and generated tests are run.
func goCommand(t *testing.T, dir, command, pattern string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	if testing.Short() {
		c := testgo.Shared(t)
		check := map[string]func(io.Writer, string, ...string) (bool, error){
			"build": c.Build, "vet": c.Vet, "test": c.Test}[command]
		ok, err := check(&out, dir, pattern)
		if err == nil && !ok {
			err = errors.New("it fails")
		}
		return out.String(), err
	}
	cmd := exec.Command("go", command, pattern)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// facts are what the compile-time guards of a package are made from, by the names of its
// declarations.
type facts struct {
	handlers []string // "Count", "Desk.Find"
	types    []string // "Parcel", "example.com/freight/unit.Mass"
	consts   []string
}

// compileGuards loads a package of the scratch module and returns the guards of some declarations.
func compileGuards(
	t *testing.T, dir, path string, want facts, tokens ...string,
) []model.CompileGuard {
	t.Helper()
	generated := "package " + filepath.Base(path) + "\n"
	for _, token := range tokens {
		generated += "type " + token + " struct{}\n"
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps,
		Dir:  dir,
		Overlay: map[string][]byte{
			filepath.Join(dir, filepath.Base(path), Code): []byte(generated),
		},
		Env: append(os.Environ(), "GOWORK=off"),
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != 1 || len(loaded[0].Errors) > 0 {
		t.Fatalf("loading %s: %v", path, loaded[0].Errors)
	}
	all := map[string]*types.Package{}
	packages.Visit(loaded, nil, func(p *packages.Package) { all[p.PkgPath] = p.Types })
	pkg := loaded[0].Types
	object := func(name string) types.Object {
		from := pkg
		if i := strings.LastIndex(name, "."); i >= 0 {
			from, name = all[name[:i]], name[i+1:]
		}
		obj := from.Scope().Lookup(name)
		if obj == nil {
			t.Fatalf("%s declares no %s", from.Path(), name)
		}
		return obj
	}
	f := compileguard.Facts{Package: pkg, Local: func(p *types.Package) bool {
		return p.Path() == "example.com" || strings.HasPrefix(p.Path(), "example.com/")
	}}
	for _, name := range want.handlers {
		if recv, method, ok := strings.Cut(name, "."); ok {
			m, _, _ := types.LookupFieldOrMethod(object(recv).Type(), true, pkg, method)
			f.Handlers = append(f.Handlers, m.(*types.Func))
			continue
		}
		f.Handlers = append(f.Handlers, object(name).(*types.Func))
	}
	for _, name := range want.types {
		f.Types = append(f.Types, object(name).(*types.TypeName))
	}
	for _, name := range want.consts {
		f.Consts = append(f.Consts, object(name).(*types.Const))
	}
	return compileguard.For(f)
}
