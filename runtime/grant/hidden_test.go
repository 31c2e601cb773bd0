package grant_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// hidden are texts that show as something else, with their errors. They are written down
// from the charts of Unicode and not from the tables that the rule is made of.
var hidden = []struct{ text, message string }{
	{"public\u3164", "U+3164 at byte 6 is invisible"}, // HANGUL FILLER
	{"\u115f", "U+115F at byte 0 is invisible"},       // HANGUL CHOSEONG FILLER
	{"\u1160", "U+1160 at byte 0 is invisible"},       // HANGUL JUNGSEONG FILLER
	{"a\uffa0", "U+FFA0 at byte 1 is invisible"},      // HALFWIDTH HANGUL FILLER
	{"a\u2800b", "U+2800 at byte 1 is invisible"},     // BRAILLE PATTERN BLANK
	{"a\ufe00", "U+FE00 at byte 1 is invisible"},      // VARIATION SELECTOR-1
	{"a\ufe0f", "U+FE0F at byte 1 is invisible"},      // VARIATION SELECTOR-16
	{"a\U000e0100", "U+E0100 at byte 1 is invisible"}, // VARIATION SELECTOR-17
	{"a\U000e01ef", "U+E01EF at byte 1 is invisible"}, // VARIATION SELECTOR-256
	{"a\u034f", "U+034F at byte 1 is invisible"},      // COMBINING GRAPHEME JOINER
	// MONGOLIAN FREE VARIATION SELECTOR ONE
	{"a\u180b", "U+180B at byte 1 is invisible"},
	{"a\u180e", "U+180E at byte 1 is invisible"}, // MONGOLIAN VOWEL SEPARATOR
	// MONGOLIAN FREE VARIATION SELECTOR FOUR
	{"a\u180f", "U+180F at byte 1 is invisible"},
	{"a\u17b4", "U+17B4 at byte 1 is invisible"},             // KHMER VOWEL INHERENT AQ
	{"a\u17b5", "U+17B5 at byte 1 is invisible"},             // KHMER VOWEL INHERENT AA
	{"a\u00adb", "U+00AD at byte 1 is invisible"},            // SOFT HYPHEN
	{"a\u200b", "U+200B at byte 1 is invisible"},             // ZERO WIDTH SPACE
	{"a\u200db", "U+200D at byte 1 is invisible"},            // ZERO WIDTH JOINER
	{"\u202etxt.terces", "U+202E at byte 0 is invisible"},    // RIGHT-TO-LEFT OVERRIDE
	{"a\u2066", "U+2066 at byte 1 is invisible"},             // LEFT-TO-RIGHT ISOLATE
	{"a\u061c", "U+061C at byte 1 is invisible"},             // ARABIC LETTER MARK
	{"a\u2028b", "U+2028 at byte 1 is invisible"},            // LINE SEPARATOR
	{"a\u2029b", "U+2029 at byte 1 is invisible"},            // PARAGRAPH SEPARATOR
	{"a\nb", "U+000A at byte 1 is invisible"},                // LINE FEED
	{"a\x00", "U+0000 at byte 1 is invisible"},               // NULL
	{"a\x7f", "U+007F at byte 1 is invisible"},               // DELETE
	{"a\u0085", "U+0085 at byte 1 is invisible"},             // NEXT LINE
	{"a\u00a0b", "U+00A0 at byte 1 is invisible"},            // NO-BREAK SPACE
	{"a\u3000b", "U+3000 at byte 1 is invisible"},            // IDEOGRAPHIC SPACE
	{"a\ufeff", "U+FEFF at byte 1 is invisible"},             // ZERO WIDTH NO-BREAK SPACE
	{"a\ue000", "U+E000 at byte 1 is invisible"},             // private use
	{"a\u0378", "U+0378 at byte 1 is invisible"},             // not assigned
	{"a\U000e0041", "U+E0041 at byte 1 is invisible"},        // TAG LATIN CAPITAL LETTER A
	{"a\ufffc", "U+FFFC at byte 1 is invisible"},             // OBJECT REPLACEMENT CHARACTER
	{"a\U0001d159", "U+1D159 at byte 1 is invisible"},        // MUSICAL SYMBOL NULL NOTEHEAD
	{"é\ufffd", "U+FFFD at byte 2 replaces unreadable text"}, // REPLACEMENT CHARACTER
	{"é\xff", "byte 2 is not UTF-8"},
	{"\u0301a", "U+0301 at byte 0 is a combining mark without a letter"},
	// COMBINING LONG SOLIDUS OVERLAY
	{"a/\u0338b", "U+0338 at byte 2 is a combining mark without a letter"},
	// COMBINING ENCLOSING CIRCLE
	{"a \u20dd", "U+20DD at byte 2 is a combining mark without a letter"},
	{"e\u0301\u0302\u0303\u0304\u0305", "U+0305 at byte 9 is one combining mark too many on a letter"},
}

// clear are texts of people who hide nothing.
var clear = []string{
	"", "public/**", "git log *", `a"b'c\d`, "[ab]?^~`$", "größe", "gro\u0308ße", "e\u0323\u0302",
	"Ελλάδα", "Москва", "עִבְרִית", "العَرَبِيَّة", "हिन्दी", "ไฟล์ที่", "བསྒྲུབས", "한글", "文書",
	"ﾊﾝｶｸ", "№ 5 €", "🙂", "1\u20e3", "z\u0301Z\u0301A\u0301a\u03010\u03019\u0301",
}

