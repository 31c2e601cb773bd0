package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// escaped writes the characters that hide or reorder text, or control a terminal, as \u escapes:
// C1 controls, DEL, and format characters such as bidirectional controls and tags. In a JSON
// document the value of a string stays the same.
func escaped(text string) string {
	if !strings.ContainsFunc(text, hides) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !hides(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// hides reports such a character. Line breaks, tabs and the other C0 controls are for the formats:
// JSON escapes them itself.
func hides(r rune) bool {
	return r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// controls writes the C0 controls other than line breaks and tabs as \u escapes.
func controls(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unlinked parts the brackets of text that SARIF would show as a link, [text](target): section
// 3.11.6. The names in a message may come from another server.
func unlinked(text string) string { return strings.ReplaceAll(text, "](", "] (") }
