package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// maxNames bounds the exported names of packages that generated code uses. maxOtherNames bounds
// those of all other public packages of the runtime together.
var maxNames = map[string]int{
	"runtime/toolset": 56, "runtime/decode": 86, "runtime/decode/validator": 1,
	"runtime/toolclient": 14,
}

const maxOtherNames = 520

// TestWallsLimitExportedNames counts functions, types, constants and variables that are exported at
// the top level. A name counts once in a package, also if files of several systems declare it.
func TestWallsLimitExportedNames(t *testing.T) {
	others := 0
	for _, name := range runtimePackages(t) {
		if strings.Contains(name+"/", "/internal/") || strings.Contains(name, "/testdata/") {
			continue
		}
		n := len(exportedNames(t, name))
		most, bounded := maxNames[name]
		switch {
		case !bounded:
			others += n
			t.Logf("%4d %s", n, name)
		case n > most:
			t.Errorf("%s has %d exported names, limit %d", name, n, most)
		}
	}
	if others > maxOtherNames {
		t.Errorf("the other packages of the runtime have %d exported names, limit %d: make names of "+
			"the inside internal (go test -v lists the packages)", others, maxOtherNames)
	}
}

func exportedNames(t *testing.T, name string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	add := func(all ...*ast.Ident) {
		for _, n := range all {
			if n.IsExported() {
				names[n.Name] = true
			}
		}
	}
	for _, file := range sourcesOf(t, name) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						add(spec.Names...)
					}
				}
			}
		}
	}
	return names
}
