// Package annotated finds the declarations of a package with the directives on them. It reports
// directives that are on no declaration, and comments that are nearly directives.
package annotated

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Decl is a declaration that directives may be written on, with its directives.
type Decl struct {
	Place directive.Place
	File  *load.File
	Doc   *ast.CommentGroup
	Name  *ast.Ident // of the func, method or type; nil for others
	Func  *types.Func
	Recv  *types.TypeName // of a method or interface method
	Block *ast.GenDecl    // of a const block
	Field *ast.Field      // of a struct
	// Directives are those that may stand there, in the order of the source.
	Directives []*directive.Directive
	// Attempted reports a directive or a near miss, understood or not.
	Attempted bool
	// Lost reports that one of them could not be kept: its content is unknown.
	Lost bool

	typ *ast.FuncType // of the func, method or interface method
}

// Read returns the declarations of a package, and whether the package serves: it has a directive
// that is not about a struct field. It reports directives that are not where they may be, and near
// misses.
func Read(prog *load.Program, pkg *load.Package, out *diag.List) (decls []*Decl, serves bool) {
	r := &reader{prog: prog, pkg: pkg, out: out}
	for _, file := range pkg.Files {
		if file.Constrained {
			r.constrained(file)
			continue
		}
		c := collector{reader: r, file: file, seen: map[*ast.Comment]bool{}}
		c.walk()
		c.orphans()
	}
	for _, file := range pkg.Ignored {
		r.constrained(file)
	}
	if r.opted {
		r.testFiles()
	}
	r.reportMisses()
	return r.decls, r.serves
}

// Handler returns the names of a handler and of its receiver type.
func (d *Decl) Handler() model.Handler {
	h := model.Handler{Name: d.Name.Name}
	if d.Recv != nil {
		h.Recv = d.Recv.Name()
	}
	return h
}

// String is the handler's name in messages and in the manifest.
func (d *Decl) String() string { return d.Handler().String() }

// Token returns the name of a handler's token type if its last parameter has this type, and "" if
// it has no token. The type need not exist. Completions have no token: the runtime takes them as
// func values.
func (d *Decl) Token() string {
	name := d.Handler().TokenName()
	if d.typ == nil || d.Find("complete") != nil || load.LastType(d.typ) != name {
		return ""
	}
	return name
}

// Conditional returns the names of files that some build lacks that the parameters and results of a
// handler need.
func (d *Decl) Conditional(prog *load.Program, pkg *load.Package, deep bool) []*ast.Ident {
	if d.typ == nil {
		return nil
	}
	return prog.ConditionalFunc(pkg, d.File, d.typ, deep)
}

// Find returns the declaration's first directive of that name, or nil.
func (d *Decl) Find(name string) *directive.Directive {
	for _, found := range d.Directives {
		if found.Name == name {
			return found
		}
	}
	return nil
}

// serving are the directives that make a handler answer for something.
var serving = []string{"tool", "prompt", "resource", "complete"}

// Serving returns the directive that makes the handler answer for something, or nil.
func (d *Decl) Serving() *directive.Directive {
	for _, found := range d.Directives {
		if slices.Contains(serving, found.Name) {
			return found
		}
	}
	return nil
}

// reader reads one package.
type reader struct {
	prog  *load.Program
	pkg   *load.Package
	out   *diag.List
	decls []*Decl
	opted bool // the package has a directive
	// serves is whether the package has a directive elsewhere than on a struct field.
	serves bool
	// generates reports that a go:generate line runs mcpgen.
	generates bool
	near      []nearMiss
}

func (r *reader) report(code diag.Code, span directive.Span, fix, format string, args ...any) {
	r.out.Add(code, r.prog.Position(span.Pos, span.End), fix, format, args...)
}

// constrained looks at a file that some builds leave out, this one or another: the findings are the
// same in each. //mcp:ignore may stand there: nothing is generated from it.
func (r *reader) constrained(file *load.File) {
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if !directive.Is(comment) {
				r.misses(comment, bodies(file.Syntax, comment))
				continue
			}
			if d, _ := directive.Parse(comment); d.Name != "ignore" {
				r.outside(d)
			}
		}
	}
}

func (r *reader) outside(d *directive.Directive) {
	r.report(diag.BuildConstraint, d.Span,
		"annotate a handler in a file without a build constraint, and call this one from it",
		"//mcp:%s is in a file that is not part of every build", d.Name)
}

