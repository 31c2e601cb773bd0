package model

import (
	"testing"
	"unicode"
)

func TestHiddenCharactersAreFound(t *testing.T) {
	for text, want := range map[string]struct {
		at   int
		name string
	}{
		"find\u202edelete":              {4, "the bidirectional control U+202E"},
		"\u2066a\u2069":                 {0, "the bidirectional control U+2066"},
		"a\u200eb":                      {1, "the bidirectional control U+200E"},
		"a\u061c":                       {1, "the bidirectional control U+061C"},
		"a\U000E0041\U000E0042":         {1, "the tag character U+E0041"},
		"🏴\U000E0067\U000E007F":         {4, "the tag character U+E0067"},
		"a\u200bb":                      {1, "the invisible character U+200B"},
		"a\u200db":                      {1, "the invisible character U+200D"},
		"ä\u200d\u200dö":                {2, "the invisible character U+200D"},
		"ä\u200d":                       {2, "the invisible character U+200D"},
		"a\ufe0f":                       {1, "the invisible character U+FE0F"},
		"❤\ufe0f\ufe0f":                 {6, "the invisible character U+FE0F"},
		"❤\ufe0f\U000E0101":             {6, "the invisible character U+E0101"},
		"a\u2062\u3164":                 {1, "the invisible character U+2062"},
		"a\u3164":                       {1, "the invisible character U+3164"},
		"a\ufeff":                       {1, "the invisible character U+FEFF"},
		"soft\u00adhyphen":              {4, "the invisible character U+00AD"},
		"a\u2028b":                      {1, "the separator U+2028"},
		"a\u2029b":                      {1, "the separator U+2029"},
		"a\x1b[8mb":                     {1, "the control character U+001B"},
		"a\u009b8m":                     {1, "the control character U+009B"},
		"":                              {-1, ""},
		"Find a device.\r\n\tGo \u00a0": {-1, ""},
		"\u05e9\u05dc\u05d5\u05dd, \u0645\u0631\u062d\u0628\u0627": {-1, ""}, // Hebrew, Arabic
		"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645":         {-1, ""}, // Persian
		"\u0915\u094d\u200d\u0937":                                 {-1, ""}, // Devanagari
		"👩\u200d💻 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 \u845b\U000E0100":   {-1, ""},
		"\u0600\u0661 e\u0301 日本語 \ufffd \xff":                     {-1, ""},
	} {
		if at, name := Hidden(text); at != want.at || name != want.name {
			t.Errorf("%+q: %d, %s", text, at, name)
		}
	}
}

// Each control of direction and each tag is found wherever it stands, and no letter is.
func TestEveryHiddenCharacterIsFoundAndNoLetter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		for _, text := range []string{string(r), "a" + string(r) + "b", "é" + string(r) + "é"} {
			at, name := Hidden(text)
			switch hides := unicode.Is(unicode.Bidi_Control, r) || 0xe0000 <= r && r <= 0xe007f; {
			case hides && at < 0:
				t.Errorf("%+q is not found", text)
			case at >= 0 && !hides && unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S, unicode.Zs) &&
				!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
				t.Errorf("%+q has %s", text, name)
			}
		}
	}
}
