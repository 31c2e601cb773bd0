package load

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// generated are the declarations of the generated file of a package, as far as its directives
// determine them.
type generated struct {
	constants map[string]string // by name: the names of tools and prompts, the URIs of resources
	tokens    []string          // types of tokens that handlers name
	funcs     []string
	client    string // the directory of the typed client
}

// generated reads the directives of a package. Load does not read the generated file, which may be
// missing or stale.
func (p *Program) generated(pkg *Package) generated {
	if pkg.generated != nil {
		return *pkg.generated
	}
	g := &generated{constants: map[string]string{}}
	pkg.generated = g
	var served []naming.Served
	var ids []string
	prefix := ""
	note := func(d handlerDecl) {
		handler := model.Handler{Recv: d.recv, Name: d.name.Name}
		if want := handler.TokenName(); LastType(d.typ) == want {
			g.tokens = append(g.tokens, want)
		}
		i := slices.IndexFunc(d.directives, func(d *directive.Directive) bool {
			return slices.Contains([]string{"tool", "prompt", "resource", "complete"}, d.Name)
		})
		if i < 0 || d.directives[i].Name == "complete" || handler.Name == "_" {
			return
		}
		by := d.directives[i]
		id := cmp.Or(by.Text("name"), naming.Snake(handler.Name))
		if by.Name == "resource" {
			id = by.Text("uri")
		}
		served = append(served, naming.Served{Kind: by.Name, Recv: handler.Recv, Name: handler.Name})
		ids = append(ids, id)
	}
	known := map[string]bool{}
	opted, named := false, false
	for _, f := range pkg.Files {
		for _, id := range declared(f.Syntax) {
			known[id.Name] = true
		}
		if f.Constrained || !pkg.Local {
			continue // directives in it are findings
		}
		opted = opted || annotated(f)
		for _, d := range serverDirectives(f.Syntax) {
			if !named {
				prefix, g.client = d.Text("prefix"), d.Text("client")
			}
			named = true
		}
		handlers(f.Syntax, note)
	}
	for i, name := range naming.Constants(served) {
		if served[i].Kind != "resource" {
			ids[i] = prefix + ids[i]
		}
		g.constants[name] = ids[i]
	}
	maps.DeleteFunc(g.constants, func(name, _ string) bool { return known[name] })
	g.tokens = slices.DeleteFunc(g.tokens, func(name string) bool { return known[name] })
	slices.Sort(g.tokens)
	g.tokens = slices.Compact(g.tokens)
	if opted {
		g.funcs = append(g.funcs, "Toolset")
	}
	if g.client != "" {
		g.funcs = append(g.funcs, model.CheckArguments)
	}
	return *g
}

// names are those that the generated file declares.
func (g generated) names() []string {
	return slices.Concat(slices.Collect(maps.Keys(g.constants)), g.tokens, g.funcs)
}

// declares reports whether the generated file declares a name.
func (g generated) declares(name string) bool { return slices.Contains(g.names(), name) }

// stand returns a file that stands for the generated one: with its constants, and the types of
// tokens. It is nil without these.
func (p *Program) stand(pkg *Package) *ast.File {
	g := p.generated(pkg)
	if len(g.constants)+len(g.tokens) == 0 {
		return nil
	}
	text := "package " + pkg.Name + "\n"
	for _, name := range slices.Sorted(maps.Keys(g.constants)) {
		text += "const " + name + " = " + strconv.Quote(g.constants[name]) + "\n"
	}
	for _, name := range g.tokens {
		text += "type " + name + " struct{}\n"
	}
	file, err := parser.ParseFile(p.Fset, filepath.Join(pkg.Dir, GeneratedFile), text,
		parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	return file
}

// dropGenerated removes the errors of a package about names that generated files declare, its own
// or those of packages that it imports.
func (p *Program) dropGenerated(pkg *Package) {
	pkg.TypeErrors = slices.DeleteFunc(pkg.TypeErrors, func(e TypeError) bool {
		if e.Undefined == "" {
			return false
		}
		will := p.generated(pkg).declares(e.Undefined)
		if e.Qualified {
			will = slices.ContainsFunc(pkg.Types.Imports(), func(imported *types.Package) bool {
				of := p.sources[imported.Path()]
				return of != nil && p.generated(of).declares(e.Undefined)
			})
		}
		pkg.Ungenerated = pkg.Ungenerated || will
		return will
	})
}

// serverDirectives returns the directives //mcp:server of a file.
func serverDirectives(file *ast.File) []*directive.Directive {
	docs := []*ast.CommentGroup{file.Doc}
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.CONST {
			docs = append(docs, d.Doc)
		}
	}
	var list []*directive.Directive
	for _, doc := range docs {
		list = append(list, directives(doc)...)
	}
	return slices.DeleteFunc(list, func(d *directive.Directive) bool { return d.Name != "server" })
}

func directives(doc *ast.CommentGroup) (list []*directive.Directive) {
	if doc == nil {
		return nil
	}
	for _, comment := range doc.List {
		if directive.Is(comment) {
			d, _ := directive.Parse(comment)
			list = append(list, d)
		}
	}
	return list
}

// handlerDecl is a func, method or interface method with its directives.
type handlerDecl struct {
	recv       string
	name       *ast.Ident
	typ        *ast.FuncType
	directives []*directive.Directive
}

// handlers calls note for each func, method and interface method of a file.
func handlers(file *ast.File, note func(handlerDecl)) {
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			note(handlerDecl{receiverName(d), d.Name, d.Type, directives(d.Doc)})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				methods(spec, note)
			}
		}
	}
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
func methods(spec ast.Spec, note func(handlerDecl)) {
	t, ok := spec.(*ast.TypeSpec)
	if !ok {
		return
	}
	if i, ok := t.Type.(*ast.InterfaceType); ok {
		for _, m := range i.Methods.List {
			if typ, ok := m.Type.(*ast.FuncType); ok && len(m.Names) > 0 {
				note(handlerDecl{t.Name.Name, m.Names[0], typ, directives(m.Doc)})
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
