package redact

import (
	"regexp"
	"strings"
)

// longestName bounds the search backwards for the beginning of a name.
const longestName = 64

// beside hides the value beside the name s[from:end], and returns where the search continues.
func (t *scanner) beside(from, end int) int {
	s, name := t.s, t.s[from:end]
	if at(s, end) == ' ' && letter[at(s, end+1)] && name[0] != '-' {
		return end // as for most words
	}
	if strings.HasPrefix(s[end:], "://") {
		return t.url(from, end+len("://"))
	}
	if name[0] == '-' && len(name) > 1 {
		if to := t.flag(from, end); to > end {
			return to
		}
	}
	if at(s, end) == '>' {
		return t.element(from, end)
	}
	sep, ok := t.separator(end)
	if !ok {
		return end
	}
	if sep.kind == ':' && sep.spaced && strings.IndexByte(`|>!&\`, at(s, sep.value)) >= 0 {
		if to, is := t.block(from, end, sep); is {
			return to
		}
	}
	switch {
	case sep.kind == ':' && sep.spaced && sep.quote == 0:
		if !t.m.certain(name) {
			return end
		}
	case strings.EqualFold(name, "pwd"): // a directory, or the password of a connection string
		if c := at(s, sep.value); sep.kind != '=' || c == '/' || c == '~' || c == '.' ||
			at(s, sep.value+1) == ':' {
			return end
		}
	case alone(name) && (sep.kind == '=' || sep.quote != 0): // or it counts tests
		if to := runEnd(s, sep.value, &alphanumeric); to > sep.value && to-sep.value < 6 &&
			strings.Trim(s[sep.value:to], digits) == "" {
			return end
		}
	case sep.kind == ':' && sep.quote != 0 && t.labelled(from, name, sep):
	case sep.kind == '=' && strings.IndexByte("?&#", at(s, from-1)) >= 0 && inQuery(name):
	case !t.m.Name(name) && !(sep.kind == ':' && sep.quote != 0 && t.spelled(from, end)):
		return end
	}
	v := t.value(name, sep)
	switch s[v.from:v.to] {
	case "", Mask, "true", "false", "null", "nil":
		return end
	}
	if measure(name, s[v.from:v.to]) {
		return end
	}
	t.hide(v.from, v.to, v.mask)
	return max(end, v.next)
}

// spelled reports whether a name in quotes is secret whose last part is s[from:end], after escapes
// of JSON or letters that fold to ASCII: p\u0061ssword.
func (t *scanner) spelled(from, end int) bool {
	first := from
	for first > 0 && from-first < 6*longestName && (letter[t.s[first-1]] || t.s[first-1] == '\\' ||
		t.s[first-1] >= 0x80) {
		first--
	}
	if first == from {
		return false
	}
	var name []byte
	for i := first; i < end; {
		var size int
		name, size = backslash(name, t.s[i:end])
		i += size
	}
	return t.m.Name(string(name))
}

// certain reports whether a name before a colon and a space is that of a value, and not a word of
// prose: it has several words, or can hardly mean anything else.
func (m Masker) certain(name string) bool {
	return isOne(name, "password", "passwd", "passphrase", "secret", "apikey", "authorization",
		"cookie", "dsn") || name != "" && strings.ContainsAny(name[1:], "-_") && m.Name(name)
}

// separated is the text between a name and its value.
type separated struct {
	kind   byte // '=' or ':'
	quote  byte // the name is in quotes
	spaced bool // white space follows
	value  int  // where the value begins
}

// separator reads the text after a name that ends at i.
func (t *scanner) separator(i int) (sep separated, ok bool) {
	if c := at(t.s, i); c == '"' || c == '\'' {
		sep.quote = c
		i++
	}
	after := t.blanks(i)
	sep.kind = at(t.s, after)
	// prose, a comparison, or a name of a language
	if sep.kind != '=' && (sep.kind != ':' || after > i && sep.quote == 0) ||
		!t.query && (at(t.s, after+1) == '=' || at(t.s, after+1) == ':') {
		return sep, false
	}
	if at(t.s, after+1) == '>' {
		after++
	}
	sep.value = t.blanks(after + 1)
	sep.spaced = sep.value > after+1
	return sep, true
}

// Where a bare value ends: in a text, in JSON, and in a query string.
var (
	bare = set(func(c byte) bool {
		return c > ' ' && c != 0x7f && strings.IndexByte("\"'`<>&;", c) < 0
	})
	inJSON      = set(func(c byte) bool { return bare[c] && strings.IndexByte(",]}", c) < 0 })
	bareInQuery = set(func(c byte) bool { return strings.IndexByte("\"'&; \r\n", c) < 0 })
)