// collector walks one file.
type collector struct {
	*reader
	file *load.File
	seen map[*ast.Comment]bool
}

func (c *collector) walk() {
	syntax := c.file.Syntax
	c.add(&Decl{Place: directive.PackageDoc, Doc: syntax.Doc})
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			fn, _ := c.pkg.Info.Defs[d.Name].(*types.Func)
			c.add(&Decl{Place: directive.Func, Doc: d.Doc, Name: d.Name, Func: fn,
				typ: d.Type, Recv: Receiver(fn)})
		case *ast.GenDecl:
			c.general(d)
		}
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, f := range s.Fields.List {
				c.add(&Decl{Place: directive.StructField, Doc: f.Doc, Field: f})
			}
		}
		_, body := n.(*ast.BlockStmt)
		return !body
	})
}

func (c *collector) general(d *ast.GenDecl) {
	switch {
	case d.Tok == token.CONST:
		c.add(&Decl{Place: directive.ConstBlock, Doc: d.Doc, Block: d})
	case d.Tok != token.TYPE || d.Lparen.IsValid():
		c.add(&Decl{Place: directive.Elsewhere, Doc: d.Doc})
	}
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			c.add(&Decl{Place: directive.TypeDoc, Doc: doc, Name: spec.Name})
			c.methods(spec)
		case *ast.ValueSpec:
			if d.Tok == token.CONST || d.Lparen.IsValid() {
				c.add(&Decl{Place: directive.Elsewhere, Doc: spec.Doc})
			}
		case *ast.ImportSpec:
			c.add(&Decl{Place: directive.Elsewhere, Doc: spec.Doc})
		}
	}
}

// methods looks at the methods of an interface type.
func (c *collector) methods(spec *ast.TypeSpec) {
	t, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	owner, _ := c.pkg.Info.Defs[spec.Name].(*types.TypeName)
	for _, m := range t.Methods.List {
		if len(m.Names) == 0 {
			c.add(&Decl{Place: directive.Elsewhere, Doc: m.Doc})
			continue
		}
		fn, _ := c.pkg.Info.Defs[m.Names[0]].(*types.Func)
		typ, _ := m.Type.(*ast.FuncType)
		c.add(&Decl{Place: directive.InterfaceMethod, Doc: m.Doc, Name: m.Names[0], Func: fn,
			typ: typ, Recv: owner})
	}
}

