// Package spell writes go/types as Go source whose names of other packages can be imported.
package spell

import (
	"go/types"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/generator/model"
)

// Type spells t as seen from package in. Names of in itself stand bare.
func Type(t types.Type, in *types.Package) model.Expr {
	return split(types.TypeString(t, mark(in)))
}

// mark returns a qualifier that puts a foreign package between NUL bytes, which Go source cannot hold.
func mark(in *types.Package) types.Qualifier {
	return func(p *types.Package) string {
		if p == in || in != nil && p.Path() == in.Path() {
			return ""
		}
		return "\x00" + p.Path() + "\x00" + p.Name() + "\x00"
	}
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
