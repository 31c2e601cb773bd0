package decode

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxShown is how many bytes of a value or a name a message repeats.
const MaxShown = 64

// NewProblem is a problem with a value: says is what is wrong with it, as in "is more than
// the maximum 4094". literal is the value's JSON text; it stands before says, shortened. It is left out
// where it is empty, an object or an array, and where the pointer or the value itself looks secret.
func NewProblem(pointer, literal, says string) Problem {
	if literal == "" || literal[0] == '{' || literal[0] == '[' || SecretPointer(pointer) || secretValue(literal) {
		return Problem{Pointer: pointer, Message: says}
	}
	return Problem{Pointer: pointer, Message: Show(literal) + " " + says}
}

// Show is JSON text of a string, number or literal name made fit for a message: at most
// MaxShown bytes of it, and nothing that a terminal or a log could take for a command. A word that does not end within them, and that
// could be a key for all that it looks like, is left out: nobody could tell from a part of it.
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
