package schema

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestRules shows for each rule what it changes: everything else being the same, the schema
// has one fragment with the rule and the other without.
func TestRules(t *testing.T) {
	tests := map[rule]struct {
		name          string // a type of testdata/types
		output        bool
		with, without string
	}{
		objectRoot: {name: "Node", with: `{"$defs":{"Node":{"properties"`,
			without: `{"$ref":"#/$defs/Node","$defs"`},
		inlined: {name: "Second", with: `"b":{"properties":{"a"`,
			without: `"b":{"$ref":"#/$defs/Grouped"}`},
		uniqueNames: {name: "Page", with: `"far":{"$ref":"#/$defs/other.Page"}`,
			without: `"far":{"$ref":"#/$defs/Page"}`},
		noIdentity: {name: "TextTags", with: `"n":{"type":"string"}`,
			without: `"n":{"$anchor":"enn","type":"string"}`},
		integerRange: {name: "Numbers",
			with:    `"i8":{"type":"integer","maximum":127,"minimum":-128}`,
			without: `"i8":{"type":"integer"}`},
		openAny: {name: "RuleAny", with: `"v":{}`, without: `"v":true`},
		jsonFields: {name: "Ambiguous", with: `{"properties":{"L":{"type":"string"},"R"`,
			without: `{"properties":{"X":{"type":"integer"`},
		dashName: {name: "Dash", with: `{"properties":{"-":{"type":"string"},"own"`,
			without: `{"properties":{"own"`},
		embeddedPointer: {name: "EmbedsPointer", with: `"required":["name"]`,
			without: `"required":["id","name"]`},
		cyclicNull: {name: "Chain",
			with:    `"next":{"anyOf":[{"$ref":"#/$defs/Chain"},{"type":"null"}],"description":"Next is null at the end."}`,
			without: "no finite document fits: Next must contain itself"},
		defaultOptional: {name: "RuleDefault",
			with: `"additionalProperties":false,"type":"object"}`, without: `"required":["a"]`},
		jsonMapKeys: {name: "Set[int]", with: `"^(0|-?[1-9][0-9]*)$"`,
			without: `"^[0-9]+$"`},
		textMarshaler: {name: "RuleText", with: `"t":{"type":"string"`,
			without: `"t":{"properties":{}`},
		numberType: {name: "RuleNumber", with: `"n":{"type":"number"}`,
			without: `"n":{"type":"string"}`},
		bigInteger: {name: "RuleBig", with: `"b":{"type":"integer"}`,
			without: `"b":{"type":"string"}`},
		urlObject: {name: "RuleURL", with: `"u":{"properties":{"Scheme"`,
			without: `"u":{"type":"string","format":"uri"}`},
		ipText: {name: "RuleIP", with: `"ip":{"type":"string"}`,
			without: `"ip":{"type":"string","format":"ipv4"}`},
		uuidFormat: {name: "uuid", with: `"id":{"type":"string","format":"uuid"}`,
			without: `"id":{"items":{"type":"integer"`},
		protoInteger: {name: "ProtoHolder", with: `"p":{"type":"integer"`,
			without: `"p":{"oneOf":[{"type":"string"},{"type":"integer"}]`},
		byteKinds: {name: "RuleOctets",
			with:    `"o":{"type":"string","contentEncoding":"base64"}`,
			without: `"o":{"items":{"type":"integer"`},
		stringOption: {name: "Quoted",
			with:    `"int":{"type":"string","pattern":"^(0|-?[1-9][0-9]*)$"}`,
			without: `"int":{"type":"string"}`},
		tagsReachNamed: {name: "RuleNamed", with: `"minItems":3`,
			without: "minItems does not apply"},
		wholeValues: {name: "RuleWhole", with: `"pattern":"a=b"`,
			without: `"items":{"type":"string"}`},
		typedValues: {name: "RuleTyped",
			with:    `"default":[1,2]},"b":{"type":"boolean","readOnly":true,"examples":[true]}`,
			without: ""},
		uniqueItemsValue: {name: "RuleUnique", with: `"type":"array"}`,
			without: `"uniqueItems":true`},
		plainDescription: {name: "Described", with: `"description":"a count, of things"`,
			without: `"a":{"type":"string"}`},
		nullableAnyOf: {name: "TextTags",
			with: `"g":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"commas, escaped"}`, without: `"g":{"oneOf":[{"type":"string","description":"commas, escaped"},{"type":"null"}]}`},
		nullableOptional: {name: "NumberTags", with: `"required":["b","c","d","e","j","k"]`,
			without: `"required":["b","c","d","e","g","j","k"]`},
		referencesResolved: {name: "Shapes", with: `"any":{"anyOf":[{"properties":{"r"`,
			without: `"any":{"anyOf":[{"$ref":"#/$defs/Circle"}]}`},
		declaredType: {name: "RuleDeclared", with: `"o":{"type":"string","minLength":1}`,
			without: ""},
		typedEnums: {name: "Enums",
			with:    `"status":{"type":"string","enum":["active","offline"]`,
			without: `"status":{"type":"string","description"`},
		everyDoc: {name: "unexported",
			with:    `"description":"Field is not seen by the Reflector's comments."`,
			without: `"field":{"type":"string"}`},
		joinedLines: {name: "Written",
			with:    `"description":"Plain is a list without indentation:\n* one\n* two\n1. three"`,
			without: `"description":"Plain is a list\nwithout indentation:\n* one\n* two\n1. three"`},
		docWithoutName: {name: "Foreign",
			with:    `"description":"Has two paragraphs."`,
			without: `"description":"Foreign has two paragraphs."`},
		foreignDoc: {name: "Foreign",
			with:    `"description":"Value is one of:\n  - a\n  - b"`,
			without: `  - b\n\nIt has a second paragraph, too."`},
		rootWithoutDoc: {name: "Second", with: `"required":["b"]}`,
			without: `"required":["b"],"description":"Stands below it."}`},
		hiddenFields: {name: "Hides", output: true, with: `"seen":{"type":"string"}},"type"`,
			without: `"seen":{"type":"string"}},"additionalProperties":false`},
		nullResults: {name: "Person", output: true,
			with:    `"ptr":{"anyOf":[{"type":"string"},{"type":"null"}]}`,
			without: `"ptr":{"type":"string"}`},
		shapeOnly: {name: "NumberTags", output: true,
			with:    `"a":{"type":"integer","examples":[2,3]}`,
			without: `"a":{"type":"integer","maximum":10,"minimum":1,"default":5,"examples":[2,3]}`},
		nullRoot: {name: "*Labels", output: true, with: `{"anyOf":[{"items"`},
	}
	for r := range ruleCount {
		t.Run(rules[r].Name, func(t *testing.T) {
			test, ok := tests[r]
			if !ok {
				t.Fatal("the rule has no case")
			}
			if rules[r].Why == "" || !rules[r].Inputs && !rules[r].Outputs {
				t.Error("the rule does not say what it is for")
			}
			if test.output != !rules[r].Inputs {
				t.Error("the case looks the wrong way")
			}
			with, without := under(t, test.name, test.output, 0), under(t, test.name, test.output,
				1<<r)
			if !strings.Contains(with, test.with) || strings.Contains(without, test.with) {
				t.Errorf("want %s\nwith the rule only:\n%s\n%s", test.with, with, without)
			}
			if test.without != "" && (!strings.Contains(without, test.without) ||
				strings.Contains(with, test.without)) {
				t.Errorf("want %s\nwithout the rule only:\n%s\n%s", test.without, with, without)
			}
		})
	}
	if len(Rules()) != int(ruleCount) || len(tests) != int(ruleCount) {
		t.Errorf("%d rules listed, %d cases, want %d", len(Rules()), len(tests), ruleCount)
	}
}

