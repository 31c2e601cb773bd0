package scan

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/load"
)

// decl is a declaration that directives may be written on, with its directives.
type decl struct {
	place directive.Place
	file  *load.File
	doc   *ast.CommentGroup
	name  *ast.Ident // of the func, method or type; nil for others
	fn    *types.Func
	recv  *types.TypeName // of a method or interface method
	block *ast.GenDecl    // of a const block
	// directives are those that may stand there, in the order of the source.
	directives []*directive.Directive
	// attempted says that there was a directive or something near to one, understood or not.
	attempted bool
	// lost says that one of them could not be kept: what it would have said is unknown.
	lost bool
}

// find returns the declaration's first directive of that name, or nil.
func (d *decl) find(name string) *directive.Directive {
	for _, found := range d.directives {
		if found.Name == name {
			return found
		}
	}
	return nil
}

// serving are the directives that make a handler answer for something.
var serving = []string{"tool", "prompt", "resource", "complete"}

// serving returns the directive that makes the handler answer for something, or nil.
func (d *decl) serving() *directive.Directive {
	for _, found := range d.directives {
		if slices.Contains(serving, found.Name) {
			return found
		}
	}
	return nil
}

// collect attaches the package's directives to declarations, and reports those that cannot be.
func (s *scanner) collect() {
	for _, file := range s.pkg.Files {
		c := collector{scanner: s, file: file, seen: map[*ast.Comment]bool{}}
		c.walk()
		c.orphans()
	}
	for _, file := range s.pkg.Ignored {
		s.constrained(file)
	}
}

// constrained looks at a file that this build leaves out. //mcp:ignore may stand there:
// nothing is generated from it.
func (s *scanner) constrained(file *load.File) {
	for _, group := range file.Syntax.Comments {
		for _, comment := range group.List {
			if !directive.Is(comment) {
				s.misses(comment, bodies(file.Syntax, comment))
				continue
			}
			if d, _ := directive.Parse(comment); d.Name != "ignore" {
				s.outside(d)
			}
		}
	}
}

func (s *scanner) outside(d *directive.Directive) {
	s.report(diag.BuildConstraint, d.Pos, d.End,
		"annotate a handler in a file without a build constraint, and call this one from it",
		"//mcp:%s is in a file that is not part of every build", d.Name)
}

// collector walks one file.
type collector struct {
	*scanner
	file *load.File
	seen map[*ast.Comment]bool
}

func (c *collector) walk() {
	syntax := c.file.Syntax
	c.add(&decl{place: directive.PackageDoc, doc: syntax.Doc})
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			fn, _ := c.pkg.Info.Defs[d.Name].(*types.Func)
			c.add(&decl{place: directive.Func, doc: d.Doc, name: d.Name, fn: fn,
				recv: receiver(fn)})
		case *ast.GenDecl:
			c.general(d)
		}
	}
}

func (c *collector) general(d *ast.GenDecl) {
	switch {
	case d.Tok == token.CONST:
		c.add(&decl{place: directive.ConstBlock, doc: d.Doc, block: d})
	case d.Tok != token.TYPE || d.Lparen.IsValid():
		c.add(&decl{place: directive.Elsewhere, doc: d.Doc})
	}
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			c.add(&decl{place: directive.TypeDoc, doc: doc, name: spec.Name})
			c.members(spec)
		case *ast.ValueSpec:
			if d.Tok == token.CONST || d.Lparen.IsValid() {
				c.add(&decl{place: directive.Elsewhere, doc: spec.Doc})
			}
		case *ast.ImportSpec:
			c.add(&decl{place: directive.Elsewhere, doc: spec.Doc})
		}
	}
}

// members looks at the methods of an interface type and the fields of a struct type.
func (c *collector) members(spec *ast.TypeSpec) {
	switch t := spec.Type.(type) {
	case *ast.InterfaceType:
		owner, _ := c.pkg.Info.Defs[spec.Name].(*types.TypeName)
		for _, m := range t.Methods.List {
			if len(m.Names) == 0 {
				c.add(&decl{place: directive.Elsewhere, doc: m.Doc})
				continue
			}
			fn, _ := c.pkg.Info.Defs[m.Names[0]].(*types.Func)
			c.add(&decl{place: directive.InterfaceMethod, doc: m.Doc, name: m.Names[0], fn: fn,
				recv: owner})
		}
	case *ast.StructType:
		for _, f := range t.Fields.List {
			c.add(&decl{place: directive.Elsewhere, doc: f.Doc})
		}
	}
}

