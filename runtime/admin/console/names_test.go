package console_test

import (
	"html"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/admin/console"
)

func TestNamesBreakBetweenTheirWords(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "get": "get", "promote_to_manager": "promote_<wbr>to_<wbr>manager", "team://people/{id}": "team://<wbr>people/<wbr>{id}", "a.b-c/": "a.<wbr>b-<wbr>c/",
		"_x": "_<wbr>x", "<b>_&": "&lt;b&gt;_<wbr>&amp;",
	} {
		if got := string(console.Breakable(name)); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a-z_/.<>&"':-]*`).Draw(rt, "name")
		parts := strings.Split(string(console.Breakable(name)), "<wbr>")
		if got := html.UnescapeString(strings.Join(parts, "")); got != name || strings.ContainsAny(strings.Join(parts, ""), "<>") {
			rt.Fatalf("%q became %q", name, parts)
		}
	})
}
