package decode_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// record is an object that the decoders of the test read: each property is an integer, or a record
// again if its name ends with an x. Its text is that of its properties.
type record string

// recordType is a decoder as mcpgen generates it.
type recordType struct {
	names    []string
	required int
	fields   map[string]string // of guarded properties
}

func (c recordType) read(r *decode.Reader, v *record) {
	o := r.Object(c.required, c.names...)
	for i, name := range c.names {
		if field := c.fields[name]; field != "" {
			o.Guard(i, field)
		}
	}
	for o.Next() {
		name := c.names[o.Property]
		if strings.HasSuffix(name, "x") {
			var inner record
			if !r.Null() {
				c.read(r, &inner)
			}
			*v += record(name) + "{" + inner + "}"
			continue
		}
		var n int
		decode.Int(r, &n, -9, 9)
		*v += record(fmt.Sprint(name, n, ";"))
	}
}

// without returns the decoder of a type that does not have the hidden properties.
func (c recordType) without(hidden []string) recordType {
	less := recordType{}
	for i, name := range c.names {
		if !slices.Contains(hidden, c.fields[name]) {
			if less.names = append(less.names, name); i < c.required {
				less.required++
			}
		}
	}
	return less
}

// schema is the schema of the type, with or without the keyword of guarded properties.
func (c recordType) schema() string {
	var members, required []string
	for i, name := range c.names {
		keyword, what := "", `"type":"integer"`
		if field := c.fields[name]; field != "" {
			keyword = `"x-mcpgen-field":"` + field + `",`
		}
		if strings.HasSuffix(name, "x") {
			what = `"anyOf":[{"$ref":"#"},{"type":"null"}]`
		}
		members = append(members, fmt.Sprintf("%q:{%s%s}", name, keyword, what))
		if i < c.required {
			required = append(required, fmt.Sprintf("%q", name))
		}
	}
	return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(members,
		",") +
		`},"required":[` + strings.Join(required, ",") + `]}`
}

func (c recordType) doc(random *rand.Rand, depth int) string {
	names := slices.Clone(c.names)
	if len(names) > 8 {
		names = append(names[:4:4], names[len(names)-4:]...)
	}
	names = append(names, "other", "salry")
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	var members []string
	for _, name := range names[:random.IntN(len(names))] {
		values := []string{"1", "12", `"1"`, "null", "[1]", `{"a":1}`}
		value := values[random.IntN(len(values))]
		if strings.HasSuffix(name, "x") && depth > 0 {
			value = c.doc(random, depth-1)
		}
		if random.IntN(6) == 0 {
			name = fmt.Sprintf(`\u%04x`, name[0]) + name[1:]
		}
		members = append(members, `"`+name+`":`+value)
		if random.IntN(20) == 0 {
			members = append(members, members[0])
		}
	}
	text := "{" + strings.Join(members, ",") + "}"
	if random.IntN(20) == 0 {
		text = text[:random.IntN(len(text))]
	}
	return text
}

func newRecordType(random *rand.Rand) recordType {
	c := recordType{fields: map[string]string{}}
	for _, name := range []string{"a", "salary", "salarx", "sale", "notesx", "note", "nextx"} {
		if random.IntN(4) > 0 {
			c.names = append(c.names, name)
		}
	}
	if random.IntN(4) == 0 { // more than the bits of a word
		for i := range 70 {
			c.names = append(c.names, fmt.Sprintf("p%02d", i))
		}
	}
	random.Shuffle(len(c.names), func(i, j int) {
		c.names[i], c.names[j] = c.names[j], c.names[i]
	})
	c.required = random.IntN(min(3, len(c.names)+1))
	for _, name := range c.names {
		if random.IntN(3) == 0 {
			c.fields[name] = []string{"p.T.A", "p.T.B", "p.T." + name}[random.IntN(3)]
		}
	}
	return c
}

// Law 3 for arguments. The decoder of a caller with hidden fields accepts and reports exactly what
// the decoder of a type without them does, and lenient arguments become the same.
func TestHiddenPropertiesAreThoseOfATypeWithoutThem(t *testing.T) {
	random, sent := rand.New(rand.NewPCG(3, 4)), 0
	for range 2_000 {
		c := newRecordType(random)
		var hidden []string
		for _, field := range append([]string{"p.T.A", "p.T.B", "p.T.None"}, "p.T.salary", "p.T.note") {
			if random.IntN(2) == 0 {
				hidden = append(hidden, field)
			}
		}
		less := c.without(hidden)
		lenient, err := decode.ParseLenient(c.schema())
		if err != nil {
			t.Fatal(err)
		}
		lenientLess, err := decode.ParseLenient(less.schema())
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			doc := c.doc(random, 2)
			choices := &decode.Choices{Hidden: hidden}
			got, gotErr := decode.ArgumentsOf([]byte(doc), choices, c.read)
			want, wantErr := decode.Arguments([]byte(doc), less.read)
			if got != want || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
				t.Fatalf("%s by %v without %q:\n got %v, %v\nwant %v, %v", doc, c, hidden, got, gotErr, want,
					wantErr)
			}
			if len(choices.Sent) > 0 {
				if sent++; gotErr == nil {
					t.Fatalf("%s: %q is sent and accepted", doc, choices.Sent)
				}
			}
			coerced, done := lenient.Coerce([]byte(doc), hidden)
			wanted, doneLess := lenientLess.Coerce([]byte(doc), nil)
			if string(coerced) != string(wanted) || done != doneLess {
				t.Fatalf("%s by %s without %q:\n got %s, %v\nwant %s, %v", doc, c.schema(), hidden, coerced,
					done, wanted, doneLess)
			}
		}
	}
	if sent < 300 {
		t.Errorf("%d documents with hidden properties: too few to prove much", sent)
	}
}

