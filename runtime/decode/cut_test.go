package decode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// guardedCase draws schemas with guarded properties, and documents.
type guardedCase struct {
	*rand.Rand
	defs map[string]any
}

var fieldNames = []string{"p.T.A", "p.T.B", "p.U.C"}

func (c *guardedCase) chance(of int) bool { return c.IntN(of) == 0 }

func (c *guardedCase) pick(from ...string) string { return from[c.IntN(len(from))] }

// memberNames are the names of members, with texts that other names begin with.
var memberNames = []string{"a", "b", "ab", "é", `"`}

func (c *guardedCase) property(depth int) map[string]any {
	s := c.schema(depth)
	if c.chance(3) {
		s = maps.Clone(s)
		s["x-mcpgen-field"] = c.pick(fieldNames...)
	}
	return s
}

func (c *guardedCase) schema(depth int) map[string]any {
	if depth == 0 {
		return map[string]any{"type": c.pick("string", "integer")}
	}
	either := func(others ...any) map[string]any {
		return map[string]any{c.pick("anyOf", "oneOf"): others}
	}
	switch c.IntN(9) {
	case 0, 1:
		return map[string]any{"$ref": "#/$defs/" + c.pick("0", "1", "2")}
	case 2:
		return map[string]any{"type": "array", "items": c.schema(depth - 1)}
	case 3:
		return map[string]any{"prefixItems": []any{c.schema(depth - 1), c.schema(depth - 1)},
			"items": c.schema(depth - 1)}
	case 4:
		return either(c.schema(depth), map[string]any{"type": "null"})
	case 5:
		return either(c.schema(depth-1), c.schema(depth-1))
	case 6:
		return map[string]any{"allOf": []any{c.schema(depth - 1), c.object(depth - 1)}}
	}
	return c.object(depth)
}

func (c *guardedCase) object(depth int) map[string]any {
	s, properties := map[string]any{"type": "object"}, map[string]any{}
	depth = max(depth-1, 0)
	for _, name := range memberNames {
		if c.chance(2) {
			properties[name] = c.property(depth)
		}
	}
	if s["properties"] = properties; c.chance(3) {
		s["additionalProperties"] = c.property(depth)
	} else if c.chance(2) {
		s["additionalProperties"] = false
	}
	if c.chance(5) {
		s["patternProperties"] = map[string]any{"^a": c.property(depth), "b$": c.property(depth)}
	}
	return s
}

func newGuardedCase(seed uint64) (c *guardedCase, schema map[string]any, text string) {
	c = &guardedCase{rand.New(rand.NewPCG(seed, 7)), map[string]any{}}
	for _, name := range []string{"0", "1", "2"} {
		c.defs[name] = c.object(2)
	}
	schema = c.schema(3)
	schema["$defs"] = c.defs
	raw, _ := json.Marshal(schema)
	return c, schema, string(raw)
}

// doc appends a document for a schema. White space and escapes vary.
func (c *guardedCase) doc(to []byte, schema any, depth int) []byte {
	n, _ := schema.(map[string]any)
	several := slices.DeleteFunc([]string{"$ref", "anyOf", "oneOf", "allOf"}, func(key string) bool {
		return n[key] == nil
	})
	switch {
	case depth == 0 || n == nil || c.chance(12):
		return append(to, c.pick("null", "7", `"a"`, "true", "[]", "{}", `{"a":[{"b":1}]}`,
			`[{"a":1}]`)...)
	case len(several) > 0:
		if ref, ok := n["$ref"].(string); ok {
			return c.doc(to, c.defs[strings.TrimPrefix(ref, "#/$defs/")], depth)
		}
		others := n[several[0]].([]any)
		return c.doc(to, others[c.IntN(len(others))], depth)
	case n["items"] != nil:
		prefix, _ := n["prefixItems"].([]any)
		to = append(to, '[')
		for i := range c.IntN(4) {
			if i > 0 {
				to = append(to, ',')
			}
			item := n["items"]
			if i < len(prefix) {
				item = prefix[i]
			}
			to = c.doc(to, item, depth-1)
		}
		return append(to, ']')
	case n["properties"] == nil:
		return append(to, c.pick("null", "-1.5e3", `"a,}\"\\"`, "false")...)
	}
	properties := n["properties"].(map[string]any)
	to = append(to, '{')
	names := append(slices.Clone(memberNames), "x")
	c.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names[:c.IntN(len(names))] {
		if i > 0 {
			to = append(to, ',')
		}
		quoted, _ := json.Marshal(name)
		if c.chance(4) && len(name) == 1 {
			quoted = fmt.Appendf(nil, `"\u%04x"`, name[0])
		}
		sub := properties[name]
		if sub == nil {
			sub = n["additionalProperties"]
		}
		to = c.doc(append(append(to, quoted...), ':'), sub, depth-1)
	}
	return append(to, '}')
}

