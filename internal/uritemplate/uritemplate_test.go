package uritemplate_test

import (
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
)

func parse(t testing.TB, text string) uritemplate.Template {
	t.Helper()
	template, err := uritemplate.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return template
}

func TestTemplateOfManyCharactersIsRead(t *testing.T) {
	text := "s:" + strings.Repeat("abc%41-", 1000)
	if _, ok := parse(t, text+"{id}").Match(text + "7"); !ok {
		t.Error("no match")
	}
}

func TestTemplatesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":               "no scheme",
		"people/{id}":    "no scheme",
		"1a:x":           "no scheme",
		"{scheme}://x":   "no scheme",
		"a:{b":           "without its }",
		"a:b}":           "without its {",
		"a:{}":           "not supported",
		"a:{/path}":      "not supported",
		"a:{?q}":         "not supported",
		"a:{b,c}":        "not supported",
		"a:{b*}":         "not supported",
		"a:{b:3}":        "not supported",
		"a:{1b}":         "not supported",
		"a:{b}{c}":       "between two variables",
		"a:{b}/{b}":      "stands twice",
		"a:b c":          "stands in no URI",
		"a:\x00":         "stands in no URI",
		"a:é":            "stands in no URI",
		"a:%4":           "encodes nothing",
		"a:%zz":          "encodes nothing",
		"a:\"b\"<>^`|\\": "stands in no URI",
	} {
		if _, err := uritemplate.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestFormsThatAreNotSupportedHaveACure(t *testing.T) {
	for inner, want := range map[string]string{
		"":       "write {name}, or {+name} for text with slashes",
		"1b":     "write {name}, or {+name} for text with slashes",
		"+":      "write {name}, or {+name} for text with slashes",
		"b*":     "write {name}, or {+name} for text with slashes",
		"b:3":    "write {name}, or {+name} for text with slashes",
		"+b*":    "write {name}, or {+name} for text with slashes",
		"b,c":    "write each variable by itself, with literal text between them, as in {a}/{b}",
		"+b,c":   "write each variable by itself, with literal text between them, as in {a}/{b}",
		"?b,c*":  "write each variable by itself, with literal text between them, as in {a}/{b}",
		"?q":     "write the query out, as in ?q={q}",
		"&page*": "write the query out, as in &page={page}",
		"/path":  "write the / out, as in /{path}",
		".ext":   "write the . out, as in .{ext}",
		";x:2":   "write the ; out, as in ;{x}",
		"#part":  "write the # out, as in #{part}",
		"?1":     "write {name}, or {+name} for text with slashes",
	} {
		_, err := uritemplate.Parse("a:b{" + inner + "}")
		var bad *uritemplate.Error
		if !errors.As(err, &bad) || bad.Message != "{"+inner+"} is not supported" || bad.Cure != want {
			t.Errorf("{%s}: %v, want %s", inner, err, want)
		}
	}
	// The cures can be written.
	for _, text := range []string{"a:b?q={q}", "a:b?q={q}&page={page}", "a:b/{path}", "a:b.{ext}", "a:b;{x}", "a:b#{part}", "a:{a}/{b}", "a:{+b}"} {
		parse(t, text)
	}
}

func TestMatchReadsTheVariables(t *testing.T) {
	kinds := map[string]uritemplate.Kind{"n": uritemplate.Integer, "on": uritemplate.Boolean}
	for _, test := range []struct {
		template, uri string
		want          map[string]string // nil: no match
	}{
		{"team://all", "team://all", map[string]string{}},
		{"team://all", "team://al", nil},
		{"team://all", "team://all/", nil},
		{"team://all", "TEAM://all", nil},
		{"a:{b}", "a:x", map[string]string{"b": "x"}},
		{"a:{b}", "a:", nil},
		{"a:{b}", "a:x/y", nil},
		{"a:{b}", "a:x%2Fy", map[string]string{"b": "x/y"}},
		{"a:{b}", "a:%C3%A9", map[string]string{"b": "é"}},
		{"a:{b}", "a:%FF", nil},
		{"a:{b}", "a:%00", nil},
		{"a:{b}", "a:%7f", nil},
		{"a:{b}", "a:%4", nil},
		{"a:{b}", "a:é", nil},
		{"a:{b}", "a:x\n", nil},
		{"a:{b}/c", "a:x/c", map[string]string{"b": "x"}},
		{"a:{+b}/c", "a:x/y/c", map[string]string{"b": "x/y"}},
		{"a:{b}-{c}", "a:1-2-3", map[string]string{"b": "1-2", "c": "3"}},
		{"a:{+b}/{c}", "a:1/2/3", map[string]string{"b": "1/2", "c": "3"}},
		{"a:{n}", "a:17", map[string]string{"n": "17"}},
		{"a:{n}", "a:-1", map[string]string{"n": "-1"}},
		{"a:{n}", "a:0", map[string]string{"n": "0"}},
		{"a:{n}", "a:-", nil},
		{"a:{n}", "a:1-2", nil},
		{"a:{n}", "a:01", nil},
		{"a:{n}", "a:%31", nil},
		{"a:{n}", "a:1e3", nil},
		{"a:{on}", "a:true", map[string]string{"on": "true"}},
		{"a:{on}", "a:TRUE", nil},
		{"a:{on}", "a:fals", nil},
		{"a:{on}", "a:false", map[string]string{"on": "false"}},
		{"a:%C3{b}", "a:%C3%A9", nil},
		{"a:%0A{b}", "a:%0Ax", map[string]string{"b": "x"}},
	} {
		made := parse(t, test.template).Typed(kinds)
		got, ok := made.Match(test.uri)
		if ok != (test.want != nil) || ok && !maps.Equal(got, test.want) {
			t.Errorf("%s, %q: %v %v, want %v", test.template, test.uri, got, ok, test.want)
		}
		if made.Matches(test.uri) != ok {
			t.Errorf("%s, %q: the scan differs", test.template, test.uri)
		}
	}
}

func TestOverlapIsFound(t *testing.T) {
	kinds := map[string]uritemplate.Kind{"n": uritemplate.Integer, "on": uritemplate.Boolean}
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"a:x", "a:x", true},
		{"a:x", "a:y", false},
		{"a:x", "a:{b}", true},
		{"a:x/y", "a:{b}", false},
		{"a:x/y", "a:{+b}", true},
		{"a:{b}", "a:{c}", true},
		{"a:{b}/c", "a:{b}/d", false},
		{"a:{b}/c", "a:d/{c}", true},
		{"a:{b}/c", "a:{+b}", true},
		{"a:{b}/c", "a:{b}/c/d", false},
		{"a:{b}.json", "a:{b}.xml", false},
		{"a:{b}", "a:{b}.xml", true},
		{"a:{n}", "a:new", false},
		{"a:{n}", "a:{on}", false},
		{"a:{n}", "a:17", true},
		{"a:{n}", "a:{b}", true},
		{"a:{on}", "a:new", false},
		{"a:", "a:{b}", false},
	} {
		a, b := parse(t, test.a).Typed(kinds), parse(t, test.b).Typed(kinds)
		if got := uritemplate.Overlap(a, b); got != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
		if got := uritemplate.Overlap(b, a); got != test.want {
			t.Errorf("%s and %s: %v", test.b, test.a, got)
		}
	}
}

