package decode

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRegularExpressionsAreThoseOfRegexp(t *testing.T) {
	parts := append([]string{"(", ")", "[", "]", "{1,3}", "{3,1}", "{1001}", "(?=a)", `\1`, `\pL`, `\p{Greek}`, "(?P<n>a)", "*", "**", "\xff", "\\"}, patternParts...)
	rapid.Check(t, func(t *rapid.T) {
		expr := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 8).Draw(t, "parts"), "")
		if _, err := regexp.Compile(expr); isRegex(expr) != (err == nil) {
			t.Fatalf("%q: %t, regexp says %v", expr, isRegex(expr), err)
		}
	})
}

func TestRegularExpressionsHaveABound(t *testing.T) {
	if !isRegex(strings.Repeat("a", maxRegex)) || isRegex(strings.Repeat("a", maxRegex+1)) {
		t.Errorf("the bound is not %d bytes", maxRegex)
	}
	if allocated := testing.AllocsPerRun(5, func() { isRegex(strings.Repeat(`\PL{999}`, maxRegex/8)) }); allocated > 50_000 {
		t.Errorf("reading a hostile one takes %.0f allocations: is it compiled?", allocated)
	}
}