// places are the schemas that may hold for a value: the reference reads them anew at each place.
func (c *guardedCase) places(schemas ...any) (nodes []map[string]any) {
	seen := map[string]bool{}
	for len(schemas) > 0 {
		n, _ := schemas[0].(map[string]any)
		schemas = schemas[1:]
		if n == nil {
			continue
		}
		nodes = append(nodes, n)
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			others, _ := n[key].([]any)
			schemas = append(schemas, others...)
		}
		if ref, ok := n["$ref"].(string); ok && !seen[ref] {
			seen[ref] = true
			schemas = append(schemas, c.defs[strings.TrimPrefix(ref, "#/$defs/")])
		}
	}
	return nodes
}

// member returns the schemas of a member.
func member(nodes []map[string]any, name string) (subs []any) {
	for _, n := range nodes {
		patterns, _ := n["patternProperties"].(map[string]any)
		for _, sub := range patterns {
			subs = append(subs, sub)
		}
		properties, _ := n["properties"].(map[string]any)
		if own := properties[name]; own != nil {
			subs = append(subs, own)
		} else {
			subs = append(subs, n["additionalProperties"])
		}
	}
	return subs
}

// cut is the reference for Cut: it appends the document without the hidden members.
func (c *guardedCase) cut(to []byte, doc decode.Value, hidden []string, schemas ...any) []byte {
	nodes := c.places(schemas...)
	switch first := true; doc.Type() {
	case "object":
		to = append(to, '{')
		for name, value := range doc.Members() {
			subs := member(nodes, string(name))
			if slices.ContainsFunc(c.places(subs...), func(n map[string]any) bool {
				field, _ := n["x-mcpgen-field"].(string)
				return slices.Contains(hidden, field)
			}) {
				continue
			}
			if !first {
				to = append(to, ',')
			}
			first = false
			quoted, _ := json.Marshal(string(name))
			to = c.cut(append(append(to, quoted...), ':'), value, hidden, subs...)
		}
		return append(to, '}')
	case "array":
		to = append(to, '[')
		for i, item := range doc.Items() {
			var subs []any
			for _, n := range nodes {
				prefix, _ := n["prefixItems"].([]any)
				sub := n["items"]
				if i < len(prefix) {
					sub = prefix[i]
				}
				subs = append(subs, sub)
			}
			if i > 0 {
				to = append(to, ',')
			}
			to = c.cut(to, item, hidden, subs...)
		}
		return append(to, ']')
	}
	return append(to, doc...)
}

// plain writes a document without white space, and its names in one form.
func plain(doc decode.Value) []byte {
	var compact bytes.Buffer
	if json.Compact(&compact, doc) != nil {
		return doc
	}
	return (&guardedCase{}).cut(nil, compact.Bytes(), nil)
}

