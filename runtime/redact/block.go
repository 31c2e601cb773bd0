package redact

import "strings"

// block hides a block scalar of YAML: a name, "|" or ">", and lines that are indented further than
// the name's line. It reports whether there is one, and returns where the search continues.
func (t *scanner) block(from, end int, sep separated) (int, bool) {
	s, i := t.s, sep.value
	if !sep.spaced {
		return end, false
	}
	for range 2 {
		if c := at(s, i); c == '!' || c == '&' { // a tag, an anchor
			i = skipSpaces(s, runEnd(s, i+1, &bare))
		}
	}
	style := len("|")
	if at(s, i) != '|' {
		style = bracket(s[i:], '>')
	}
	if !sep.spaced || style == 0 {
		return end, false
	}
	for i += style; strings.IndexByte("+-123456789", at(s, i)) >= 0; {
		i++
	}
	i = skipSpaces(s, i)
	width, backslashes := lineBreak(s, i)
	if at(s, i) == '#' {
		for last := min(len(s), i+longestMember); width == 0 && i < last; {
			i++
			width, backslashes = lineBreak(s, i)
		}
	}
	if width == 0 || !t.m.namesSecret(s[from:end]) {
		return end, false
	}
	outer, least := indentation(s, max(0, from-len(sep.quote)), backslashes)
	begin, last := -1, end
	for line := i + width; width > 0; line = i + width {
		first := skipSpaces(s, line)
		if width, _ = lineBreak(s, first); width > 0 { // a blank line
			i = first
			continue
		}
		if begin < 0 && first-line <= outer {
			outer = least
		}
		if first == len(s) || first-line <= outer {
			break
		}
		if begin < 0 {
			begin = first
		}
		i = lineEnd(s, first, backslashes)
		last = i
		width, _ = lineBreak(s, i)
	}
	if begin < 0 {
		return end, false
	}
	if s[begin:last] == Mask {
		return end, true
	}
	return t.hide(begin, last, Mask), true
}

// indentation is the indentation of a name's line, with and without the markers of lists.
// backslashes is their number before each line break, 0 for a text that is not quoted. A line of a
// quoted text may begin with the quote.
func indentation(s string, name, backslashes int) (marked, plain int) {
	begin := name
	for begin > 0 && strings.IndexByte("\r\n", s[begin-1]) < 0 {
		if backslashes > 0 && (s[begin-1] == '"' || escapedBreak(s[:begin])) {
			break
		}
		begin--
	}
	i := skipSpaces(s[:name], begin)
	plain = i - begin
	for strings.HasPrefix(s[i:name], "- ") {
		i = skipSpaces(s[:name], i+1)
	}
	return i - begin, plain
}

// breaks are the ends of lines as a quoted text escapes them behind a backslash.
var breaks = [...]string{"n", "r", "u000a", "u000d"}

// breakLetters is the length of one of breaks that a text begins with, or 0.
func breakLetters(s string) int {
	for _, letters := range breaks {
		if hasFold(s, letters) {
			return len(letters)
		}
	}
	return 0
}

// escapedBreak reports whether a text ends in an escaped end of a line.
func escapedBreak(s string) bool {
	for _, letters := range breaks {
		if at := len(s) - len(letters); at > 0 && s[at-1] == '\\' && hasFold(s[at:], letters) {
			return true
		}
	}
	return false
}

// lineBreak is the width of the line break at i, as it is or as a quoted text escapes it, and how
// many backslashes it has. The width is 0 if there is none.
func lineBreak(s string, i int) (width, backslashes int) {
	next := skipBackslashes(s, i)
	if next > i {
		if letters := breakLetters(s[next:]); letters > 0 {
			return next + letters - i, next - i
		}
		return 0, 0
	}
	if strings.HasPrefix(s[i:], "\r\n") {
		return 2, 0
	}
	if c := at(s, i); c == '\n' || c == '\r' {
		return 1, 0
	}
	return 0, 0
}

// lineEnd is where the line at i ends: before its break, which has so many backslashes, or before
// the quote that closes the text.
func lineEnd(s string, i, backslashes int) int {
	for run := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			run++
			continue
		case c == '\n', c == '\r':
			return i
		case backslashes == 0:
		case c == '"' && run%(2*backslashes) == backslashes-1:
			return i - run%(2*backslashes)
		case run%(2*backslashes) == backslashes && breakLetters(s[i:]) > 0:
			return i - backslashes
		}
		run = 0
	}
	return i
}

// skipLines skips spaces and the ends of lines.
func skipLines(s string, i int) int {
	for width := 1; width > 0; i += width {
		i = skipSpaces(s, i)
		width, _ = lineBreak(s, i)
	}
	return i
}
