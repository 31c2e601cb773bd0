package decoderoracle

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// model applies the coercions of lenient arguments to a document as encoding/json reads it, by the
// schema as encoding/json reads it. It shares no code with package decode.
type model struct {
	root map[string]any
	done decode.Coercions
}

// of resolves references, and the union of a schema with null.
func (m *model) of(schema any) (s map[string]any, null bool) {
	s, _ = schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		return m.of(m.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")])
	}
	union, _ := s["anyOf"].([]any)
	if union == nil {
		union, _ = s["oneOf"].([]any)
	}
	if s["type"] != nil || union == nil {
		return s, slices.Contains(typesOf(s), "null")
	}
	var others []any
	for _, one := range union {
		if one.(map[string]any)["type"] == "null" {
			null = true
		} else {
			others = append(others, one)
		}
	}
	if len(others) != 1 {
		return nil, null
	}
	s, nullable := m.of(others[0])
	return s, null || nullable
}

func typesOf(s map[string]any) (names []string) {
	switch t := s["type"].(type) {
	case string:
		names = append(names, t)
	case []any:
		for _, name := range t {
			names = append(names, name.(string))
		}
	}
	return names
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (m *model) value(schema, v any, item bool) any {
	s, _ := m.of(schema)
	types := slices.DeleteFunc(typesOf(s), func(name string) bool { return name == "null" })
	only := func(names ...string) bool {
		return len(types) == 1 &&
			slices.Contains(names, types[0])
	}
	switch is := v.(type) {
	case nil:
		return nil
	case map[string]any:
		if slices.Contains(types, "object") {
			return m.object(s, is)
		}
	case []any:
		if slices.Contains(types, "array") {
			list := []any{}
			for _, element := range is {
				list = append(list, m.value(s["items"], element, true))
			}
			return list
		}
	case string:
		digits := strings.Trim(is, "-+.0123456789") // with an exponent, of which the tests draw few
		switch {
		case only("boolean") && (is == "true" || is == "false"):
			m.done.Booleans++
			return is == "true"
		case only("integer", "number") && number.MatchString(is) && len(is) < 100 &&
			(digits == "" || decode.Scan([]byte(is), decode.Limits{}) == nil):
			m.done.Numbers++
			return json.Number(is)
		}
	}
	if !only("array") || item {
		return v
	}
	if items, _ := m.of(s["items"]); slices.Contains(typesOf(items), "array") {
		return v
	}
	m.done.Lists++
	return []any{m.value(s["items"], v, true)}
}

func (m *model) object(s, object map[string]any) any {
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, groups := range []any{s["anyOf"], s["oneOf"]} {
		if only, _ := groups.([]any); len(only) == 1 { // no property of it is optional
			more := only[0].(map[string]any)["required"].([]any)
			required = append(slices.Clone(required), more...)
		}
	}
	result := map[string]any{}
	for name, v := range object {
		schema, known := properties[name]
		if !known {
			schema = s["additionalProperties"]
			for _, pattern := range patterns {
				schema = pattern
			}
			if schema == false {
				m.done.Unknown++
				continue
			}
		}
		if known && v == nil && !slices.Contains(required, any(name)) {
			if of, null := m.of(schema); !null && of["type"] != nil {
				m.done.Nulls++
				continue
			}
		}
		result[name] = m.value(schema, v, false)
	}
	return result
}

// equal compares what values encode to: raw JSON keeps its escapes.
func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && reflect.DeepEqual(tree(x), tree(y))
}

// TestLenientIsStrictAfterCoercions is the law of lenient arguments: what the strict decoder
// accepts stays as it is, and anything else becomes the document that the model makes of it, which
// the strict decoder then reads.
func TestLenientIsStrictAfterCoercions(t *testing.T) {
	var drawn, accepted, gained int
	var done decode.Coercions
	for i, c := range cases {
		lenient, err := decode.ParseLenient(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		d := drawer{rand: rand.New(rand.NewPCG(*seed, uint64(i))), loose: 0.15}
		if err := json.Unmarshal([]byte(c.schema), &d.root); err != nil {
			t.Fatal(err)
		}
		for range *documents/4/len(cases) + 1 {
			doc := d.document()
			drawn++
			got, counted := lenient.Coerce(slices.Clone(doc), nil)
			value, strict := c.decode(doc)
			if strict == nil || decode.Scan(doc, decode.Limits{}) != nil {
				if string(got) != string(doc) || counted != (decode.Coercions{}) {
					t.Fatalf("%s: %s became %s, strict: %v, %+v", c.name, doc, got, value, strict)
				}
				if strict == nil {
					accepted++
				}
				continue
			}
			m := model{root: d.root}
			want := m.value(d.root, tree(doc), false)
			if !reflect.DeepEqual(tree(got), want) || counted != m.done {
				text, _ := json.Marshal(want)
				t.Fatalf("%s: %s became\n%s, not\n%s\n%+v, not %+v", c.name, doc, got, text,
					counted, m.done)
			}
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			a, errA := c.decode(got)
			b, errB := c.decode(text)
			if (errA == nil) != (errB == nil) || errA == nil && !equal(a, b) {
				t.Fatalf("%s: %s is %+v, %v and not %+v, %v", c.name, doc, a, errA, b, errB)
			}
			if errA == nil {
				gained++
			}
			done.Numbers += counted.Numbers
			done.Booleans += counted.Booleans
			done.Lists += counted.Lists
			done.Nulls += counted.Nulls
			done.Unknown += counted.Unknown
		}
	}
	t.Logf("%d documents: %d accepted as they are, %d after coercions; %+v", drawn, accepted,
		gained,
		done)
	if 20*gained < drawn || 20*accepted < drawn || min(done.Numbers, done.Booleans, done.Lists,
		done.Nulls, done.Unknown) < drawn/200 {
		t.Error("the documents prove too little")
	}
}
