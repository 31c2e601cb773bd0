package callpath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	modulePath = "github.com/mcpgen/mcpgen"
	tracePath  = "internal/callpath/trace"
)

// Overlay writes copies of the files of packages, whose functions record in package trace that they
// are entered, and the file that go build -overlay reads. It returns the path of that file. root is
// the module's root, packages are paths from there, and replace has further files of the overlay.
//
// The checkout itself stays as it is, and the build cache keeps the packages, because their paths
// are the same in every run.
func Overlay(root, dir string, packages []string, replace map[string]string) (string, error) {
	replace = maps.Collect(maps.All(replace)) // not nil
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*.go"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			read := file
			if other, ok := replace[file]; ok {
				read = other
			}
			source, err := os.ReadFile(read)
			if err != nil {
				return "", err
			}
			instrumented, err := instrument(path.Join(pkg, filepath.Base(file)), source)
			if err != nil {
				return "", err
			}
			copied := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
			if err := os.WriteFile(copied, instrumented, 0o600); err != nil {
				return "", err
			}
			replace[file] = copied
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// instrument adds one call of package trace to the start of every function of a file, function
// literals included. Lines keep their numbers. name is the file's path from the module's root.
func instrument(name string, source []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var bodies []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch f := n.(type) {
		case *ast.FuncDecl:
			body = f.Body
		case *ast.FuncLit:
			body = f.Body
		}
		if body != nil {
			bodies = append(bodies, body.Lbrace)
		}
		return true
	})
	if len(bodies) == 0 {
		return source, nil
	}
	slices.Sort(bodies)
	var out bytes.Buffer
	copied := 0
	insert := func(after token.Pos, format string, args ...any) {
		offset := files.Position(after).Offset
		out.Write(source[copied:offset])
		fmt.Fprintf(&out, format, args...)
		copied = offset
	}
	insert(file.Name.End(), "; import callpathTrace %q", modulePath+"/"+tracePath)
	for _, brace := range bodies {
		insert(brace+1, "callpathTrace.Enter(%q, %d);", name, files.Position(brace).Line)
	}
	out.Write(source[copied:])
	return out.Bytes(), nil
}
