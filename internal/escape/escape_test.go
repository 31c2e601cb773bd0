package escape_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/escape"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "größe 世界 🙂": "größe 世界 🙂", "a\nb\tc": "a\nb\tc",
		"\u202etxt.exe":                            `\u202etxt.exe`,
		"\x1b[31m\r\x00\x7f\x9b":                   "\\u001b[31m\\u000d\\u0000\\u007f\x9b",
		"\u009b\u2028\u2029\ufeff\u200b\U000e0041": `\u009b\u2028\u2029\ufeff\u200b\udb40\udc41`,
		"\xff\xc0\u202e":                           "\xff\xc0" + `\u202e`,
	} {
		if got := escape.Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Neither form leaves a character that hides text, and both leave all others.
func TestEscapesAreComplete(t *testing.T) {
	hidden := []*unicode.RangeTable{unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom(nil, hidden...))).Draw(t, "text")
		doc, err := json.Marshal(map[string]string{text: text})
		if err != nil {
			t.Fatal(err)
		}
		shown := escape.JSON(string(doc))
		var read map[string]string
		if err := json.Unmarshal([]byte(shown), &read); err != nil || read[text] != text {
			t.Fatalf("%v: %s has other strings than %s", err, shown, doc)
		}
		for _, shown := range []string{shown, escape.Text(text)} {
			if i := strings.IndexFunc(shown, func(r rune) bool {
				return unicode.In(r, hidden...) && r != '\n' && r != '\t'
			}); i >= 0 {
				t.Fatalf("%q at %d is not escaped in %q", shown[i:], i, shown)
			}
		}
		if visible := strings.Map(func(r rune) rune {
			if unicode.In(r, hidden...) {
				return -1
			}
			return r
		}, text); escape.Text(visible) != visible {
			t.Fatalf("%q has changed", visible)
		}
	})
}