// Cut leaves out exactly the members that the reference leaves out, and changes nothing else.
func TestCutAgreesWithAReadingOfTheSchemaAtEachPlace(t *testing.T) {
	cut, same := 0, 0
	for seed := range uint64(2000) {
		c, schema, text := newGuardedCase(seed)
		shape, err := decode.ParseShape(text)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		hidden := slices.DeleteFunc(slices.Clone(fieldNames), func(string) bool { return c.chance(2) })
		for range 3 {
			doc := c.doc(nil, schema, 6)
			if c.chance(3) {
				var indented bytes.Buffer
				if err := json.Indent(&indented, doc, "\t", " "); err != nil {
					t.Fatal(err)
				}
				doc = indented.Bytes()
			}
			before := string(doc)
			got, err := shape.Cut(doc, hidden)
			if err != nil || string(doc) != before {
				t.Fatalf("seed %d: %s became %s, %v", seed, before, doc, err)
			}
			want := c.cut(nil, plain(doc), hidden, schema)
			if string(plain(got)) != string(want) || !json.Valid(got) {
				t.Fatalf("seed %d: %s without %q of %s:\n got %s\nwant %s", seed, doc, hidden, text, got,
					want)
			}
			if string(want) == string(plain(doc)) {
				if &got[0] != &doc[0] || string(got) != before {
					t.Fatalf("seed %d: %s was copied", seed, doc)
				}
				same++
				continue
			}
			cut++
			again, err := shape.Cut(got, hidden)
			if err != nil || string(again) != string(got) {
				t.Fatalf("seed %d: %s, and then %s, %v", seed, got, again, err)
			}
		}
	}
	if cut < 700 || same < 700 {
		t.Errorf("%d documents were cut, and %d not: too few to prove much", cut, same)
	}
}

// Fields has every field that the documents of a schema can have.
func TestFieldsOfASchema(t *testing.T) {
	for seed := range uint64(300) {
		c, schema, text := newGuardedCase(seed)
		shape, err := decode.ParseShape(text)
		if err != nil {
			t.Fatal(seed, err)
		}
		want, seen := []string{}, map[string]bool{}
		var walk func(schemas ...any)
		walk = func(schemas ...any) {
			raw, _ := json.Marshal(schemas)
			if seen[string(raw)] {
				return
			}
			seen[string(raw)] = true
			nodes := c.places(schemas...)
			for _, n := range nodes {
				if field, ok := n["x-mcpgen-field"].(string); ok {
					want = append(want, field)
				}
				prefix, _ := n["prefixItems"].([]any)
				for _, sub := range append(prefix[:len(prefix):len(prefix)], n["items"]) {
					walk(sub)
				}
			}
			for _, name := range append(slices.Clone(memberNames), "x") {
				for _, sub := range member(nodes, name) {
					walk(sub)
				}
			}
		}
		walk(schema)
		slices.Sort(want)
		if want = slices.Compact(want); !slices.Equal(shape.Fields(), want) {
			t.Fatalf("seed %d: %s has %q, want %q", seed, text, shape.Fields(), want)
		}
	}
	if shape, _ := decode.ParseShape(`{"properties":{"a":{}}}`); shape.Fields() != nil {
		t.Errorf("%q", shape.Fields())
	}
}

const salarySchema = `{"type":"object","properties":{"name":{"type":"string"},
	"salary":{"type":["integer","null"],"x-mcpgen-field":"p.T.Salary"},
	"boss":{"anyOf":[{"$ref":"#"},{"type":"null"}]},
	"team":{"type":"array","items":{"$ref":"#/$defs/team"}},
	"pair":{"prefixItems":[{"type":"string"},{"$ref":"#"}]},
	"notes":{"$ref":"#/$defs/notes","x-mcpgen-field":"p.T.Notes"},
	"either":{"anyOf":[{"$ref":"#"},{"type":"object","properties":{"salary":{"type":"string"}}}]},
	"by_name":{"type":"object","additionalProperties":{"$ref":"#"}}},
	"$defs":{"team":{"allOf":[{"$ref":"#"}]},
	"notes":{"type":"object","properties":{"text":{"type":"string","x-mcpgen-field":"p.N.Text"}}}}}`