// leastAllocs is the least number of allocations of a func: pools may lose what they keep.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

// A document with a hidden property costs as much memory as one with an unknown name of the same
// length, whatever the order, and as much as the type without the property.
func TestHiddenPropertyCostsWhatAnUnknownNameDoes(t *testing.T) {
	c := recordType{names: []string{"a", "nextx", "salary", "bonus"}, required: 1,
		fields: map[string]string{"salary": "p.T.Salary", "bonus": "p.T.Bonus"}}
	hidden := []string{"p.T.Salary", "p.T.Bonus"}
	lenient, err := decode.ParseLenient(c.schema())
	if err != nil {
		t.Fatal(err)
	}
	cost := func(doc string) (decoding, coercing float64) {
		text := []byte(doc)
		return leastAllocs(func() {
				choices := &decode.Choices{Hidden: hidden}
				_, _ = decode.ArgumentsOf(text, choices, c.read)
			}), leastAllocs(func() {
				_, _ = lenient.Coerce(text, hidden)
			})
	}
	for _, doc := range []string{
		`{"a":1,"salary":1}`, `{"salary":1,"a":1}`, `{"salary":[1],"bonus":2}`,
		`{"a":1,"salary":1,"salary":1}`, `{"a":1,"nextx":{"salary":1,"bonus":{},"a":1}}`,
		`{"a":1,"nextx":{"a":1,"nextx":{"a":1,"salary":1}},"salary":2}`, `{"salary":`,
	} {
		unknown := strings.NewReplacer("salary", "qwopzm", "bonus", "jkvwx").Replace(doc)
		decoding, coercing := cost(doc)
		if d, c := cost(unknown); d != decoding || c != coercing {
			t.Errorf("%s: %v and %v allocations, and %v and %v for unknown names", doc, decoding, coercing,
				d, c)
		}
	}
}

func TestSentFieldsAreForTheAudit(t *testing.T) {
	c := recordType{names: []string{"a", "nextx", "salary", "bonus", "pay"},
		fields: map[string]string{"salary": "p.T.Salary", "bonus": "p.T.Bonus", "pay": "p.T.Salary"}}
	for _, test := range []struct {
		doc, want string
		hidden    []string
	}{
		{`{"salary":1}`, "[p.T.Salary]", []string{"p.T.Salary", "p.T.Bonus"}},
		{`{"bonus":1,"salary":1,"pay":1}`, "[p.T.Bonus p.T.Salary]", []string{"p.T.Salary", "p.T.Bonus"}},
		{`{"nextx":{"salary":1,"nextx":{"bonus":1}},"pay":2}`, "[p.T.Salary p.T.Bonus]",
			[]string{"p.T.Salary", "p.T.Bonus"}},
		{`{"salary":1,"bonus":1}`, "[p.T.Bonus]", []string{"p.T.Bonus"}},
		{`{"salary":1,"bonus":1}`, "[]", []string{"p.T.Other"}},
		{`{"salary":1,"bonus":1}`, "[]", nil},
		{`{"salry":1,"a":2}`, "[]", []string{"p.T.Salary", "p.T.Bonus"}},
	} {
		choices := &decode.Choices{Hidden: test.hidden}
		_, err := decode.ArgumentsOf([]byte(test.doc), choices, c.read)
		if got := fmt.Sprint(choices.Sent); got != test.want {
			t.Errorf("%s: sent %s, want %s", test.doc, got, test.want)
		}
		if err != nil && strings.Contains(err.Error(), "mean") &&
			strings.Contains(err.Error(), `"salary"`) {
			t.Errorf("%s: %v", test.doc, err)
		}
	}
}

// An argument that lenient arguments never change is unknown too, if it is hidden, and so is one
// whose schema is a reference.
func TestHiddenArgumentIsLeftOut(t *testing.T) {
	lenient, err := decode.ParseLenient(`{"type":"object","additionalProperties":false,"properties":{
		"path":{"type":"string","x-mcpgen-field":"p.T.Path"},
		"key":{"type":"string","x-mcp-header":"Key","x-mcpgen-field":"p.T.Key"},
		"ref":{"$ref":"#/$defs/r","x-mcpgen-field":"p.T.Ref"}},
		"$defs":{"r":{"type":"object"}}}`, "path")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		want   string
		hidden []string
	}{
		{`{"path":"a","key":"b","ref":{}}`, nil},
		{`{"key":"b","ref":{}}`, []string{"p.T.Path"}},
		{`{}`, []string{"p.T.Path", "p.T.Key", "p.T.Ref"}},
	} {
		got, done := lenient.Coerce([]byte(`{"path":"a","key":"b","ref":{}}`), test.hidden)
		if string(got) != test.want || done.Unknown != len(test.hidden) {
			t.Errorf("%q: %s, %+v", test.hidden, got, done)
		}
	}
}
