package schema

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"
	"pgregory.net/rapid"

	corpus "github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types"
	"github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types/other"
)

// TestRules shows for each rule what it changes: one fragment is in the schema and not in that of
// the Reflector, and the other one is in that of the Reflector alone.
func TestRules(t *testing.T) {
	unexported, _ := reflect.TypeFor[corpus.Corpus]().FieldByName("Unexported")
	reflector := &jsonschema.Reflector{Anonymous: true, CommentMap: reflectorComments(t)}
	tests := map[string]struct {
		of            reflect.Type // of testdata/types
		name          string       // of the type, if it is not that of of
		output        bool
		with, without string
	}{
		"object-root": {of: reflect.TypeFor[corpus.Node](), with: `{"$defs":{"Node":{"properties"`,
			without: `"$ref":"#/$defs/Node","$defs":`},
		"inlined": {of: reflect.TypeFor[corpus.Second](), with: `"b":{"properties":{"a"`,
			without: `"b":{"$ref":"#/$defs/Grouped"}`},
		"unique-names": {of: reflect.TypeFor[corpus.Page](), with: `"far":{"$ref":"#/$defs/other.Page"}`,
			without: `"far":{"$ref":"#/$defs/Page"}`},
		"no-identity": {of: reflect.TypeFor[corpus.TextTags](), with: `"n":{"type":"string"}`,
			without: `"n":{"$anchor":"enn","type":"string"}`},
		"integer-range": {of: reflect.TypeFor[corpus.Numbers](),
			with:    `"i8":{"type":"integer","maximum":127,"minimum":-128}`,
			without: `"i8":{"type":"integer"}`},
		"open-any": {of: reflect.TypeFor[corpus.RuleAny](), with: `"v":{}`, without: `"v":true`},
		"json-fields": {of: reflect.TypeFor[corpus.Ambiguous](),
			with:    `{"properties":{"L":{"type":"string"},"R"`,
			without: `{"properties":{"X":{"type":"integer"`},
		"dash-name": {of: reflect.TypeFor[corpus.Dash](),
			with:    `{"properties":{"-":{"type":"string"},"own"`,
			without: `{"properties":{"own"`},
		"embedded-pointer": {of: reflect.TypeFor[corpus.EmbedsPointer](), with: `"required":["name"]`,
			without: `"required":["id","name"]`},
		"cyclic-null": {of: reflect.TypeFor[corpus.Chain](),
			with:    `"next":{"anyOf":[{"$ref":"#/$defs/Chain"},{"type":"null"}],"description":"Next is null at the end."}`,
			without: `"next":{"$ref":"#/$defs/Chain","description"`},
		"default-optional": {of: reflect.TypeFor[corpus.RuleDefault](),
			with: `"additionalProperties":false,"type":"object"}`, without: `"required":["a"]`},
		"json-map-keys": {of: reflect.TypeFor[corpus.Set[int]](), name: "Set[int]",
			with:    `"^(0|-?[1-9][0-9]*)$"`,
			without: `"^[0-9]+$"`},
		"text-marshaler": {of: reflect.TypeFor[corpus.RuleText](), with: `"t":{"type":"string"`,
			without: `"t":{"$ref":"#/$defs/Text"}`},
		"number-type": {of: reflect.TypeFor[corpus.RuleNumber](), with: `"n":{"type":"number"}`,
			without: `"n":{"type":"string"}`},
		"big-integer": {of: reflect.TypeFor[corpus.RuleBig](), with: `"b":{"type":"integer"}`,
			without: `"Int":{"properties":{}`},
		"url-object": {of: reflect.TypeFor[corpus.RuleURL](), with: `"u":{"properties":{"Scheme"`,
			without: `"u":{"type":"string","format":"uri"}`},
		"ip-text": {of: reflect.TypeFor[corpus.RuleIP](), with: `"ip":{"type":"string"}`,
			without: `"ip":{"type":"string","format":"ipv4"}`},
		"uuid-format": {of: reflect.TypeFor[struct {
			ID [16]byte `json:"id"`
		}](), name: "uuid", with: `"id":{"type":"string","format":"uuid"}`,
			without: `"id":{"items":{"type":"integer"`},
		"proto-integer": {of: reflect.TypeFor[corpus.ProtoHolder](), with: `"p":{"type":"integer"`,
			without: `"p":{"oneOf":[{"type":"string"},{"type":"integer"}]`},
		"byte-kinds": {of: reflect.TypeFor[corpus.RuleOctets](),
			with:    `"o":{"type":"string","contentEncoding":"base64"}`,
			without: `"o":{"items":{"type":"integer"`},
		"string-option": {of: reflect.TypeFor[corpus.Quoted](),
			with:    `"int":{"type":"string","pattern":"^(0|-?[1-9][0-9]*)$"}`,
			without: `"int":{"type":"string"}`},
		"tags-reach-named": {of: reflect.TypeFor[corpus.RuleNamed](), with: `"minItems":3`,
			without: `"l":{"$ref":"#/$defs/Labels"}`},
		"whole-values": {of: reflect.TypeFor[corpus.RuleWhole](), with: `"pattern":"a=b"`,
			without: `"items":{"type":"string"}`},
		"typed-values": {of: reflect.TypeFor[corpus.RuleTyped](),
			with:    `"default":[1,2]},"b":{"type":"boolean","readOnly":true,"examples":[true]}`,
			without: ""},
		"unique-items-value": {of: reflect.TypeFor[corpus.RuleUnique](), with: `"type":"array"}`,
			without: `"uniqueItems":true`},
		"plain-description": {of: reflect.TypeFor[corpus.Described](),
			with:    `"description":"a count, of things"`,
			without: `"a":{"type":"string"}`},
		"nullable-any-of": {of: reflect.TypeFor[corpus.TextTags](),
			with: `"g":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"commas, escaped"}`, without: `"g":{"oneOf":[{"type":"string","description":"commas, escaped"},{"type":"null"}]}`},
		"nullable-optional": {of: reflect.TypeFor[corpus.NumberTags](),
			with:    `"required":["b","c","d","e","j","k"]`,
			without: `"required":["a","b","c","d","e","f","g","h","i","j","k"]`},
		"references-resolved": {of: reflect.TypeFor[corpus.Shapes](),
			with:    `"any":{"anyOf":[{"properties":{"r"`,
			without: `"any":{"anyOf":[{"$ref":"#/$defs/Circle"}]}`},
		"declared-type": {of: reflect.TypeFor[corpus.RuleDeclared](),
			with:    `"o":{"type":"string","minLength":1}`,
			without: ""},
		"typed-enums": {of: reflect.TypeFor[corpus.Enums](),
			with:    `"status":{"type":"string","enum":["active","offline"]`,
			without: `"status":{"type":"string"}`},
		"every-doc": {of: unexported.Type, name: "unexported",
			with:    `"description":"Field is not seen by the Reflector's comments."`,
			without: `"field":{"type":"string"}`},
		"joined-lines": {of: reflect.TypeFor[corpus.Written](),
			with:    `"description":"Plain is a list without indentation:\n* one\n* two\n1. three"`,
			without: `"description":"Plain is a list\nwithout indentation:\n* one\n* two\n1. three"`},
		"doc-without-name": {of: reflect.TypeFor[corpus.Node](),
			with:    `"description":"Refers to itself."`,
			without: `"description":"Node refers to itself."`},
		"foreign-doc": {of: reflect.TypeFor[other.Foreign](),
			with:    `"description":"Value is one of:\n  - a\n  - b"`,
			without: `  - b\n\nIt has a second paragraph, too."`},
		"root-without-doc": {of: reflect.TypeFor[corpus.Second](), with: `"required":["b"]}`,
			without: `"required":["b"],"description":"Second stands below it."}`},
		"hidden-fields": {of: reflect.TypeFor[corpus.Hides](), output: true,
			with:    `"seen":{"type":"string"}},"type"`,
			without: `"seen":{"type":"string"}},"additionalProperties":false`},
		"null-results": {of: reflect.TypeFor[corpus.Person](), output: true,
			with:    `"ptr":{"anyOf":[{"type":"string"},{"type":"null"}]}`,
			without: `"ptr":{"type":"string"}`},
		"shape-only": {of: reflect.TypeFor[corpus.NumberTags](), output: true,
			with:    `"a":{"type":"integer","examples":[2,3]}`,
			without: `"a":{"type":"integer","maximum":10,"minimum":1,"default":5,"examples":[2,3]}`},
		"null-root": {of: reflect.TypeFor[*corpus.Labels](), name: "*Labels", output: true,
			with: `{"anyOf":[{"items"`},
	}
	for _, r := range Rules {
		t.Run(r.Name, func(t *testing.T) {
			test, ok := tests[r.Name]
			if !ok {
				t.Fatal("the rule has no case")
			}
			if r.Why == "" || !r.Inputs && !r.Outputs {
				t.Error("the rule does not say what it is for")
			}
			if test.output != !r.Inputs {
				t.Error("the case looks the wrong way")
			}
			w, typ := walker(t, "types", source(t)), ruleType(t, cmp.Or(test.name, test.of.Name()))
			s, problems := w.Input(typ)
			if test.output {
				s, _, problems = w.Output(typ)
			}
			if len(problems) > 0 {
				t.Fatal(problemText(problems))
			}
			with, without := compact(t, s), compact(t, reflector.ReflectFromType(test.of))
			if !strings.Contains(with, test.with) || strings.Contains(without, test.with) {
				t.Errorf("want %s\nwith the rule only:\n%s\n%s", test.with, with, without)
			}
			if test.without != "" && (!strings.Contains(without, test.without) ||
				strings.Contains(with, test.without)) {
				t.Errorf("want %s\nwithout the rule only:\n%s\n%s", test.without, with, without)
			}
		})
	}
	if len(tests) != len(Rules) {
		t.Errorf("%d cases, want %d", len(tests), len(Rules))
	}
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
		if !slices.ContainsFunc(slices.Collect(maps.Keys(comments)), func(of string) bool {
			return strings.HasPrefix(of, base+"testdata/types."+name) &&
				strings.Contains(comments[of], wrong)
		}) && wrong != "" {
			t.Errorf("the Reflector's %s does not have %q", name, wrong)
		}
		s, problems := walker(t, "types", source(t)).Input(typeOf(t, "types", name))
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

// TestLinesForOtherToolsAreNoDescription has lines that other tools read, beside text that only
// resembles them.
func TestLinesForOtherToolsAreNoDescription(t *testing.T) {
	for _, line := range []string{"@Summary      List orders", "\t@Param limit query int false \"x\"",
		"@Router /orders [get]", "@gotags: valid:\"ip\"", "@api {get} /user/:id", "@Deprecated",
		"@securityDefinitions.basic BasicAuth", "swagger:model Order", "List swagger:route GET / x y",
		"swagger:strfmt uuid", "ListOrders godoc", "+optional", "+kubebuilder:object:root=true",
		"+k8s:deepcopy-gen=true", "+build linux", "+genclient", "go:generate stringer -type=X",
		"go:noinline", "nolint", "nolint:lll // long", "nolint // long", "#nosec G101", "nosec",
		"lint:ignore SA1019 reason", "revive:disable", "encore:api public", "cspell:words etcd",
		"Code generated by x. DO NOT EDIT.",
		"@Description first \\\n  second"} {
		if got := Description("Before.\n" + line + "\n\nAfter.\n"); got != "Before.\n\nAfter." {
			t.Errorf("%q: %q", line, got)
		}
		if !ForTools(line) {
			t.Errorf("%q is for tools", line)
		}
	}
	for _, line := range []string{"An @Summary within", "ask team@example.com", "host:port of it",
		"key:value pairs", "https://example.com/x", "go: see below", "swagger: a format",
		"Example: 7", "Required: a name", "the godoc", "No nolint here", "C++ and more", "+1 is more",
		"in: the box", "in: query", "required: true", "Read only: true", "lint: no", "@",
		"@here or @channel", "@handle of the user.",
		"+Inf degrees", "+UK prefix", "Patch:\n\n\t-old\n\t+new", "Code:\n\n\t@cache\n\tdef f()"} {
		if got := Description(line); got != line {
			t.Errorf("%q: %q", line, got)
		}
	}
	for text, want := range map[string]string{
		"Note is text. nolint:lll":           "Note is text.",
		"Note is text. //nolint:lll // long": "Note is text.",
		"Key is one. #nosec G101":            "Key is one.",
		"Get swagger:route GET /orders/{id} orders getOrder\n\nReads an order.\n\n\tConsumes:\n" +
			"\t- application/json\n\n\tResponses:\n\t  default: error\n\t  200: order\n\n" +
			"More.\n": "Reads an order." +
			"\n\nMore.",
		"swagger:route GET / x y\n\nReads.\n\nresponses:\n  200: order\n":    "Reads.",
		"swagger:operation GET / y\n\nReads.\n---\nproduces:\n- a/b\nx: y\n": "Reads.",
		"Responses:\n  - one\n":                     "Responses:\n  - one",
		"Mode.\nrequired: true\nIn: body":           "Mode. required: true In: body",
		"Mode.\nswagger:strfmt x\nrequired: true":   "Mode.",
		"List godoc\n@Summary x\n@Router / [get]\n": "",
		"Reads an order.\n\n@Summary x\n@Description a sentence.\n@Tags a\n\n" +
			"End.": "Reads an order.\n\nEnd.",
	} {
		if got := Description(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestPropertiesOfGoSwaggerAreNoDescription has the same comments in types with and without an
// annotation of go-swagger.
func TestPropertiesOfGoSwaggerAreNoDescription(t *testing.T) {
	for name, want := range map[string]string{
		"Swagger": `"limit":{"type":"integer","description":"Limit of a page."},` +
			`"inner":{"properties":{"unit":{"type":"string","description":"Unit of it."}}`,
		"NoSwagger": `"limit":{"type":"integer","description":"Limit of a page.\n\nin: query ` +
			`required: true"},"unit":{"type":"string","description":"Unit of it. required: true"}`,
	} {
		s, problems := walker(t, "types", source(t)).Input(typeOf(t, "types", name))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if text := compact(t, s); !strings.Contains(text, want) {
			t.Errorf("%s: no %s in\n%s", name, want, text)
		}
	}
}

// Mistakes in the limits of another module's type count for arguments only.
func TestResultsOfAnotherModuleHaveNoLimits(t *testing.T) {
	w, typ := walker(t, "types", source(t)), typeOf(t, "types", "ForeignLimits")
	if s, _, problems := w.Output(typ); len(problems) > 0 {
		t.Error(problems)
	} else if text := compact(t, s); strings.Contains(text, "alpha") ||
		strings.Contains(text, "imum") {
		t.Error(text)
	}
	_, problems := w.Input(typ)
	met := map[string]bool{}
	for _, p := range problems {
		met[p.Obj.Name()] = true
	}
	for f := range reflect.TypeFor[other.Limited]().Fields() {
		if !met[f.Name] {
			t.Errorf("an argument has no finding about %s", f.Name)
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

// TestStringsOfOthersAreQuotedTwice holds the schema of a string with the string option against
// encoding/json: nobody can edit the tag of another module.
func TestStringsOfOthersAreQuotedTwice(t *testing.T) {
	s, problems := walker(t, "types", source(t)).Input(typeOf(t, "types", "ForeignTwice"))
	if len(problems) > 0 {
		t.Fatal(problemText(problems))
	}
	twice, _ := s.Properties.Get("twice")
	for _, name := range []string{"text", "kind"} {
		of, _ := twice.Properties.Get(name)
		if of.Type != "string" || of.Pattern != QuotedPattern || of.Enum != nil {
			t.Errorf("%s: %+v", name, of)
		}
	}
	pattern := regexp.MustCompile(QuotedPattern)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`"[a"\\\\/bnu01\n]{0,6}"`)).Draw(t,
			"text")
		if text == "null" {
			return // encoding/json ignores it, and mcpgen refuses it
		}
		whole, err := json.Marshal(map[string]string{"A": text})
		if err != nil {
			t.Fatal(err)
		}
		var into struct {
			A string `json:",string"`
		}
		if err := json.Unmarshal(whole, &into); (err == nil) != pattern.MatchString(text) {
			t.Errorf("%q: %v", text, err)
		}
	})
	_, _, problems = walker(t, "types", source(t)).Output(typeOf(t, "types", "ForeignTwice"))
	if len(problems) > 0 {
		t.Error(problemText(problems))
	}
}
