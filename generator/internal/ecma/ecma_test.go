package ecma

import (
	"regexp"
	"testing"
)

// A test of generator/internal/systemtest compares random patterns with a JavaScript engine.
func TestPatternsOutsideOfTheCommonSubsetHaveCures(t *testing.T) {
	for _, test := range []struct{ pattern, part, cure string }{
		{`^[a-z0-9-]{1,63}$`, "", ""},
		{`^(?:[\w.+-]+@\p{Lu}\p{Letter}\/\x41\0)$`, "", ""},
		{`^[^[\]\-\^]\B\b\D\W.*?$`, "", ""},
		{`[\s\S]`, "", ""},
		{`(?<year>[0-9]{4})-(?<month>\d\d)`, "", ""},

		{`^https\:\/\/`, `\:`, `^https:\/\/`},
		{`^a\-b$`, `\-`, `^a-b$`},
		{`^[a-z]+\@[a-z]+\.[a-z]+$`, `\@`, `^[a-z]+@[a-z]+\.[a-z]+$`},
		{`[\_\-]`, `\_`, `[_\-]`},
		{`\a\07`, `\a`, `\x07\x07`},
		{`^a\012b$`, `\012`, `^a\nb$`},
		{`\08`, `\0`, `\x008`},
		{`(a)\11`, `\11`, `(a)\t`},
		{`\x{e9}\x{1F600}\x{2a}`, `\x{e9}`, `é😀\*`},
		{`\x{200b}`, `\x{200b}`, ""},
		{`\Qa.b\E+`, `\Qa.b\E`, `a\.b+`},
		{`a+\Q\E*`, `\Q\E`, `(?:a+)*`},
		{`\A\d+\z`, `\A`, `^\d+$`},

		{`^{[a-z]+}$`, "{", `^\{[a-z]+\}$`},
		{`^a]b$`, "]", `^a\]b$`},
		{`a{,5}`, "{", `a\{,5\}`},
		{`a{02}`, "{02}", `a\{02\}`},
		{`^*a`, "^*", `(?:^)*a`},
		{`a\b+`, `\b+`, `a(?:\b)+`},

		{`^[\w-.]+$`, `\w-`, `^[\w\-.]+$`},
		{`[a\d-x-]`, `\d-`, `[a\d\-x\-]`},
		{`[\d--z]`, `\d-`, `[\d\--z]`},
		{`[]a]`, "[]", `[\]a]`},
		{`[^]a]`, "[^]", `[^\]a]`},
		{`[[:alpha:]_-]`, "[:alpha:]", `[A-Za-z_\-]`},
		{`[[:^alpha:]]`, "[:^alpha:]", `[^A-Za-z]`},
		{`[\x{20}-\x{10FFFF}]`, `\x{20}`, `[^\x00-\x1f]`},
		{`[\x{0}-\x{10FFFF}]`, `\x{0}`, `[\d\D]`},
		{`[[:^word:]a]`, "[:^word:]", `[\Wa]`},

		{`^\s+$`, `\s`, `^[\t\n\f\r ]+$`},
		{`\S`, `\S`, `[^\t\n\f\r ]`},
		{`[^\s,]`, `\s`, `[^\t\n\f\r ,]`},
		{`[^\S]`, `\S`, `[\t\n\f\r ]`},
		{`\pL\PN`, `\pL`, `\p{L}\P{N}`},
		{`\p{letter}\p{^upper case letter}`, `\p{letter}`, `\p{Letter}\P{Uppercase_Letter}`},
		{`\p{lowercase-letter}\p{^Lu}`, `\p{lowercase-letter}`, `\p{Lowercase_Letter}\P{Lu}`},
		{`\p{Hiragana}`, `\p{Hiragana}`, "[ぁ-ゖゝ-ゟ𛀁-𛄟𛄲𛅐-𛅒🈀]"},
		{`\p{Arabic}`, `\p{Arabic}`, ""},

		{`(?P<n>a)(?<n>b)(?<1>c)`, `(?P<n>`, `(?<n>a)(b)(c)`},
		{`^(?<x>a)(?<x>b)$`, `(?<x>`, `^(?<x>a)(b)$`},
		{`(?i)^ok[0-9a-c]é$`, `(?i)`, "^[Oo][Kk\u212a][0-9A-Ca-c][Éé]$"},
		{`a(?i:b)c`, `(?i:`, `a(?:[Bb])c`},
		{`((?i)a|b)c`, `(?i)`, `([Aa]|[Bb])c`},
		{`(?i)a(?-i)b`, `(?i)`, `[Aa]b`},
		{`(?s)a.b`, `(?s)`, `a[\d\D]b`},
		{`(?m)^a$`, `(?m)`, ""},
		{`(?m)\Aa\z`, `(?m)`, `^a$`},
		{`(?U)a+`, `(?U)`, `a+`},
		{`(?i)\p{Lu}`, `(?i)`, ""},
		{`(?i)[k][1][^\n][\s\S]`, `(?i)`, "[Kk\u212a][1][^\\n][\\d\\D]"},
		{`(?i)[^\x00-\x{10FFFF}]`, `(?i)`, ""},
		{`(?i)\w`, `(?i)`, "[0-9A-Z_a-zſ\u212a]"},
	} {
		if _, err := regexp.Compile(test.pattern); err != nil {
			t.Fatal(err)
		}
		var got Problem
		if p := Check(test.pattern); p != nil {
			got = *p
		}
		if got.Part != test.part || got.Cure != test.cure || (got.Reason == "") != (test.part == "") {
			t.Errorf("%s:\n got %q %q %q\nwant %q, cure %q", test.pattern, got.Part, got.Reason,
				got.Cure, test.part, test.cure)
		}
	}
}

// FuzzCheck compares each cure with its pattern.
func FuzzCheck(f *testing.F) {
	for _, pattern := range []string{`^{a}]\-\:$`, `[[:alpha:]\w-.]`, `(?i)k(?s).[^\S]`, `[]-a]`,
		`(?P<n>\A\z*)`, `\Q(\E{2}\x{41}\12\a`, `\p{^greek}\pL`, `[\s\d--z]`} {
		f.Add(pattern, "ab-1 \u00a0K")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		compiled, err := regexp.Compile(pattern)
		if err != nil {
			return
		}
		problem := Check(pattern)
		if problem == nil {
			return
		}
		if problem.Part == "" || problem.Reason == "" {
			t.Errorf("%q: %+v", pattern, problem)
		}
		if problem.Cure == "" {
			return
		}
		cure := regexp.MustCompile(problem.Cure)
		if again := Check(problem.Cure); again != nil {
			t.Errorf("%q has the cure %q, which has %q", pattern, problem.Cure, again.Part)
		}
		if compiled.MatchString(text) != cure.MatchString(text) {
			t.Errorf("%q and its cure %q differ for %q", pattern, problem.Cure, text)
		}
	})
}