// under walks a type with some rules off and returns the schema, or the problems, as text.
func under(t *testing.T, name string, output bool, off ruleSet) string {
	t.Helper()
	w := walker(t, "types", source(t))
	typ := ruleType(t, name)
	if output {
		s, _, problems := w.output(typ, outputRules&^off)
		if len(problems) > 0 {
			return problemText(problems)
		}
		return compact(t, s)
	}
	s, problems := w.input(typ, inputRules&^off)
	if len(problems) > 0 {
		return problemText(problems)
	}
	return compact(t, s)
}

func ruleType(t *testing.T, name string) types.Type {
	t.Helper()
	switch name {
	case "uuid":
		// A package of that path need not be a dependency.
		uuid := check(t, "github.com/google/uuid",
			"package uuid\ntype UUID [16]byte\ntype Holder struct { ID UUID `json:\"id\"` }")
		return uuid.Scope().Lookup("Holder").Type()
	case "*Labels":
		return types.NewPointer(typeOf(t, "types", "Labels"))
	case "Set[int]":
		inst, err := types.Instantiate(nil, typeOf(t, "types", "Set"),
			[]types.Type{types.Typ[types.Int]}, true)
		if err != nil {
			t.Fatal(err)
		}
		return inst
	}
	return typeOf(t, "types", name)
}