func TestWhatAPersonDoesNotSeeIsFound(t *testing.T) {
	for _, c := range hidden {
		if got := hiddentext.First(c.text); got == nil || !strings.HasPrefix(got.Error(), c.message) {
			t.Errorf("%+q: %v, want %s", c.text, got, c.message)
		}
	}
	for _, text := range clear {
		if got := hiddentext.First(text); got != nil {
			t.Errorf("%+q: %v", text, got)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		before, one, after := rapid.SampledFrom(clear).Draw(rt, "before"),
			rapid.SampledFrom(hidden).Draw(rt, "hidden"), rapid.String().Draw(rt, "after")
		got := hiddentext.First(before + "/" + one.text + after)
		if want := len(before) + 1 + hiddentext.First(one.text).Offset; got == nil ||
			got.Offset != want {
			rt.Fatalf("%+q: %+v, want byte %d", before+"/"+one.text+after, got, want)
		}
	})
}

// Nothing is kept by a name that shows as another. Reasons and notes are kept in the words in which
// they are written.
func TestKeepersTakeNoNameThatCannotBeSeen(t *testing.T) {
	now := time.Now()
	permission := grant.Permission{Type: "db.read", Resource: "a"}
	for _, c := range hidden {
		at := strings.Fields(c.message)[0]
		bent := func(p grant.Permission) grant.Permission { p.Resource = c.text; return p }
		for noun, kept := range map[string]func() error{
			"resource": func() error {
				_, err := grant.Grant{Permission: bent(permission), Client: "c"}.Keepable(now)
				return err
			},
			"wish": func() error {
				_, err := grant.Request{Permission: bent(permission), Client: "c"}.Keepable(now)
				return err
			},
			"path": func() error {
				_, err := grant.Request{Permission: bent(grant.Permission{Type: grant.FileRead}),
					Client: "c"}.Keepable(now)
				return err
			},
			"type": func() error {
				_, err := grant.Grant{Permission: grant.Permission{Type: "db." + c.text,
					Resource: "a"}, Client: "c"}.Keepable(now)
				return err
			},
			"parameter": func() error {
				_, err := grant.Grant{Permission: grant.Permission{Type: "db.read", Resource: "a",
					Parameters: map[string]json.RawMessage{"p": quotedJSON(c.text)}},
					Client: "c"}.Keepable(now)
				return err
			},
			"client": func() error {
				_, err := grant.Grant{Permission: permission, Client: c.text}.Keepable(now)
				return err
			},
			"issuer": func() error {
				_, err := grant.Grant{Permission: permission, Client: "c",
					Issuer: c.text}.Keepable(now)
				return err
			},
			"granter": func() error {
				_, err := grant.Grant{Permission: permission, Client: "c", By: c.text}.Keepable(now)
				return err
			},
			"principal": func() error {
				_, err := grant.Request{Permission: permission, Client: "c",
					Principal: c.text}.Keepable(now)
				return err
			},
			"verdict": func() error { return grant.Verdict{By: c.text}.Keepable() },
			"revoker": func() error { return grant.Revocation{By: c.text}.Keepable() },
		} {
			err := kept()
			if !errors.Is(err, grant.ErrInvalid) || noun != "type" && !strings.Contains(err.Error(),
				at) && !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%s %+q: %v", noun, c.text, err)
			}
		}
	}
	// What a command is typed with stands for something else in its canonical form.
	for resource, message := range map[string]string{
		`["cat","a\u3164"]`:   "U+3164 at byte 5 is invisible",
		`["cat","a\u202eb;"]`: "U+202E at byte 9", `["cat","a\n"]`: ""} {
		_, err := grant.Request{Permission: grant.Permission{Type: grant.SystemCommand,
			Resource: resource}, Client: "c"}.Keepable(now)
		if (err == nil) != (message == "") || err != nil && !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", resource, err)
		}
	}
	for text, takes := range map[string]bool{
		"two\nlines\r\nand\ta tab": true, "I ❤\ufe0f it": true, "\u3164": true, "\u0301": true,
		"a\u202eb": false, "a\rb": false, "\x00": false, "\xff": false, "\ufffd": false,
		"a\u200db": false,
	} {
		g := grant.Grant{Permission: permission, Client: "c", Reason: text}
		_, err := g.Keepable(now)
		if (err == nil) != takes || (grant.Verdict{Note: text}.Keepable() == nil) != takes ||
			(hiddentext.Prose(text) == nil) != takes {
			t.Errorf("%+q: %v", text, err)
		}
	}
	if err := hiddentext.Prose("é\n\u202e"); err == nil || !strings.HasPrefix(err.Error(),
		"U+202E at byte 3 ") {
		t.Error(err)
	}
}

// quotedJSON quotes a text that need not be UTF-8, inside an array.
func quotedJSON(text string) []byte {
	quoted, _ := json.Marshal([]string{text})
	if !utf8.ValidString(text) {
		return []byte(`["` + text + `"]`)
	}
	return quoted
}

// What is shown of a permission in one line shows all of it, and reads back.
func TestLineOfAPermissionHidesNothing(t *testing.T) {
	for _, c := range hidden {
		p := grant.Permission{Type: "db.read", Resource: `"` + c.text}
		line := p.String()
		if p.Validate() != nil { // not UTF-8
			continue
		}
		if hiddentext.First(line) != nil {
			t.Errorf("%+q", line)
		}
		if back, err := grant.Parse(line); err != nil || !back.Equal(p) {
			t.Errorf("%s reads as %v, %v", line, back, err)
		}
	}
}
