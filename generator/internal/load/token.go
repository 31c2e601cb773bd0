package load

import (
	"go/ast"
	"go/parser"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// tokens returns a file with the types of the tokens that handlers of the package name, in place of
// the generated file, which declares them and which Load does not read. It is nil without tokens.
func (p *Program) tokens(pkg *Package) *ast.File {
	known := map[string]bool{}
	var names []string
	note := func(recv string, name *ast.Ident, typ *ast.FuncType) {
		want := model.Handler{Recv: recv, Name: name.Name}.TokenName()
		if LastType(typ) == want {
			names = append(names, want)
		}
	}
	for _, f := range pkg.Files {
		for _, id := range declared(f.Syntax) {
			known[id.Name] = true
		}
		for _, decl := range f.Syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				note(receiverName(d), d.Name, d.Type)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					methods(spec, note)
				}
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return known[name] })
	if len(names) == 0 || !pkg.Local {
		return nil
	}
	slices.Sort(names)
	text := "package " + pkg.Name + "\n"
	for _, name := range slices.Compact(names) {
		text += "type " + name + " struct{}\n"
	}
	file, err := parser.ParseFile(p.Fset, filepath.Join(pkg.Dir, GeneratedFile), text,
		parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	return file
}

// LastType returns the name of the last parameter's type, if this type is a name without a package.
func LastType(typ *ast.FuncType) string {
	if n := len(typ.Params.List); n > 0 {
		if last, ok := typ.Params.List[n-1].Type.(*ast.Ident); ok {
			return last.Name
		}
	}
	return ""
}

// methods calls note for each method of an interface type.
func methods(spec ast.Spec, note func(recv string, name *ast.Ident, typ *ast.FuncType)) {
	t, ok := spec.(*ast.TypeSpec)
	if !ok {
		return
	}
	if i, ok := t.Type.(*ast.InterfaceType); ok {
		for _, m := range i.Methods.List {
			if typ, ok := m.Type.(*ast.FuncType); ok && len(m.Names) > 0 {
				note(t.Name.Name, m.Names[0], typ)
			}
		}
	}
}

// receiverName is the name of a method's receiver type, and "" for a func.
func receiverName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := ast.Unparen(d.Recv.List[0].Type)
	if star, ok := t.(*ast.StarExpr); ok {
		t = ast.Unparen(star.X)
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
