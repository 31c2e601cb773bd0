package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxEscapes is how often escaped text is searched without its escapes.
const maxEscapes = 3

// The replacement of a value in JSON has quotes. These escape them as the text around is escaped.
var (
	toPercent   = strings.NewReplacer(`"`, "%22", `'`, "%27", `\`, "%5C", "%", "%25")
	toBackslash = strings.NewReplacer(`"`, `\"`, `\`, `\\`)
)

// unescape searches the parts of the text with escapes: runs with escapes of URLs, and what is
// between two quotes, with escapes of JSON, Go or HTML.
func (t *scanner) unescape() {
	s := t.s
	for done := 0; ; {
		i := strings.IndexByte(s[done:], '%')
		if i < 0 {
			break
		}
		from := done + i
		for from > done && inURL[s[from-1]] {
			from--
		}
		done = runEnd(s, done+i, &inURL)
		t.inner(from, done, percent, toPercent)
	}
	// Python's repr doubles backslashes, and some texts have more levels of escapes than maxEscapes.
	if (strings.Contains(s, `\\"`) || strings.Contains(s, `\\'`)) && !json.Valid([]byte(s)) {
		t.inner(0, len(s), quotes, toBackslash)
	}
	for from := 0; from < len(s); {
		to := quoteEnd(s, from, '"')
		if part := s[from:to]; strings.Contains(part, `\`) || strings.Contains(part, "&lt;") ||
			strings.Contains(part, "&amp;") {
			t.inner(from, to, backslash, toBackslash)
		}
		from = to + 1
	}
}

// inner searches s[from:to] without its escapes. first appends the first character of a text and
// returns its size in the text.
func (t *scanner) inner(from, to int, first func(to []byte, s string) ([]byte, int),
	escape *strings.Replacer) {
	plain, places := make([]byte, 0, to-from), make([]int, 0, to-from+1)
	for i := from; i < to; {
		var size int
		plain, size = first(plain, t.s[i:to])
		for len(places) < len(plain) {
			places = append(places, i)
		}
		i += size
	}
	places = append(places, to)
	in := scanner{m: t.m, s: string(plain), depth: t.depth + 1, query: escape == toPercent,
		sources: places}
	in.scan(in.armored())
	for _, f := range in.found {
		t.hide(in.source(f.from), in.source(f.to), escape.Replace(f.mask))
	}
}

// percent unescapes the first character of a text in a URL. An escape that was cut is nothing.
func percent(to []byte, s string) ([]byte, int) {
	if s[0] != '%' {
		return append(to, s[0]), 1
	}
	if len(s) < len("%20") {
		return to, len(s)
	}
	c, err := strconv.ParseUint(s[1:3], 16, 8)
	if err != nil {
		return append(to, '%'), 1
	}
	return append(to, byte(c)), len("%20")
}

var entities = map[string]byte{"&lt;": '<', "&gt;": '>', "&amp;": '&'}

// backslash unescapes the first character of a text in JSON, Go or HTML. An escape that was cut is
// nothing.
func backslash(to []byte, s string) ([]byte, int) {
	if s[0] == '&' {
		for entity, c := range entities {
			if strings.HasPrefix(s, entity) {
				return append(to, c), len(entity)
			}
		}
	}
	if s[0] != '\\' {
		return append(to, s[0]), 1
	}
	r, multibyte, rest, err := strconv.UnquoteChar(s, 0)
	switch {
	case err == nil && multibyte:
		return utf8.AppendRune(to, r), len(s) - len(rest)
	case err == nil:
		return append(to, byte(r)), len(s) - len(rest)
	case len(s) == 1, s[1] == 'u' && len(s) < len(`\u0020`), s[1] == 'x' && len(s) < len(`\x20`):
		return to, len(s)
	}
	return append(to, s[1]), 2
}

// quotes appends the first character of a text, and a quote without the backslashes before it.
func quotes(to []byte, s string) ([]byte, int) {
	n := 0
	for at(s, n) == '\\' {
		n++
	}
	if n > 0 && quote(at(s, n)) {
		return append(to, s[n]), n + 1
	}
	n = max(n, 1)
	return append(to, s[:n]...), n
}
