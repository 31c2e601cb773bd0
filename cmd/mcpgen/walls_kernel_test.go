package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// kernel is package runtime and the packages under runtime/internal, from top to bottom. Each of
// them may import the packages below it, and those of ground.
var kernel = []string{
	"runtime",
	"runtime/internal/transport",
	"runtime/internal/resume",
	"runtime/internal/session",
	"runtime/internal/upstream",
	"runtime/internal/guard",
	"runtime/internal/invoke",
	"runtime/internal/limit",
	"runtime/internal/discovery",
	"runtime/internal/notify",
	"runtime/internal/principal",
	"runtime/internal/wire",
	"runtime/internal/request",
	"runtime/internal/credential",
	"runtime/internal/keypair", "runtime/internal/worker", "runtime/internal/tasks",
}

// ground are the packages that all packages of the kernel may import: the contracts, public
// packages that do not import the runtime, and internal packages that import nothing of it.
var ground = []string{
	"runtime/toolset", "runtime/observe", "runtime/isolate", "runtime/intercept",
	"runtime/access", "runtime/audit", "runtime/boundary", "runtime/capability", "runtime/catalog",
	"runtime/decode", "runtime/grant", "runtime/identity", "runtime/redact", "runtime/task",
	"internal/loader", "internal/descriptors", "internal/uritemplate", "internal/editdistance",
	"internal/roleorder", "internal/structured", "internal/pattern", "internal/boundaryitem",
	"internal/guardedtype",
}

// importsAllowed returns the packages of this module that a package may import, and false if
// there is no rule for the package.
func importsAllowed(name string) ([]string, bool) {
	if i := slices.Index(kernel, name); i >= 0 {
		return slices.Concat(kernel[i+1:], ground), true
	}
	below, inside := strings.CutPrefix(name, "generator/internal/")
	if !inside {
		allowed, known := mayImport[name]
		return allowed, known
	}
	relative, known := mayImportBelow[below]
	var allowed []string
	for _, name := range relative {
		own, fromRoot := strings.CutPrefix(name, "/")
		if !fromRoot {
			own = "generator/internal/" + name
		}
		allowed = append(allowed, own)
	}
	return allowed, known
}

// linksAllowed returns outside, with the packages of kernel that exist and with internal/loader.
func linksAllowed(t *testing.T) map[string]links {
	t.Helper()
	allowed := maps.Clone(outside)
	for _, name := range kernel {
		if len(sourcesOf(t, name)) > 0 {
			allowed[name] = links{sdk: true}
		}
	}
	if len(sourcesOf(t, "internal/loader")) > 0 {
		allowed["internal/loader"] = links{}
	}
	return allowed
}

// The largest number of files of a package, without tests, and of one of the kernel. A larger
// package is difficult to read as a whole: divide it.
const (
	maxFiles         = 15
	maxFilesOfKernel = 12
)

// sdkServerTypes are the types of go-sdk whose users depend on go-sdk's server. Only package
// runtime and package upstream may name them, so that the other packages work without that server.
var sdkServerTypes = []string{"ServerSession", "Server", "MethodHandler", "Middleware"}

func TestWallsLimitFilesOfAPackage(t *testing.T) {
	for _, p := range packagesOf(t, "-e", "work") {
		name := strings.TrimPrefix(p.ImportPath, modulePath+"/")
		limit := maxFiles
		if strings.HasPrefix(name, "runtime/internal/") {
			limit = maxFilesOfKernel
		}
		if n := len(sourcesOf(t, name)); n > limit {
			t.Errorf("%s has %d files without tests, limit %d: divide the package", name, n, limit)
		}
	}
}

func TestWallsAroundSDKServer(t *testing.T) {
	for _, name := range runtimePackages(t) {
		if name == "runtime" || name == "runtime/internal/upstream" {
			continue
		}
		for _, file := range sourcesOf(t, name) {
			for _, used := range sdkServerTypesIn(t, file, nil) {
				t.Errorf("%s: only runtime and runtime/internal/upstream may use this type", used)
			}
		}
	}
}

func TestWallsFindSDKServerTypesUnderAnyImportName(t *testing.T) {
	const sdk = `"github.com/modelcontextprotocol/go-sdk/mcp"`
	for source, want := range map[string]string{
		"import " + sdk + "\nvar s *mcp.Server\nvar r mcp.Request": "a.go:3:8: mcp.Server",
		"import sdk " + sdk + "\nfunc f(sdk.MethodHandler) {}":     "a.go:3:8: mcp.MethodHandler",
		"import . " + sdk + "\nvar s *Server":                      "a.go:2:8: import with a dot",
		"import mcp \"example.com/mcp\"\nvar s *mcp.Server":        "",
	} {
		got := strings.Join(sdkServerTypesIn(t, "a.go", "package p\n"+source), "\n")
		if got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// sdkServerTypesIn returns the places where a file names one of sdkServerTypes. The source is read
// from the file if it is nil.
func sdkServerTypesIn(t *testing.T, name string, source any) (used []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	imported := ""
	for _, spec := range file.Imports {
		from, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case from != "github.com/modelcontextprotocol/go-sdk/mcp":
		case spec.Name == nil:
			imported = path.Base(from)
		case spec.Name.Name == ".":
			used = append(used, files.Position(spec.Pos()).String()+": import with a dot")
		default:
			imported = spec.Name.Name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(sdkServerTypes, selector.Sel.Name) {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == imported {
			place := files.Position(of.Pos()).String()
			used = append(used, place+": mcp."+selector.Sel.Name)
		}
		return true
	})
	return used
}

// runtimePackages returns the packages below runtime, as paths from the module's root.
func runtimePackages(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, p := range packagesOf(t, "-e", "work") {
		name := strings.TrimPrefix(p.ImportPath, modulePath+"/")
		if within(name, "runtime/...") {
			names = append(names, name)
		}
	}
	return names
}

// sourcesOf returns the files of a package for all systems, without its tests.
func sourcesOf(t *testing.T, name string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testrepo.Root(t), name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return strings.HasSuffix(file, "_test.go")
	})
}
