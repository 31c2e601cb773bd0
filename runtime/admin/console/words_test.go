package console_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/admin/console"
)

func TestWhatCannotBeSeenStandsAsAnEscape(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "public/größe *": "public/größe *", "a\u202eb": `a\u202eb`, "a\nb\x00\x7f": `a\nb\x00\x7f`, "\xff\xc3": `\xff\xc3`, "a\u00a0b": `a\u00a0b`, "\U000e0041": `\U000e0041`, "\ufffd": "\ufffd", "'\\": `'\`,
	} {
		if got := console.Visible(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "bytes")) + rapid.String().Draw(rt, "text")
		got := console.Visible(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !strconv.IsPrint(r) }) {
			rt.Fatalf("%q is shown as %q", text, got)
		}
		if console.Visible(got) != got {
			rt.Fatalf("%q is hidden once more", got)
		}
	})
}

func TestWordsOfOthersAreCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab ö\n\r\t\u202e"))).Draw(rt, "text") + strings.Repeat(rapid.SampledFrom([]string{"", "x", "\n", "ö "}).Draw(rt, "more"), rapid.IntRange(0, 2000).Draw(rt, "times"))
		lines, cut := console.Quoted(text)
		total := 0
		for _, line := range lines {
			total += utf8.RuneCountInString(line)
		}
		whole := console.Visible(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "|")) // a bar for a line
		if len(lines) > 20 || total > 6*1000 || !cut && strings.Join(lines, "|") != whole {
			rt.Fatalf("%q: %d lines of %d characters, %t", text, len(lines), total, cut)
		}
		if line := console.OneLine(text); utf8.RuneCountInString(line) > 6*160+2 || strings.Contains(line, "\n") {
			rt.Fatalf("%q in one line is %q", text, line)
		}
	})
}