func salaryShape(t testing.TB) *decode.Shape {
	t.Helper()
	shape, err := decode.ParseShape(salarySchema)
	if err != nil {
		t.Fatal(err)
	}
	return shape
}

func TestCut(t *testing.T) {
	shape := salaryShape(t)
	for _, test := range []struct{ doc, hidden, want string }{
		{`{"name":"ada","salary":1}`, "p.T.Salary", `{"name":"ada"}`},
		{`{"salary":1,"name":"ada"}`, "p.T.Salary", `{"name":"ada"}`},
		{`{"salary":null}`, "p.T.Salary", `{}`},
		{`{"\u0073alary":1}`, "p.T.Salary", `{}`},
		{`{"salary":1,"salary":2,"name":""}`, "p.T.Salary", `{"name":""}`},
		{`{ "salary" : {"salary":[1]} , "name" : 1 }`, "p.T.Salary", `{ "name" : 1 }`},
		{`{"boss":{"salary":1,"boss":{"salary":2,"boss":null}}}`, "p.T.Salary",
			`{"boss":{"boss":{"boss":null}}}`},
		{`{"team":[{"salary":1},null,{"team":[{"salary":1}]}]}`, "p.T.Salary",
			`{"team":[{},null,{"team":[{}]}]}`},
		{`{"pair":["salary",{"salary":1},{"salary":1}]}`, "p.T.Salary",
			`{"pair":["salary",{},{"salary":1}]}`},
		{`{"either":{"salary":"x"}}`, "p.T.Salary", `{"either":{}}`},
		{`{"by_name":{"salary":{"salary":1},"x":{"name":1,"salary":1}}}`, "p.T.Salary",
			`{"by_name":{"salary":{},"x":{"name":1}}}`},
		{`{"notes":{"text":1}}`, "p.T.Notes", `{}`},
		{`{"salary":1,"other":{"x":1,"x":2}}`, "p.T.Salary", `{"other":{"x":1,"x":2}}`},
		{`{"notes":{"text":1}}`, "p.N.Text", `{"notes":{}}`},
		{`{"notes":{"text":1},"salary":1}`, "p.N.Text", `{"notes":{},"salary":1}`},
		{`{"Salary":1,"other":{"salary":1}}`, "p.T.Salary", ""},
		{`[{"salary":1}]`, "p.T.Salary", ""},
		{`{"name":"salary","salary":1}`, "p.T.Other", ""},
		{`null`, "p.T.Salary", ""},
		{`{`, "", ""},
	} {
		var hidden []string
		if test.hidden != "" {
			hidden = []string{test.hidden}
		}
		if test.want == "" {
			test.want = test.doc
		}
		if got, err := shape.Cut([]byte(test.doc), hidden); err != nil || string(got) != test.want {
			t.Errorf("%s without %s: %s, %v, want %s", test.doc, test.hidden, got, err, test.want)
		}
	}
	if none, _ := decode.ParseShape(`{"type":"object"}`); none != nil {
		if got, err := none.Cut([]byte("{"), []string{"p.T.Salary"}); err != nil || string(got) != "{" {
			t.Errorf("a schema without guarded fields: %s, %v", got, err)
		}
	}
}

