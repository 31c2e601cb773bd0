package decode

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxShown is the maximum number of bytes of a value or a name in a message.
const MaxShown = 64

// NewProblem returns a problem with a value. says describes it, as in "is more than the maximum
// 4094". literal is the JSON text of the value. Shortened, it comes before says. It is left out
// if it is empty, an object or an array, or if the pointer or the value looks like a secret.
func NewProblem(pointer, literal, says string) Problem {
	if literal == "" || literal[0] == '{' || literal[0] == '[' || SecretPointer(pointer) || secretValue(literal) {
		return Problem{Pointer: pointer, Message: says}
	}
	return Problem{Pointer: pointer, Message: Show(literal) + " " + says}
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

// beforeKey is where the word on both sides of a cut begins if it is of several kinds
// of characters, as keys are, and the cut where it is not. Words end at slashes too, so that
// something of a long path is shown.
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

// The kinds of characters that keys are made of. A point is of no kind of its own, since decimals
// have it.
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

// printable writes what is not printable (control characters, direction overrides, bytes
// that are no UTF-8) as \u escapes, so that a message stays one line and shows what it says.
func printable(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsPrint(r) && r != utf8.RuneError:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
