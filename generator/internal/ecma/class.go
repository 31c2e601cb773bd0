package ecma

import (
	"cmp"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
)

// anyCharacter matches each character in both languages.
const anyCharacter = `[\d\D]`

// classEscape is a part that stands for several characters.
type classEscape struct {
	part   string // as the pattern has it
	text   string // within a class of the common subset; empty if there is none
	reason string // why the part is outside of the common subset; empty if it is not
}

// space has the characters that \s matches in Go.
const space = `\t\n\f\r `

// readClassEscape reads \d, \p{L} and the like at the start of a text.
func readClassEscape(text string) classEscape {
	part := text[:2]
	switch text[1] {
	case 's':
		return classEscape{part, space, different}
	case 'S':
		return classEscape{part, "", different}
	case 'p', 'P':
	default:
		return classEscape{part, part, ""}
	}
	_, size := utf8.DecodeRuneInString(text[2:])
	part = text[:2+size]
	if text[2] == '{' {
		part = text[:strings.IndexByte(text, '}')+1]
	}
	name := strings.Trim(part[2:], "{}")
	letter, inverse := text[1:2], "P"
	if letter == "P" {
		inverse = "p"
	}
	if rest, ok := strings.CutPrefix(name, "^"); ok {
		name, letter = rest, inverse
	}
	known := categories[loose(name)]
	if known == "" {
		return classEscape{part, "", refused} // a script, which Go has by its bare name
	}
	e := classEscape{part: part, text: `\` + letter + "{" + known + "}"}
	if e.text != part {
		e.reason = refused
	}
	return e
}

// categories are the names that both languages have in \p{}. Go compares names loosely.
var categories = func() map[string]string {
	names := map[string]string{}
	for _, name := range slices.Concat([]string{"Any", "ASCII", "Assigned"},
		slices.Sorted(maps.Keys(unicode.Categories)),
		slices.Sorted(maps.Keys(unicode.CategoryAliases))) {
		names[loose(name)] = name
	}
	return names
}()

func loose(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}

// posix are the classes of Go in brackets, within a class of the common subset.
var posix = map[string]string{
	"[:alnum:]": "0-9A-Za-z", "[:alpha:]": "A-Za-z", "[:ascii:]": `\x00-\x7f`,
	"[:blank:]": `\t `, "[:cntrl:]": `\x00-\x1f\x7f`, "[:digit:]": "0-9", "[:graph:]": "!-~",
	"[:lower:]": "a-z", "[:print:]": " -~", "[:punct:]": "!-\\/:-@\\[-`{-~",
	"[:space:]": `\t-\r `, "[:upper:]": "A-Z", "[:word:]": `\w`, "[:xdigit:]": "0-9A-Fa-f",
	"[:^digit:]": `\D`, "[:^word:]": `\W`,
}

// class rewrites a class in brackets.
func (r *rewriter) class() {
	t, begin := r.rest[1:], "["
	if t[0] == '^' {
		t, begin = t[1:], "[^"
	}
	text, fits := begin, true // the class in the common subset, if it fits
	var found Problem
	report := func(part, reason string) {
		if found.Part == "" {
			found = Problem{Part: part, Reason: reason}
		}
	}
	read := func() string {
		c, part, reason := readCharacter(t, true)
		if t = t[len(part):]; reason != "" {
			report(part, reason)
		}
		return r.plain(c, `\]`+"[^-")
	}
	if t[0] == ']' {
		report(begin+"]", empty)
	}
	stuck, white := r.stuck, "" // the escapes for white space
	for first := true; first || t[0] != ']'; first = false {
		var e classEscape
		switch {
		case strings.HasPrefix(t, "[:") && strings.Contains(t[2:], ":]"):
			e.part = t[:strings.Index(t[2:], ":]")+4]
			e.text, e.reason = posix[e.part], missing
		case t[0] == '\\' && strings.IndexByte("dDwWsSpP", t[1]) >= 0:
			if e = readClassEscape(t); e.reason == different {
				white, e.reason = white+e.part, ""
			}
		default:
			text += read()
			if t[0] == '-' && t[1] != ']' {
				t = t[1:]
				text += "-" + read()
			}
			continue
		}
		t = t[len(e.part):]
		if e.reason != "" {
			report(e.part, e.reason)
		}
		if t[0] == '-' && t[1] != ']' {
			report(e.part+"-", refused)
		}
		text, fits = text+e.text, fits && e.text != ""
	}
	part := r.take(len(r.rest) - len(t) + 1)
	if strings.Contains(white, `\s`) != strings.Contains(white, `\S`) {
		report(white[:2], different)
	}
	if found.Part != "" {
		r.problem(found.Part, found.Reason)
	}
	switch {
	case r.fold || found.Part != "" && (!fits || r.stuck):
		r.stuck = stuck
		r.ranges(parsed(part, r.fold))
	case found.Part != "":
		r.operand(text + "]")
	default:
		r.stuck = stuck
		r.operand(part)
	}
}

// readCharacter reads one character, which may be escaped, at the start of a text. The reason is
// empty for a part in the common subset.
func readCharacter(text string, inClass bool) (c rune, part, reason string) {
	c, size := utf8.DecodeRuneInString(text)
	if c != '\\' {
		return c, text[:size], ""
	}
	switch c := text[1]; {
	case c == 'a':
		return '\a', text[:2], refused
	case strings.IndexByte("fnrtv", c) >= 0:
		return rune("\f\n\r\t\v"[strings.IndexByte("fnrtv", c)]), text[:2], ""
	case '0' <= c && c <= '7':
		n := 2
		for n < 4 && n < len(text) && '0' <= text[n] && text[n] <= '7' {
			n++
		}
		value, _ := strconv.ParseUint(text[1:n], 8, 32)
		if n == 2 && (len(text) == 2 || text[2] < '0' || text[2] > '9') {
			return rune(value), text[:n], ""
		}
		return rune(value), text[:n], octal
	case c == 'x' && text[2] == '{':
		end := strings.IndexByte(text, '}')
		value, _ := strconv.ParseUint(text[3:end], 16, 32)
		return rune(value), text[:end+1], refused
	case c == 'x':
		value, _ := strconv.ParseUint(text[2:4], 16, 32)
		return rune(value), text[:4], ""
	case strings.IndexByte(syntaxCharacters+"/", c) < 0 && !(inClass && c == '-'):
		return rune(c), text[:2], refused
	default:
		return rune(c), text[:2], ""
	}
}

// plain is a character as a text that both languages read alike, if those of special have a
// backslash before them.
func (r *rewriter) plain(c rune, special string) string {
	const escaped = "\t\n\v\f\r"
	switch {
	case strings.ContainsRune(special, c):
		return `\` + string(c)
	case strings.ContainsRune(escaped, c):
		return `\` + string("tnvfr"[strings.IndexRune(escaped, c)])
	case c < ' ' || 0x7f <= c && c <= 0xa0 || c == 0xad:
		return fmt.Sprintf(`\x%02x`, c)
	case c == ' ' || unicode.IsGraphic(c) && !unicode.IsMark(c) && !unicode.IsSpace(c) &&
		hiddentext.First(string(c)) == nil:
		return string(c)
	}
	r.stuck = true // no escape beyond U+00FF is common to both languages
	return ""
}

// maxRanges bounds a class in a cure: nobody reads a longer one.
const maxRanges = 40

// ranges writes a class with the characters in pairs of a sorted list.
func (r *rewriter) ranges(pairs []rune) {
	begin := "["
	if n := len(pairs); n > 0 && pairs[n-1] == unicode.MaxRune {
		begin, pairs = "[^", inverse(pairs)
		if len(pairs) == 0 {
			r.operand(anyCharacter)
			return
		}
	}
	if len(pairs) == 0 || len(pairs) > 2*maxRanges {
		r.stuck = true
	}
	if r.stuck {
		r.operand(".") // any operand: nothing is written
		return
	}
	const special = `\]` + "[^-"
	text := begin
	for pair := range slices.Chunk(pairs, 2) {
		text += r.plain(pair[0], special)
		if pair[1] > pair[0]+1 {
			text += "-"
		}
		if pair[1] > pair[0] {
			text += r.plain(pair[1], special)
		}
	}
	r.operand(text + "]")
}

// inverse are the characters outside of sorted ranges that end at the last character.
func inverse(pairs []rune) (others []rune) {
	next := rune(0)
	for pair := range slices.Chunk(pairs, 2) {
		if next < pair[0] {
			others = append(others, next, pair[0]-1)
		}
		next = pair[1] + 1
	}
	return others
}

// parsed are the characters that a class of Go matches, as sorted ranges.
func parsed(class string, fold bool) []rune {
	set := syntax.Perl
	if fold {
		set |= syntax.FoldCase
	}
	re, err := syntax.Parse(class, set)
	switch {
	case err != nil:
		return nil
	case re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0:
		return cases(re.Rune[0])
	case re.Op == syntax.OpLiteral:
		return []rune{re.Rune[0], re.Rune[0]}
	case re.Op == syntax.OpAnyChar:
		return []rune{0, unicode.MaxRune}
	case re.Op == syntax.OpAnyCharNotNL:
		return []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
	}
	return re.Rune
}

// cases are the cases of a character, as sorted ranges.
func cases(c rune) []rune {
	all := []rune{c}
	for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
		all = append(all, other)
	}
	slices.SortFunc(all, cmp.Compare)
	var pairs []rune
	for _, c := range all {
		pairs = append(pairs, c, c)
	}
	return pairs
}