// bounds are the end of a run of characters, and of a value in the run, which has no closing
// characters at its end.
type bounds struct{ run, value int }

// bareValue is where a bare value at i ends. The run of a value is read once, although several
// values may end with it.
func (t *scanner) bareValue(i int, json bool) int {
	chars, last := &bare, &t.bareEnd[0]
	if json {
		chars, last = &inJSON, &t.bareEnd[1]
	} else if t.query {
		chars = &bareInQuery
	}
	if i >= last.run {
		last.run = runEnd(t.s, i, chars)
		last.value = trimmed(t.s, i, last.run)
	}
	return max(i, last.value)
}

// trimmed is where s[i:end] ends without closing characters, and separators after the next name.
func trimmed(s string, i, end int) int {
	for end > i && (strings.IndexByte(",])}.:\\", s[end-1]) >= 0 || s[end-1] == '=' &&
		end < len(s) && s[end] != '&' && s[end] != ';') {
		end--
	}
	return end
}

// found is a value, its replacement, in JSON a string, and where the search continues.
type found struct {
	from, to, next int
	mask           string
}

// value is the value of a name.
func (t *scanner) value(name string, sep separated) found {
	s, i := t.s, sep.value
	if quote(at(s, i)) {
		from, to := within(s, i)
		return found{from, to, to, Mask}
	}
	if sep.kind == ':' && sep.quote == 0 && sep.spaced && headerLine(name) {
		return found{i, t.eol(i), i, Mask}
	}
	if q := literal(s, i); q >= i {
		// After a short value without quotes, the quote closes the text around it: 'password=b'.
		closes := q+1 == len(s) || strings.IndexByte(" \t\r\n,;:)]}\\", s[q+1]) >= 0
		if sep.quote != 0 || !closes {
			from, to := within(s, q)
			return found{i, to, to, s[q:from] + Mask}
		}
	}
	json, mask := sep.quote != 0 && sep.kind == ':', Mask
	if json {
		mask = string(sep.quote) + Mask + string(sep.quote)
	}
	inner := i
	if c := at(s, i); c == '[' || c == '{' {
		inner = nestedEnd(s, i)
	}
	end, next := t.bareValue(inner, json), inner
	switch {
	case isScheme(s[i:end]): // Authorization=Bearer abc
		if after := t.blanks(end); after > end {
			end = t.bareValue(after, json)
		}
	case inner == i && sep.quote == 0 && headerLine(name):
		end, next = t.headerEnd(i, end)
		end = trimmed(s, i, end)
	}
	return found{i, end, next, mask}
}

// within is where a quoted text begins and ends whose first quote is at q. Three quotes open a text
// of several lines, as in TOML, and three close it.
func within(s string, q int) (from, to int) {
	c := s[q]
	three := func(i int) bool { return at(s, i) == c && at(s, i+1) == c && at(s, i+2) == c }
	if !three(q) {
		return q + 1, quoteEnd(s, q+1, c)
	}
	from = q + 3
	for to = quoteEnd(s, from, c); to < len(s) && !three(to); {
		to = quoteEnd(s, to+1, c)
	}
	for three(to + 1) { // the text may end with quotes of its own
		to++
	}
	return from, to
}

// python is the beginning of a text that Python prints with a prefix or a type.
var python = regexp.MustCompile(`^(?:[\w.-]{0,64}\([bBrRuUfF]{0,2}|[bBrRuUfF]{1,2})["']`)

// literal is the position of the quote of a text of Python: b'x', SecretStr('x'); i-1 without
// one.
func literal(s string, i int) int {
	return i + len(python.FindString(s[i:min(len(s), i+longestName+4)])) - 1
}

// nestedEnd is where the bracket at i closes; the end of the text if it does not.
func nestedEnd(s string, i int) int {
	for depth := 0; i < len(s); i++ {
		switch s[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			i = quoteEnd(s, i+1, '"')
		}
	}
	return len(s)
}

