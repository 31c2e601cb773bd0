package decode

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/decode/internal/format"
	"github.com/mcpgen/mcpgen/runtime/decode/internal/secret"
)

// Messages of problems. Package validator has the same.

// shownChoices is the maximum number of enum values in a message.
const shownChoices = 20

// EnumMessage describes an enum, whose values are given as JSON text.
func EnumMessage(choices []string) string {
	shown := make([]string, len(choices))
	for i, choice := range choices {
		shown[i] = Show(choice)
	}
	switch {
	case len(shown) == 1:
		return "is not " + shown[0]
	case len(shown) > shownChoices:
		return fmt.Sprintf("is not one of %s and %d more",
			strings.Join(shown[:shownChoices], ", "), len(shown)-shownChoices)
	}
	return "is not one of " + strings.Join(shown, ", ")
}

// CountMessage describes a length beyond a limit: "has 1 item, fewer than the minimum 2". The
// comparison is "fewer" with the bound "minimum", or "more" with "maximum".
func CountMessage(got int, unit, comparison, bound string, want int) string {
	return fmt.Sprintf("has %s, %s than the %s %d", Count(got, unit), comparison, bound, want)
}

// Count returns a number with its unit: "1 item", "2 properties".
func Count(n int, unit string) string {
	switch {
	case n == 1:
		return "1 " + unit
	case unit == "property":
		unit = "propertie"
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// FormatMessage describes a format of JSON Schema.
func FormatMessage(name string) string {
	switch example := format.Example(name); {
	case example != "":
		return "is not a valid " + name + ", for example " + example
	case name == "regex":
		return "is not a valid regular expression (RE2 syntax, at most 4096 bytes)"
	}
	return "is not a valid " + name
}

// TypeMessage describes the type of a value and the allowed ones, named as in JSON Schema:
// "is null, expected a string or an integer".
func TypeMessage(is string, want ...string) string {
	if is == "number" && len(want) == 1 && want[0] == "integer" {
		return "is not an integer"
	}
	var b strings.Builder
	b.WriteString("is " + withArticle(is) + ", expected ")
	var names []string
	for _, t := range want {
		if !slices.Contains(names, t) {
			names = append(names, t)
		}
	}
	for i, t := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(withArticle(t))
	}
	return b.String()
}

func withArticle(jsonType string) string {
	switch jsonType {
	case "null":
		return jsonType
	case "integer", "array", "object":
		return "an " + jsonType
	}
	return "a " + jsonType
}

// UnknownPropertyMessage describes an unknown property, and suggests a known one with a similar
// name.
func UnknownPropertyMessage(name string, known iter.Seq[string]) string {
	const tooLong = 64 // such a name gets no suggestion, because of the cost
	if len(name) > tooLong {
		return "unknown property"
	}
	best, distance := "", len(name)/3+1
	lower := []rune(strings.ToLower(name))
	for other := range known {
		d := editDistance(lower, []rune(strings.ToLower(other)))
		if d < distance || d == distance && other < best {
			best, distance = other, d
		}
	}
	if best == "" {
		return "unknown property"
	}
	return "unknown property, did you mean " + Show(quote(best)) + "?"
}

// editDistance counts the runes to insert, delete or replace between two names.
func editDistance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			replaced := diagonal
			if x != y {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// Messages for values that a Go type cannot hold although its schema may allow them, and for
// null.
const (
	Base64Message   = "is not base64 (RFC 4648, standard alphabet, with padding)"
	RefusedMessage  = "cannot be decoded"
	BadIndexMessage = "has a name that is not an integer in range"
	BadNameMessage  = "has a name that "
	SameKeyMessage  = "has two names that decode to the same key"
	OmitMessage     = ": omit it instead" // of null for a property that may be absent
)

// Messages for objects that must have the properties of one of several groups.
const (
	NoMatchMessage     = "matches none of the schemas that are allowed"
	ManyMatchesMessage = "matches more than one schema, but must match exactly one"
)

// RangeMessage describes the range of an integer type of Go with a width in bits.
func RangeMessage(bits int, signed bool) string {
	if !signed {
		return fmt.Sprintf("is beyond the range 0 to %d", ^uint64(0)>>(64-bits))
	}
	high := int64(^uint64(0) >> (65 - bits))
	return fmt.Sprintf("is beyond the range %d to %d", -high-1, high)
}

// FloatRangeMessage describes the width of a floating-point type of Go.
func FloatRangeMessage(bits int) string {
	return fmt.Sprintf("is beyond the range of a %d-bit number", bits)
}

// MaxShown is the maximum number of bytes of a value or a name in a message.
const MaxShown = 64

// NewProblem returns a problem with a value. message describes it, as in "is more than the maximum
// 4094". literal is the JSON text of the value. It comes before message, shortened. It is left out
// if it is empty, an object or an array, or if the pointer or the value looks like a secret.
func NewProblem(pointer, literal, message string) Problem {
	if literal == "" || literal[0] == '{' || literal[0] == '[' ||
		SecretPointer(pointer) || secret.Value(literal) {
		return Problem{Pointer: pointer, Message: message}
	}
	return Problem{Pointer: pointer, Message: Show(literal) + " " + message}
}

// SecretName reports whether the value of a property with this name is a secret. In doubt it
// reports true: a hidden harmless value costs a reader little.
func SecretName(name string) bool { return secret.Name(name) }

// SecretPointer reports whether a pointer names or lies within a property that looks secret.
func SecretPointer(pointer string) bool {
	for pointer != "" {
		var segment string
		segment, pointer = cutSegment(pointer)
		if secret.Name(pointerUnescapes.Replace(segment)) {
			return true
		}
	}
	return false
}

// Show returns the JSON text of a string, number or literal name for a message. The result has at
// most MaxShown bytes, and no control characters for terminals or logs. A long word at the end
// that could be a key is left out completely, because a part of it could not be recognized as a
// secret.
func Show(literal string) string {
	short := shorten(literal)
	if len(short) == len(literal) {
		return printable(literal)
	}
	if literal[0] == '"' {
		short += `"`
	}
	return fmt.Sprintf("%s (%d bytes)", printable(short), len(literal))
}

// shorten cuts text to MaxShown bytes at the start of a rune, before a word that could be a key,
// and marks the cut.
func shorten(text string) string {
	if len(text) <= MaxShown {
		return text
	}
	n := MaxShown
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:beforeKey(text, n)] + "…"
}

// beforeKey returns the start of the word at a cut if the word has several kinds of characters, as
// keys have, and the cut otherwise. Words end at slashes too, so that a part of a long path is
// shown.
func beforeKey(text string, cut int) int {
	from, kinds := cut, 0
	for to := cut; to < len(text) && kindOf(text[to]) != 0; to++ {
		kinds |= kindOf(text[to])
	}
	if kinds == 0 {
		return cut
	}
	for from > 0 && kindOf(text[from-1]) != 0 {
		from--
		kinds |= kindOf(text[from])
	}
	if kinds &= lower | upper | digit | mark; kinds&(kinds-1) == 0 {
		return cut
	}
	return from
}

// The kinds of characters in keys. A point has no kind, because decimals contain it.
const (
	lower = 1 << iota
	upper
	digit
	mark
	point
)

func kindOf(c byte) int {
	switch {
	case 'a' <= c && c <= 'z':
		return lower
	case 'A' <= c && c <= 'Z':
		return upper
	case '0' <= c && c <= '9':
		return digit
	case c == '.':
		return point
	case strings.IndexByte("_-+=:@%~!$^&*?#|", c) >= 0:
		return mark
	}
	return 0
}

// printable replaces what is not printable (control characters, direction overrides, invalid UTF-8)
// by \u escapes, so that a message stays one line.
func printable(text string) string {
	isPrint := func(r rune) bool { return unicode.IsPrint(r) && r != utf8.RuneError }
	if strings.IndexFunc(text, func(r rune) bool { return !isPrint(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case isPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
