package schema

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/types"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/invopop/jsonschema"
	"golang.org/x/tools/go/packages"

	corpus "github.com/mcpgen/mcpgen/generator/schema/testdata/types"
)

const base = "github.com/mcpgen/mcpgen/generator/schema/"

// syntax is a Source that reads the packages of a test.
type syntax map[string]*packages.Package

var load = sync.OnceValues(func() (syntax, error) {
	mode := packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedImports | packages.NeedFiles
	list, err := packages.Load(&packages.Config{Mode: mode}, "./testdata/types", "./testdata/types/other", "./testdata/types/odd.v2")
	if err != nil {
		return nil, err
	}
	src := syntax{}
	for _, pkg := range list {
		for _, err := range pkg.Errors {
			return nil, err
		}
		src[pkg.PkgPath] = pkg
	}
	return src, nil
})

func source(t *testing.T) syntax {
	t.Helper()
	src, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// walker walks on behalf of one of the test packages.
func walker(t *testing.T, pkg string, src Source) *Walker {
	t.Helper()
	return New(source(t)[base+"testdata/"+pkg].Types, src)
}

// typeOf finds a type of a test package by name.
func typeOf(t *testing.T, pkg, name string) types.Type {
	t.Helper()
	obj := source(t)[base+"testdata/"+pkg].Types.Scope().Lookup(name)
	if obj == nil {
		t.Fatalf("package %s has no %s", pkg, name)
	}
	return obj.Type()
}

func (s syntax) Local(pkg *types.Package) bool { return s[pkg.Path()] != nil }

func (s syntax) TypeDoc(name *types.TypeName) string {
	spec, decl := s.spec(name)
	if spec == nil {
		return ""
	}
	doc := spec.Doc.Text()
	if doc == "" {
		doc = decl.Doc.Text()
	}
	return strings.TrimSpace(doc)
}

func (s syntax) FieldDoc(owner *types.TypeName, path ...string) string {
	spec, _ := s.spec(owner)
	if spec == nil {
		return ""
	}
	expr := spec.Type
	doc := ""
	for _, name := range path {
		field := fieldOf(expr, name)
		if field == nil {
			return ""
		}
		doc, expr = field.Doc.Text(), field.Type
		if doc == "" {
			doc = field.Comment.Text()
		}
	}
	return strings.TrimSpace(doc)
}

// fieldOf finds a field of the struct that a type expression holds.
func fieldOf(expr ast.Expr, name string) *ast.Field {
	var found *ast.Field
	ast.Inspect(expr, func(n ast.Node) bool {
		u, ok := n.(*ast.StructType)
		if !ok || found != nil {
			return found == nil
		}
		for _, field := range u.Fields.List {
			for _, id := range field.Names {
				if id.Name == name {
					found = field
				}
			}
			if len(field.Names) == 0 && strings.HasSuffix(types.ExprString(field.Type), name) {
				found = field
			}
		}
		return false
	})
	return found
}

func (s syntax) spec(name *types.TypeName) (*ast.TypeSpec, *ast.GenDecl) {
	pkg := s[name.Pkg().Path()]
	if pkg == nil {
		return nil, nil
	}
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == name.Name() {
					return spec, gen
				}
			}
		}
	}
	return nil, nil
}

func (s syntax) Enum(name *types.TypeName) []*types.Const {
	pkg := s[name.Pkg().Path()]
	if pkg == nil {
		return nil
	}
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			var list []*types.Const
			for _, spec := range gen.Specs {
				spec, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for _, id := range spec.Names {
					if c, ok := pkg.TypesInfo.Defs[id].(*types.Const); ok && types.Identical(c.Type(), name.Type()) {
						list = append(list, c)
					}
				}
			}
			if len(list) > 1 {
				return list
			}
		}
	}
	return nil
}

// cases calls f with both views of every case of the corpus.
func cases(t *testing.T, f func(t *testing.T, static types.Type, dynamic reflect.Type)) {
	statics := typeOf(t, "types", "Corpus").Underlying().(*types.Struct)
	dynamics := reflect.TypeFor[corpus.Corpus]()
	for i := range statics.NumFields() {
		t.Run(statics.Field(i).Name(), func(t *testing.T) {
			f(t, statics.Field(i).Type(), dynamics.Field(i).Type)
		})
	}
}

func encode(t *testing.T, s *jsonschema.Schema) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func compact(t *testing.T, s *jsonschema.Schema) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
