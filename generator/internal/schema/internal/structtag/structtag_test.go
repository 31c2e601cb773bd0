package structtag

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzNoLimitIsLostInSilence puts a limit behind any text: either Go finds the limit or the tag has
// a flaw. A tag without flaws has its pairs and nothing else.
func FuzzNoLimitIsLostInSilence(f *testing.F) {
	for _, before := range []string{
		"", `json:"a" `, `json:"a"`, `json:"a", `, `json:"a";`, "json:\"a\"\t", `json:a `,
		`json:"a `, `json: "a" `, `json:"\d" `,
		`jsonschema:"pattern=\d" `, `jsonschema:"title=a" `, `a b `, `yaml:x `, ` `, "\x00", `"`,
		`:`, `x,`, `json:"a" omitempty,`, `json:"a\" `, `json:"\`,
	} {
		f.Add(before)
	}
	f.Fuzz(func(t *testing.T, before string) {
		const limit = `jsonschema:"minimum=3"`
		if n := len(before); n > 0 && !endsKey(rune(before[n-1])) &&
			!strings.ContainsAny(before[n-1:], noKey) {
			return // the key of another library may end in jsonschema
		}
		found := Flaws(before + limit)
		if reflect.StructTag(before+limit).Get("jsonschema") != "minimum=3" && len(found) == 0 {
			t.Fatalf("%q loses its limit", before+limit)
		}
		for _, flaw := range found {
			if flaw.Offset < 0 || flaw.Offset >= len(before+limit) || flaw.Message == "" ||
				flaw.Cure == "" {
				t.Fatalf("%q: %+v", before+limit, flaw)
			}
		}
	})
}
