package decode

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Few items are compared without a map and many with one: both find the first item that stands
// a second time, and where it stood first.
func TestEqualItemsAreFoundWhetherFewOrMany(t *testing.T) {
	spellings := [][]string{ // of equal values
		{`"a"`, `"\u0061"`}, {`"s1:a"`}, {`""`}, {"1", "1.0", "10e-1"}, {"-1"}, {"0", "-0", "0e5"}, {"null"}, {"true"},
		{`[]`}, {`["a",1]`, `[ "a" , 1.0 ]`}, {`{"x":1,"y":2}`, `{"y":2,"x":1}`}, {`{"x":1}`}, {`[[1],[2]]`}, {`[[1,2]]`},
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 3*fewItems).Draw(t, "items")
		var texts []string
		first := map[int]int{}
		wantI, wantJ, want := 0, 0, false
		for j := range n {
			value := rapid.IntRange(0, len(spellings)-1).Draw(t, "value")
			texts = append(texts, rapid.SampledFrom(spellings[value]).Draw(t, "spelling"))
			i, met := first[value]
			switch {
			case !met:
				first[value] = j
			case !want:
				wantI, wantJ, want = i, j, true
			}
		}
		array := "[" + strings.Join(texts, ", ") + "]"
		if i, j, equal := equalItems([]byte(array), n); i != wantI || j != wantJ || equal != want {
			t.Fatalf("%s: %d, %d, %t, want %d, %d, %t", array, i, j, equal, wantI, wantJ, want)
		}
	})
}

func TestEqualDocumentsHaveOneCanonicalForm(t *testing.T) {
	const doc = `{"b":[1,"x"],"a":{"c":null}}`
	for text, equal := range map[string]bool{
		doc: true, ` { "a" : {"c":null}, "b" : [1.0,"\u0078"] } `: true,
		`{"b":["x",1],"a":{"c":null}}`: false, `{"b":[1,"x"],"a":{}}`: false, doc + "1": false, `{`: false, ``: false,
	} {
		if got := string(Canonical([]byte(text))) == string(Canonical([]byte(doc))); got != equal {
			t.Errorf("%s: equal %t", text, got)
		}
	}
}

func TestFewTextsAreUniqueAsTheirCanonicalFormsAre(t *testing.T) {
	item := rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `""`, `"1"`, `1`, `1.0`, `"s1:a"`,
		`["a"]`})
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
