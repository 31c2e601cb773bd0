package systemtest

import (
	"errors"
	"go/ast"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestCodeAndStoreNameCatalogsAlike holds the rule for names in catalog= to the one of
// runtime/store: clients ask for both by name, and neither side imports the other.
func TestCodeAndStoreNameCatalogsAlike(t *testing.T) {
	ctx := t.Context()
	kept, err := store.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "names.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	fine := 0
	alike := func(t rapid.TB, name string) {
		t.Helper()
		_, err := kept.CreateCatalog(ctx, store.Global, name, "", true, audit.Event{})
		invalid := errors.Is(err, store.ErrInvalid)
		if err != nil && !invalid && !errors.Is(err, store.ErrExists) {
			t.Fatalf("%q: %v", name, err)
		}
		d, problems := directive.Parse(&ast.Comment{Slash: 1,
			Text: "//mcp:tool public catalog=" + strconv.Quote(name)})
		if invalid != (len(problems) > 0) {
			t.Fatalf("%q: the store says %v, and catalog= %v", name, err, problems)
		}
		if !invalid {
			fine++
			if got := d.Text("catalog"); got != name {
				t.Fatalf("%q is read as %q", name, got)
			}
		}
	}
	long := strings.Repeat("ü", 128)
	for _, name := range []string{
		"", "a", "research-kit", "night shift", " a", "a ", " ", "a  b", "a,b", `"`, "`", "'", "<b>",
		"//", `\`, "=",
		long, long + "a", long[1:], "\xff", "\ufffd", "a\x00", "a\tb", "a\nb", "\u00a0a", "a\u00a0b",
		"a\u00ad", "\u200b", "a\u202eb", "\ufeffa",
		"é", "e\u0301", "日本", "🚢", "\U000e0001", "\U0010ffff",
	} {
		alike(t, name)
	}
	if fine < 10 {
		t.Errorf("only %d names are fine", fine)
	}
	letters := rapid.OneOf(rapid.SampledFrom([]rune(" \u00a0\u200b\t\"")),
		rapid.RuneFrom(nil, unicode.PrintRanges...), rapid.Rune())
	rapid.Check(t, func(t *rapid.T) {
		alike(t, rapid.OneOf(rapid.StringOf(letters), rapid.StringN(250, 260, 260)).Draw(t, "name"))
	})
}
