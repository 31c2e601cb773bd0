package systemtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
	"github.com/mcpgen/mcpgen/runtime"
)

// forAgents has types whose comments are descriptions of arguments.
const forAgents = "runtime/grant/context.go"

// TestExportedNamesHaveComments reads package runtime and the public packages below it. The comment
// of a group of constants or variables is that of each. The comment of a func, method or type
// begins with its name (https://go.dev/doc/comment), and links to no name that is not exported.
// Comments with runtime.Options have fields that exist, and the types of groups.
func TestExportedNamesHaveComments(t *testing.T) {
	names := 0
	err := filepath.WalkDir(filepath.Join(testrepo.Root(t), "runtime"),
		func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
			if err != nil || ast.IsGenerated(f) {
				return err
			}
			for _, n := range exported(f) {
				names++
				if n.comment == "" {
					t.Errorf("%s: %s has no comment", fset.Position(n.pos), n.name)
				} else if !begins(n) && !strings.HasSuffix(filepath.ToSlash(path), forAgents) {
					t.Errorf("%s: the comment of %s does not begin with its name",
						fset.Position(n.pos), n.name)
				}
				for _, link := range unexportedLink.FindAllString(n.comment, -1) {
					t.Errorf("%s: the comment of %s links to %s", fset.Position(n.pos), n.name, link)
				}
			}
			for _, c := range f.Comments {
				checkOptions(t, path, c.Text())
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if names < 1000 {
		t.Errorf("found %d exported names only", names)
	}
}

var unexportedLink = regexp.MustCompile(`\[[a-z]+[A-Z]\w*\]`)

// checkOptions checks the literals of runtime.Options in a comment.
func checkOptions(t *testing.T, path, comment string) {
	for {
		_, rest, found := strings.Cut(comment, "runtime.Options{")
		if !found {
			return
		}
		comment = rest
		depth := 1
		end := strings.IndexFunc(rest, func(r rune) bool {
			depth += map[rune]int{'{': 1, '}': -1}[r]
			return depth == 0
		})
		if end < 0 {
			t.Errorf("%s: a literal of runtime.Options has no end", path)
			return
		}
		literal, err := parser.ParseExpr("runtime.Options{" + rest[:end+1])
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for _, e := range literal.(*ast.CompositeLit).Elts {
			pair, ok := e.(*ast.KeyValueExpr)
			if !ok {
				t.Errorf("%s: runtime.Options has a value without a field", path)
				continue
			}
			key := pair.Key.(*ast.Ident).Name
			field, ok := reflect.TypeFor[runtime.Options]().FieldByName(key)
			_, group := pair.Value.(*ast.CompositeLit)
			if !ok || group != (field.Type.Kind() == reflect.Struct) {
				t.Errorf("%s: runtime.Options has no field %s of this form", path, key)
			}
		}
	}
}

// name is one exported name of a file.
type name struct {
	name, comment string
	pos           token.Pos
	leads         bool // the comment has to begin with the name
}

func begins(n name) bool {
	text := n.comment
	for _, article := range []string{"A ", "An ", "The ", "Deprecated: "} {
		text = strings.TrimPrefix(text, article)
	}
	return !n.leads || strings.HasPrefix(text, n.name)
}

func exported(f *ast.File) (names []name) {
	add := func(id *ast.Ident, leads bool, comments ...*ast.CommentGroup) {
		n := name{name: id.Name, pos: id.Pos(), leads: leads}
		for _, c := range comments {
			n.comment += c.Text()
		}
		if id.IsExported() {
			names = append(names, n)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				add(d.Name, true, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, true, d.Doc, spec.Doc, spec.Comment)
					if i, ok := spec.Type.(*ast.InterfaceType); ok && spec.Name.IsExported() {
						for _, m := range i.Methods.List {
							for _, id := range m.Names {
								add(id, m.Doc != nil, m.Doc, m.Comment)
							}
						}
					}
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						add(id, false, spec.Doc, spec.Comment, d.Doc)
					}
				}
			}
		}
	}
	return names
}

// receiver is the name of the type of a receiver.
func receiver(typ ast.Expr) string {
	switch typ := typ.(type) {
	case *ast.StarExpr:
		return receiver(typ.X)
	case *ast.IndexExpr:
		return receiver(typ.X)
	case *ast.IndexListExpr:
		return receiver(typ.X)
	case *ast.Ident:
		return typ.Name
	}
	return ""
}
