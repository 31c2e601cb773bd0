package redact

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/escape"
)

// Text masks the secrets in a text. A text without secrets is returned unchanged, and existing
// masks stay. The time grows linearly with the length of the text.
func (m Masker) Text(s string) string {
	t := scanner{m: m, s: s}
	if len(t.armored()) > 0 {
		s = t.result()
		t = scanner{m: m, s: s}
	}
	t.scan(nil)
	for _, form := range m.Values {
		if form == nil {
			continue
		}
		for _, at := range form.FindAllStringIndex(s, -1) {
			// Existing masks may match as well, and stay.
			if !strings.Contains(Mask, s[at[0]:at[1]]) {
				t.hide(at[0], at[1], Mask)
			}
		}
	}
	if m.escapes {
		return escape.Text(t.result())
	}
	return t.result()
}

// span is a range of a text to mask, and its replacement.
type span struct {
	from, to int
	mask     string
}

func inOrder(a, b span) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to))
}

// scanner goes through a text once, from one word to the next. Then it goes through the parts with
// escapes, without the escapes. The spans may overlap: the end of a bare value is ambiguous, so the
// scan continues within the value.
type scanner struct {
	m     Masker
	s     string
	found []span

	depth   int   // how often the text had escapes
	query   bool  // the escapes were those of a query string, where "+" is a space
	sources []int // where each character is in the text with escapes; nil without

	keyEnd         int    // where the last key with a known prefix ends
	credentialEnd  int    // where the last word after a scheme ends
	label          string // the last text of a member for names, as in "name":"DB_PASSWORD"
	labelEnd       int    // where the member ends
	runEnd, lastAt int    // of the run of characters that a URL was found in, and its last "@"
	line           struct{ from, end, at int }
	bareEnd        [2]bounds // of the last bare value, outside of JSON and in JSON
}

// scan searches the text. keys are the spans of keys of several lines, which it skips.
func (t *scanner) scan(keys []span) {
	escapes := false
	for i := 0; i < len(t.s); {
		switch {
		case len(keys) > 0 && i >= keys[0].from:
			i = max(i, keys[0].to)
			keys = keys[1:]
		case letter[t.s[i]]:
			i = t.word(i)
		default:
			switch t.s[i] {
			case '@':
				t.dataSource(i)
			case '%', '\\', '&':
				escapes = true
			}
			i++
		}
	}
	if t.m.Texts != nil {
		for _, text := range t.m.Texts() {
			t.places(text)
		}
	}
	if escapes && t.depth < maxEscapes {
		t.unescape()
	}
}

// escapeSize is how many characters of a word belong to an escape that begins before the word.
func escapeSize(before, first byte) int {
	switch {
	case before == '%':
		return len("20")
	case before != '\\':
		return 0
	case first == 'x':
		return len("x20")
	case first == 'u':
		return len("u0020")
	}
	return len("n")
}

// word searches the word at i, and returns where the search continues.
func (t *scanner) word(i int) int {
	end := runEnd(t.s, i, &letter)
	if to := t.scheme(i); to > i {
		return to
	}
	next := t.beside(i, end)
	if size := escapeSize(at(t.s, i-1), t.s[i]); size > 0 && i+size < end {
		next = max(next, t.word(i+size)) // %20Cookie: x, where the value has no escapes
	}
	for i < end { // after - or _ a key may begin as well
		if i >= t.keyEnd {
			t.form(i, end)
		}
		for i++; i < end && t.s[i-1] != '-' && t.s[i-1] != '_'; {
			i++
		}
	}
	return next
}

// hide masks s[from:to] and returns to.
func (t *scanner) hide(from, to int, mask string) int {
	if from < to {
		t.found = append(t.found, span{from, to, mask})
	}
	return to
}

// result is the masked text. Overlapping spans become one: each alone would leave a part of the
// other.
func (t *scanner) result() string {
	if len(t.found) == 0 {
		return t.s
	}
	slices.SortStableFunc(t.found, inOrder) // of equal spans the outer text has the mask
	out, done := make([]byte, 0, len(t.s)+len(Mask)), 0
	for i := 0; i < len(t.found); {
		f := t.found[i]
		for i++; i < len(t.found) && t.found[i].from < f.to; i++ {
			if t.found[i].to > f.to {
				f.to, f.mask = t.found[i].to, Mask
			}
		}
		out = append(append(out, t.s[done:f.from]...), f.mask...)
		done = f.to
	}
	return string(append(out, t.s[done:]...))
}

// letter are the characters of words: of names, and most of those of keys.
var letter = set(func(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' ||
		c == '_'
})

func set(in func(byte) bool) (s [256]bool) {
	for c := range s {
		s[c] = in(byte(c))
	}
	return s
}

// runEnd is where a run of characters of a set ends.
func runEnd(s string, i int, of *[256]bool) int {
	for i < len(s) && of[s[i]] {
		i++
	}
	return i
}

func at(s string, i int) byte {
	if 0 <= i && i < len(s) {
		return s[i]
	}
	return 0
}

func quote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// quoteEnd is the position of the next quote at or after i that no backslash escapes; the end of
// the text without one.
func quoteEnd(s string, i int, quote byte) int {
	for ; i < len(s) && s[i] != quote; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i, len(s))
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// blanks is where the spaces at i end.
func (t *scanner) blanks(i int) int {
	for i < len(t.s) && (t.s[i] == ' ' || t.s[i] == '\t' || t.s[i] == '+' && t.query) {
		i++
	}
	return i
}

// lineBreak is the width of the end of a line at i, or 0.
func (t *scanner) lineBreak(i int) int {
	if strings.HasPrefix(t.s[min(i, len(t.s)):], "\r\n") {
		return 2
	}
	if c := at(t.s, i); c == '\n' || c == '\r' {
		return 1
	}
	return 0
}

// eol is where the line at i ends. It notes the line, and its last "@" after i.
func (t *scanner) eol(i int) int {
	if l := &t.line; i < l.from || i >= l.end {
		l.from, l.end = i, len(t.s)
		if end := strings.IndexAny(t.s[i:], "\r\n"); end >= 0 {
			l.end = i + end
		}
		l.at = i + strings.LastIndexByte(t.s[i:l.end], '@')
	}
	return t.line.end
}
