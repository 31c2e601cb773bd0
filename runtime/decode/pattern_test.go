package decode

import (
	"cmp"
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
		if got, want := patternOf(expr).match(text), compiled.MatchString(text); got != want {
			t.Fatalf("%q in %q: %t, regexp says %t", expr, text, got, want)
		}
	})
}

func TestPatternsOfClassesInARowAreRead(t *testing.T) {
	for expr, want := range map[string]int{
		`^[A-Z]+-[0-9]+$`: 3, `^ab[0-9]$`: 3, `^[a-z]+$`: 1, `^\d+\.\d+$`: 3,
		`^[a-z]+[a-c]$`: 0, `^[a-z]+abc$`: 0, `^[^a]+$`: 0, `[a-z]+`: 0, `^(?i)a-$`: 0, `^é-$`: 0, `^$`: 0, `^a|b$`: 0, `(`: 0,
	} {
		if got := len(runsOf(expr)); got != want {
			t.Errorf("%s: %d runs, want %d", expr, got, want)
		}
	}
}

func TestNumbersAreComparedByTheirValue(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,9})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		got, want := compareNumbers([]byte(a), b), parseDecimal([]byte(a)).compare(parseDecimal([]byte(b)))
		if cmp.Compare(got, 0) != cmp.Compare(want, 0) {
			t.Fatalf("%s with %s: %d, want %d", a, b, got, want)
		}
	})
}

func TestFewTextsAreUniqueAsTheirCanonicalFormsAre(t *testing.T) {
	item := rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `""`, `"1"`, `1`, `1.0`, `"s1:a"`, `["a"]`})
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(item, 2, fewItems).Draw(t, "items")
		array := []byte("[" + strings.Join(items, " , ") + "]")
		i, j, equal := equalItems(array, len(items))
		l := &lexer{doc: array, limits: unlimited, pos: 1}
		if x, y, want := equalFew(l); equal != want || i != x || j != y {
			t.Fatalf("%s: %d and %d, %t; want %d and %d, %t", array, i, j, equal, x, y, want)
		}
	})
}
