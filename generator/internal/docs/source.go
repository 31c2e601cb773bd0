package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// source is the syntax of one package, without tests.
type source struct {
	root, dir string
	fset      *token.FileSet
	files     []*ast.File
}

// parsed keeps packages, by folder: several sections read the same ones.
var parsed = map[string]*source{}

// read parses the package in a folder below the root.
func read(root, dir string) (*source, error) {
	if s := parsed[root+"\x00"+dir]; s != nil {
		return s, nil
	}
	s := &source{root: root, dir: dir, fset: token.NewFileSet()}
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
	}
	if len(s.files) == 0 {
		return nil, fmt.Errorf("%s has no package", dir)
	}
	parsed[root+"\x00"+dir] = s
	return s, nil
}

// specs calls f for each spec of a kind at the top level, with its declaration.
func (s *source) specs(kind token.Token, f func(ast.Spec, *ast.GenDecl)) {
	for _, file := range s.files {
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
func (s *source) fields(name string) (fields []field, comment string, err error) {
	var found *ast.StructType
	s.specs(token.TYPE, func(spec ast.Spec, g *ast.GenDecl) {
		t := spec.(*ast.TypeSpec)
		if st, ok := t.Type.(*ast.StructType); ok && t.Name.Name == name {
			found, comment = st, t.Doc.Text()
			if comment == "" {
				comment = g.Doc.Text()
			}
		}
	})
	if found == nil {
		return nil, "", fmt.Errorf("%s has no struct %s", s.dir, name)
	}
	for _, f := range found.Fields.List {
		about := f.Doc.Text()
		if about == "" {
			about = f.Comment.Text()
		}
		var typ strings.Builder
		if err := printer.Fprint(&typ, s.fset, f.Type); err != nil {
			return nil, "", err
		}
		tag := ""
		if f.Tag != nil {
			tag, _ = strconv.Unquote(f.Tag.Value)
		}
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{ast.NewIdent(typ.String()[strings.LastIndex(typ.String(), ".")+1:])}
		}
		for _, n := range names {
			if n.IsExported() {
				fields = append(fields, field{n.Name, strings.Join(strings.Fields(typ.String()), " "),
					tag, about})
			}
		}
	}
	return fields, comment, nil
}

// value evaluates a constant. timed reports that it is a duration.
func (s *source) value(name string) (v constant.Value, timed bool, err error) {
	err = fmt.Errorf("%s has no constant %s", s.dir, name)
	s.specs(token.CONST, func(spec ast.Spec, _ *ast.GenDecl) {
		c := spec.(*ast.ValueSpec)
		if i := slices.IndexFunc(c.Names, func(n *ast.Ident) bool { return n.Name == name }); i >= 0 &&
			i < len(c.Values) {
			v, timed, err = s.eval(c.Values[i])
		}
	})
	return v, timed, err
}

// eval evaluates an expression of numbers, texts and constants, those of other packages included.
func (s *source) eval(e ast.Expr) (v constant.Value, timed bool, err error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), false, nil
	case *ast.ParenExpr:
		return s.eval(e.X)
	case *ast.CallExpr: // a conversion, or the length of a text
		if len(e.Args) != 1 {
			return nil, false, fmt.Errorf("%s: a call", s.fset.Position(e.Pos()))
		}
		v, timed, err = s.eval(e.Args[0])
		if f, ok := e.Fun.(*ast.Ident); ok && f.Name == "len" && err == nil {
			return constant.MakeInt64(int64(len(constant.StringVal(v)))), false, nil
		}
		return v, timed, err
	case *ast.Ident:
		return s.value(e.Name)
	case *ast.SelectorExpr:
		return s.selected(e)
	case *ast.BinaryExpr:
		x, xt, err := s.eval(e.X)
		if err != nil {
			return nil, false, err
		}
		y, yt, err := s.eval(e.Y)
		if err != nil {
			return nil, false, err
		}
		if e.Op == token.SHL || e.Op == token.SHR {
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n)), xt, nil
		}
		return constant.BinaryOp(x, e.Op, y), xt || yt, nil
	}
	return nil, false, fmt.Errorf("%s: not a constant of a known form", s.fset.Position(e.Pos()))
}

var units = map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond,
	"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

// selected evaluates a constant of package time, or of another package of this repository.
func (s *source) selected(e *ast.SelectorExpr) (constant.Value, bool, error) {
	of, ok := e.X.(*ast.Ident)
	if !ok {
		return nil, false, fmt.Errorf("%s: no constant", s.fset.Position(e.Pos()))
	}
	if of.Name == "time" {
		return constant.MakeInt64(int64(units[e.Sel.Name])), true, nil
	}
	for _, f := range s.files {
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			dir, within := strings.CutPrefix(path, "github.com/mcpgen/mcpgen/")
			if within && filepath.Base(dir) == of.Name {
				other, err := read(s.root, dir)
				if err != nil {
					return nil, false, err
				}
				return other.value(e.Sel.Name)
			}
		}
	}
	return nil, false, fmt.Errorf("%s: unknown package %s", s.fset.Position(e.Pos()), of.Name)
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

// packages returns the folders of the public packages below runtime, sorted.
func packages(root string) (dirs []string, err error) {
	err = filepath.WalkDir(filepath.Join(root, "runtime"),
		func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if n := d.Name(); n == "internal" || n == "testdata" {
				return filepath.SkipDir
			}
			names, err := filepath.Glob(filepath.Join(path, "*.go"))
			if err != nil || len(names) == 0 {
				return err
			}
			dir, err := filepath.Rel(root, path)
			dirs = append(dirs, filepath.ToSlash(dir))
			return err
		})
	return dirs, err
}
