package schema

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// problemsOf walks type Root of a source file.
func problemsOf(t *testing.T, src string, output bool) ([]Problem, string) {
	t.Helper()
	pkg := check(t, "example.com/p", "package p\n"+src)
	w := New(pkg, nil)
	root := pkg.Scope().Lookup("Root").Type()
	if output {
		s, _, problems := w.Output(root)
		if s != nil {
			return problems, compact(t, s)
		}
		return problems, ""
	}
	s, problems := w.Input(root)
	if s != nil {
		return problems, compact(t, s)
	}
	return problems, ""
}

func TestTypesWithoutASchemaAreProblemsThatNameTheField(t *testing.T) {
	tests := []struct {
		name, src string
		output    bool
		want      string // kind path: part of the message
	}{
		{"func", "type Root struct { In struct { F func() } }", false,
			"0 Root.In.F: func() has no JSON representation"},
		{"chan in a list", "type Root struct { C []chan int }", false,
			"0 Root.C[]: chan int has no JSON representation"},
		{"complex", "type Root struct { C map[string]complex128 }", false,
			"0 Root.C[…]: complex128 has no JSON representation"},
		{"unsafe pointer", "import \"unsafe\"\ntype Root struct { P unsafe.Pointer }", false,
			"0 Root.P: unsafe.Pointer has no JSON representation"},
		{"uintptr", "type Root struct { P uintptr }", false,
			"0 Root.P: uintptr has no JSON representation"},
		{"endless array", "type Root struct { A [1 << 53]struct{} }", true,
			"0 Root.A: the length 9007199254740992 is beyond ±"},
		{"map key", "type Root struct { M map[bool]string }", false,
			"0 Root.M: a map with keys of type bool"},
		{"map key of a struct", "type K struct{}\ntype Root struct { M map[K]string }", true,
			"0 Root.M: a map with keys of type p.K"},
		{"interface", "type Root struct { I interface{ M() } }", false,
			"0 Root.I: an interface with methods cannot be filled"},
		{"pointer to itself", "type P *P\ntype Root struct { P P }", true,
			"0 Root.P: the type refers to itself"},
		{"own UnmarshalJSON",
			"type T struct{}\nfunc (*T) UnmarshalJSON([]byte) error { return nil }\ntype Root " +
				"struct { A []*T }", false, "0 Root.A[]: p.T has its own UnmarshalJSON"},
		{"own MarshalJSON",
			"type T int\nfunc (T) MarshalJSON() ([]byte, error) { return nil, nil }\ntype Root " +
				"struct { A T }", true, "0 Root.A: p.T has its own MarshalJSON"},
		{"promoted method", "import \"time\"\ntype Root struct { A struct { time.Time } }", false,
			"0 Root.A: struct{time.Time} has UnmarshalJSON from the embedded time.Time"},
		{"text on the pointer",
			"type T struct{}\nfunc (*T) MarshalText() ([]byte, error) { return nil, nil }\ntype " +
				"Root struct { A T }", true, "0 Root.A: p.T has MarshalText on its pointer"},
		{"text on the pointer, in a map of a cycle",
			"type T struct{}\nfunc (*T) MarshalText() ([]byte, error) { return nil, nil }\ntype " +
				"N struct { V T; Kids []N; M map[string]N }\ntype Root struct { P *N }", true,
			"0 Root.P.M[…].V: p.T has MarshalText on its pointer"},
		{"big.Int by value", "import \"math/big\"\ntype Root struct { A big.Int }", true,
			"0 Root.A: big.Int has MarshalJSON on its pointer"},
		{"embedded pointer to unexported", "type in struct { X int }\ntype Root struct { *in }",
			false, "0 Root.in: encoding/json cannot fill"},
		{"no object", "type Root []string", false,
			"0 Root: the arguments of a tool are an object, and an array is not"},
		{"no object either", "import \"time\"\ntype Root = time.Time", false,
			"0 Time: the arguments of a tool are an object, and a string is not"},
		{"no object, recursive", "type Root []Root", false,
			"0 Root: the arguments of a tool are an object, and an array is not"},
		{"GetFieldDocString",
			"type T struct{}\nfunc (T) GetFieldDocString(string) string { return \"\" }\ntype " +
				"Root struct { A T }", true, "2 Root.A: p.T has a method GetFieldDocString"},
		{"JSONSchemaProperty",
			"type Root struct{ A int }\nfunc (Root) JSONSchemaProperty(string) any { return nil }",
			false, "2 Root: p.Root has a method JSONSchemaProperty"},
		{"JSONSchemaAlias",
			"type T int\nfunc (T) JSONSchemaAlias() any { return nil }\ntype Root struct { A *T }",
			false, "2 Root.A: p.T has a method JSONSchemaAlias"},
		{"two of one name", "type Root struct { A int `json:\"x\"`; B int `json:\"x\"` }", false,
			"1 Root.B: x is also the name of A"},
		{"string option on a string", "type Root struct { A string `json:\",string\"` }", false,
			"1 Root.A: the string option of the json tag"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems, _ := problemsOf(t, test.src, test.output)
			if len(problems) != 1 {
				t.Fatalf("want one problem, have %v", problems)
			}
			p := problems[0]
			if got := fmt.Sprintf("%d %s: %s", p.Kind, p.Path, p.Message); !strings.HasPrefix(got,
				test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if p.Cure == "" || strings.ContainsAny(p.Message+p.Cure, "\n") ||
				strings.HasSuffix(p.Message, ".") {
				t.Errorf("not fit to print: %q, %q", p.Message, p.Cure)
			}
			if test.want[0] != '1' && p.Obj == nil && !strings.Contains(test.src, "= time.Time") {
				t.Error("no object has the position")
			}
		})
	}
}

