package load

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

func importsC(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == `"C"`
	})
}

// Conditional are the first places where files that some build lacks declare something about a type
// that changes its schema. A place is not valid if there is none.
type Conditional struct{ Type, Constants, Method token.Pos }

// Conditional looks also at files that this build leaves out, so that the result is the same in
// each.
func (p *Program) Conditional(of *types.TypeName) (c Conditional) {
	pkg := p.sources[of.Pkg().Path()]
	first := func(at *token.Pos, id *ast.Ident) {
		if !at.IsValid() {
			*at = id.Pos()
		}
	}
	for _, decl := range pkg.conditional() {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if receiverName(d) == of.Name() && slices.Contains(schema.Methods, d.Name.Name) {
				first(&c.Method, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name == of.Name() {
						first(&c.Type, spec.Name)
					}
				case *ast.ValueSpec:
					types := slices.Insert(slices.Clone(spec.Values), 0, spec.Type)
					if d.Tok == token.CONST && pkg.hasType(types, of.Name(), map[string]bool{}) {
						first(&c.Constants, spec.Names[0])
					}
				}
			}
		}
	}
	return c
}

// ConditionalMethod implements schema.Source.
func (p *Program) ConditionalMethod(fn *types.Func) bool {
	if !p.Local(fn.Pkg()) {
		return false
	}
	f := p.sources[fn.Pkg().Path()].FileOf(p.Fset, fn.Pos())
	return f != nil && f.Constrained
}

// conditional are the declarations of files that some build lacks, by the paths of the files.
func (pkg *Package) conditional() (decls []ast.Decl) {
	if pkg == nil {
		return nil
	}
	for _, f := range pkg.byPath() {
		if f.Constrained {
			decls = append(decls, f.Syntax.Decls...)
		}
	}
	return decls
}

// hasType reports whether constants have a type: by name, by a conversion, or since their values
// have a constant of the type.
func (pkg *Package) hasType(list []ast.Expr, name string, seen map[string]bool) bool {
	return slices.ContainsFunc(list, func(expr ast.Expr) bool {
		switch e := ast.Unparen(expr).(type) {
		case *ast.CallExpr:
			id, ok := ast.Unparen(e.Fun).(*ast.Ident)
			return ok && pkg.isType(id.Name, name, seen)
		case *ast.UnaryExpr:
			return pkg.hasType([]ast.Expr{e.X}, name, seen)
		case *ast.BinaryExpr:
			switch e.Op {
			case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				return false
			case token.SHL, token.SHR:
				return pkg.hasType([]ast.Expr{e.X}, name, seen)
			}
			return pkg.hasType([]ast.Expr{e.X, e.Y}, name, seen)
		case *ast.Ident:
			return pkg.isType(e.Name, name, seen)
		}
		return false
	})
}

// isType reports whether a name is the type, an alias of the type, or a constant that has the type.
func (pkg *Package) isType(id, name string, seen map[string]bool) bool {
	if id == name || seen[id] {
		return id == name
	}
	seen[id] = true
	return slices.ContainsFunc(pkg.declarations()[id], func(d declaration) bool {
		return !d.named && pkg.hasType(d.exprs, name, seen)
	})
}

// declaration is one package-level declaration of a constant, a type or a variable.
type declaration struct {
	pkg    *Package
	file   *File
	name   *ast.Ident
	exprs  []ast.Expr // the type of a type or variable, or the type and the value of a constant
	params []string   // type parameters
	named  bool       // a type that is no alias
}

// declarations are those of a package, files that this build leaves out included, by name and then
// by the paths of the files.
func (pkg *Package) declarations() map[string][]declaration {
	if pkg.declared != nil {
		return pkg.declared
	}
	pkg.declared = map[string][]declaration{}
	for _, f := range pkg.byPath() {
		add := func(d declaration) {
			d.pkg, d.file = pkg, f
			pkg.declared[d.name.Name] = append(pkg.declared[d.name.Name], d)
		}
		for _, decl := range f.Syntax.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok == token.IMPORT {
				continue
			}
			var last *ast.ValueSpec // a constant without a value repeats it
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(declaration{name: spec.Name, exprs: []ast.Expr{spec.Type},
						params: fieldNames(spec.TypeParams), named: !spec.Assign.IsValid()})
				case *ast.ValueSpec:
					if d.Tok == token.VAR {
						for i, id := range spec.Names {
							add(declaration{name: id, exprs: typeOf(spec, i)})
						}
						continue
					}
					if spec.Type != nil || len(spec.Values) > 0 || last == nil {
						last = spec
					}
					for i, id := range spec.Names {
						var exprs []ast.Expr
						if last.Type != nil {
							exprs = append(exprs, last.Type)
						}
						if i < len(last.Values) {
							exprs = append(exprs, last.Values[i])
						}
						add(declaration{name: id, exprs: exprs})
					}
				}
			}
		}
	}
	return pkg.declared
}

// typeOf returns the expressions that the type of a variable depends on: len of an array is
// constant.
func typeOf(spec *ast.ValueSpec, i int) (exprs []ast.Expr) {
	if spec.Type != nil {
		return []ast.Expr{spec.Type}
	}
	if i >= len(spec.Values) {
		return spec.Values // the results of one call
	}
	value := ast.Unparen(spec.Values[i])
	if address, ok := value.(*ast.UnaryExpr); ok && address.Op == token.AND {
		value = ast.Unparen(address.X)
	}
	list, ok := value.(*ast.CompositeLit)
	if !ok {
		return []ast.Expr{value}
	}
	if array, ok := list.Type.(*ast.ArrayType); ok {
		for _, element := range list.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && array.Len != nil {
				exprs = append(exprs, pair.Key)
			}
		}
	}
	return append(exprs, list.Type)
}

