package schema

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/invopop/jsonschema"
	"golang.org/x/tools/go/packages"

	corpus "github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types"
)

const base = "github.com/mcpgen/mcpgen/generator/internal/schema/"

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

// Local holds for all but one: package other plays the part of another module.
func (s syntax) Local(pkg *types.Package) bool {
	return s[pkg.Path()] != nil && pkg.Name() != "other"
}

func (s syntax) TypeDoc(name *types.TypeName) string {
	return s.comment(name.Pkg(), func(n ast.Node) *ast.CommentGroup {
		if decl, ok := n.(*ast.GenDecl); ok && decl.Tok == token.TYPE {
			for _, spec := range decl.Specs {
				if spec := spec.(*ast.TypeSpec); spec.Name.Pos() == name.Pos() {
					if decl.Lparen.IsValid() {
						return spec.Doc
					}
					return decl.Doc
				}
			}
		}
		return nil
	})
}

func (s syntax) FieldDoc(v *types.Var) string {
	return s.comment(v.Pkg(), func(n ast.Node) *ast.CommentGroup {
		field, ok := n.(*ast.Field)
		named := ok && slices.ContainsFunc(field.Names, func(id *ast.Ident) bool { return id.Pos() == v.Pos() })
		embeds := ok && len(field.Names) == 0 && field.Pos() <= v.Pos() && v.Pos() < field.End()
		switch {
		case !named && !embeds:
			return nil
		case field.Doc.Text() == "":
			return field.Comment
		}
		return field.Doc
	})
}

// comment is the first that find returns of a package's syntax.
func (s syntax) comment(of *types.Package, find func(ast.Node) *ast.CommentGroup) string {
	pkg := s[of.Path()]
	if pkg == nil {
		return ""
	}
	var found *ast.CommentGroup
	for _, file := range pkg.Syntax {
		ast.Inspect(file, func(n ast.Node) bool {
			if found == nil && n != nil {
				found = find(n)
			}
			return found == nil
		})
	}
	return strings.TrimSpace(found.Text())
}

func (s syntax) ConditionalMethod(*types.Func) bool { return false }

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