func TestTypesThatLookOddHaveASchema(t *testing.T) {
	tests := []struct {
		name, src string
		output    bool
		want      string
	}{
		{"unexported and ignored fields",
			"type Root struct { f func(); G chan int `json:\"-\"`; A int }", true,
			`{"properties":{"A":{"type":"integer"}},`},
		{"hook on the pointer",
			"type T struct{ A bool }\nfunc (*T) JSONSchemaAlias() any { return nil }\ntype Root struct { T T }", true, `"T":{"properties":{"A":{"type":"boolean"}}`},
		{"method of another signature",
			"type T int8\nfunc (T) MarshalJSON() string { return \"\" }\ntype Root struct { T T }",
			true, `"T":{"type":"integer"}`},
		{"MarshalJSON of an argument",
			"type T int8\nfunc (T) MarshalJSON() ([]byte, error) { return nil, nil }\ntype Root struct { T T }", false, `"T":{"type":"integer","maximum":127,"minimum":-128}`},
		{"interface of a result", "type Root struct { E error }", true, `"E":{}`},
		{"text behind a pointer",
			"type T struct{}\nfunc (*T) MarshalText() ([]byte, error) { return nil, nil }\ntype Root struct { A []T; B *T }", true, `"A":{"items":{"type":"string"},"type":"array"},"B":{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"text keys",
			"type T struct{}\nfunc (T) MarshalText() ([]byte, error) { return nil, nil }\ntype Root struct { M map[T]bool }", true, `"M":{"additionalProperties":{"type":"boolean"},"type":"object"}`},
		{"open argument", "type Root any", false, `{"properties":{},"type":"object"}`},
		{"raw argument", "import \"encoding/json\"\ntype Root = json.RawMessage", false,
			`{"properties":{},"type":"object"}`},
		{"bytes with methods",
			"type B byte\nfunc (B) MarshalText() ([]byte, error) { return nil, nil }\ntype Root struct { L []B }", true, `"L":{"items":{"type":"string"},"type":"array"}`},
		{"list of pointers",
			"type Root struct { L []*bool; M map[string]*bool; O *bool `json:\",omitempty\"` }",
			true,
			`{"properties":{"L":{"items":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"type":"array"},"M":{"additionalProperties":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"type":"object"},"O":{"type":"boolean"}}`},
		{"pointer result", "type Root *bool", true,
			`{"anyOf":[{"type":"boolean"},{"type":"null"}]}`},
		{"enum keys without a source", "type S string\ntype Root struct { M map[S]bool }", false,
			`"M":{"additionalProperties":{"type":"boolean"},"type":"object"}`},
		{"unsigned option",
			"type Root struct { A uint `json:\",string\" jsonschema:\"default=7\"` }", false,
			`"A":{"type":"string","pattern":"^(0|[1-9][0-9]*)$","default":"7"}`},
		{"embeds itself", "type Root struct { *Root; A bool }", false,
			`{"properties":{"A":{"type":"boolean"}}`},
		{"embedded twice",
			"type E struct { X int }\ntype A struct { E }\ntype B struct { E }\ntype Root struct { A; B; Y bool }", false, `{"properties":{"Y":{"type":"boolean"}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			problems, got := problemsOf(t, test.src, test.output)
			if len(problems) > 0 {
				t.Fatal(problemText(problems))
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// A type with methods of its own has the schema that Declare gives it, whatever holds it.
func TestADeclaredTypeHasItsSchemaInBothDirections(t *testing.T) {
	const source = `package p
type T struct{ x int }
func (T) MarshalJSON() ([]byte, error) { return nil, nil }
func (*T) UnmarshalJSON([]byte) error { return nil }
type W int // writes itself, and is read by its kind
func (W) MarshalJSON() ([]byte, error) { return nil, nil }
type Text struct{}
func (Text) MarshalText() ([]byte, error) { return nil, nil }
func (*Text) UnmarshalText([]byte) error { return nil }
type Plain struct{}
type G[E any] struct{}
type Root struct {
	A T ` + "`json:\"a\" jsonschema:\"minLength=2\"`" + `
	B map[string][]*T
	C T ` + "`jsonschema:\"type=object\"`" + `
	W W
	X Text
}`
	declare := func(text string) (*Walker, []Problem, types.Type) {
		pkg := check(t, "example.com/p", source)
		w := New(pkg, nil)
		name, keys, _ := strings.Cut(text, " ")
		var tags []Tag
		for _, e := range elements(keys) {
			tags = append(tags, Tag{e.key, e.value})
		}
		problems := w.Declare(pkg.Scope().Lookup(name).(*types.TypeName), tags)
		return w, problems, pkg.Scope().Lookup("Root").Type()
	}
	for text, want := range map[string]string{
		"Plain type=string":          "p.Plain has no JSON or text method of its own",
		"G type=string":              "G has no JSON representation of its own",
		"T format=date":              "the schema has no type",
		"T type=text":                "type=text is not a JSON type",
		"T type=string,minimum=1":    "minimum does not apply to a string",
		"T type=string,default=x":    "the schema of a type has no key default",
		"T type=string,minLength=x":  "minLength=x is not a whole number from 0 on",
		"T type=integer,enum=1e300":  "enum=1e300 is beyond ±9007199254740991",
		"T type=string,oneof_ref=#/": "the schema of a type has no key oneof_ref",
	} {
		_, problems, _ := declare(text)
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %s, want %s", text, problemText(problems), want)
		}
	}
	w, problems, root := declare("T type=string,maxLength=9,format=date")
	if len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	w.Declare(root.(*types.Named).Obj().Pkg().Scope().Lookup("W").(*types.TypeName),
		[]Tag{{"type", "string"}})
	w.Declare(root.(*types.Named).Obj().Pkg().Scope().Lookup("Text").(*types.TypeName),
		[]Tag{{"type", "string"}, {"format", "ipv4"}, {"nullable", ""}})
	in, problems := w.Input(root)
	if len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	const date = `{"type":"string","maxLength":9,"format":"date"}`
	for _, want := range []string{
		`"a":{"type":"string","maxLength":9,"minLength":2,"format":"date"}`,
		`"B":{"additionalProperties":{"items":` + date + `,"type":"array"},"type":"object"}`,
		`"C":{"type":"object"}`, `"W":{"type":"integer"}`,
		`"X":{"anyOf":[{"type":"string","format":"ipv4"},{"type":"null"}]}`,
	} {
		if !strings.Contains(compact(t, in), want) {
			t.Errorf("arguments: no %s in\n%s", want, compact(t, in))
		}
	}
	out, _, problems := w.Output(root)
	if len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	for _, want := range []string{
		`"a":{"type":"string","format":"date"}`, `"W":{"type":"string"}`,
	} {
		if !strings.Contains(compact(t, out), want) {
			t.Errorf("results: no %s in\n%s", want, compact(t, out))
		}
	}
}

// One rule for fields and parameters: what may be null may be absent.
func TestNullableArgumentsAndOptionalsMayBeAbsent(t *testing.T) {
	pkg := check(t, "github.com/mcpgen/mcpgen/runtime/toolset", `package toolset
type Optional[T any] struct { Value T; Present, Null bool }
type Root struct {
	A *int `+"`json:\"a\" jsonschema:\"nullable\"`"+`
	B Optional[int] `+"`json:\"b\" jsonschema:\"minimum=1\"`"+`
	C Optional[string] `+"`json:\"c\" jsonschema:\"required\"`"+`
	D *int `+"`json:\"d\"`"+`
}
type Wrong struct {
	L []Optional[int]
	D Optional[int] `+"`jsonschema:\"default=1\"`"+`
}`)
	const null = `{"type":"null"}]}`
	const want = `{"properties":{"a":{"anyOf":[{"type":"integer"},` + null +
		`,"b":{"anyOf":[{"type":"integer","minimum":1},` + null +
		`,"c":{"anyOf":[{"type":"string"},` + null
	w := New(pkg, nil)
	in, problems := w.Input(pkg.Scope().Lookup("Root").Type())
	if len(problems) > 0 || !strings.HasPrefix(compact(t, in), want) ||
		fmt.Sprint(in.Required) != "[c d]" {
		t.Errorf("%s %s", problemText(problems), compact(t, in))
	}
	out, _, problems := w.Output(pkg.Scope().Lookup("Root").Type())
	if len(problems) > 0 || fmt.Sprint(out.Required) != "[a b c d]" {
		t.Errorf("%s %s", problemText(problems), compact(t, out))
	}
	optional := pkg.Scope().Lookup("Root").Type().Underlying().(*types.Struct).Field(1).Type()
	pointer := types.NewPointer(types.Typ[types.Int])
	params, problems := w.Object([]Property{
		{Name: "a", Type: pointer, Tags: []Tag{{"nullable", ""}}},
		{Name: "b", Type: optional, Tags: []Tag{{"minimum", "1"}}}})
	if text := compact(t, params); len(problems) > 0 || len(params.Required) > 0 ||
		!strings.HasPrefix(want, strings.TrimSuffix(text, `},"additionalProperties":false,`+
			`"type":"object"}`)) {
		t.Errorf("%s %s", problemText(problems), text)
	}
	_, problems = w.Input(pkg.Scope().Lookup("Wrong").Type())
	if len(problems) != 2 ||
		!strings.Contains(problemText(problems), "Wrong.L[]: toolset.Optional is not") ||
		!strings.Contains(problemText(problems), "Wrong.D: toolset.Optional has no effect") {
		t.Error(problemText(problems))
	}
}

func TestTagsThatCannotBeMeantAreProblems(t *testing.T) {
	tests := []struct{ field, want, cure string }{
		{"A int `jsonschema:\"minimum=5,maximum=4\"`", "minimum=5 and maximum=4 exclude every value",
			""},
		{"A int `jsonschema:\"exclusiveMinimum=4,maximum=4\"`",
			"exclusiveMinimum=4 and maximum=4 exclude every value", ""},
		{"A float64 `jsonschema:\"minimum=0.3,exclusiveMaximum=0.30\"`",
			"minimum=0.3 and exclusiveMaximum=0.30 exclude every value", ""},
		{"A string `jsonschema:\"minLength=5,maxLength=4\"`",
			"minLength=5 and maxLength=4 exclude every value", ""},
		{"A []int `jsonschema:\"minItems=5,maxItems=4\"`",
			"minItems=5 and maxItems=4 exclude every value", ""},
		{"A [2]int `jsonschema:\"minItems=3\"`", "minItems=3 and maxItems=2 exclude every value", ""},
		{"A [2]int `jsonschema:\"maxItems=5\"`", "the array has 2 items", ""},
		{"A int8 `jsonschema:\"maximum=200\"`", "maximum=200 is beyond the Go type int8",
			"stay within -128 and 127"},
		{"A []uint `jsonschema:\"minimum=-1\"`", "minimum=-1 is beyond the Go type uint", ""},
		{"A int `jsonschema:\"default=11,maximum=10\"`", "default=11 is beyond maximum=10", ""},
		{"A int `jsonschema:\"default=0,exclusiveMinimum=0\"`",
			"default=0 is beyond exclusiveMinimum=0", ""},
		{"A uint8 `jsonschema:\"default=256\"`", "default=256 is beyond maximum=255", ""},
		{"A int `jsonschema:\"default=1.5\"`", "default=1.5 is not an integer", ""},
		{"A int `jsonschema:\"default=1,enum=2,enum=3\"`", "default=1 is not in its enum", ""},
		{"A string `jsonschema:\"default=a,enum=b\"`", "default=a is not in its enum", ""},
		{"A string `jsonschema:\"anyof_type=integer;null,type=string\"`",
			"type=string is of no type among the alternatives of the tag", ""},
		{"A float64 `jsonschema:\"oneof_type=integer;number,type=number,default=5\"`",
			"default=5 is of more than one type of oneof_type", ""},
		{"A string `jsonschema:\"default=abc,maxLength=2\"`",
			"default=abc is longer than maxLength=2", ""},
		{"A string `jsonschema:\"example=a,minLength=2\"`", "example=a is shorter than minLength=2",
			""},
		{"A string `jsonschema:\"enum=A,pattern=^[a-z]$\"`", "enum=A does not match its pattern",
			""},
		{"A []int `jsonschema:\"default=1,default=9,maximum=5\"`",
			"default=[1 9] is beyond maximum=5", ""},
		{"A []int `jsonschema:\"default=1,minItems=2\"`", "default=[1] has 1 items", ""},
		{"A []int `jsonschema:\"default=1,default=1.0,uniqueItems=true\"`",
			"default=[1 1.0] repeats an item", ""},
		{"A float64 `jsonschema:\"example=0.35,multipleOf=0.1\"`",
			"example=0.35 is not a multiple of 0.1", ""},
		{"A float64 `jsonschema:\"multipleOf=0\"`", "multipleOf=0 is not above 0", ""},
		{"A float64 `jsonschema:\"minimum=+5\"`", "minimum=+5 is not a JSON number", ""},
		{"A float64 `jsonschema:\"minimum=1e-999999999\"`",
			"minimum=1e-999999999 is not a JSON number", ""},
		{"A float64 `jsonschema:\"maximum=1e999\"`", "maximum=1e999 is not a number", ""},
		{"A int64 `jsonschema:\"maximum=9007199254740992\"`",
			"maximum=9007199254740992 is beyond ±9007199254740991",
			"write a number in the range, remove the key, or give the field a string type"},
		{"A uint64 `jsonschema:\"exclusiveMinimum=9007199254740992\"`",
			"exclusiveMinimum=9007199254740992 is beyond ±", ""},
		{"A []int `jsonschema:\"minimum=-9223372036854775808\"`",
			"minimum=-9223372036854775808 is beyond ±", ""},
		{"A uint `jsonschema:\"default=18446744073709551615\"`",
			"default=18446744073709551615 is beyond ±", ""},
		{"A []int `jsonschema:\"default=1,default=9007199254740993\"`",
			"default=9007199254740993 is beyond ±", ""},
		{"A float64 `jsonschema:\"enum=1,enum=1e300\"`", "enum=1e300 is beyond ±", ""},
		{"A int `jsonschema:\"example=9007199254740993\"`",
			"example=9007199254740993 is beyond ±", ""},
		{"A float64 `jsonschema:\"multipleOf=1e16\"`", "multipleOf=1e16 is beyond ±", ""},
		{"A string `jsonschema:\"maxLength=9007199254740992\"`",
			"maxLength=9007199254740992 is beyond ±", ""},
		{"A any `jsonschema:\"type=integer,maximum=9007199254740992\"`",
			"maximum=9007199254740992 is beyond ±", ""},
		{"A float64 `jsonschema:\"default=NaN\"`", "default=NaN is not a number", ""},
		{"A int `jsonschema:\"min=3\"`", "the jsonschema tag has no key \"min\"",
			"did you mean minimum?"},
		{"A *string `jsonschema:\"max=3\"`", "the jsonschema tag has no key \"max\"",
			"did you mean maxLength?"},
		{"A []string `jsonschema:\"min=3\"`", "the jsonschema tag has no key \"min\"",
			"did you mean minItems?"},
		{"A string `jsonschema:\"pattern=^a{3,12}$\"`", "the jsonschema tag has no key \"12}$\"",
			`write \\, for a comma within a value`},
		{"A string `jsonschema:\"enum=x,y\"`", "the jsonschema tag has no key \"y\"",
			"write it once for each value: enum=x,enum=y"},
		{"A string `jsonschema:\"title=T,enum=x, end\"`", "the jsonschema tag has no key \" end\"",
			"write it once for each value: enum=x,enum=end"},
		{"A string `jsonschema:\"example=x,y\"`", "the jsonschema tag has no key \"y\"",
			"write it once for each value: example=x,example=y"},
		{"A string `jsonschema:\"enum=x,minlength\"`",
			"the jsonschema tag has no key \"minlength\"", "did you mean minLength?"},
		{"A string `jsonschema:\"enum=x,title=a,b\"`", "the jsonschema tag has no key \"b\"",
			`write \\, for a comma`},
		{"A string `jsonschema:\"description=a (b, c, d),maxLength=9\"`",
			"the jsonschema tag has no key \" c, d)\"", `write \\, for a comma`},
		{"A string `jsonschema:\"description=a, b, minlength, c\"`",
			"the jsonschema tag has no key \" b\"", `write \\, for a comma`},
		{"A string `jsonschema:\"description=a,b,title=c,d\"`",
			"the jsonschema tag has no key \"b\"", `write \\, for a comma`},
		{"A int `jsonschema:\"minimum 3\"`",
			"the jsonschema tag \"minimum 3\" has no key, so it is the description",
			"write minimum=3; write a description in the field's comment"},
		{"A int `jsonschema:\"minimum = 3\"`",
			"the jsonschema tag \"minimum = 3\" has no key", "write minimum=3;"},
		{"A int `jsonschema:\"the count, Maximum =3.\"`",
			"the jsonschema tag \"the count, Maximum =3.\" has no key", "write maximum=3;"},
		{"A int `jsonschema:\"the count;minimum=3\"`",
			"the jsonschema tag \"the count;minimum=3\" has no key", "write minimum=3;"},
		{"A int `jsonschema:\"the count (minimum=3)\"`",
			"the jsonschema tag \"the count (minimum=3)\" has no key", "write minimum=3;"},
		{"A int `jsonschema:\"minimum:3\"`",
			"the jsonschema tag \"minimum:3\" has no key", "write minimum=3;"},
		{"A string `jsonschema:\"the zip, pattern = ^(a|b)$\"`",
			"the jsonschema tag \"the zip, pattern = ^(a|b)$\" has no key",
			"write pattern=^(a|b)$;"},
		{"A string `jsonschema:\"required = true\"`",
			"the jsonschema tag \"required = true\" has no key", "write required;"},
		{"A int `jsonschema:\"minimum=3,minimum=0\"`",
			"the tag has minimum twice, and only the last applies", "write one"},
		{"A string `jsonschema:\"pattern=^a$,title=T,pattern=b\"`",
			"the tag has pattern twice", "write one"},
		{"A int `jsonschema:\"minimum: 3\"`", "the jsonschema tag \"minimum: 3\" has no key",
			"write minimum=3"},
		{"A int `jsonschema:\"Minimum 3, maximum 5\"`",
			"the jsonschema tag \"Minimum 3, maximum 5\" has no key", "write minimum=3"},
		{"A int `jsonschema:\"minimun\"`", "the jsonschema tag \"minimun\" has no key",
			"write minimum=…"},
		{"A []int `jsonschema:\"uniqueitems\"`", "the jsonschema tag \"uniqueitems\" has no key",
			"write uniqueItems=true"},
		{"A string `jsonschema:\"zip pattern=^[0-9]{4,5}$\"`",
			"the jsonschema tag \"zip pattern=^[0-9]{4,5}$\" has no key",
			`write pattern=^[0-9]{4\\,5}$`},
		{"A string `jsonschema:\"pattern ^[a-z]+$\"`",
			"the jsonschema tag \"pattern ^[a-z]+$\" has no key", "write pattern=^[a-z]+$"},
		{"A string `jsonschema:\"format email\"`", "the jsonschema tag \"format email\" has no key",
			"write format=email"},
		{"A string `jsonschema:\"Required\"`", "the jsonschema tag \"Required\" has no key",
			"write required; "},
		{"A string `jsonschema:\"maxLenght 8\"`", "the jsonschema tag \"maxLenght 8\" has no key",
			"write maxLength=8"},
		{"A string `jsonschema:\"pattern=(\"`", "the pattern ( is malformed", ""},
		{"A string `jsonschema:\"pattern=(?i)x\"`", "the pattern (?i)x has (?i), which " +
			"JavaScript refuses", ""},
		{"A string `jsonschema:\"minlength=3\"`", "the jsonschema tag has no key \"minlength\"",
			"did you mean minLength?"},
		{"A string `jsonschema:\"minLength=3, maxLength=5\"`",
			"the jsonschema tag has no key \" maxLength\"", "did you mean maxLength?"},
		{"A string `jsonschema:\"required=true\"`", "required does not take a value",
			"write required alone"},
		{"A string `jsonschema:\"required,minLength\"`", "minLength has no value",
			"write minLength=…"},
		{"A string `jsonschema:\"required,,minLength=1\"`",
			"the jsonschema tag has an empty element", ""},
		{"A string `jsonschema:\"minLength=-1\"`", "minLength=-1 is not a whole number from 0 on",
			""},
		{"A string `jsonschema:\"readOnly=yes\"`", "readOnly=yes is not true or false", ""},
		{"A bool `jsonschema:\"default=1\"`", "default=1 is not true or false", ""},
		{"A []string `jsonschema:\"uniqueItems=yes\"`", "uniqueItems=yes is not true or false", ""},
		{"A []string `jsonschema:\"readOnly=yes\"`", "readOnly=yes is not true or false", ""},
		{"A [][]string `jsonschema:\"minLength=1\"`",
			"minLength does not apply to a list of lists", ""},
		{"A []any `jsonschema:\"default=1\"`", "default does not apply to a value of any type", ""},
		{"A struct{} `jsonschema:\"default=1\"`", "default does not apply to an object", ""},
		{"A bool `jsonschema:\"minimum=1\"`", "minimum does not apply to a boolean", ""},
		{"A any `jsonschema:\"type=array,minItems=1\"`", "minItems needs items of a known type",
			""},
		{"A any `jsonschema:\"type=text\"`", "type=text is not a JSON type", ""},
		{"A any `jsonschema:\"oneof_type=string;text\"`", "text is not a JSON type", ""},
		{"A int `jsonschema:\"type=string\"`",
			"type=string contradicts the Go type int, which is an integer in JSON", ""},
		{"A any `jsonschema:\"oneof_ref=#/$defs/Nobody\"`",
			"#/$defs/Nobody does not refer to a type", ""},
		{"A any `jsonschema:\"anyof_ref=https://example.com/x\"`",
			"https://example.com/x does not refer to a type", ""},
		{"A int `json:\",string\" jsonschema:\"minimum=3\"`", "minimum does not apply to a string",
			""},
		{"A int `json:\",string\" jsonschema:\"default=x\"`",
			"default=x does not match its pattern", ""},
		{"A int `json:\",string\" jsonschema:\"oneof_type=integer;string\"`",
			"the string option of the json tag is for numbers and booleans, and not for a choice of types",
			""},
		{"A int `jsonschema_extras:\"minimum=3\"`",
			"jsonschema_extras sets minimum, a keyword of JSON Schema", ""},
		{"A int `jsonschema_extras:\"deprecated=very\"`", "deprecated=very is not true or false",
			""},
		{"A int `jsonschema_extras:\"alone\"`",
			"the jsonschema_extras tag has no value for \"alone\"", ""},
	}
	for _, test := range tests {
		t.Run(test.field, func(t *testing.T) {
			for _, output := range []bool{false, true} {
				if output && (strings.Contains(test.field, ",string") ||
					strings.HasPrefix(test.want, "default=256") ||
					strings.Contains(test.want, "beyond the Go type") ||
					strings.Contains(test.want, "beyond ±") &&
						!strings.HasPrefix(test.want, "example=")) {
					continue // results have neither patterns nor limits
				}
				problems, _ := problemsOf(t, "type Root struct { In []struct { "+test.field+" } }",
					output)
				if len(problems) == 0 {
					t.Fatalf("no problem, output=%t", output)
				}
				p := problems[0]
				if p.Kind != BadTag || p.Path != "Root.In[].A" || p.Obj == nil ||
					p.Obj.Name() != "A" {
					t.Errorf("kind %d, path %s, object %v", p.Kind, p.Path, p.Obj)
				}
				if !strings.HasPrefix(p.Message, test.want) ||
					!strings.HasPrefix(p.Cure, test.cure) || p.Cure == "" {
					t.Errorf("got  %s (%s)\nwant %s (%s)", p.Message, p.Cure, test.want, test.cure)
				}
			}
		})
	}
}

func TestDurationsAreWrittenInNanoseconds(t *testing.T) {
	for tag, want := range map[string]string{
		"default=1h": "Root.A: default=1h is not an integer\n\twrite nanoseconds: " +
			"3600000000000\n",
		"minimum=1m30s": "Root.A: minimum=1m30s is not a number\n\twrite nanoseconds: " +
			"90000000000\n",
		"default=soon":             "Root.A: default=soon is not an integer\n\twrite an integer\n",
		"maximum=1000,default=0.1": "Root.A: default=0.1 is not an integer\n\twrite an integer\n",
	} {
		for _, typ := range []string{"time.Duration", "*time.Duration"} {
			problems, _ := problemsOf(t, "import \"time\"\ntype Root struct { A "+typ+
				" `jsonschema:\""+tag+"\"` }", false)
			if got := problemText(problems); got != want {
				t.Errorf("%s: got %s, want %s", tag, got, want)
			}
		}
	}
	if problems, _ := problemsOf(t, "type Root struct { A int `jsonschema:\"default=1h\"` }",
		false); problemText(problems) != "Root.A: default=1h is not an integer\n\twrite an integer\n" {
		t.Error(problemText(problems))
	}
}

func TestSentencesAreDescriptionsWhateverTheyBeginWith(t *testing.T) {
	for _, text := range []string{
		"title of the book", "pattern of the cloth", "format", "title", "the type",
		"minimum number of racks", "required by law", "default: none",
		"format: YYYY-MM-DD", "minimum 3 characters", "menu", "email", "note", "callable",
		"the zip, for example type=5", "unique items", "maximum, in meters", "min", "enum values",
		"plain text", "readable, or not", "required = yes", "the title = its name", "default:none",
		"default:5", "anchor:3", "where c = d", "format = free", "pattern:cloth", "see minimum:of",
		"size (format:short)",
	} {
		problems, schema := problemsOf(t, "type Root struct { A string `jsonschema:\""+text+"\"` }",
			false)
		if len(problems) > 0 || !strings.Contains(schema, `"description":"`+text+`"`) {
			t.Errorf("%s: %s%s", text, problemText(problems), schema)
		}
	}
}

// A chain of types has an end, however long it is.
func TestOnlyCyclesReferToThemselves(t *testing.T) {
	var chain strings.Builder
	for i := range 300 {
		fmt.Fprintf(&chain, "type T%d struct { N *T%d }\n", i, i+1)
	}
	chain.WriteString("type T300 struct{}\n")
	for src, want := range map[string]string{
		chain.String() +
			"type Root struct { A *T0 }": "the type has more than 200 levels",
		"type Root struct { A " + strings.Repeat("[]", 300) +
			"int }": "the type has more than 200 levels",
		"type P *P\ntype Root struct { A P }":             "the type refers to itself without end",
		"type P *Q\ntype Q **P\ntype Root struct { A P }": "the type refers to itself without end",
	} {
		problems, _ := problemsOf(t, src, false)
		if len(problems) != 1 || problems[0].Message != want {
			t.Errorf("%.40s: %s, want %s", src, problemText(problems), want)
		}
	}
}

func TestEveryProblemOfATypeIsReported(t *testing.T) {
	problems, _ := problemsOf(t,
		"type T struct { F func() }\ntype Root struct { A T; B chan int; C int `jsonschema:\"mininum=1\"`; D T }", false)
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	if got := strings.Join(paths, " "); got != "Root.A.F Root.B Root.C Root.D.F" {
		t.Error(got)
	}
}

func TestTypesOnWhichTheReflectorPanicsAreProblems(t *testing.T) {
	for _, src := range []string{
		"type Root struct { F func() }", "type Root struct { C complex64 }",
		"type Root struct { P uintptr }",
		"type Root struct{}\nfunc (Root) JSONSchemaAlias() any { return nil }",
		"type P *P\ntype Root struct { P P }",
	} {
		pkg := check(t, "example.com/p", "package p\n"+src)
		root := pkg.Scope().Lookup("Root").Type()
		_, in := New(pkg, nil).Input(root)
		_, _, out := New(pkg, nil).Output(root)
		if len(in) == 0 || len(out) == 0 {
			t.Errorf("no problem: %s", src)
		}
	}
}

func TestTypeParametersAndBrokenTypesAreProblems(t *testing.T) {
	pkg := check(t, "example.com/p", "package p\ntype Root[T any] struct { V T }")
	if _, problems := New(pkg, nil).Input(pkg.Scope().Lookup("Root").Type()); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "type parameter") {
		t.Error(problems)
	}
	if _, _, problems := New(pkg, nil).Output(types.Typ[types.Invalid]); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "does not compile") {
		t.Error(problems)
	}
}

