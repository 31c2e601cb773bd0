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
// MaxShown bytes of it, and nothing that a terminal or a log could take for a command.
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

// shorten cuts text to MaxShown bytes at the start of a rune and marks the cut.
func shorten(text string) string {
	if len(text) <= MaxShown {
		return text
	}
	n := MaxShown
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
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