// receiver is the type name of a method's receiver, or nil.
func receiver(fn *types.Func) *types.TypeName {
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
func (c *collector) add(d *decl) {
	d.file = c.file
	c.decls = append(c.decls, d)
	if d.doc == nil {
		return
	}
	for _, comment := range d.doc.List {
		if !directive.Is(comment) {
			if c.misses(comment, never) {
				d.attempted, d.lost = true, true
			}
			c.seen[comment] = true
			continue
		}
		if c.seen[comment] {
			continue
		}
		c.seen[comment] = true
		c.opted = true
		d.attempted = true
		found, problems := directive.Parse(comment)
		for _, p := range problems {
			c.report(p.Code, p.Pos, p.End, p.Fix, "%s", p.Message)
		}
		c.place(d, found)
	}
	c.together(d)
}

// place keeps the directive when it may stand there.
func (c *collector) place(d *decl, found *directive.Directive) {
	switch {
	case found.Spec.Name == "":
		d.lost = true // reported as unknown
		return
	case c.file.Constrained && found.Name != "ignore":
		c.outside(found)
		return
	case !found.Spec.AllowedOn(d.place):
		c.report(diag.Misplaced, found.Pos, found.End, "put it "+where(found.Spec),
			"//mcp:%s is not allowed on %s", found.Name, d.place)
		return
	}
	if other := d.find(found.Name); other != nil && !found.Spec.Repeat {
		c.report(diag.Duplicate, found.Pos, found.End, "remove one of the two",
			"//mcp:%s is written twice on one declaration", found.Name)
		return
	}
	d.directives = append(d.directives, found)
}

// together judges directives of one declaration by each other.
func (c *collector) together(d *decl) {
	first := d.serving()
	if ignore := d.find("ignore"); first != nil && ignore != nil {
		c.report(diag.Contradiction, ignore.Pos, ignore.End, "remove one of the two",
			"%s is served by //mcp:%s and excluded by //mcp:ignore", d.name.Name, first.Name)
	}
	for _, found := range d.directives {
		switch {
		case slices.Contains(serving, found.Name) && found != first:
			c.report(diag.Contradiction, found.Pos, found.End,
				"remove one of the two, and write a second handler that calls the first",
				"%s is served by //mcp:%s and by //mcp:%s", d.name.Name, first.Name, found.Name)
		case d.lost || c.file.Constrained:
		case found.Spec.Below && (first == nil || first.Name == "complete"), found.Spec.OfTool &&
			d.place != directive.PackageDoc && (first == nil || first.Name != "tool"):
			c.report(diag.Misplaced, found.Pos, found.End,
				"add //mcp:tool with an access rule, or remove it",
				"//mcp:%s is on a func without //mcp:tool", found.Name)
		case found.Name == "limit" && first.Name != "tool":
			c.limitsOfTools(found, first)
		case found.Name == "worker" && (first != nil || d.find("ignore") != nil):
			c.report(diag.Contradiction, found.Pos, found.End, "remove one of the two",
				"%s has //mcp:worker and another directive", d.name.Name)
		}
	}
}

// limitsOfTools reports the limits that prompts and resources do not have.
func (c *collector) limitsOfTools(limit, first *directive.Directive) {
	for _, key := range limit.Spec.Keys {
		if arg, ok := limit.Arg(key.Name); ok && key.OfTool {
			c.report(diag.NotBuilt, arg.Pos, arg.End,
				"remove it, or serve the handler as a tool",
				"the limit %s is for tools only, and this is a //mcp:%s", key.Name,
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
			c.opted = true
			d, _ := directive.Parse(comment)
			fix := "put it into the doc comment directly above the declaration, without an empty line"
			if d.Spec.AllowedOn(directive.PackageDoc) {
				fix = "put it " + where(d.Spec) + ", without an empty line"
			}
			c.report(diag.Dangling, d.Pos, d.End, fix, "//mcp:%s is not on a declaration", d.Name)
		}
	}
}

// where names the places of a directive. The package doc is the comment above the package clause.
func where(s directive.Spec) string {
	others, ok := strings.CutPrefix(s.Where(), directive.PackageDoc.String())
	if !ok {
		return "on " + s.Where()
	}
	return "directly above the package clause" + strings.Replace(others, " or ", ", or above ", 1)
}