func TestATagNarrowsTheConstantsOfAnEnumAndAddsNone(t *testing.T) {
	_, problems := walker(t, "types", source(t)).Input(typeOf(t, "types", "RuleNarrow"))
	if got, want := problemText(problems),
		"RuleNarrow.S: enum=broken is not a constant of types.Status\n\tuse the values of its "+
			"constants\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheCureForATypeWithMethodsFitsItsPlace(t *testing.T) {
	const opaque = "type T struct{}\nfunc (*T) UnmarshalJSON([]byte) error { return nil }\n"
	for src, want := range map[string]string{
		"type Root struct { A T }":            "declare the JSON type in the field's tag",
		"type Root struct { A *T }":           "declare the JSON type in the field's tag",
		"type Root struct { A []T }":          "use a type without the method",
		"type Root struct { A map[string]T }": "use a type without the method",
		"type Root struct { T }": "give the embedded field a name, use a type " +
			"without the method, " + ByHand,
		// A struct may be an object, so that no schema is proposed.
		"type M map[string]int\nfunc (*M) UnmarshalJSON([]byte) error { return nil }\n" +
			"type Root struct { A M }": "declare the JSON type in the field's tag, for example " +
			"jsonschema:\"type=string\", write //mcp:type p.M schema=object in the package doc, " + ByHand,
		"type Date [3]int\nfunc (*Date) UnmarshalJSON([]byte) error { return nil }\n" +
			"type Root struct { A []Date }": "use a type without the method, write //mcp:type p.Date " +
			"schema=string in the package doc, " + ByHand,
		"type N int\nfunc (*N) UnmarshalJSON([]byte) error { return nil }\n" +
			"type Root struct { A []N }": "use a type without the method, write //mcp:type p.N " +
			"schema=integer in the package doc, " + ByHand,
		"type N int\nfunc (*N) UnmarshalJSON([]byte) error { return nil }\n" +
			"func (N) MarshalJSON() ([]byte, error) { return nil, nil }\n" +
			"type Root struct { A []N }": "use a type without the method, write //mcp:type p.N " +
			"schema=string in the package doc, " + ByHand,
		"type UUID struct{ hi, lo int }\nfunc (*UUID) UnmarshalJSON([]byte) error { return nil }\n" +
			"type Root struct { A []UUID }": "use a type without the method, " + ByHand,
	} {
		problems, _ := problemsOf(t, opaque+src, false)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Cure, want) {
			t.Errorf("%s: %s", src, problemText(problems))
		}
	}
	problems, schema := problemsOf(t,
		opaque+"type Root struct { A *T `jsonschema:\"type=string,format=date\"` }", false)
	if len(problems) > 0 || !strings.Contains(schema, `"A":{"type":"string","format":"date"}`) {
		t.Errorf("%s%s", problemText(problems), schema)
	}
}

