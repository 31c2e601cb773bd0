package directive

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

func TestNamesOfCatalogsAreAtMost256Bytes(t *testing.T) {
	for name, fine := range map[string]bool{
		strings.Repeat("a", 256): true, strings.Repeat("a", 257): false,
		strings.Repeat("ü", 128): true, strings.Repeat("ü", 128) + "a": false,
	} {
		if _, problems := parse(t, "//mcp:tool public catalog="+name); (len(problems) == 0) != fine {
			t.Errorf("%d bytes: %v", len(name), problems)
		}
	}
}

// What a list of catalogs holds reads the same when it is written again, as mcpgen list does.
func TestListsAreWrittenAsTheyAreRead(t *testing.T) {
	if got := Listed([]string{"a", "b c", `"`, "'d'", "e,f", "g/h"}); got != `a,"b c","\"","'d'","e,f",g/h` {
		t.Errorf("got %s", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.OneOf(rapid.SampledFrom([]rune(" ,\"'`=/\\<\u00ad\u00a0\ufffd\n")), rapid.RuneFrom(nil, unicode.PrintRanges...))
		names := rapid.SliceOfN(rapid.StringOfN(letters, 0, 8, -1), 1, 4).Draw(t, "names")
		text := "//mcp:param x enum=" + Listed(names) // enum= takes any text that people see
		d, problems := Parse(comment(text))
		if distinct := slices.Compact(slices.Sorted(slices.Values(names))); len(distinct) != len(names) ||
			slices.ContainsFunc(names, func(name string) bool { at, _ := model.Hidden(name); return at >= 0 }) {
			return
		}
		if len(problems) > 0 || !slices.Equal(d.List("enum"), names) {
			t.Fatalf("%s: %q, %v", text, d.List("enum"), problems)
		}
	})
}
