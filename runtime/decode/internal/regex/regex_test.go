package regex

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Parts of patterns, with and without what one look at each character can do.
var patternParts = []string{"[A-Z]+", "[a-c]", "[0-9]+", "-", "ab", "a+", "b+?", "(ab)+", "(?i:k)", `\d`, `\w+`, "[^a]", "é", ".", "x?", "[0-9]{2}", "|", "$", "^", `\.`, "", "(?m:^)", "(?m:$)"}

func TestPatternsMatchAsRegexpDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(rapid.SampledFrom(patternParts), 0, 5).Draw(t, "parts"), "")
		if rapid.IntRange(0, 9).Draw(t, "anchored") > 0 {
			expr = "^" + expr + "$"
		}
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aabBZ0--9.kK\u212aé\n")), 0, 6, -1).Draw(t, "text")
		compiled, err := regexp.Compile(expr)
		if err != nil {
			return
		}
		if got, want := Match(expr, text), compiled.MatchString(text); got != want {
			t.Fatalf("%q in %q: %t, regexp says %t", expr, text, got, want)
		}
	})
}

func TestPatternsOfClassesInARowAreRead(t *testing.T) {
	for expr, want := range map[string]int{
		`^[A-Z]+-[0-9]+$`: 3, `^ab[0-9]$`: 3, `^[a-z]+$`: 1, `^\d+\.\d+$`: 3,
		`^[a-z]+[a-c]$`: 0, `^[a-z]+abc$`: 0, `^[^a]+$`: 0, `[a-z]+`: 0, `^(?i)a-$`: 0, `^é-$`: 0,
		`^$`: 0, `^a|b$`: 0, `(`: 0,
	} {
		if got := len(runsOf(expr)); got != want {
			t.Errorf("%s: %d runs, want %d", expr, got, want)
		}
	}
}

func TestRegularExpressionsAreThoseOfRegexp(t *testing.T) {
	parts := append([]string{"(", ")", "[", "]", "{1,3}", "{3,1}", "{1001}", "(?=a)", `\1`, `\pL`, `\p{Greek}`, "(?P<n>a)", "*", "**", "\xff", "\\"}, patternParts...)
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 8).Draw(t, "parts"), "")
		if _, err := regexp.Compile(expr); Valid(expr) != (err == nil) {
			t.Fatalf("%q: %t, regexp says %v", expr, Valid(expr), err)
		}
	})
}

func TestRegularExpressionsHaveABound(t *testing.T) {
	if !Valid(strings.Repeat("a", maxLength)) || Valid(strings.Repeat("a", maxLength+1)) {
		t.Errorf("the bound is not %d bytes", maxLength)
	}
	if allocated := testing.AllocsPerRun(5, func() { Valid(strings.Repeat(`\PL{999}`, maxLength/8)) }); allocated > 50_000 {
		t.Errorf("reading a hostile one takes %.0f allocations: is it compiled?", allocated)
	}
}