func TestMalformedTagsAreProblemsAtTheirPlace(t *testing.T) {
	tests := []struct {
		tag    string
		offset int
		want   string // message, and the cure after it
	}{
		{`json:"a" jsonschema:minimum=3`, 9,
			`the value of the tag key jsonschema has no double quotes (write jsonschema:"minimum=3")`},
		{`json:"b", jsonschema:"minimum=3"`, 8,
			`the struct tag has "," between two pairs (write one space between two pairs)`},
		{`json:"b";jsonschema:"minimum=3"`, 8,
			`the struct tag has ";" between two pairs (write one space between two pairs)`},
		{"json:\"b\"\tjsonschema:\"minimum=3\"", 8,
			`the struct tag has "\t" between two pairs (write one space between two pairs)`},
		{"json:\"b\" \njsonschema:\"minimum=3\"", 9,
			`the struct tag has "\n" between two pairs (write one space between two pairs)`},
		{`json:"c"jsonschema:"minimum=3"`, 8,
			`the struct tag has no space between two pairs (write one space between two pairs)`},
		{`json:"c" jsonSchema:"minimum=3"`, 9,
			`the struct tag has the key jsonSchema, which no package reads (write jsonschema)`},
		{`json:"c" json_schema:"minimum=3"`, 9,
			`the struct tag has the key json_schema, which no package reads (write jsonschema)`},
		{`json:"c" JsonSchema:"minimum=3"`, 9,
			`the struct tag has the key JsonSchema, which no package reads (write jsonschema)`},
		{`json:"c" jsonshcema:"minimum=3"`, 9,
			`the struct tag has the key jsonshcema, which no package reads (write jsonschema)`},
		{`json:"c" jsonschemas:"minimum=3"`, 9,
			`the struct tag has the key jsonschemas, which no package reads (write jsonschema)`},
		{`json:"c" jsonschema_minimum:"3"`, 9,
			`the struct tag has the key jsonschema_minimum, which no package reads (write jsonschema)`},
		{`json:"c" jsonschema-extras:"x=3"`, 9,
			`the struct tag has the key jsonschema-extras, which no package reads (write ` +
				`jsonschema_extras)`},
		{`json:"c" jsonschema_descripton:"x"`, 9,
			`the struct tag has the key jsonschema_descripton, which no package reads (write ` +
				`jsonschema_description)`},
		{`JSON:"c"`, 0, `the struct tag has the key JSON, which no package reads (write json)`},
		{`josn:"c"`, 0, `the struct tag has the key josn, which no package reads (write json)`},
		{`jsn:"c"`, 0, `the struct tag has the key jsn, which no package reads (write json)`},
		{`jsson:"c"`, 0, `the struct tag has the key jsson, which no package reads (write json)`},
		{`json:"c" jsonschema:"pattern=^\d+$"`, 20,
			`the value of the tag key jsonschema is not a Go string: it has \d (write \\d)`},
		{`json:"c" jsonschema:"pattern=a\\d,title=\q"`, 20,
			`the value of the tag key jsonschema is not a Go string: it has \q (write \\q)`},
		{"json:\"c\" jsonschema:\"title=a\nb\"", 20,
			`the value of the tag key jsonschema is not a Go string (write jsonschema:"minimum=3")`},
		{`json:"c" jsonschema:"minimum=3`, 9,
			`the value of the tag key jsonschema has no closing quote (write jsonschema:"minimum=3")`},
		{`json:"c" jsonschema:"minimum=3" jsonschema:"maximum=5"`, 32,
			`the struct tag has the key jsonschema twice, and Go reads only the first (write one)`},
		{`json:"c" json:"d"`, 9,
			`the struct tag has the key json twice, and Go reads only the first (write one)`},
		{`json:"c" jsonschema="minimum=3"`, 9,
			`the struct tag is not a list of pairs from "jsonschema=" on (write pairs, for example ` +
				`json:"name" jsonschema:"minimum=3")`},
		{`json:"c" omitempty,jsonschema:"minimum=3"`, 9,
			`the struct tag is not a list of pairs from "omitempty,jsonschema:" on (write pairs, for ` +
				`example json:"name" jsonschema:"minimum=3")`},
		{`json: "c"`, 0, `the value of the tag key json has no double quotes (write json:"c")`},
		{`json:'c'`, 0, `the value of the tag key json has no double quotes (write json:"c")`},
		{`json:c,omitempty jsonschema:"minimum=3"`, 0,
			`the value of the tag key json has no double quotes (write json:"c,omitempty")`},
		{`the count`, 0,
			`the struct tag is not a list of pairs from "the" on (write pairs, for example json:"name" ` +
				`jsonschema:"minimum=3")`},
		{`yaml:c json:"c"`, 0,
			`the value of the tag key yaml has no double quotes (write yaml:"c")`},
	}
	for _, test := range tests {
		t.Run(test.tag, func(t *testing.T) {
			for _, field := range []string{"A int", "Base"} {
				for _, output := range []bool{false, true} {
					src := "type Base struct { X int }\ntype Root struct { " + field + " " +
						strconv.Quote(test.tag) + " }"
					problems, _ := problemsOf(t, src, output)
					i := slices.IndexFunc(problems, func(p Problem) bool { return p.InTag })
					if i < 0 {
						t.Fatalf("no problem in %s, output=%t: %s", field, output, problemText(problems))
					}
					p := problems[i]
					name := strings.Fields(field)[0]
					if p.Kind != BadTag || p.Offset != test.offset || p.Path != "Root."+name ||
						p.Obj == nil || p.Obj.Name() != name {
						t.Errorf("kind %d, offset %d, path %s, object %v", p.Kind, p.Offset, p.Path,
							p.Obj)
					}
					if got := p.Message + " (" + p.Cure + ")"; got != test.want {
						t.Errorf("got  %s\nwant %s", got, test.want)
					}
				}
			}
		})
	}
}

