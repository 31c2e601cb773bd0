// Package directive reads //mcp: comments: their lexing, and the table of what may be written
// in them, which is the grammar, the help text and the documentation at once.
//
// A directive is a line comment without a space after its slashes. After its name come flags
// and key=value, apart by spaces. A value is a bare word, which ends at white space, or a Go
// string literal; lists use commas. Text that is not in the table is an error, never skipped: a
// rule with a typing error must not vanish.
package directive

import (
	"go/ast"
	"go/token"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
)

// FillIn is the role in a directive whose access rule the author has to write. No hierarchy has it,
// so that mcpgen fails until the author decides.
const FillIn = "FILL_IN"

// Span is a part of the source. End may be missing.
type Span struct{ Pos, End token.Pos }

// Directive is one parsed //mcp: comment.
type Directive struct {
	Name    string
	Spec    Spec  // zero when the name is unknown
	Span          // from the comment's first slash to the end of its last argument
	Subject Value // the word of a Named or Qualified directive, the argument of a Valued one
	// Chain is the words of a Chain directive, as written, and the values of a Valued one. Of an
	// Included one it is the scope and then those that it includes. It is empty for a bare directive.
	Chain []Value
	// Args are the understood arguments, in the order of the source: each key once, and of Bindings
	// each pair once.
	Args []Arg
	// Broken is whether a part was not understood and is missing here. Consequences of its absence
	// are not reported.
	Broken bool
}

// Arg is one flag or key with its values.
type Arg struct {
	Key string
	Span
	Values []Value // none for a flag; one for all kinds but lists
}

// Value is one value as text, unquoted.
type Value struct {
	Text string
	Span
	Quoted bool // it is a Go string literal
}

// Problem is a fault of a directive.
type Problem struct {
	Code diag.Code
	Span
	Message string // one line, no full stop
	Fix     string // one line
}

// Arg returns the argument of that key.
func (d *Directive) Arg(key string) (Arg, bool) {
	i := slices.IndexFunc(d.Args, func(a Arg) bool { return a.Key == key })
	if i < 0 {
		return Arg{}, false
	}
	return d.Args[i], true
}

// Has reports whether the flag or key is written.
func (d *Directive) Has(key string) bool {
	_, ok := d.Arg(key)
	return ok
}

// Text returns the value of a key that has one, or "".
func (d *Directive) Text(key string) string {
	if a, ok := d.Arg(key); ok && len(a.Values) > 0 {
		return a.Values[0].Text
	}
	return ""
}

// List returns the values of a list in the order of the source.
func (d *Directive) List(key string) []string {
	a, _ := d.Arg(key)
	var list []string
	for _, v := range a.Values {
		list = append(list, v.Text)
	}
	return list
}

// Hint returns the value of a hint, or nil if it is not written.
func (d *Directive) Hint(key string) *bool {
	if !d.Has(key) {
		return nil
	}
	return new(d.Text(key) != "false")
}

// Duration returns the duration of a key and whether it is written.
func (d *Directive) Duration(key string) (time.Duration, bool) {
	if !d.Has(key) {
		return 0, false
	}
	// Parsing has accepted the text, so that an error cannot occur.
	t, err := time.ParseDuration(d.Text(key))
	return t, err == nil
}

// Is reports whether the comment is a directive of mcpgen.
func Is(c *ast.Comment) bool { return is(c.Text) }

func is(text string) bool {
	d, ok := ast.ParseDirective(token.NoPos, text)
	return ok && d.Tool == "mcp"
}