// headerEnd is where the value of a header ends that shares its line, and whose first word is
// s[i:end]: after the further pairs of cookies, and after the parameters of a scheme:
// Authorization=ApiKey abc, Authorization:AWS4-HMAC-SHA256 A=b, C=d. It also returns where the last
// word begins.
func (t *scanner) headerEnd(i, end int) (to, last int) {
	s := t.s
	for at(s, end) == ';' {
		next := t.blanks(end + 1)
		to := runEnd(s, next, &bare)
		if name, _, pair := strings.Cut(s[next:to], "="); !pair || name == "" || headerLine(name) {
			return end, i
		}
		i, end = next, to
	}
	for more := end > i && runEnd(s, i, &letter) == end; more; more = s[end-1] == ',' {
		next := t.blanks(end)
		to := runEnd(s, next, &bare)
		word := strings.TrimRight(s[next:to], "=")
		// the next field
		if to == next || strings.ContainsAny(word, ":=") && s[to-1] != ',' && s[end-1] != ',' {
			return end, i
		}
		i, end = next, to
	}
	return end, i
}

// headerLine reports whether the value of a header contains spaces, so that its whole line belongs
// to it. The name may have a prefix: Proxy-Authorization, Set-Cookie.
func headerLine(name string) bool {
	return isOne(name[max(0, len(name)-len("authorization")):], "authorization") ||
		isOne(name[max(0, len(name)-len("cookie")):], "cookie")
}

// labelled reports whether the member of a JSON object whose name begins at from is directly after
// or before a member that contains a secret's name. It notes such a member.
func (t *scanner) labelled(from int, name string, sep separated) bool {
	s := t.s
	if isLabel(name) {
		if c := at(s, sep.value); c == sep.quote {
			to := quoteEnd(s, sep.value+1, c)
			t.label, t.labelEnd = s[sep.value+1:to], to+1
		}
		return false
	}
	if !isLabelled(name) {
		return false
	}
	if t.labelEnd > 0 && t.labelEnd < from &&
		strings.Trim(s[t.labelEnd:from-1], spaces) == "," && t.m.namesSecret(t.label) {
		return true
	}
	end := runEnd(s, sep.value, &inJSON)
	if at(s, sep.value) == sep.quote {
		end = quoteEnd(s, sep.value+1, sep.quote) + 1
	}
	end = min(end, len(s))
	member, is := strings.CutSuffix(labelBehind.FindString(s[end:min(end+longestMember, len(s))]),
		string(sep.quote))
	return is && t.m.namesSecret(member[strings.LastIndexByte(member, sep.quote)+1:])
}

// longestMember bounds the search for the name that belongs to a value before the name.
const longestMember = 512

var labelBehind = regexp.MustCompile(
	`^\s*,\s*["'](?i:name|key|header)["']\s*:\s*["'][^"']*["']`)

// element hides the text of an XML element whose name is s[from:end], sections of CDATA included:
// <password>…</password>. It returns where the search continues. Without the end of the element the
// name is a type parameter or a placeholder.
func (t *scanner) element(from, end int) int {
	const verbatim, closing = "<![CDATA[", "]]>"
	s, name, begin := t.s, t.s[from:end], from
	if at(s, begin-1) == ':' { // after a namespace prefix
		for begin--; begin > 0 && from-begin < longestName && letter[s[begin-1]]; {
			begin--
		}
	}
	if at(s, begin-1) != '<' || !t.m.namesSecret(name) {
		return end
	}
	i, data := end+1, false
	to := indexFrom(s, i, "<")
	for ; strings.HasPrefix(s[to:], verbatim); to = indexFrom(s, to, "<") {
		data = true
		to = min(indexFrom(s, to, closing)+len(closing), len(s))
	}
	if !data {
		if to == len(s) || s[i:to] == Mask {
			return end
		}
		rest, closes := strings.CutPrefix(s[to+1:], "/")
		if prefix := runEnd(rest, 0, &letter); prefix < longestName && at(rest, prefix) == ':' {
			rest = rest[prefix+1:]
		}
		if !closes || !hasFold(rest, name) {
			return end
		}
	}
	return t.hide(i, to, Mask)
}

// indexFrom is the position of a part of a text at or after i, or the end of the text.
func indexFrom(s string, i int, part string) int {
	if at := strings.Index(s[i:], part); at >= 0 {
		return i + at
	}
	return len(s)
}