func TestTagsOfOthersAndOfHiddenFieldsAreNoProblems(t *testing.T) {
	for _, field := range []string{
		"A int `bson:\"a\" jsonb:\"a\" json5:\"a\" jsonapi:\"a\" hjson:\"a\" xml:\"a\" schema:\"a\" validate:\"min=3\"`",
		"A int `json:\"a\"  jsonschema:\"minimum=3\" `",
		"A int `json:\"a,omitempty\" jsonschema_description:\"x\" jsonschema_extras:\"x-a=1\"`",
		"a int `json:\"a\" jsonschema:minimum=3`",
		"A int `json:\"-\" jsonschema:minimum=3`",
		"A int `json:\"größe\" jsonschema:\"description=größer als\\\\\\\\, ja\"`",
	} {
		if problems, _ := problemsOf(t, "type Root struct { "+field+" }",
			false); len(problems) > 0 {
			t.Errorf("%s: %s", field, problemText(problems))
		}
	}
}

// Users cannot edit the types of other modules. A tag there is a problem if it loses a limit.
func TestMalformedTagsOfOtherModulesAreProblemsIfALimitIsLost(t *testing.T) {
	for tag, lost := range map[string]bool{
		`json:"a"jsonschema:"maxLength=3"`:               false,
		`json:a`:                                         false,
		`json:"a" yaml:a`:                                false,
		`json:"a" jsonSchema:"the count"`:                false,
		`JSON:"a"`:                                       false,
		`json:"a" json:"b"`:                              false,
		`json:"a" jsonschema:title=T`:                    false,
		`json:"a", jsonschema_description:"x"`:           false,
		`json:"a" jsonschema:minimum=3`:                  true,
		`json:"a", jsonschema:"minimum=3"`:               true,
		`json:a jsonschema:"required"`:                   true,
		`yaml:a json:"a" jsonschema:"title=T,enum=a"`:    true,
		`json:"a" jsonSchema:"minimum=3"`:                true,
		`json:"a" jsonshcema:"minimum=3"`:                true,
		`json:"a" jsonschema:"minimum=3,pattern=\d"`:     true,
		`jsonschema:"title=T" jsonschema:"maxLength=30"`: true,
	} {
		far := types.NewPackage("example.com/far", "far")
		field := types.NewField(token.NoPos, far, "A", types.Typ[types.String], false)
		name := types.NewTypeName(token.NoPos, far, "Far", nil)
		named := types.NewNamed(name, types.NewStruct([]*types.Var{field}, []string{tag}), nil)
		_, problems := New(types.NewPackage("example.com/p", "p"), nil).Input(named)
		if !lost && len(problems) > 0 || lost && (len(problems) != 1 || !problems[0].InTag) {
			t.Errorf("%s: %s", tag, problemText(problems))
		}
		if lost && !strings.Contains(problemText(problems), "//mcp:schema") {
			t.Errorf("%s: the cure is not one of the user's: %s", tag, problemText(problems))
		}
	}
}