// A document that cannot be read is an error: nothing of it may leave.
func TestCutDeniesWhatItCannotRead(t *testing.T) {
	shape := salaryShape(t)
	deep := strings.Repeat(`{"boss":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	lists := `{"boss":` + strings.Repeat(`{"team":[`, 10_000) + "1" + strings.Repeat("]}", 10_000) +
		"}"
	for doc, want := range map[string]string{
		lists: "nested deeper", ``: "the text ends", `{"salary":1`: "the text ends",
		`{"salary":}`: "a value is expected",
		`{"name":1,}`: "a name in quotes", `{"salary" 1}`: "':' is expected",
		`{} {}`:          "the end is expected",
		`{"team":[1 2]}`: "',' or ']'", `{"team":[}`: "a value is expected", `{"salary":tru}`: "true",
		`{"name":"` + "\xff" + `"}`: "not UTF-8", `{"name":"\ud800"}`: "surrogate", deep: "nested deeper",
	} {
		got, err := shape.Cut([]byte(doc), []string{"p.T.Salary"})
		if got != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %.40s, %v, want %s", doc, got, err, want)
		}
	}
}

// The keyword belongs to a property: nothing else can be left out.
func TestKeywordOfSomethingElseThanAProperty(t *testing.T) {
	const keyword = `{"x-mcpgen-field":"p.T.F"}`
	for _, schema := range []string{keyword, `{"items":` + keyword + `}`,
		`{"prefixItems":[{},` + keyword + `]}`, `{"properties":{"a":{"items":{"anyOf":[` + keyword +
			`]}}}}`,
		`{"properties":{"a":{"x-mcpgen-field":7}}}`,
		`{"properties":{"a":{"x-mcpgen-field":"p.T.F","$ref":"#/$defs/none"}}}`} {
		if _, err := decode.ParseShape(schema); err == nil {
			t.Errorf("%s: no error", schema)
		}
	}
}

// FuzzCut compares Cut with the reference for texts of any kind.
func FuzzCut(f *testing.F) {
	for _, doc := range []string{`{"salary":1,"name":"x"}`,
		`{"boss":{"salary":null},"by_name":{"a":{}}}`,
		`{"team":[{"salary":1},2],"pair":["a",{"salary":[{}]}]}`, `{ "\u0073alary" : "\"}" , "x":1}`,
		`{"salary":1,"salary":2}`, `{"notes":{"text":"\ud800"}}`, `[`, ``,
		`{"either":{"salary":{"salary":1}}}`} {
		f.Add([]byte(doc), uint8(7))
	}
	shape, c := salaryShape(f), &guardedCase{}
	var schema map[string]any
	if err := json.Unmarshal([]byte(salarySchema), &schema); err != nil {
		f.Fatal(err)
	}
	c.defs = map[string]any{"#": schema}
	maps.Copy(c.defs, schema["$defs"].(map[string]any))
	f.Fuzz(func(t *testing.T, doc []byte, mask uint8) {
		var hidden []string
		for i, field := range []string{"p.T.Salary", "p.T.Notes", "p.N.Text"} {
			if mask&(1<<i) != 0 {
				hidden = append(hidden, field)
			}
		}
		before := string(doc)
		got, err := shape.Cut(doc, hidden)
		switch {
		case string(doc) != before:
			t.Fatalf("%q became %q in its place", before, doc)
		case len(hidden) == 0:
			if err != nil || string(got) != before {
				t.Fatalf("%q became %q, %v", before, got, err)
			}
		case err != nil:
			if decode.Scan(doc, decode.Limits{Depth: 10_000}) == nil {
				t.Fatalf("%q: %v", before, err)
			}
		case !json.Valid(doc) || !json.Valid(got):
			t.Fatalf("%q became %q", before, got)
		default:
			want := c.cut(nil, plain(doc), hidden, schema)
			if string(plain(got)) != string(want) {
				t.Fatalf("%q without %q:\n got %q\nwant %q", before, hidden, plain(got), want)
			}
		}
	})
}

func BenchmarkCut(b *testing.B) {
	shape := salaryShape(b)
	doc := []byte(`{"team":[` +
		strings.Repeat(`{"name":"ada","salary":1,"notes":{"text":"long text"}},`,
			199) + `{"name":"bob"}]}`)
	for _, hidden := range [][]string{nil, {"p.T.Salary"}} {
		b.Run(fmt.Sprint(len(hidden)), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(doc)))
			for b.Loop() {
				if got, err := shape.Cut(doc, hidden); err != nil ||
					len(got) == len(doc) != (hidden == nil) {
					b.Fatal(err)
				}
			}
		})
	}
}