func TestBeyondComparesWhatTemplatesMatch(t *testing.T) {
	kinds := map[string]uritemplate.Kind{"n": uritemplate.Integer, "on": uritemplate.Boolean}
	for _, test := range []struct {
		a, others string
		want      bool
	}{
		{"a:x", "a:x", false},
		{"a:x", "", true},
		{"a:{b}", "a:{c}", false},
		{"a:{+b}", "a:{b}", true},
		{"a:{b}", "a:{+b}", false},
		{"a:{b}.json", "a:{b}", false},
		{"a:{b}", "a:{b}.json", true},
		{"a:{n}", "a:{b}", false},
		{"a:{b}", "a:{n}", true},
		{"a:{on}", "a:true", true},
		{"a:{on}", "a:true a:false", false},
		{"a:{b}", "a:me", true},
		{"a:{b}/{c}", "a:{+b}", false},
		{"a:{b}-{c}", "a:{b}", false},
		{"a:{b}", "a:{b}-{c}", true},
		{"a:x/{b}", "a:{b}/{c} b:{c}", false},
	} {
		var others []uritemplate.Template
		for _, other := range strings.Fields(test.others) {
			others = append(others, parse(t, other).Typed(kinds))
		}
		if got := uritemplate.Beyond(parse(t, test.a).Typed(kinds), others...); got != test.want {
			t.Errorf("%s beyond %q: %v", test.a, test.others, got)
		}
	}
}

func TestURIOfOneTemplateIsBeyondTheOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := template(t, "a"), template(t, "b"), template(t, "c")
		uri := a.String()
		for _, name := range a.Variables() {
			value := rapid.StringMatching(`[ab1/.-]{1,4}`).Draw(t, name)
			uri = strings.NewReplacer("{"+name+"}", value, "{+"+name+"}", value).Replace(uri)
		}
		if a.Matches(uri) && !b.Matches(uri) && !c.Matches(uri) && !uritemplate.Beyond(a, b, c) {
			t.Fatalf("%s matches %s, and neither %s nor %s does", a, uri, b, c)
		}
	})
}

// parts make templates that often have URIs in common.
var parts = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "-", "17", "{v}", "{+v}"}), 1, 5)

func template(t *rapid.T, label string) uritemplate.Template {
	text := "s:"
	for i, part := range parts.Draw(t, label) {
		if strings.Contains(part, "v") {
			part = strings.Replace(part, "v", string(rune('v'+i)), 1)
			if strings.HasSuffix(text, "}") {
				text += "."
			}
		}
		text += part
	}
	made, err := uritemplate.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return made
}