var (
	files   = token.NewFileSet()
	library = importer.ForCompiler(files, "source", nil) // reads each package once
)

// check type-checks one file that imports the standard library only.
func check(t *testing.T, path, src string) *types.Package {
	t.Helper()
	file, err := parser.ParseFile(files, "source.go", src, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: library}
	pkg, err := config.Check(path, files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// TestCommentsBelongToTheirDeclaration shows that the CommentMap gives some declarations the
// comment of another one, and that descriptions for clients do not.
func TestCommentsBelongToTheirDeclaration(t *testing.T) {
	comments := reflectorComments(t)
	for name, wrong := range map[string]string{
		"GroupedFirst":  "The types of one declaration",
		"GroupedSecond": "",
		"Mixed":         "Sub of a variable behind the type.",
	} {
		s, problems := walker(t, "types", nil).Reflect(typeOf(t, "types", name), comments)
		if text := compact(t, s); len(problems) > 0 || !strings.Contains(text, wrong) {
			t.Errorf("the Reflector's %s does not have %q: %v\n%s", name, wrong, problems, text)
		}
		s, problems = walker(t, "types", source(t)).Input(typeOf(t, "types", name))
		if text := compact(t, s); len(problems) > 0 || wrong != "" &&
			strings.Contains(text, wrong) {
			t.Errorf("%s has %q: %v\n%s", name, wrong, problems, text)
		}
	}
}

func TestDescriptionsKeepListsAndLinks(t *testing.T) {
	src := source(t)
	name := typeOf(t, "types", "Written").(*types.Named).Obj()
	want := `Written has a comment of every form. See [Person] and the text of [RFC 6901].

It is one of:
  - a list item of two lines
  - another

# Heading

	code := "of\ttwo"
	lines()

[RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901

[RFC 6902]: https://www.rfc-editor.org/rfc/rfc6902`
	if got := Description(src.TypeDoc(name)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for text, want := range map[string]string{
		"":                                 "",
		"+optional":                        "",
		"\nOne\ntwo\n\nthree\n":            "One two\n\nthree",
		"A +b\nis\n+kubebuilder:default=1": "A +b is",
		"One:\n  1. a\n     b\n\n     c\n  2) d\n• e\nf": "One:\n  1. a b\n\n     c\n  2) d\n• e\nf",
		"a\n\tcode\n\tcode":  "a\n\tcode\n\tcode",
		"-1 is\n-not a list": "-1 is -not a list",
	} {
		if got := Description(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestForeignCommentsAreOneVisibleParagraph(t *testing.T) {
	s, problems := walker(t, "types", source(t)).Input(typeOf(t, "types", "Foreign"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	text := compact(t, s)
	for _, want := range []string{`"description":"Has two paragraphs."`,
		`"hidden":{"type":"string"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestForeignCommentsAreShortened(t *testing.T) {
	sentence := strings.Repeat("word ", 100)
	for text, want := range map[string]string{
		"short":                            "short",
		sentence:                           sentence,
		sentence + sentence:                strings.Repeat("word ", 120) + "…",
		"word " + strings.Repeat("é", 600): "word …",
		strings.Repeat("x", 601):           "",
	} {
		if got := shortened(text); got != want {
			t.Errorf("%q\nis %q\nnot %q", text, got, want)
		}
	}
}
