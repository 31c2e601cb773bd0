package redact

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/internal/escape"
)

// Text masks the secrets in a text. A text without secrets is returned unchanged, and existing
// masks stay. The time grows linearly with the length of the text.
func (m Masker) Text(s string) string {
	t := scanner{m: m, s: withoutKeys(s)}
	t.scan()
	if found := m.further(t.s); len(found) > 0 {
		t.add(found)
	}
	if m.escapes {
		return escape.Text(t.result())
	}
	return t.result()
}

// further are the places of m.Values and m.Texts in a text.
func (m Masker) further(s string) (found []span) {
	if m.Texts != nil {
		for _, text := range m.Texts() {
			found = append(found, places(s, text)...)
		}
	}
	for _, form := range m.Values {
		if form == nil {
			continue
		}
		for _, at := range form.FindAllStringIndex(s, -1) {
			// Existing masks may match as well, and stay.
			if at[0] < at[1] && !strings.Contains(Mask, s[at[0]:at[1]]) {
				found = append(found, span{at[0], at[1], Mask})
			}
		}
	}
	return found
}

// span is a range of a text to mask, and its replacement.
type span struct {
	from, to int
	mask     string
}

// scanner goes through a text once, from one place where a secret could begin to the next.
type scanner struct {
	m     Masker
	s     string
	found []span // in order; none touches another
	done  int    // where the last of them ends

	word            int  // the end of the current word
	escaped         bool // it follows an escape
	runEnd, lastAt  int  // of the run of characters that a URL was found in, and its last "@"
	lineEnd, lineAt int  // of the line that a URL was found in, and its last "@"
	decoded, depth  int  // where the last escaped JSON ends, and how often this text was escaped
}

func (t *scanner) scan() {
	for i := 0; i < len(t.s); {
		if !letter[t.s[i]] {
			if t.s[i] == '@' {
				t.dataSource(i)
			}
			i++
			continue
		}
		if i >= t.word {
			t.word = wordEnd(t.s, i)
			t.escaped = i > 0 && (t.s[i-1] == '\\' || t.s[i-1] == '%')
		}
		if t.begins(i) {
			if to := t.scheme(i); to > i {
				i = t.follow(to)
				continue
			}
		}
		// A key may be a secret's name too, as one with "PWD" in it before a colon.
		to := t.form(i)
		if t.begins(i) {
			if end := t.beside(i, t.word); end > t.word {
				to = end
			}
		}
		if to > i {
			i = t.follow(to)
			continue
		}
		// After - or _ a key may begin as well, and after an escape anything.
		for i++; i < t.word && t.s[i-1] != '-' && t.s[i-1] != '_' && (!t.escaped || !t.begins(i)); {
			i++
		}
	}
}

// longestName bounds the search backwards for the beginning of a name.
const longestName = 64

// follow returns where the search continues after hidden text that ends at i. The end of a bare
// value is ambiguous: it may include the name of the next value, which follow searches for.
func (t *scanner) follow(i int) int {
	for {
		from := i
		for from > 0 && i-from < longestName && letter[t.s[from-1]] {
			from--
		}
		end, next := t.word, i
		if i >= end { // and not before: it would be searched again for each key in it
			end = wordEnd(t.s, i)
		}
		// An escape is no part of the word: after it, a name begins within the escape's length.
		for last := min(end, i+longestEscape); from < last && next == i; from++ {
			if !t.begins(from) {
				continue
			}
			if next = max(i, t.scheme(from)); next == i {
				if to := t.beside(from, end); to > end {
					next = to
				}
			}
		}
		if next == i {
			return i
		}
		i = next
	}
}

// escapes may precede a word directly and look like a part of it: \n, \x00 and \u003c of quoted
// texts, %20 of URLs. By their first two bytes and lengths.
var escapes = [...]struct {
	first, second byte // zero is any
	size          int
}{{'\\', 0, 2}, {'%', 0, 3}, {'\\', 'x', 4}, {'\\', 'u', 6}}

// longestEscape is the size of the longest of escapes.
const longestEscape = 6

// begins reports whether a word begins at i.
func (t *scanner) begins(i int) bool {
	if i == 0 || !letter[t.s[i-1]] {
		return true
	}
	for _, e := range escapes {
		if i >= e.size && t.s[i-e.size] == e.first &&
			(e.second == 0 || t.s[i-e.size+1] == e.second) {
			return true
		}
	}
	return false
}

// hide masks s[from:to] and returns to.
func (t *scanner) hide(from, to int, mask string) int {
	from = max(from, t.done)
	if from < to {
		t.found = append(t.found, span{from, to, mask})
		t.done = to
	}
	return to
}

