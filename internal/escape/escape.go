// Package escape writes the characters that hide or reorder text, or that control a terminal, as \u
// escapes.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON returns a JSON text with escapes for DEL, the C1 controls, the format characters of Unicode,
// such as bidirectional controls and tags, and its separators of lines and paragraphs. The values
// of all strings stay the same: JSON has no such character outside of strings. JSON itself escapes
// the C0 controls.
func JSON(text string) string {
	return escaped(text, func(r rune) bool { return r >= 0x7f && hides(r) })
}

// Text returns a text with the escapes of [JSON], and with escapes for the C0 controls other than
// line feeds and tabs.
func Text(text string) string {
	return escaped(text, func(r rune) bool { return r != '\n' && r != '\t' && hides(r) })
}

func hides(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// escaped returns a text with escapes for some of its characters. Bytes that are not UTF-8 stay.
func escaped(text string, escapes func(rune) bool) string {
	from := 0
	for from < len(text) && ' ' <= text[from] && text[from] < 0x7f {
		from++
	}
	at := strings.IndexFunc(text[from:], escapes)
	if at < 0 {
		return text
	}
	var b strings.Builder
	for i, done := from+at, 0; ; {
		r, size := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[done:i])
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
		done = i + size
		if at = strings.IndexFunc(text[done:], escapes); at < 0 {
			return b.String() + text[done:]
		}
		i = done + at
	}
}
