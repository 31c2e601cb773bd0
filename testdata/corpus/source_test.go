package corpus

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/invopop/jsonschema"
	"github.com/mcpgen/mcpgen/generator/schema"
)

// commented are the packages whose comments both sides read.
var commented = []string{
	"github.com/mcpgen/mcpgen/testdata/corpus",
	"github.com/mcpgen/mcpgen/testdata/corpus/far",
	"github.com/mcpgen/mcpgen/generator/schema/testdata/types",
	"github.com/mcpgen/mcpgen/generator/schema/testdata/types/other",
	"github.com/mcpgen/mcpgen/generator/schema/testdata/types/odd.v2",
	"k8s.io/api/core/v1",
	"k8s.io/apimachinery/pkg/apis/meta/v1",
	"github.com/google/go-github/v74/github",
	"github.com/aws/aws-sdk-go-v2/service/s3/types",
}

// source answers from syntax. Comments are those of the source, lines and all, since the
// Reflector's are: package load, which serves generation, gives a paragraph as one line.
type source struct {
	packages map[string]*packages.Package
	specs    map[string]declared // by path and name
}

type declared struct {
	spec *ast.TypeSpec
	decl *ast.GenDecl
}

var _ schema.Source = source{}

// read loads the corpus and what is commented, from source.
func read(t *testing.T) source {
	t.Helper()
	mode := packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedImports | packages.NeedFiles
	list, err := packages.Load(&packages.Config{Mode: mode}, commented...)
	if err != nil {
		t.Fatal(err)
	}
	s := source{packages: map[string]*packages.Package{}, specs: map[string]declared{}}
	for _, pkg := range list {
		for _, err := range pkg.Errors {
			t.Fatal(err)
		}
		s.packages[pkg.PkgPath] = pkg
		for _, file := range pkg.Syntax {
			for _, decl := range file.Decls {
				decl, ok := decl.(*ast.GenDecl)
				if !ok {
					continue
				}
				for _, spec := range decl.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						s.specs[pkg.PkgPath+"."+spec.Name.Name] = declared{spec, decl}
					}
				}
			}
		}
	}
	return s
}

// reflector has the comments of the same packages.
func (s source) reflector(t *testing.T) *jsonschema.Reflector {
	t.Helper()
	r := schema.Settings()
	for path, pkg := range s.packages {
		t.Chdir(filepath.Dir(pkg.GoFiles[0]))
		if err := r.AddGoComments(path, ".", jsonschema.WithFullComment()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (s source) Local(pkg *types.Package) bool { return s.packages[pkg.Path()] != nil }

// Enum has none: constants are a rule of their own, which the Reflector does not have.
func (s source) Enum(*types.TypeName) []*types.Const { return nil }

func (s source) TypeDoc(name *types.TypeName) string {
	d := s.of(name)
	if d.spec == nil {
		return ""
	}
	doc := d.spec.Doc.Text()
	if doc == "" {
		doc = d.decl.Doc.Text()
	}
	return strings.TrimSpace(doc)
}

func (s source) FieldDoc(owner *types.TypeName, path ...string) string {
	d := s.of(owner)
	if d.spec == nil {
		return ""
	}
	expr, doc := d.spec.Type, ""
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

func (s source) of(name *types.TypeName) declared {
	if name.Pkg() == nil {
		return declared{}
	}
	return s.specs[name.Pkg().Path()+"."+name.Name()]
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