// add masks more. Overlapping spans become one: each alone would leave a part of the other.
func (t *scanner) add(more []span) {
	all := append(t.found, more...)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	merged := all[:1]
	for _, next := range all[1:] {
		last := &merged[len(merged)-1]
		switch {
		case next.from >= last.to:
			merged = append(merged, next)
		case next.to > last.to:
			last.to, last.mask = next.to, Mask
		}
	}
	t.found = merged
}

func (t *scanner) result() string {
	if len(t.found) == 0 {
		return t.s
	}
	size := len(t.s)
	for _, f := range t.found {
		size += len(f.mask) - (f.to - f.from)
	}
	out, done := make([]byte, 0, size), 0
	for _, f := range t.found {
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

func wordEnd(s string, i int) int { return runEnd(s, i, &letter) }

// runEnd is where a run of characters of a set ends.
func runEnd(s string, i int, of *[256]bool) int {
	for i < len(s) && of[s[i]] {
		i++
	}
	return i
}

func skipSpaces(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// beside hides the value beside the name s[from:end], and returns where the search continues; end
// if nothing was hidden.
func (t *scanner) beside(from, end int) int {
	if i := authority(t.s, end); i >= 0 {
		return t.url(from, i)
	}
	if at(t.s, end) == '%' {
		if to := t.escapedBeside(from, end); to > end {
			return to
		}
	}
	if t.s[from] == '-' && end > from+1 {
		if to := t.flag(from, end); to > end {
			return to
		}
	}
	if at(t.s, end) == ' ' && letter[at(t.s, end+1)] {
		return end // as for most words
	}
	if to := t.element(from, end); to > end {
		return to
	}
	sep, ok := separator(t.s, end)
	if !ok {
		return end
	}
	if sep.kind == ':' {
		if to, is := t.block(from, end, sep); is {
			return to
		}
	}
	name := t.s[from:end]
	switch {
	case sep.kind == ':' && sep.spaced && !sep.quoted:
		if !t.certain(name) {
			return end
		}
	case strings.EqualFold(name, "pwd"): // a directory, or the password of a connection string
		if c := at(t.s, sep.value); sep.kind != '=' || c == '/' || c == '~' || c == '.' ||
			at(t.s, sep.value+1) == ':' {
			return end
		}
	case alone(name) && (sep.kind == '=' || sep.quoted): // or it counts tests
		if to := runEnd(t.s, sep.value, &alphanumeric); to > sep.value && to-sep.value < 6 &&
			strings.Trim(t.s[sep.value:to], "0123456789") == "" {
			return end
		}
	case sep.kind == ':' && sep.quoted && isLabelled(name) && t.member(from, sep):
	case sep.kind == '=' && t.queried(from) && inQuery(name): // of a URL
	case !t.m.Name(name) && !(sep.kind == ':' && sep.quoted && t.spelled(from, end)):
		return end
	}
	from, to, mask := t.value(name, sep)
	switch t.s[from:to] {
	case "", Mask, "true", "false", "null", "nil":
		return end
	}
	if measure(name, t.s[from:to]) {
		return end
	}
	return t.hide(from, to, mask)
}

// queried reports whether i begins a parameter in the query or the fragment of a URL, plain or
// escaped for JSON or HTML.
func (t *scanner) queried(i int) bool {
	if i == 0 {
		return false
	}
	switch t.s[i-1] {
	case '?', '&', '#':
		return true
	case ';':
		return strings.HasSuffix(t.s[:i], "&amp;") || strings.HasSuffix(t.s[:i], `\u0026amp;`)
	}
	return strings.HasSuffix(t.s[:i], `\u0026`)
}

// spelled reports whether a name in quotes is secret whose last part is s[from:end], after escapes
// of JSON or letters that fold to ASCII: p\u0061ssword.
func (t *scanner) spelled(from, end int) bool {
	first := from
	for first > 0 && from-first < 6*longestName && (letter[t.s[first-1]] || t.s[first-1] == '\\' ||
		t.s[first-1] >= 0x80) {
		first--
	}
	return first < from && t.m.Name(unescaped(t.s[first:end]))
}

// unescaped is a name without the escapes of JSON.
func unescaped(name string) string {
	var out strings.Builder
	for name != "" {
		plain, rest, found := strings.Cut(name, `\`)
		out.WriteString(plain)
		if name = rest; !found {
			break
		}
		if name = strings.TrimLeft(name, `\`); len(name) > 4 && name[0] == 'u' {
			if r, err := strconv.ParseUint(name[1:5], 16, 16); err == nil {
				out.WriteRune(rune(r))
				name = name[5:]
			}
		}
	}
	return out.String()
}

func hasFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// certain reports whether a name before a colon and a space is that of a value, and not a word of
// prose: it has several words, or can hardly mean anything else.
func (t *scanner) certain(name string) bool {
	for _, known := range [...]string{"password", "passwd", "passphrase", "secret", "apikey",
		"authorization", "cookie", "dsn"} {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return name != "" && strings.ContainsAny(name[1:], "-_") && t.m.Name(name)
}

// separated is the text between a name and its value.
type separated struct {
	kind   byte   // '=' or ':'
	quoted bool   // the name is in quotes
	quote  string // such a quote, with the backslashes before it
	spaced bool   // white space follows
	value  int    // where the value begins
}

// separator reads the text after a name that ends at i.
func separator(s string, i int) (separated, bool) {
	var sep separated
	if q := skipBackslashes(s, i); at(s, q) == '"' || at(s, q) == '\'' {
		sep.quoted, sep.quote, i = true, s[i:q+1], q+1
	}
	after := skipSpaces(s, i)
	sep.kind = at(s, after)
	switch sep.kind {
	case '=':
	case ':':
		if after > i && !sep.quoted {
			return sep, false // prose
		}
	default:
		return sep, false
	}
	switch at(s, after+1) {
	case '=', ':': // a comparison, or a name of a language
		return sep, false
	case '>':
		after++
	}
	sep.value = skipSpaces(s, after+1)
	sep.spaced = sep.value > after+1
	return sep, true
}

func skipBackslashes(s string, i int) int {
	for i < len(s) && s[i] == '\\' {
		i++
	}
	return i
}

func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// Where a bare value ends: always, and in JSON.
var (
	bare = set(func(c byte) bool {
		return c > ' ' && c != 0x7f && strings.IndexByte("\"'`<>&;", c) < 0
	})
	inJSON = set(func(c byte) bool { return bare[c] && strings.IndexByte(",]}", c) < 0 })
)

// value is where the value of a name begins and ends, and its replacement: in JSON a string.
func (t *scanner) value(name string, sep separated) (from, to int, mask string) {
	s, i := t.s, sep.value
	if q := skipBackslashes(s, i); at(s, q) == '"' || at(s, q) == '\'' || at(s, q) == '`' {
		from, to = within(s, i, q)
		return from, to, Mask
	}
	if sep.kind == ':' && !sep.quoted && sep.spaced && headerLine(name) {
		if eol := strings.IndexAny(s[i:], "\r\n"); eol >= 0 {
			return i, i + eol, Mask
		}
		return i, len(s), Mask
	}
	if q := literal(s, i); q >= 0 {
		quote := skipBackslashes(s, q)
		// After a short value without quotes, the quote closes the text around it: 'password=b'.
		closes := quote+1 == len(s) || strings.IndexByte(" \t\r\n,;:)]}\\", s[quote+1]) >= 0
		if sep.quoted || !closes {
			from, to = within(s, q, quote)
			return i, to, s[q:from] + Mask
		}
	}
	chars, mask := &bare, Mask
	if sep.quoted && sep.kind == ':' {
		chars, mask = &inJSON, sep.quote+Mask+sep.quote
	}
	inner := i
	if c := at(s, i); c == '[' || c == '{' {
		inner = nestedEnd(s, i)
	}
	end := runEnd(s, inner, chars)
	end = beforeNext(s, inner, end)
	switch {
	case scheme(s[i:end]): // Authorization=Bearer abc
		if next := skipSpaces(s, end); next > end {
			end = beforeNext(s, next, runEnd(s, next, chars))
		}
	case inner == i && !sep.quoted && headerLine(name):
		end = headerEnd(s, i, end)
	}
	for end > inner && (strings.IndexByte(",])}.:\\", s[end-1]) >= 0 || s[end-1] == '=' &&
		end < len(s) && s[end] != '&' && s[end] != ';') {
		end-- // a closing character, or a separator after the next name
	}
	return i, end, mask
}

// within is where a quoted text begins and ends whose first quote is at q, with its backslashes
// from i. Three quotes open a text of several lines, as in TOML, and three close it.
func within(s string, i, q int) (from, to int) {
	quote := s[i : q+1]
	from = q + 1
	if !strings.HasPrefix(s[from:], quote+quote) {
		if to = quoteEnd(s, q, q-i); to < len(s) {
			to -= q - i
		}
		return from, to
	}
	from += 2 * len(quote)
	for to = from - 1; ; {
		if to = quoteEnd(s, to, q-i); to == len(s) {
			return from, to
		}
		if begin := to - (q - i); begin >= from && strings.HasPrefix(s[begin:], quote+quote+quote) {
			// The text may end with quotes of its own.
			for to = begin; strings.HasPrefix(s[to+len(quote):], quote+quote+quote); {
				to += len(quote)
			}
			return from, to
		}
	}
}

// literal is the position of the quote, with its backslashes, of a text that Python prints with a
// prefix or a type: b'x', SecretStr('x'); -1 without one.
func literal(s string, i int) int {
	const longestPrefix = len("rb")
	end := i
	for end < len(s) && end-i < longestName && dotted[s[end]] {
		end++
	}
	called := at(s, end) == '('
	if called {
		i = end + 1
		for end = i; letter[at(s, end)] && end-i <= longestPrefix; {
			end++
		}
	}
	if end-i > longestPrefix || strings.Trim(s[i:end], "bBrRuUfF") != "" || end == i && !called {
		return -1
	}
	if q := at(s, skipBackslashes(s, end)); q != '"' && q != '\'' {
		return -1
	}
	return end
}

// quoteEnd is the position of the quote that closes the one at q, which follows so many
// backslashes; the end of the text if it is cut off. Text that was quoted more than once has 1, 3,
// 7… backslashes before the outer quote, and more before one that belongs to the value.
func quoteEnd(s string, q, backslashes int) int {
	run := 0
	for i := q + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			run++
			continue
		case s[i] == s[q] && run%(2*(backslashes+1)) == backslashes:
			return i
		}
		run = 0
	}
	return len(s)
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
			i = quoteEnd(s, i, 0)
		}
	}
	return len(s)
}

