package schema

import (
	"fmt"
	"go/types"
	"strings"
	"testing"
)

func names(list []*types.TypeName) string {
	var all []string
	for _, name := range list {
		all = append(all, strings.TrimPrefix(name.Pkg().Path(), base+"testdata/")+"."+name.Name())
	}
	return strings.Join(all, " ")
}

func TestNamedIsWhatJSONCanSee(t *testing.T) {
	tests := []struct{ name, want string }{
		{"Second", "types.Grouped types.Second"},
		{"Holds", "types.Fixed types.Flag types.Holds types.Label types.Labels types.Level types.Person types.Ratio types.Table types.unexported time.Duration"},
		{"Deepest", "types.Base types.Deepest types.Embeds"},
		{"Page", "types.Page types/other.Page"},
		{"Texts", "types.Text types.Texts math/big.Rat net/netip.Addr net/netip.Prefix"},
		{"Enums", "types.Enums types.Status types/other.Colour"},
		{"EmbedsGeneric", "types.EmbedsGeneric types.Of"},
		{"Aliased", "types.Aliased types.Person"},
		{"Hides", "types.Base types.Hides"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := walker(t, "types", source(t))
			if _, problems := w.Input(typeOf(t, "types", test.name)); len(problems) > 0 {
				t.Fatal(problemText(problems))
			}
			if got := names(w.Named()); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestNamedCollectsOverWalksInAStableOrder(t *testing.T) {
	w := walker(t, "types", source(t))
	for _, name := range []string{"Second", "Base", "Grouped", "Second"} {
		w.Input(typeOf(t, "types", name))
	}
	w.Output(typeOf(t, "types", "Embeds"))
	if got, want := names(w.Named()), "types.Base types.Embeds types.Grouped types.Second"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEnumsAreTheConstantsInTheOrderOfTheSource(t *testing.T) {
	w := walker(t, "types", source(t))
	w.Output(typeOf(t, "types", "Enums"))
	var got []string
	for _, c := range w.Enums() {
		got = append(got, c.Name())
	}
	if got, want := strings.Join(got, " "), "Active Offline Legacy Red Blue"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestObject(t *testing.T) {
	str, integer := types.Typ[types.String], types.Typ[types.Int8]
	tests := []struct {
		name  string
		props []Property
		want  string // the schema, or the problems
	}{
		{"nothing", nil, `{"properties":{},"additionalProperties":false,"type":"object"}`},
		{"in the order given", []Property{{Name: "b", Type: str, Required: true}, {Name: "a", Type: integer}},
			`{"properties":{"b":{"type":"string"},"a":{"type":"integer","maximum":127,"minimum":-128}},"additionalProperties":false,"type":"object","required":["b"]}`},
		{"pointers", []Property{{Name: "a", Type: types.NewPointer(str)}}, `{"properties":{"a":{"type":"string"}},"additionalProperties":false,"type":"object"}`},
		{"a doc", []Property{{Name: "a", Type: str, Doc: "What a is."}}, `{"properties":{"a":{"type":"string","description":"What a is."}},"additionalProperties":false,"type":"object"}`},
		{"a description wins", []Property{{Name: "a", Type: str, Doc: "No.", Tags: []Tag{{"description", "Yes, it does."}}}},
			`{"properties":{"a":{"type":"string","description":"Yes, it does."}},"additionalProperties":false,"type":"object"}`},
		{"limits, and a default makes it optional", []Property{{Name: "a", Type: integer, Required: true, Tags: []Tag{{"minimum", "1"}, {"maximum", "9"}, {"default", "3"}}}},
			`{"properties":{"a":{"type":"integer","maximum":9,"minimum":1,"default":3}},"additionalProperties":false,"type":"object"}`},
		{"required after all", []Property{{Name: "a", Type: str, Tags: []Tag{{"default", "x"}, {"required", ""}}}},
			`{"properties":{"a":{"type":"string","default":"x"}},"additionalProperties":false,"type":"object","required":["a"]}`},
		{"nullable", []Property{{Name: "a", Type: str, Doc: "Or none.", Tags: []Tag{{"nullable", ""}, {"minLength", "1"}}}},
			`{"properties":{"a":{"anyOf":[{"type":"string","minLength":1},{"type":"null"}],"description":"Or none."}},"additionalProperties":false,"type":"object"}`},
		{"an empty default", []Property{{Name: "a", Type: str, Tags: []Tag{{"default", ""}}}}, `{"properties":{"a":{"type":"string","default":""}},"additionalProperties":false,"type":"object"}`},
		{"a list", []Property{{Name: "a", Type: types.NewSlice(str), Required: true, Tags: []Tag{{"minItems", "1"}, {"pattern", "^[a-z]{1,3}$"}}}},
			`{"properties":{"a":{"items":{"type":"string","pattern":"^[a-z]{1,3}$"},"type":"array","minItems":1}},"additionalProperties":false,"type":"object","required":["a"]}`},
		{"anything", []Property{{Name: "a", Type: types.Universe.Lookup("any").Type()}}, `{"properties":{"a":{}},"additionalProperties":false,"type":"object"}`},
		{"an unknown key", []Property{{Name: "a", Type: str, Tags: []Tag{{"minlength", "1"}}}}, "a: the jsonschema tag has no key \"minlength\"\n\tdid you mean minLength? A comma within a value is written \\\\,\n"},
		{"a contradiction", []Property{{Name: "a", Type: integer, Tags: []Tag{{"maximum", "300"}}}}, "a: maximum=300 is beyond the Go type int8\n\tstay within -128 and 127\n"},
		{"no JSON form", []Property{{Name: "a", Type: types.NewChan(types.SendRecv, str)}},
			"a: chan string has no JSON representation\n\tuse another type\n"},
		{"one name twice", []Property{{Name: "a", Type: str}, {Name: "a", Type: str}},
			"a: two parameters have the property name \"a\"\n\trename one of them\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, problems := New(types.NewPackage("example.com/p", "p"), nil).Object(test.props)
			got := problemText(problems)
			if s != nil {
				fit(t, s)
				got = compact(t, s)
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestDefinitionsOfEqualNamesGetNamesOfTheirOwn(t *testing.T) {
	own := check(t, "example.com/own", "package own\ntype Page struct { N []Page }\ntype Größe struct { N []Größe }")
	one := check(t, "example.com/one/x", "package x\ntype Page struct { N []Page }")
	two := check(t, "example.com/two/x", "package x\ntype Page struct { N []Page }")
	props := func(pkgs ...*types.Package) []Property {
		var list []Property
		for i, pkg := range pkgs {
			list = append(list, Property{Name: fmt.Sprint("p", i), Type: pkg.Scope().Lookup("Page").Type()})
		}
		return list
	}
	refs := func(w *Walker, list []Property) string {
		s, problems := w.Object(list)
		if len(problems) > 0 {
			t.Fatal(problemText(problems))
		}
		fit(t, s)
		var all []string
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			all = append(all, strings.TrimPrefix(p.Value.Ref, "#/$defs/"))
		}
		return strings.Join(all, " ")
	}
	for _, test := range []struct {
		list []Property
		want string
	}{
		{props(one), "Page"},
		{props(one, own), "x.Page Page"},
		{props(one, two), "example.com.one.x.Page example.com.two.x.Page"},
		{props(two, own, one), "example.com.two.x.Page Page example.com.one.x.Page"},
		{[]Property{{Name: "g", Type: own.Scope().Lookup("Größe").Type()}}, "Gr_e"},
	} {
		if got := refs(New(own, nil), test.list); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestASchemaThatWouldOutgrowTheLimitKeepsDefinitions(t *testing.T) {
	var src strings.Builder
	src.WriteString("package p\ntype T0 struct { V string }\n")
	for i := 1; i <= 30; i++ {
		fmt.Fprintf(&src, "type T%d struct { A T%d; B []T%d `jsonschema:\"minItems=1\"` }\n", i, i-1, i-1)
	}
	src.WriteString("type L []T30\ntype Root struct { V T30; L L `jsonschema:\"maxItems=3\"`; M L `jsonschema:\"enum=x\"` }")
	pkg := check(t, "example.com/p", src.String())
	w := New(pkg, nil)
	if _, problems := w.Input(pkg.Scope().Lookup("Root").Type()); len(problems) != 1 || problems[0].Path != "Root.M" {
		t.Fatal(problemText(problems))
	}
	s, problems := w.Input(pkg.Scope().Lookup("T30").Type())
	if len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	fit(t, s)
	if len(s.Definitions) != 30 {
		t.Errorf("%d definitions", len(s.Definitions))
	}
	o, object, problems := w.Output(pkg.Scope().Lookup("L").Type())
	if len(problems) > 0 || object {
		t.Fatal(problemText(problems))
	}
	fitOutput(t, o)
}

func TestLimitsOfANamedListBindItsItemsBesideTheReference(t *testing.T) {
	pkg := check(t, "example.com/p", "package p\ntype L []struct{ L L }\ntype S []string\ntype C []C\ntype Root struct { C C `jsonschema:\"maxItems=3,title=Sea\"`; D C `jsonschema:\"description=d,nullable\"` }")
	s, problems := New(pkg, nil).Input(pkg.Scope().Lookup("Root").Type())
	if len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	fit(t, s)
	if got, want := compact(t, s), `"C":{"$ref":"#/$defs/C","maxItems":3,"title":"Sea"},"D":{"anyOf":[{"$ref":"#/$defs/C"},{"type":"null"}],"description":"d"}`; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheSameWalkMakesTheSameSchema(t *testing.T) {
	typ := typeOf(t, "types", "Wide")
	first, _ := walker(t, "types", source(t)).Input(typ)
	for range 20 {
		if again, _ := walker(t, "types", source(t)).Input(typ); compact(t, again) != compact(t, first) {
			t.Fatal("the schema changed between runs")
		}
	}
}

func TestDescriptionsBeginWithoutTheGoName(t *testing.T) {
	for text, want := range map[string]string{
		"GetByID returns one person.":         "Returns one person.",
		"GetByID returns one.\n\nMore of it.": "Returns one.\n\nMore of it.",
		"GetByID is the page of a person.":    "The page of a person.",
		"GetByID is listed last.":             "GetByID is listed last.",
		"GetByID and Get return a person.":    "GetByID and Get return a person.",
		"GetByID IDs are numbers.":            "GetByID IDs are numbers.",
		"GetByID öffnet eine Person.":         "Öffnet eine Person.",
		"GetByIDs returns people.":            "GetByIDs returns people.",
		"GetByID's result is a person.":       "GetByID's result is a person.",
		"Returns what GetByID returns.":       "Returns what GetByID returns.",
		"GetByID":                             "GetByID",
		"GetByID ":                            "GetByID ",
		"":                                    "",
		"GetByID is one of many.":             "One of many.",
		"GetByID of a person.":                "GetByID of a person.",
		"GetByID where a person is.":          "GetByID where a person is.",
		"GetByID is":                          "GetByID is",
		"GetByID \xff":                        "GetByID \xff",
	} {
		if got := WithoutName(text, "GetByID"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
