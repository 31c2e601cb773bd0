// Package spell writes go/types as Go source whose names of other packages can be imported.
package spell

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/generator/model"
)

// Type spells t as seen from package in. Names of in itself stand bare. Struct types stand
// on one line a field, with their tags raw, so that they can be read and compared as source;
// gofmt does the rest.
func Type(t types.Type, in *types.Package) model.Expr {
	var s speller
	s.in = in
	s.write(t)
	return s.expr
}

// speller collects the tokens of one type.
type speller struct {
	in   *types.Package
	expr model.Expr
}

// text adds literal source, in one token with the literal source before it.
func (s *speller) text(text string) {
	if n := len(s.expr); n > 0 && s.expr[n-1].Path == "" {
		s.expr[n-1].Text += text
		return
	}
	s.expr = append(s.expr, model.Token{Text: text})
}

func (s *speller) write(t types.Type) {
	switch t := t.(type) {
	case *types.Pointer:
		s.text("*")
		s.write(t.Elem())
	case *types.Slice:
		s.text("[]")
		s.write(t.Elem())
	case *types.Array:
		s.text(fmt.Sprintf("[%d]", t.Len()))
		s.write(t.Elem())
	case *types.Map:
		s.text("map[")
		s.write(t.Key())
		s.text("]")
		s.write(t.Elem())
	case *types.Struct:
		s.writeStruct(t)
	default:
		for _, token := range split(types.TypeString(t, mark(s.in))) {
			if token.Path == "" {
				s.text(token.Text)
			} else {
				s.expr = append(s.expr, token)
			}
		}
	}
}

func (s *speller) writeStruct(t *types.Struct) {
	if t.NumFields() == 0 {
		s.text("struct{}")
		return
	}
	s.text("struct {\n")
	for i := range t.NumFields() {
		field := t.Field(i)
		if !field.Embedded() {
			s.text(field.Name() + " ")
		}
		s.write(field.Type())
		if tag := t.Tag(i); tag != "" {
			s.text(" " + Tag(tag))
		}
		s.text("\n")
	}
	s.text("}")
}

// Tag spells a struct tag, raw where a raw string can hold it.
func Tag(tag string) string {
	if strconv.CanBackquote(tag) {
		return "`" + tag + "`"
	}
	return strconv.Quote(tag)
}

// mark returns a qualifier that puts a foreign package between NUL bytes, which Go source cannot hold.
func mark(in *types.Package) types.Qualifier {
	return func(p *types.Package) string {
		if own(p, in) {
			return ""
		}
		return "\x00" + p.Path() + "\x00" + p.Name() + "\x00"
	}
}

// own reports whether p is the package that spells. Two loads of one package are one package.
func own(p, in *types.Package) bool {
	return p == in || in != nil && p != nil && p.Path() == in.Path()
}

// split undoes mark: path NUL name NUL ".Name rest".
func split(s string) model.Expr {
	var e model.Expr
	for {
		text, rest, found := strings.Cut(s, "\x00")
		if text != "" {
			e = append(e, model.Token{Text: text})
		}
		if !found {
			return e
		}
		path, rest, _ := strings.Cut(rest, "\x00")
		name, rest, _ := strings.Cut(rest, "\x00")
		rest = rest[1:] // the dot
		end := strings.IndexFunc(rest, func(r rune) bool { return !isIdent(r) })
		if end < 0 {
			end = len(rest)
		}
		e = append(e, model.Token{Text: rest[:end], Path: path, Package: name})
		s = rest[end:]
	}
}

func isIdent(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