// Receiver is the type name of a method's receiver, or nil.
func Receiver(fn *types.Func) *types.TypeName {
	if fn == nil || fn.Signature().Recv() == nil {
		return nil
	}
	t := fn.Signature().Recv().Type()
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// add reads the directives in a declaration's doc.
func (c *collector) add(d *Decl) {
	d.File = c.file
	c.decls = append(c.decls, d)
	if d.Doc == nil {
		return
	}
	for _, comment := range d.Doc.List {
		if !directive.Is(comment) {
			if c.misses(comment, never) {
				d.Attempted, d.Lost = true, true
			}
			c.seen[comment] = true
			continue
		}
		if c.seen[comment] {
			continue
		}
		c.seen[comment] = true
		c.opted, c.serves = true, c.serves || d.Place != directive.StructField
		d.Attempted = true
		found, problems := directive.Parse(comment)
		for _, p := range problems {
			c.report(p.Code, p.Span, p.Fix, "%s", p.Message)
		}
		c.place(d, found)
	}
	c.together(d)
}

// place keeps the directive when it may stand there.
func (c *collector) place(d *Decl, found *directive.Directive) {
	switch {
	case found.Spec.Name == "":
		d.Lost = true // reported as unknown
		return
	case !found.Spec.AllowedOn(d.Place):
		c.report(diag.Misplaced, found.Span, "put it "+where(found.Spec),
			"//mcp:%s is not allowed on %s", found.Name, d.Place)
		return
	}
	if found.Name == "field" && c.elsewhere(d, found) {
		return
	}
	if other := d.Find(found.Name); other != nil && (!found.Spec.Repeat || d.Field != nil) {
		c.report(diag.Duplicate, found.Span, "remove one of the two",
			"//mcp:%s is written twice on one declaration", found.Name)
		return
	}
	d.Directives = append(d.Directives, found)
}

// elsewhere reports a //mcp:field that names a field on a field, or none in the package doc.
func (c *collector) elsewhere(d *Decl, found *directive.Directive) bool {
	switch named := found.Subject.Text != ""; {
	case named && d.Field != nil:
		c.report(diag.Misplaced, found.Subject.Span, "remove the name, or write the line in the "+
			"package doc", "//mcp:field on a struct field names %s", found.Subject.Text)
	case !named && d.Field == nil && !found.Broken:
		c.report(diag.MissingKey, found.Span, "write the line above the field, or name a field of "+
			"another module first, for example //mcp:field payroll.Person.Salary minrole=Manager",
			"//mcp:field in the package doc names no field")
	default:
		return false
	}
	return true
}

// together judges directives of one declaration by each other.
func (c *collector) together(d *Decl) {
	first := d.Serving()
	if ignore := d.Find("ignore"); first != nil && ignore != nil {
		c.report(diag.Contradiction, ignore.Span, "remove one of the two",
			"%s is served by //mcp:%s and excluded by //mcp:ignore", d.Name.Name, first.Name)
	}
	for _, found := range d.Directives {
		switch {
		case slices.Contains(serving, found.Name) && found != first:
			c.report(diag.Contradiction, found.Span,
				"remove one of the two, and write a second handler that calls the first",
				"%s is served by //mcp:%s and by //mcp:%s", d.Name.Name, first.Name, found.Name)
		case d.Lost:
		case found.Spec.Below && (first == nil || first.Name == "complete"), found.Spec.OfTool &&
			d.Place != directive.PackageDoc && (first == nil || first.Name != "tool"):
			c.report(diag.Misplaced, found.Span, "add //mcp:tool with an access rule, or remove it",
				"//mcp:%s is on a func without //mcp:tool", found.Name)
		case found.Name == "worker" && (first != nil || d.Find("ignore") != nil):
			c.report(diag.Contradiction, found.Span, "remove one of the two",
				"%s has //mcp:worker and another directive", d.Name.Name)
		case first != nil && first.Name != "tool":
			c.keysOfTools(found, first)
		}
	}
}

// keysOfTools reports the limits and keys that prompts and resources do not have.
func (c *collector) keysOfTools(found, first *directive.Directive) {
	for _, key := range found.Spec.Keys {
		if arg, ok := found.Arg(key.Name); ok && key.OfTool {
			c.report(diag.NotBuilt, arg.Span, "remove it, or serve the handler as a tool",
				"%s of //mcp:%s is for tools only, and this is a //mcp:%s", key.Name, found.Name,
				first.Name)
		}
	}
}

// orphans reports directives that no declaration's doc holds.
func (c *collector) orphans() {
	for _, group := range c.file.Syntax.Comments {
		for _, comment := range group.List {
			if c.seen[comment] {
				continue
			}
			if !directive.Is(comment) {
				c.misses(comment, bodies(c.file.Syntax, comment))
				continue
			}
			d, _ := directive.Parse(comment)
			c.opted, c.serves = true, c.serves || d.Name != "field"
			wrong := "not on a declaration"
			fix := "put it into the doc comment directly above the declaration, without an empty line"
			body, behind := c.around(group)
			switch ofField := d.Spec.AllowedOn(directive.StructField); {
			case body && (ofField || d.Spec.AllowedOn(directive.TypeDoc)):
				wrong, fix = "within a func", "declare the type at package level"
			case behind && ofField:
				wrong, fix = "behind its field", "write it on a line of its own above the field"
			case d.Spec.AllowedOn(directive.PackageDoc):
				fix = "put it " + where(d.Spec) + ", without an empty line"
			}
			c.report(diag.Dangling, d.Span, fix, "//mcp:%s is %s", d.Name, wrong)
		}
	}
}

// around reports whether comments are in the body of a func, and behind a field of a struct.
func (c *collector) around(group *ast.CommentGroup) (body, behind bool) {
	ast.Inspect(c.file.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			body = body || n.Pos() < group.Pos() && group.End() <= n.End()
		case *ast.Field:
			behind = behind || n.Comment == group
		}
		return true
	})
	return body, behind
}

// where names the places of a directive. The package doc is the comment above the package clause.
func where(s directive.Spec) string {
	others, ok := strings.CutPrefix(s.Where(), directive.PackageDoc.String())
	if !ok {
		return "on " + s.Where()
	}
	return "directly above the package clause" + strings.Replace(others, " or ", ", or above ", 1)
}
