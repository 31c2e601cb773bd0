package model

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// HiddenCure is the cure for a hidden character.
const HiddenCure = "remove it: models read it, but reviewers do not see it"

// Hidden returns where a text that models read has its first character that people do not see, and
// a name for it; -1 if it has none. Such a character changes the order of the text (bidirectional
// controls), or holds text of its own (tag characters, variation selectors), or is invisible.
//
// Line breaks, tabs, joiners between characters outside ASCII, as in emoji, and one variation
// selector behind a symbol or a Han character are no hidden characters.
func Hidden(text string) (at int, name string) {
	var before, after rune
	for i, size := 0, 0; i < len(text); i += size {
		r, n := utf8.DecodeRuneInString(text[i:])
		if after, size = 0, n; i+n < len(text) {
			after, _ = utf8.DecodeRuneInString(text[i+n:])
		}
		if kind := hidden(before, r, after); kind != "" {
			return i, fmt.Sprintf("the %s %U", kind, r)
		}
		before = r
	}
	return -1, ""
}

func hidden(before, r, after rune) string {
	const joiner, nonJoiner = '\u200d', '\u200c'
	switch {
	case r < utf8.RuneSelf && unicode.IsPrint(r), r == '\n', r == '\r', r == '\t', r == utf8.RuneError:
		return ""
	case unicode.IsControl(r):
		return "control character"
	case unicode.In(r, unicode.Zl, unicode.Zp): // a line break to some readers, and not to Go
		return "separator"
	case unicode.Is(unicode.Bidi_Control, r):
		return "bidirectional control"
	case 0xe0000 <= r && r <= 0xe007f:
		return "tag character"
	case r == joiner || r == nonJoiner:
		if before >= utf8.RuneSelf && after >= utf8.RuneSelf && after != joiner && after != nonJoiner {
			return ""
		}
	case unicode.Is(unicode.Variation_Selector, r):
		if unicode.In(before, unicode.S, unicode.Po, unicode.Nd, unicode.Han) {
			return ""
		}
	case !unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point),
		unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return ""
	}
	return "invisible character"
}
