package visible_test

import (
	"html"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/visible"
)

func TestWhatCannotBeSeenStandsAsAnEscape(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "public/größe *": "public/größe *", "a\u202eb": `a\u202eb`, "a\nb\x00\x7f": `a\nb\x00\x7f`, "\xff\xc3": `\xff\xc3`, "a\u00a0b": `a\u00a0b`, "\U000e0041": `\U000e0041`, "\ufffd": `\ufffd`, "'\\": `'\`,
		"public\u3164": `public\u3164`, "a\u115f\u1160b\uffa0": `a\u115f\u1160b\uffa0`, "\u2800": `\u2800`, "a\ufe0f\U000e0100": `a\ufe0f\U000e0100`, "o\u034fk": `o\u034fk`, "\u180b\u180e\u180f": `\u180b\u180e\u180f`,
		"\u17b4\u17b5": `\u17b4\u17b5`, "a\u00adb": `a\u00adb`, "\u2028\u2029": `\u2028\u2029`, "\ue000": `\ue000`, "\u0378": `\u0378`, "\u0301a": `\u0301a`, "/\u0338": `/\u0338`, "\u200b\u0301": `\u200b\u0301`,
		"e\u0301": "e\u0301", "a\u0301\u0301\u0301\u0301\u0301\u0301b": "a\u0301\u0301\u0301\u0301" + `\u0301\u0301b`, "한글/文書/עברית/ไฟล์ที่": "한글/文書/עברית/ไฟล์ที่",
	} {
		if got := visible.Text(text); got != want {
			t.Errorf("%+q: %+q, want %+q", text, got, want)
		}
	}
	// By hand, from the names that Unicode gives them: whatever stands around one, none of these
	// stays.
	hidden := []rune("\x00\n\r\t\x1b\x7f\u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2000\u2007\u200a\u200b\u200c\u200d\u200e\u200f" +
		"\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u202f\u205f\u2060\u2061\u2064\u2065\u2066\u2067\u2068\u2069\u206a\u206f\u2800\u3000\u3164\ue000\ufe00\ufe0f\ufeff\uffa0\ufff0\ufff9\ufffb\ufffc\ufffd\uffff" +
		"\U0001d173\U0001d159\U000e0001\U000e0020\U000e0100\U000e01ef\U000f0000\U0010ffff")
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 10).Draw(rt, "bytes")) + rapid.StringOf(rapid.SampledFrom(append([]rune("ab/é한\u0301 "), hidden...))).Draw(rt, "text")
		got := visible.Text(text)
		if !utf8.ValidString(got) || strings.ContainsAny(got, string(hidden)) {
			rt.Fatalf("%+q is shown as %+q", text, got)
		}
		if visible.Text(got) != got {
			rt.Fatalf("%+q is hidden once more", got)
		}
	})
}

func TestWordsOfOthersAreCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab ö\n\r\t\u202e"))).Draw(rt, "text") + strings.Repeat(rapid.SampledFrom([]string{"", "x", "\n", "ö "}).Draw(rt, "more"), rapid.IntRange(0, 2000).Draw(rt, "times"))
		q := visible.Quoted(text)
		lines, cut := q.Lines, q.Cut
		total := 0
		for _, line := range lines {
			total += utf8.RuneCountInString(line)
		}
		// a bar for a line
		whole := visible.Text(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "|"))
		if len(lines) > 20 || total > 6*1000 || !cut && strings.Join(lines, "|") != whole {
			rt.Fatalf("%q: %d lines of %d characters, %t", text, len(lines), total, cut)
		}
		if line := visible.Line(text); utf8.RuneCountInString(line) > 6*160+2 || strings.Contains(line, "\n") {
			rt.Fatalf("%q in one line is %q", text, line)
		}
	})
}

func TestNamesWithASpaceAtAnEndAreQuoted(t *testing.T) {
	for name, want := range map[string]string{"": "", "a b": "a b", "a  b": "a  b", " a": `" a"`,
		"a ": `"a "`, " ": `" "`, "\u00a0a": `\u00a0a`, " a<b ": `" a<b "`} {
		if got := html.UnescapeString(string(visible.Name(name))); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

func TestNamesBreakBetweenTheirWords(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "get": "get", "promote_to_manager": "promote_<wbr>to_<wbr>manager", "team://people/{id}": "team://<wbr>people/<wbr>{id}", "a.b-c/": "a.<wbr>b-<wbr>c/",
		"_x": "_<wbr>x", "<b>_&": "&lt;b&gt;_<wbr>&amp;",
	} {
		if got := string(visible.Breakable(name)); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a-z_/.<>&"':-]*`).Draw(rt, "name")
		parts := strings.Split(string(visible.Breakable(name)), "<wbr>")
		if got := html.UnescapeString(strings.Join(parts, "")); got != name || strings.ContainsAny(strings.Join(parts, ""), "<>") {
			rt.Fatalf("%q became %q", name, parts)
		}
	})
}
