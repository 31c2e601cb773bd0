package directive

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
)

// lexer walks the text after a directive's name. Offsets count bytes of the whole comment.
type lexer struct {
	text string
	at   int
	d    *Directive
	bad  []Problem
}

// word is one argument as in the source.
type word struct {
	key        string
	assigned   bool // an = follows the key
	parts      []part
	start, end int
}

// part is a bare run or a literal between commas.
type part struct {
	text       string
	quoted     bool
	start, end int
}

func (l *lexer) problem(code diag.Code, start, end int, fix, message string) {
	l.d.Broken = true
	l.bad = append(l.bad, Problem{Code: code, Message: message, Fix: fix, Span: l.span(start, end)})
}

// span is a part of the directive, by offsets of its comment.
func (l *lexer) span(start, end int) Span {
	return Span{l.d.Pos + tokenPos(start), l.d.Pos + tokenPos(end)}
}

// space skips the spaces and tabs between arguments. Other white space looks the same to people and
// not to parsers, so it is refused.
func (l *lexer) space() {
	for l.at < len(l.text) && (l.text[l.at] == ' ' || l.text[l.at] == '\t') {
		l.at++
	}
}

// next returns the next argument. done is true at the end of the text and after a problem
// that leaves the rest without meaning.
func (l *lexer) next() (w word, done bool) {
	l.space()
	if l.at >= len(l.text) {
		return word{}, true
	}
	rest := l.text[l.at:]
	if strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") {
		l.problem(diag.Malformed, l.at, len(l.text),
			"move the note to a line of its own above the directive",
			"a comment is among the arguments of //mcp:"+l.d.Name)
		return word{}, true
	}
	if rest[0] == '=' || rest[0] == ',' {
		l.problem(diag.Malformed, l.at, l.at+1,
			"write key=value, and the values of a list, without spaces",
			"a space stands before a "+rest[:1]+" in //mcp:"+l.d.Name)
		return word{}, true
	}
	w.start = l.at
	for l.at < len(l.text) && !strings.ContainsRune(" \t=\"`", rune(l.text[l.at])) {
		r, size := utf8.DecodeRuneInString(l.text[l.at:])
		if !l.visible(r, size) {
			return word{}, true
		}
		l.at += size
	}
	w.key = l.text[w.start:l.at]
	if l.at < len(l.text) && l.text[l.at] == '=' {
		w.assigned = true
		l.at++
		if !l.values(&w) {
			return word{}, true
		}
	} else if l.at < len(l.text) && (l.text[l.at] == '"' || l.text[l.at] == '`') {
		l.problem(diag.Malformed, l.at, len(l.text), "write key=\"value\"", "a quoted value has no key=")
		return word{}, true
	}
	w.end = l.at
	return w, false
}

// values reads the text after the =: bare runs and literals, separated by commas.
func (l *lexer) values(w *word) bool {
	for {
		p := part{start: l.at}
		switch {
		case l.at < len(l.text) && (l.text[l.at] == '"' || l.text[l.at] == '`'):
			quoted, err := strconv.QuotedPrefix(l.text[l.at:])
			if err != nil {
				l.problem(diag.Malformed, l.at, len(l.text),
					"close the quote on the same line; \\\" is a quote within a string",
					"the string after "+w.key+"= is not a Go string literal")
				return false
			}
			// QuotedPrefix has checked the literal.
			p.text, _ = strconv.Unquote(quoted)
			p.quoted = true
			l.at += len(quoted)
			if !utf8.ValidString(p.text) {
				l.problem(diag.BadValue, p.start, l.at,
					"write the text itself", "the value of "+w.key+"= is not valid UTF-8")
				return false
			}
		case l.at < len(l.text) && l.text[l.at] == '\'':
			l.problem(diag.Malformed, l.at, len(l.text), "write double quotes or backquotes",
				"single quotes are not valid for a Go string")
			return false
		default:
			for l.at < len(l.text) && !strings.ContainsRune(" \t,\"`", rune(l.text[l.at])) {
				r, size := utf8.DecodeRuneInString(l.text[l.at:])
				if !l.visible(r, size) {
					return false
				}
				l.at += size
			}
			p.text = l.text[p.start:l.at]
		}
		p.end = l.at
		w.parts = append(w.parts, p)
		if l.at == len(l.text) || l.text[l.at] == ' ' || l.text[l.at] == '\t' {
			return true
		}
		if l.text[l.at] != ',' {
			l.problem(diag.Malformed, p.start, len(l.text),
				"put the whole value in quotes, and a space after it",
				"a quote is in the middle of the value of "+w.key+"=")
			return false
		}
		l.at++
	}
}

// visible refuses characters that look like a space or are invisible.
func (l *lexer) visible(r rune, size int) bool {
	if unicode.IsPrint(r) && r != utf8.RuneError {
		return true
	}
	l.problem(diag.Malformed, l.at, l.at+size,
		"write plain spaces between arguments, and quote other characters",
		"the invisible character "+strconv.QuoteRuneToASCII(r)+" stands in //mcp:"+l.d.Name)
	return false
}
