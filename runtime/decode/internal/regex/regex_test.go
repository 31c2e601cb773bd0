package regex

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// patternParts are parts of patterns.
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
