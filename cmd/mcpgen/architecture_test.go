package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// namedFunc is a function in a page: `guard.(*Guard).steps`, `worker.Run`,
// `runtime.Options.withDefaults`.
var namedFunc = regexp.MustCompile("`([a-z]+)\\.(?:\\(\\*(\\w+)\\)\\.)?(\\w+)(?:\\.(\\w+))?`")

// TestArchitectureNamesWhatExists checks each function, method and type that the page and AGENTS.md
// name in code font against the declarations of its package.
func TestArchitectureNamesWhatExists(t *testing.T) {
	root := testrepo.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(filepath.Join(root, "AGENTS.md"))
	if err != nil {
		t.Fatal(err)
	}
	page = append(page, rules...)
	declared := map[string]map[string]bool{}
	found := namedFunc.FindAllStringSubmatch(string(page), -1)
	if len(found) < 25 {
		t.Fatalf("the page names %d functions", len(found))
	}
	for _, m := range found {
		pkg, name := m[1], m[3]
		if m[2] != "" {
			name = m[2] + "." + m[3]
		} else if m[4] != "" {
			name = m[3] + "." + m[4]
		}
		if declared[pkg] == nil {
			declared[pkg] = declarations(t, filepath.Join(root, "runtime", "internal", pkg))
			if len(declared[pkg]) == 0 {
				declared[pkg] = declarations(t, filepath.Join(root, pkg))
			}
		}
		if !declared[pkg][name] {
			t.Errorf("%s is not declared", m[0])
		}
	}
}

// TestArchitectureBeginsWithATenthOfTheCode compares the files to read first with the source.
func TestArchitectureBeginsWithATenthOfTheCode(t *testing.T) {
	root := testrepo.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := func(file string) int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		return bytes.Count(text, []byte("\n"))
	}
	first, all := 0, 0
	row := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| (all|(?:\\w+\\.go(?:, )?)+) \\| ([0-9,]+) \\|")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		names := strings.Split(m[2], ", ")
		if m[2] == "all" {
			names = []string{"*.go"}
		}
		n := 0
		for _, name := range names {
			files, err := filepath.Glob(filepath.Join(root, m[1], name))
			if err != nil || len(files) == 0 {
				t.Errorf("%s has no %s", m[1], name)
			}
			for _, file := range files {
				if !strings.HasSuffix(file, "_test.go") {
					n += lines(file)
				}
			}
		}
		first += n
		if stated, err := strconv.Atoi(strings.ReplaceAll(m[3], ",", "")); err != nil ||
			max(n, stated)-min(n, stated) > 50+n/10 {
			t.Errorf("%s, %s: the page states %s lines, and there are %d", m[1], m[2], m[3], n)
		}
	}
	for _, top := range []string{"runtime", "generator", "cmd", "internal", "sourcehash"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				all += lines(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if first < all/12 || first > all/8 {
		t.Errorf("the files to read first have %d of %d lines", first, all)
	}
}

// TestArchitectureNamesAllPackagesAndSteps checks that the page has each package of the runtime
// that the walls order, and each step of the guard in its order.
func TestArchitectureNamesAllPackagesAndSteps(t *testing.T) {
	root := testrepo.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(kernel, ground) {
		if strings.HasPrefix(name, "runtime") && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page has no package %s", name)
		}
	}
	chain, err := os.ReadFile(filepath.Join(root, "runtime", "internal", "guard", "chain.go"))
	if err != nil {
		t.Fatal(err)
	}
	var steps, listed []string
	step := regexp.MustCompile(`(?m)^\t\tg\.(\w+),$`)
	whole, _, _ := strings.Cut(string(chain), "func (g *Guard) taskSteps")
	for _, m := range step.FindAllStringSubmatch(whole, -1) {
		steps = append(steps, m[1])
	}
	row := regexp.MustCompile("(?m)^\\| `guard\\.\\(\\*Guard\\)\\.(\\w+)` \\|")
	for _, m := range row.FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1])
	}
	if len(steps) < 10 || !slices.Equal(steps, listed) {
		t.Errorf("the page lists the steps\n%q, the chain has\n%q", listed, steps)
	}
}

// declarations returns the functions, types and methods (as Type.Method) of the package in a
// folder.
func declarations(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						names[s.Name.Name] = true
					}
				}
			case *ast.FuncDecl:
				names[receiver(d)+d.Name.Name] = true
			}
		}
	}
	return names
}

// receiver returns "Type." of a method, and "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	expr := d.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if index, ok := expr.(*ast.IndexExpr); ok {
		expr = index.X
	}
	if ident, ok := expr.(*ast.Ident); ok {
		return ident.Name + "."
	}
	return ""
}