// beforeName is where a bare value s[i:end] ends without the separator of the name at its end.
func beforeName(s string, i, end int) int {
	for end > i && (s[end-1] == ':' || s[end-1] == '\\' || s[end-1] == '=' && end < len(s) &&
		s[end] != '&' && s[end] != ';') {
		end--
	}
	return end
}

// beforeNext is where a bare value s[i:end] ends that includes, after escaped white space in a
// quoted text, the beginning of a longer value: a header with its line, a URL, a literal of Python,
// or escaped JSON.
func beforeNext(s string, i, end int) int {
	gap := -1
	for k := i; k < end; k++ {
		switch {
		case s[k] == '\\' && blank(s[k:min(k+2, end)]) == 0:
			gap = k
		case (s[k] == ':' || s[k] == '=') && gap >= 0 &&
			(headerLine(s[gap:k]) || authority(s, k) >= 0 || literal(s, k+1) >= 0):
			return gap
		case s[k] == '%' && gap >= 0 && encodedQuote(s[k:]):
			return gap
		}
	}
	return end
}

// blank is the position of the first escape of white space in a quoted text, or -1.
func blank(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '\\' && (s[i+1] == 'n' || s[i+1] == 'r' || s[i+1] == 't') {
			return i
		}
	}
	return -1
}