func fieldNames(list *ast.FieldList) (names []string) {
	if list != nil {
		for _, f := range list.List {
			for _, id := range f.Names {
				names = append(names, id.Name)
			}
		}
	}
	return names
}

// ConditionalConst returns the names that the value of a constant needs, itself included, and that
// a file declares which some build lacks: each where the first file by path declares it.
func (p *Program) ConditionalConst(pkg *Package, name string) []*ast.Ident {
	r := reach{prog: p, seen: map[*ast.Ident]bool{}}
	r.follow(pkg, name, false)
	return r.found
}

// ConditionalType returns the constants and aliases of such files that the declaration of a type
// needs. Types of other names and what JSON does not see of a struct do not count.
func (p *Program) ConditionalType(of *types.TypeName) []*ast.Ident {
	r := reach{prog: p, seen: map[*ast.Ident]bool{}}
	if pkg := p.sources[of.Pkg().Path()]; pkg != nil {
		for _, d := range pkg.declarations()[of.Name()] {
			r.declaration(d)
		}
	}
	return r.found
}

// ConditionalFunc returns those that the parameters and results of a func need. With deep set, the
// declarations of all types count: these do not type-check.
func (p *Program) ConditionalFunc(pkg *Package, f *File, fn *ast.FuncType, deep bool) []*ast.Ident {
	r := reach{prog: p, seen: map[*ast.Ident]bool{}, deep: deep}
	r.walk(declaration{pkg: pkg, file: f}, fn)
	return r.found
}

// reach follows names from declaration to declaration.
type reach struct {
	prog  *Program
	seen  map[*ast.Ident]bool
	found []*ast.Ident
	deep  bool
}

// follow looks at the declarations of a name. Those of types count with whole set.
func (r *reach) follow(pkg *Package, name string, whole bool) {
	list := pkg.declarations()[name]
	if len(list) == 0 || r.seen[list[0].name] {
		return
	}
	r.seen[list[0].name] = true
	whole = whole || r.deep
	counts := func(d declaration) bool { return whole || !d.named }
	if i := slices.IndexFunc(list, func(d declaration) bool { return d.file.Constrained }); i >= 0 {
		if slices.ContainsFunc(list, counts) {
			r.found = append(r.found, list[i].name)
		}
		return
	}
	for _, d := range list {
		if counts(d) {
			r.declaration(d)
		} else {
			delete(r.seen, list[0].name) // it may count from another place
		}
	}
}

func (r *reach) declaration(d declaration) {
	for _, expr := range d.exprs {
		if pkg, name := r.resolve(d, expr); d.named && pkg != nil {
			r.follow(pkg, name, true) // the new type has the fields of the other one
			continue
		}
		r.walk(d, expr)
	}
}

// walk follows the names of an expression.
func (r *reach) walk(d declaration, node ast.Node) {
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			for _, f := range n.Fields.List {
				if !unseen(f) {
					r.walk(d, f.Type)
				}
			}
			return false
		case *ast.Field:
			r.walk(d, n.Type)
			return false
		case *ast.InterfaceType:
			return false
		case *ast.SelectorExpr, *ast.Ident:
			if pkg, name := r.resolve(d, n.(ast.Expr)); pkg != nil {
				r.follow(pkg, name, false)
			}
			return false
		}
		return true
	})
}

// unseen reports a field that JSON does not see.
func unseen(f *ast.Field) bool {
	if f.Tag != nil {
		tag, _ := strconv.Unquote(f.Tag.Value)
		if reflect.StructTag(tag).Get("json") == "-" {
			return true
		}
	}
	return len(f.Names) > 0 &&
		!slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.IsExported() })
}

// resolve returns the package of the module that declares a name or a qualified name.
func (r *reach) resolve(d declaration, expr ast.Expr) (*Package, string) {
	of := ""
	id, ok := expr.(*ast.Ident)
	if s, qualified := expr.(*ast.SelectorExpr); qualified {
		id, ok = s.X.(*ast.Ident)
		if ok {
			of, id = id.Name, s.Sel
		}
	} else if ok && slices.Contains(d.params, id.Name) {
		return nil, ""
	} else if ok && len(d.pkg.declarations()[id.Name]) > 0 {
		return d.pkg, id.Name
	}
	if !ok {
		return nil, ""
	}
	for _, spec := range d.file.Syntax.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		pkg := r.prog.sources[path]
		if pkg == nil || !pkg.Local {
			continue
		}
		name := pkg.Name
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == of || name == "." && of == "" && len(pkg.declarations()[id.Name]) > 0 {
			return pkg, id.Name
		}
	}
	return nil, ""
}

// byPath are the files of the package that some build has.
func (pkg *Package) byPath() []*File {
	files := slices.DeleteFunc(slices.Concat(pkg.Files, pkg.Ignored), func(f *File) bool {
		return f.Syntax.Name.Name != pkg.Name || f.never
	})
	slices.SortFunc(files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	return files
}
