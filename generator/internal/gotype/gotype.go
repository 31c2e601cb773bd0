// Package gotype writes types of go/types as Go source.
package gotype

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Expr writes t as Go source for package in. Names that package in declares have no qualifier. A
// struct type has one line for each field, with a raw tag, so that it can be read and compared as
// source; gofmt does the rest.
func Expr(t types.Type, in *types.Package) model.Expr {
	var w writer
	w.in = in
	w.write(t)
	return w.expr
}

// Plain writes a type for a message, with the names of packages.
func Plain(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// writer collects the tokens of one type.
type writer struct {
	in   *types.Package
	expr model.Expr
}

// text adds literal source, in one token with the literal source before it.
func (w *writer) text(text string) {
	if n := len(w.expr); n > 0 && w.expr[n-1].Path == "" {
		w.expr[n-1].Text += text
		return
	}
	w.expr = append(w.expr, model.Token{Text: text})
}

func (w *writer) write(t types.Type) {
	switch t := t.(type) {
	case *types.Pointer:
		w.text("*")
		w.write(t.Elem())
	case *types.Slice:
		w.text("[]")
		w.write(t.Elem())
	case *types.Array:
		w.text(fmt.Sprintf("[%d]", t.Len()))
		w.write(t.Elem())
	case *types.Map:
		w.text("map[")
		w.write(t.Key())
		w.text("]")
		w.write(t.Elem())
	case *types.Struct:
		w.writeStruct(t)
	default:
		for _, token := range split(types.TypeString(t, mark(w.in))) {
			if token.Path == "" {
				w.text(token.Text)
			} else {
				w.expr = append(w.expr, token)
			}
		}
	}
}

func (w *writer) writeStruct(t *types.Struct) {
	if t.NumFields() == 0 {
		w.text("struct{}")
		return
	}
	w.text("struct {\n")
	for i := range t.NumFields() {
		field := t.Field(i)
		if !field.Embedded() {
			w.text(field.Name() + " ")
		}
		w.write(field.Type())
		if tag := t.Tag(i); tag != "" {
			w.text(" " + Tag(tag))
		}
		w.text("\n")
	}
	w.text("}")
}

// Tag writes a struct tag as a raw string if a raw string can hold it.
func Tag(tag string) string {
	if strconv.CanBackquote(tag) {
		return "`" + tag + "`"
	}
	return strconv.Quote(tag)
}

// mark returns a qualifier that puts a foreign package between NUL bytes, which Go source cannot
// hold.
func mark(in *types.Package) types.Qualifier {
	return func(p *types.Package) string {
		if own(p, in) {
			return ""
		}
		return "\x00" + p.Path() + "\x00" + p.Name() + "\x00"
	}
}

// own reports whether p is the package that the type is written for. Two loads of one package are
// the same package.
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
