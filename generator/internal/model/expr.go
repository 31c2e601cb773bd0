package model

import "strings"

// Expr is Go source with a token of its own for each name of another package, so that the writer of
// the source can import it. map[string]time.Time is {Text: "map[string]"},
// {Text: "Time", Path: "time", Package: "time"}.
type Expr []Token

// Token is literal source text or one name of another package.
type Token struct {
	Text    string
	Path    string // import path of the package that declares Text; empty for literal text
	Package string // that package's own name
}

// String writes the expression for a file that imports every package by its own name.
func (e Expr) String() string {
	var b strings.Builder
	for _, t := range e {
		if t.Path != "" {
			b.WriteString(t.Package)
			b.WriteByte('.')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}
