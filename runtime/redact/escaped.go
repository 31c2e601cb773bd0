package redact

import (
	"net/url"
	"strconv"
	"strings"
)

// escapedBeside is beside for escaped text, as a URL within a query string: token%3Dabc and
// postgres%3A%2F%2Fada%3Apassword%40db.
func (t *scanner) escapedBeside(from, end int) int {
	const equals, scheme, second, behind = "%3D", "%3A%2F%2F", "%3A", "%40"
	if to := t.encoded(from, end); to > end {
		return to
	}
	rest := t.s[end:]
	switch {
	case hasFold(rest, equals):
		if !t.m.Name(t.s[from:end]) {
			return end
		}
		i := end + len(equals)
		to := i
		for to < len(t.s) && bare[t.s[to]] && (t.s[to] != '%' || !separates(t.s[to:])) {
			to++
		}
		to = beforeName(t.s, i, beforeNext(t.s, i, to))
		if t.s[i:to] == Mask {
			return end
		}
		return t.hide(i, to, Mask)
	case hasFold(rest, scheme):
		i := end + len(scheme)
		to := i
		for to < len(t.s) && bare[t.s[to]] && t.s[to] != '/' && !hasFold(t.s[to:], "%2F") &&
			!hasFold(t.s[to:], "%3F") && !hasFold(t.s[to:], "%23") {
			to++
		}
		authority := t.s[i:to]
		name := strings.LastIndex(authority, behind)
		if name < 0 {
			return end
		}
		for colon := 0; colon < name; colon++ {
			if authority[colon] == ':' || hasFold(authority[colon:], second) {
				user := colon
				if authority[colon] == '%' {
					colon += len(second) - 1
				}
				if authority[colon+1:name] == Mask {
					return end
				}
				if user >= opaqueUser {
					t.hide(i, i+user, Mask)
				}
				return t.hide(i+colon+1, i+name, Mask)
			}
		}
		if name >= opaqueUser && authority[:name] != Mask {
			return t.hide(i, i+name, Mask)
		}
	}
	return end
}

// separates reports whether an escape is that of a character that ends a bare value.
func separates(s string) bool {
	// & " ' space ; and the ends of lines
	for _, escape := range [...]string{"%26", "%22", "%27", "%20", "%3B", "%0A", "%0D"} {
		if hasFold(s, escape) {
			return true
		}
	}
	return false
}

// maxEscapes is how often JSON may be escaped to be searched without its escapes.
const maxEscapes = 3

// inEncoded are the characters of text that is escaped as in a query string.
var inEncoded = set(func(c byte) bool { return inURL[c] && c != '\\' })

// encoded hides the secrets of JSON that is escaped as in a query string:
// %22password%22%3A%22x%22. A string of that JSON ends at end. It reads each such text once,
// without the escapes, and returns where the search continues.
func (t *scanner) encoded(from, end int) int {
	if end < t.decoded || t.depth == maxEscapes || !encodedQuote(t.s[end:]) {
		return end
	}
	for _, size := range [...]int{1, 3} { // with the quote: a word may begin within its escape
		if from >= size && t.s[from-size] == '%' {
			from -= size
			break
		}
	}
	from = max(from, t.done)
	t.decoded = runEnd(t.s, end, &inEncoded)
	plain := make([]byte, 0, t.decoded-from)
	for i := from; i < t.decoded; {
		c, size := plainByte(t.s[i:])
		plain = append(plain, c)
		i += size
	}
	inner := scanner{m: t.m, s: string(plain), depth: t.depth + 1}
	inner.scan()
	i, n, to := from, 0, end
	behind := func(wanted int) int {
		for ; n < wanted; n++ {
			_, size := plainByte(t.s[i:])
			i += size
		}
		return i
	}
	for _, f := range inner.found {
		begin := behind(f.from)
		mask := strings.ReplaceAll(url.QueryEscape(f.mask), url.QueryEscape(Mask), Mask)
		to = t.hide(begin, behind(f.to), mask)
	}
	return to
}

// plainByte is the first byte of a text, unescaped, and its size in the text.
func plainByte(s string) (byte, int) {
	if s[0] == '+' {
		return ' ', 1
	}
	if s[0] == '%' && len(s) >= 3 {
		if c, err := strconv.ParseUint(s[1:3], 16, 8); err == nil {
			return byte(c), 3
		}
	}
	return s[0], 1
}

// encodedQuote reports whether a text begins with an escaped quote and then a colon or a comma, as
// after a name or an item in JSON. They may be escaped several times.
func encodedQuote(s string) bool {
	const longest = 8
	quoted := false
	for range longest {
		if s == "" {
			return false
		}
		c, size := plainByte(s)
		for again := 1; c == '%' && again < maxEscapes &&
			strings.HasPrefix(s[size:], "25"); again++ {
			size += 2
		}
		if c == '%' && size > 1 && len(s) >= size+2 {
			var more int
			c, more = plainByte("%" + s[size:size+2])
			size += more - 1
		}
		switch {
		case !quoted && (c == '"' || c == '\'') && size > 1:
			quoted = true
		case quoted && (c == ':' || c == ','):
			return true
		case !quoted && c != '\\', quoted && c != ' ':
			return false
		}
		s = s[size:]
	}
	return false
}