// blockHead is the rest of the line of a block scalar, with tag, anchor and comment.
var blockHead = regexp.MustCompile(
	`^(?:[!&]\S*[ \t]+){0,2}(?:[|>]|\\u003[eE])[+1-9-]*[ \t]*(?:#[^\r\n]*)?[\r\n\\]`)

// block hides a block scalar of YAML: a name, "|" or ">", and lines that are indented further than
// the name's line. It returns where the search continues, in the last line, and reports whether
// there is a block.
func (t *scanner) block(from, end int, sep separated) (int, bool) {
	s, i := t.s, sep.value
	head := blockHead.FindString(s[i:min(len(s), i+longestMember)])
	if head == "" || !t.m.namesSecret(s[from:end]) {
		return end, false
	}
	if strings.HasSuffix(head, `\`) { // the lines are in the text without escapes
		return end, true
	}
	i += len(strings.TrimRight(head, "\r\n"))
	outer, least := t.indentation(from)
	begin, line, last := -1, 0, 0
	for width := t.lineBreak(i); width > 0; width = t.lineBreak(i) {
		first := i + width
		i = t.blanks(first)
		if t.lineBreak(i) > 0 { // a blank line
			continue
		}
		if begin < 0 {
			if i-first <= outer {
				outer = least
			}
			begin = i
		}
		if i == len(s) || i-first <= outer {
			break
		}
		line, last = i, t.eol(i)
		i = last
	}
	if last <= begin {
		return end, false
	}
	if strings.TrimRight(s[begin:last], spaces) == Mask {
		return end, true
	}
	t.hide(begin, last, Mask)
	return line, true
}

// indentation is the indentation of the line with the name at i, with and without the markers of
// lists.
func (t *scanner) indentation(i int) (marked, plain int) {
	begin := i
	for begin > 0 && strings.IndexByte("\r\n", t.s[begin-1]) < 0 {
		begin--
	}
	first := t.blanks(begin)
	plain = first - begin
	for first < i && strings.HasPrefix(t.s[first:], "- ") {
		first = t.blanks(first + 1)
	}
	return first - begin, plain
}

// behindFlag is the text between a flag and its value, with the quotes of both: in a list of JSON,
// Go or Python, on a line, or in a list of YAML.
var behindFlag = regexp.MustCompile(
	`^(?:["'](?:,[\s+]*|[ \t]+)(?:[\w.-]{0,64}\()?[bBrRuUfF]{0,2}["']|[ \t]+["']?|` +
		`["']?[ \t]*[\r\n]\s*- [ \t]*["']?)`)

// flag hides the value after a flag of a command, as in --password hunter2, --password "a b" and
// ["--password", "a b"], unless that is the next flag or the name of a header. The items of a list
// may be on lines of their own, and a flag in a list may have one hyphen.
func (t *scanner) flag(from, end int) int {
	s, name := t.s, t.s[from:end]
	if !t.m.Name(name) {
		return end
	}
	gap := behindFlag.FindString(s[end:min(len(s), end+longestMember)])
	comma := strings.HasPrefix(gap, `",`) || strings.HasPrefix(gap, "',")
	item := !comma && strings.ContainsAny(gap, "\r\n") // of a list in YAML
	first := s[:from-min(from, len(gap)-len(strings.TrimLeft(gap, `"'`)))]
	if gap == "" || !comma && name[1] != '-' || item && !strings.HasSuffix(first, "- ") {
		return end
	}
	next := end + len(gap)
	quoted := quote(s[next-1])
	c := at(s, next)
	if c == 0 || c == '-' || strings.HasPrefix(s[next:], Mask) {
		return end
	}
	switch {
	case quoted:
		to := quoteEnd(s, next, s[next-1])
		if measure(name, s[next:to]) {
			return end
		}
		if at(s, t.blanks(to+1)) == ':' { // the name of the next member
			return end
		}
		return t.hide(next, to, Mask)
	case item:
		t.hide(next, t.eol(next), Mask)
		return next
	case strings.IndexByte("([{|.,:", c) >= 0: // of a description
		return end
	}
	to := runEnd(s, next, &bare)
	if to > next && s[to-1] == ':' && at(s, to) == ' ' {
		if header := s[next : to-1]; runEnd(s, next, &letter) == to-1 &&
			(headerLine(header) || t.m.certain(header)) {
			return end // --header Authorization: Token X
		}
	}
	for to > next && (s[to-1] == ':' || s[to-1] == '\\') {
		to--
	}
	t.hide(next, to, Mask)
	return next
}
