package systemtest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpgen/mcpgen/generator/internal/ecma"
	"github.com/mcpgen/mcpgen/internal/testdb"
)

// TestPatternsOfTheCommonSubsetMatchAlike compares the verdicts of package ecma about random
// patterns, and its cures, with a JavaScript engine.
func TestPatternsOfTheCommonSubsetMatchAlike(t *testing.T) {
	type tried struct {
		Pattern string   `json:"pattern"`
		Texts   []string `json:"texts"`
		problem *ecma.Problem
		origin  string // the pattern that this one cures
	}
	random := rand.New(rand.NewPCG(1, 2))
	var list []tried
	add := func(pattern string) {
		if _, err := regexp.Compile(pattern); err != nil {
			return
		}
		problem := ecma.Check(pattern)
		texts := randomTexts(random, pattern)
		list = append(list, tried{pattern, texts, problem, ""})
		if problem != nil && problem.Cure != "" {
			list = append(list, tried{problem.Cure, texts, nil, pattern})
		}
	}
	for range 40_000 {
		add(randomPattern(random, 3))
	}
	for _, names := range [][]string{names(unicode.Categories), names(unicode.CategoryAliases),
		names(unicode.Scripts), {"Any", "ASCII", "Assigned"}} {
		for _, name := range names {
			add(`^\p{` + name + `}$`)
			add(`[\p{` + strings.ToLower(name) + `}-]`)
		}
	}
	verdicts := inJavaScript(t, list)
	var fine, bad, cured int
	for i, one := range list {
		engine := verdicts[i]
		original := one.Pattern
		if one.origin != "" {
			original = one.origin
			cured++
		}
		compiled := regexp.MustCompile(original)
		var other []string // the texts that one language alone matches
		for i, matches := range engine.Matches {
			if compiled.MatchString(one.Texts[i]) != matches {
				other = append(other, one.Texts[i])
			}
		}
		alike := engine.Error == "" && len(other) == 0
		switch {
		case one.problem == nil && !alike:
			t.Errorf("%q, for %q: %s; different for %q", one.Pattern, original, engine.Error, other)
		case one.problem == nil:
			fine++
		case engine.Error != "", !strings.HasPrefix(one.problem.Reason, "which JavaScript refuses"):
			bad++ // random texts may miss what it matches in one language alone
		case alike:
			t.Errorf("%q: %s, %s; but JavaScript reads it alike", one.Pattern, one.problem.Part,
				one.problem.Reason)
		}
	}
	if t.Logf("%d fine, %d not, %d cures", fine, bad, cured); min(fine, bad, cured) < 5000 {
		t.Error("the patterns are of too few kinds")
	}
}

func names[V any](table map[string]V) (list []string) {
	for name := range table {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// inJavaScript returns the verdicts of the engine.
func inJavaScript(t *testing.T, list any) (verdicts []struct {
	Error   string `json:"error"`
	Matches []bool `json:"matches"`
}) {
	t.Helper()
	_, node := testdb.Npm(t, "")
	input, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node,
		filepath.Join("testdata", "patterns", "verdicts.mjs"))
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &verdicts); err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// The parts of random patterns.
var (
	literals = strings.Split("a b k S é ß 世 😀 - _ , : = ! < > # & ~ / \" ' @ % } ] { 0 7 ſ", " ")
	escapes  = strings.Split(`\d \D \w \W \s \S \pL \p{Lu} \P{Greek} \p{^Nd} \p{letter} \p{Letter} `+
		`\a \f \n \r \t \v \x41 \x{42} \x{1F600} \x{200b} \0 \07 \12 \101 \- \_ \: \@ \/ \. \* \{ \} `+
		`\[ \] \( \) \| \^ \$ \\ \" \< \  \! \pZ \p{Zs}`, " ")
	others = strings.Split(`^ $ \b \B \A \z . \Qa.b\E \Q\E \Q(\E`, " ")
	groups = strings.Split(`( (?: (?P<n> (?<n> (?<m> (?<1> (?i) (?i: (?s: (?s) (?m) (?U) (?-i:`, " ")
	counts = strings.Split(`* + ? *? +? ?? {0} {2} {1,} {0,2} {2}? {,2} {01} {1,02}`, " ")
	posix  = strings.Split("alnum alpha ascii blank cntrl digit graph lower print punct space "+
		"upper word xdigit", " ")
)

func one(random *rand.Rand, list []string) string { return list[random.IntN(len(list))] }

func randomPattern(random *rand.Rand, depth int) string {
	var b strings.Builder
	for range 1 + random.IntN(4) {
		switch random.IntN(11) {
		case 0, 1, 2, 3:
			b.WriteString(one(random, literals))
		case 4:
			b.WriteString(one(random, escapes))
		case 5, 6:
			b.WriteString(one(random, others))
		case 7, 8:
			b.WriteString(randomClass(random))
		default:
			if depth == 0 {
				continue
			}
			begin := one(random, groups)
			b.WriteString(begin + randomPattern(random, depth-1))
			if random.IntN(3) == 0 {
				b.WriteString("|" + randomPattern(random, depth-1))
			}
			if len(begin) < 4 || !strings.HasSuffix(begin, ")") {
				b.WriteString(")")
			}
		}
		if random.IntN(4) == 0 {
			b.WriteString(one(random, counts))
		}
	}
	return b.String()
}

func randomClass(random *rand.Rand) string {
	var b strings.Builder
	b.WriteString("[")
	if random.IntN(3) == 0 {
		b.WriteString("^")
	}
	for range 1 + random.IntN(4) {
		switch random.IntN(9) {
		case 0, 1, 2:
			b.WriteString(one(random, literals))
		case 3:
			b.WriteString(one(random, escapes))
		case 4:
			b.WriteString("-")
		case 5:
			b.WriteString("a-z")
		case 6:
			b.WriteString("[:" + one(random, []string{"", "", "^"}) + one(random, posix) + ":]")
		case 7:
			b.WriteString(one(random, []string{"[", "^", ".", "$", "(", "|", "+--", "0-9"}))
		case 8:
			b.WriteString(one(random, []string{`\s\S`, `\S`, `\d`, `\w-.`, `\p{L}`}))
		}
	}
	return b.String() + "]"
}

// randomTexts are short texts with the characters that the languages may read differently. A dot
// excludes line terminators in JavaScript that it matches in Go. V8 finds \B within the surrogate
// pair of one character.
func randomTexts(random *rand.Rand, pattern string) (texts []string) {
	alphabet := []rune("abkKsSzZA09_-.,: \t\n\v\f\u00a0\u200b\ufeffKſéß世😀α{}[]()\\^$|\x00\x07\x01@~")
	if !strings.Contains(pattern, ".") {
		alphabet = append(alphabet, '\r', '\u2028', '\u2029')
	}
	texts = []string{"", "a", "1"}
	for _, c := range alphabet {
		texts = append(texts, string(c))
	}
	for range 12 {
		var b strings.Builder
		for range random.IntN(6) {
			if literal := []rune(pattern); random.IntN(2) == 0 && len(literal) > 0 {
				if c := literal[random.IntN(len(literal))]; c != '\r' {
					b.WriteRune(c)
					continue
				}
			}
			b.WriteRune(alphabet[random.IntN(len(alphabet))])
		}
		texts = append(texts, b.String())
	}
	return slices.DeleteFunc(texts, func(text string) bool {
		return strings.Contains(pattern, `\B`) && strings.Contains(text, "😀")
	})
}