// A method that is promoted through an embedded pointer panics on the value that encoding/json
// makes, whose pointer is nil.
func TestMethodsPromotedThroughANilPointerAreProblems(t *testing.T) {
	const base = "import (\n\"encoding\"\n\"encoding/json\"\n)\nvar _ encoding.TextUnmarshaler; " +
		"var _ json.Unmarshaler\n" +
		"type Base struct{ V int }\nfunc (*Base) UnmarshalText([]byte) error { return nil }\n" +
		"type Own struct{ V int }\nfunc (*Own) UnmarshalJSON([]byte) error { return nil }\n"
	const text = "%s has UnmarshalText from the embedded %s, which is nil during decoding"
	for _, test := range []struct{ src, path, typ, embedded string }{
		{"type T struct { *Base }\ntype Root struct { A T }", "Root.A", "p.T", "*p.Base"},
		{"type T struct { *Base }\ntype Root struct { A []*T }", "Root.A[]", "p.T", "*p.Base"},
		{"type T struct { *Base }\ntype Root struct { A map[T]int }", "Root.A", "p.T", "*p.Base"},
		{"type M struct { *Base }\ntype T struct { M }\ntype Root struct { A T }", "Root.A", "p.T",
			"*p.Base"},
		{"type M struct { Base }\ntype T struct { *M }\ntype Root struct { A T }", "Root.A", "p.T",
			"*p.M"},
		{"type T struct { encoding.TextUnmarshaler }\ntype Root struct { A T }", "Root.A", "p.T",
			"encoding.TextUnmarshaler"},
		{"type Root struct { A struct { *Base } }", "Root.A", "struct{*p.Base}", "*p.Base"},
		{"type T struct { *Own }\ntype Root struct { A T }", "Root.A", "p.T", "*p.Own"},
		{"type T struct { *Own }\ntype Root struct { A T `jsonschema:\"type=string\"` }", "Root.A",
			"p.T", "*p.Own"},
		{"type T struct { json.Unmarshaler }\ntype Root struct { A T `jsonschema:\"type=string\"` }", "Root.A", "p.T", "encoding/json.Unmarshaler"},
	} {
		problems, _ := problemsOf(t, base+test.src, false)
		want := strings.NewReplacer("encoding/json.", "json.").Replace(fmt.Sprintf(text, test.typ,
			test.embedded))
		if strings.Contains(test.src, "Own") || strings.Contains(test.src, "json.") {
			want = strings.Replace(want, "UnmarshalText", "UnmarshalJSON", 1)
		}
		if len(problems) != 1 || problems[0].Path != test.path || problems[0].Message != want ||
			problems[0].Cure == "" {
			t.Errorf("%s: %s\nwant %s: %s", test.src, problemText(problems), test.path, want)
		}
	}
	for _, src := range []string{
		"type T struct { Base }\ntype Root struct { A T }",
		"type T struct { *Base }\nfunc (*T) UnmarshalText([]byte) error { return nil }\ntype " +
			"Root struct { A T; B map[T]int }",
		"type T struct { *Own }\nfunc (*T) UnmarshalJSON([]byte) error { return nil }\ntype Root struct { A T `jsonschema:\"type=string\"` }",
		"type T struct { P *Base }\ntype Root struct { A T }",
	} {
		if problems, _ := problemsOf(t, base+src, false); len(problems) > 0 {
			t.Errorf("%s: %s", src, problemText(problems))
		}
	}
	// A result may have what it embeds.
	text2 := "type W struct{}\nfunc (*W) MarshalText() ([]byte, error) { return nil, nil }\ntype " +
		"T struct { *W }\ntype Root struct { A *T }"
	if problems, _ := problemsOf(t, text2, true); len(problems) > 0 {
		t.Error(problemText(problems))
	}
}

func TestResultThatIsAPointerHasTheMethodsOfItsFieldsPointers(t *testing.T) {
	const src = "import \"math/big\"\ntype In struct { A big.Rat }\ntype Root = *In"
	if problems, _ := problemsOf(t, src, true); len(problems) > 0 {
		t.Errorf("encoding/json can address the fields: %v", problems)
	}
	const byValue = "import \"math/big\"\ntype Root struct { A big.Rat }"
	problems, _ := problemsOf(t, byValue, true)
	if len(problems) != 1 || !strings.HasPrefix(problems[0].Cure, "use *big.Rat instead") {
		t.Errorf("have %v", problems)
	}
}