func TestTemplatesOfOneURIOverlap(t *testing.T) {
	both := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := template(t, "a"), template(t, "b")
		uri := "s:" + rapid.StringMatching(`[ab/.17%-]{0,8}`).Draw(t, "uri")
		_, matchA := a.Match(uri)
		_, matchB := b.Match(uri)
		if matchA && matchB {
			both++
			if !uritemplate.Overlap(a, b) {
				t.Fatalf("%s and %s both match %s", a, b, uri)
			}
		}
	})
	t.Logf("%d URIs of two templates", both)
}

func TestExpansionsMatchTheirTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		made := template(t, "template")
		uri := made.String()
		for _, name := range made.Variables() {
			value := url.PathEscape(rapid.StringMatching(`[a-z é/%]{1,4}`).Draw(t, name))
			uri = strings.NewReplacer("{"+name+"}", value, "{+"+name+"}", value).Replace(uri)
		}
		if _, ok := made.Match(uri); !ok {
			t.Fatalf("%s does not match %s", made, uri)
		}
	})
}

func TestURIsThatAreTooLongMatchNothing(t *testing.T) {
	made := parse(t, "s:{a}.{b}.{c}.{d}.{e}.{f}")
	fits := "s:" + strings.Repeat("a.", 5) + strings.Repeat("b", uritemplate.MaxLength-12)
	if _, ok := made.Match(fits); !ok {
		t.Errorf("a URI of %d bytes does not match", len(fits))
	}
	if _, ok := made.Match(fits + "b"); ok || made.Matches(fits+"b") {
		t.Errorf("a URI of %d bytes matches", len(fits)+1)
	}
	if _, ok := made.Match("s:" + strings.Repeat(".", 1<<20)); ok {
		t.Error("a URI of dots matches")
	}
}

// The scan and the pattern mean the same, also of templates with many positions.
func TestScanAgreesWithThePattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		long := strings.Repeat("ab/", rapid.IntRange(0, 50).Draw(t, "long"))
		text, uri, fitting := "s:"+long, "s:"+long, "s:"+long
		kinds := map[string]uritemplate.Kind{}
		for i := range rapid.IntRange(1, 12).Draw(t, "variables") {
			name := string(rune('a' + i))
			kinds[name] = rapid.SampledFrom([]uritemplate.Kind{uritemplate.Text, uritemplate.Integer,
				uritemplate.Boolean}).Draw(t, "kind")
			literal := rapid.SampledFrom([]string{"/", "-", "1", "%41", "e"}).Draw(t, "literal")
			text += rapid.SampledFrom([]string{"{", "{+"}).Draw(t, "form") + name + "}" + literal
			uri += rapid.SampledFrom([]string{"true", "false", "-10", "0", "17", "a/b", "%C3%A9", "%C3",
				"%4", "x-1", ""}).Draw(t, "value") + literal
			fitting += map[uritemplate.Kind]string{uritemplate.Text: "x-1", uritemplate.Integer: "-10",
				uritemplate.Boolean: "true"}[kinds[name]] + literal
		}
		made, err := uritemplate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		made = made.Typed(kinds)
		for _, uri := range []string{uri, uri[:len(uri)-1]} {
			_, ok := made.Match(uri)
			if made.Matches(uri) != ok {
				t.Fatalf("%s, %s: the pattern has %t", text, uri, ok)
			}
		}
		if _, ok := made.Match(fitting); !ok || !made.Matches(fitting) {
			t.Fatalf("%s does not match %s", text, fitting)
		}
	})
}

// The time of a scan does not reveal how much of a URI fits. The pattern alone takes a thousand
// times as long for the first of these URIs.
func TestTimeDoesNotRevealATemplate(t *testing.T) {
	if testing.Short() {
		t.Skip("a comparison of times, which a busy machine can disturb, is in the full run")
	}
	made := parse(t, "hidden://people/{id}/of/{+team}")
	rest := strings.Repeat("abc/of/", 1000)
	shortest := func(uri string) time.Duration {
		best := time.Hour
		for range 50 {
			began := time.Now()
			made.Matches(uri)
			best = min(best, time.Since(began))
		}
		return best
	}
	for _, end := range []string{"", "%41", "%"} {
		fits := shortest("hidden://people/" + rest + end)
		for _, begin := range []string{"unseen://people/", "hidden://public/"} {
			if other := shortest(begin + rest + end); fits > 3*other || other > 3*fits {
				t.Errorf("a URI that fits takes %s, and one with %s %s", fits, begin, other)
			}
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a:{b}", "a:%31")
	f.Fuzz(func(t *testing.T, text, uri string) {
		made, err := uritemplate.Parse(text)
		if err != nil {
			return
		}
		values, ok := made.Match(uri)
		if ok != made.Matches(uri) || ok && len(values) != len(made.Variables()) {
			t.Errorf("%s, %q: %v", made, uri, values)
		}
		if !uritemplate.Overlap(made, made) {
			t.Errorf("%s does not overlap itself", made)
		}
	})
}
