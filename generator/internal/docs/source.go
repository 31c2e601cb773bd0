package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// repository has the packages that the pages are about, and collects what is wrong with them.
type repository struct {
	root, page string
	packages   map[string]*source // by folder
	faults     []error
}

// source is one package, without tests.
type source struct {
	*repository
	*packages.Package
	dir string
}

const home = "github.com/mcpgen/mcpgen/"

// open loads the packages.
func open(root string) (*repository, error) {
	r := &repository{root: root, packages: map[string]*source{}}
	loaded, err := packages.Load(&packages.Config{Dir: root, Mode: packages.NeedName |
		packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo}, home+"internal/...", home+"runtime/...",
		home+"generator/internal/document")
	for _, p := range loaded {
		for _, err := range p.Errors {
			return nil, err
		}
		dir := strings.TrimPrefix(p.PkgPath, home)
		r.packages[dir] = &source{r, p, dir}
	}
	return r, err
}

// fault notes an error of the page that is written.
func (r *repository) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: "+format, append([]any{r.page}, args...)...))
}

// read returns the package in a folder.
func (r *repository) read(dir string) *source {
	if s := r.packages[dir]; s != nil {
		return s
	}
	r.fault("%s has no package", dir)
	return &source{r, &packages.Package{Types: types.NewPackage(dir, dir)}, dir}
}

// specs calls f for each spec of a kind at the top level, with its declaration.
func (s *source) specs(kind token.Token, f func(ast.Spec, *ast.GenDecl)) {
	for _, file := range s.Syntax {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == kind {
				for _, spec := range g.Specs {
					f(spec, g)
				}
			}
		}
	}
}

// field is one field of a struct.
type field struct {
	name, typ, tag, comment string
}

// fields returns the exported fields of a struct, with the comment of each, and the struct's own.
func (s *source) fields(name string) (fields []field, comment string) {
	var found *ast.StructType
	s.specs(token.TYPE, func(spec ast.Spec, g *ast.GenDecl) {
		t := spec.(*ast.TypeSpec)
		if st, ok := t.Type.(*ast.StructType); ok && t.Name.Name == name {
			found, comment = st, cmp.Or(t.Doc.Text(), g.Doc.Text())
		}
	})
	if found == nil {
		s.fault("%s has no struct %s", s.dir, name)
		return nil, ""
	}
	for _, f := range found.Fields.List {
		typ := strings.Join(strings.Fields(types.ExprString(f.Type)), " ")
		tag := ""
		if f.Tag != nil {
			tag, _ = strconv.Unquote(f.Tag.Value)
		}
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{ast.NewIdent(typ[strings.LastIndex(typ, ".")+1:])}
		}
		for _, n := range names {
			if n.IsExported() {
				fields = append(fields, field{n.Name, typ, tag, cmp.Or(f.Doc.Text(), f.Comment.Text())})
			}
		}
	}
	return fields, comment
}

// value returns the value of a constant, and nil without one. timed reports that it is a duration.
func (s *source) value(name string) (v constant.Value, timed bool) {
	c, ok := s.Types.Scope().Lookup(name).(*types.Const)
	if !ok {
		return nil, false
	}
	return c.Val(), types.TypeString(c.Type(), nil) == "time.Duration"
}

// must is value of a constant that exists.
func (s *source) must(name string) (v constant.Value, timed bool) {
	if v, timed = s.value(name); v == nil {
		s.fault("%s has no constant %s", s.dir, name)
		v = constant.MakeUnknown()
	}
	return v, timed
}

// text returns the text of a constant expression, and "" of another expression.
func (s *source) text(e ast.Expr) string {
	if v := s.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// shown is a constant in words: a duration, a size in bytes, or a number with separators.
func shown(v constant.Value, timed, bytes bool) string {
	n, exact := constant.Int64Val(constant.ToInt(v))
	if !exact {
		return v.String()
	}
	if timed {
		return duration(time.Duration(n))
	}
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes && n >= u.size && n%u.size == 0 {
			return fmt.Sprint(n/u.size, " ", u.name)
		}
	}
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	if bytes {
		text += " bytes"
	}
	return text
}

// duration is a duration without its zero parts: 30m, not 30m0s.
func duration(d time.Duration) string {
	text := d.String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

// public returns the public packages below runtime, by folder.
func (r *repository) public() (list []*source) {
	for _, dir := range slices.Sorted(maps.Keys(r.packages)) {
		if strings.HasPrefix(dir, "runtime") && !strings.Contains(dir+"/", "/internal/") {
			list = append(list, r.packages[dir])
		}
	}
	return list
}