// headerEnd is where the value of a header ends that shares its line, and whose first word is
// s[i:end]: after the further pairs of cookies, and after the parameters of a scheme:
// Authorization=ApiKey abc, Authorization:AWS4-HMAC-SHA256 A=b, C=d.
func headerEnd(s string, i, end int) int {
	for at(s, end) == ';' {
		next := skipSpaces(s, end+1)
		to := runEnd(s, next, &bare)
		if name, _, pair := strings.Cut(s[next:to], "="); !pair || name == "" || headerLine(name) {
			return end
		}
		end = beforeNext(s, next, to)
	}
	for more := end > i && wordEnd(s, i) == end; more; more = s[end-1] == ',' {
		next := skipSpaces(s, end)
		to := runEnd(s, next, &bare)
		if eol := blank(s[next:to]); eol >= 0 {
			to = next + eol
		}
		word := strings.TrimRight(s[next:to], "=")
		// the next field
		if to == next || strings.ContainsAny(word, ":=") && s[to-1] != ',' && s[end-1] != ',' {
			return end
		}
		end = to
	}
	return end
}

// headerLine reports whether the value of a header contains spaces, so that its whole line belongs
// to it. The name may have a prefix: Proxy-Authorization, Set-Cookie, and an escape as in \nCookie.
func headerLine(name string) bool {
	for _, known := range [...]string{"authorization", "cookie"} {
		if before := len(name) - len(known); before >= 0 && strings.EqualFold(name[before:],
			known) {
			return true
		}
	}
	return false
}
