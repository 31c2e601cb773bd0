package pattern

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlobsMatchAsPackagePath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune(`ab*?[]^\-é/`)), 1, 8, -1).Draw(t,
			"pattern")
		name := rapid.StringOfN(rapid.RuneFrom([]rune(`ab*?[]^\-é/`)), 1, 8, -1).Draw(t, "name")
		g, err := parseGlob(pattern, 0, pattern, true)
		if err != nil {
			return
		}
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Fatalf("%s is no pattern to package path", pattern)
		}
		// Package path lets classes stand for "/".
		if got := g.match(name); got != want && (got || !strings.Contains(name, "/") ||
			!strings.Contains(pattern, "[")) {
			t.Fatalf("%s on %q: %v", pattern, name, got)
		}
	})
}

// resource is one text, read as each kind of pattern reads it.
type resource struct {
	text     string
	argv     []string
	endpoint Endpoint
	isPath   bool
	isHost   bool
}

func resourceOf(text string) resource {
	r := resource{text: text, argv: strings.Split(text, " ")}
	r.isPath = CanonicalPath(text)
	var problem string
	r.endpoint, problem = ParseEndpoint(text)
	r.isHost = problem == ""
	return r
}

// held reports whether a pattern holds a resource, and whether an index with it alone finds it.
func held(p Pattern, r resource) (matches, found bool) {
	var x Index
	x.Add(7, p)
	var numbers []int
	switch p := p.(type) {
	case *Path:
		if !r.isPath {
			return false, false
		}
		matches, numbers = p.Match(r.text), x.Paths(nil, r.text)
	case *Command:
		if !ProgramName(r.argv[0]) {
			return false, false
		}
		matches, numbers = p.Match(r.argv), x.Commands(nil, r.argv)
	case *Host:
		if !r.isHost {
			return false, false
		}
		matches, numbers = p.Match(r.endpoint), x.Hosts(nil, r.endpoint)
	case *Custom:
		matches, numbers = p.Match(r.text), x.Custom(nil, r.text)
	}
	return matches, slices.Contains(numbers, 7)
}

// parsers are the readers of patterns, by kind.
var parsers = []func(string) (Pattern, error){
	func(text string) (Pattern, error) { return ParsePath(text) },
	func(text string) (Pattern, error) { return ParseCommand(text) },
	func(text string) (Pattern, error) { return ParseHost(text) },
	func(text string) (Pattern, error) { return ParseCustom(text) },
}

// FuzzPatterns checks the laws of patterns of each kind: the canonical text reads as an equal
// pattern, an index finds what Match finds, and a pattern that covers another one holds all that
// the other holds.
func FuzzPatterns(f *testing.F) {
	for _, seed := range [][3]string{
		{"public/**", "public/*/a?.md", "public/x/ab.md"},
		{"**/[a-c]*", "a/**/b", "a/x/b"},
		{"git log *", `["git","log","a b"]`, "git log a"},
		{"/bin/* **", "/bin/ls -l", "/bin/ls -l"},
		{"**.example.com:80-443", "*.example.com:443", "api.example.com:443"},
		{"[2001:db8::/32]:443", "2001:db8::1", "[2001:db8::1]:443"},
		{"10.0.0.0/8", "10.1.2.3:80", "http://10.1.2.3/"},
		{`a\\*[^b]`, "a*?", "a*c"},
		{"*?*", "?*?", "\xff"},
	} {
		for kind := range parsers {
			f.Add(byte(kind), seed[0], seed[1], seed[2])
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, first, second, text string) {
		parse := parsers[int(kind)%len(parsers)]
		a, err := parse(first)
		if err != nil {
			if wrong, ok := err.(*Error); !ok || wrong.Cure == "" || wrong.Offset > len(first) {
				t.Fatalf("%q: %v", first, err)
			}
			return
		}
		again, err := parse(a.Canonical())
		if err != nil || again.Canonical() != a.Canonical() {
			t.Fatalf("%q is %q, which reads as %v, %v", first, a.Canonical(), again, err)
		}
		r := resourceOf(text)
		matches, found := held(a, r)
		if other, _ := held(again, r); matches != found || matches != other {
			t.Fatalf("%q on %q: matches %v, found %v, canonical text %v", first, text, matches,
				found, other)
		}
		if !a.Covers(again) || !again.Covers(a) {
			t.Fatalf("%q does not cover itself", first)
		}
		b, err := parse(second)
		if err != nil || !a.Covers(b) {
			return
		}
		if inner, _ := held(b, r); inner && !matches {
			t.Fatalf("%q covers %q, which holds %q, and does not hold it", first, second, text)
		}
	})
}

func TestLiteralPatternsHoldTheirTextAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a\\*?\[\]{}^-]{1,8}`).Draw(t, "text")
		other := rapid.StringMatching(`[a\\*?\[\]{}^-]{1,8}`).Draw(t, "other")
		p, err := ParseCustom(Literal(text))
		if err != nil {
			t.Fatal(err)
		}
		if !p.Match(text) || p.Match(other) != (other == text) {
			t.Fatalf("%q as a pattern holds itself: %v, and %q: %v", text, p.Match(text), other,
				p.Match(other))
		}
	})
}

// TestIndexAppendsEachPatternOnce has a path that repeats a name, which clients can choose.
func TestIndexAppendsEachPatternOnce(t *testing.T) {
	var x Index
	const patterns = 100
	for i := range patterns {
		p, err := ParsePath([]string{"**/a/**", "*/b", "a/**", "**"}[i%4])
		if err != nil {
			t.Fatal(err)
		}
		x.Add(i, p)
	}
	for path, want := range map[string]int{
		"a":     75,
		"a/b":   100,
		"b/b":   50,
		"b/a/a": 50,
		"a" + strings.Repeat("/a", MaxLength/2-1): 75,
	} {
		numbers := x.Paths(nil, path)
		slices.Sort(numbers)
		if n := len(numbers); n != want || len(slices.Compact(numbers)) != n {
			t.Errorf("%.10s: %d numbers, want %d that differ", path, n, want)
		}
	}
}
