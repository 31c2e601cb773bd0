package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

type (
	octet byte
	// plate has a text form without case, and always a dash.
	plate string
)

func (p *plate) UnmarshalText(text []byte) error {
	if !strings.Contains(string(text), "-") {
		return errors.New("a plate without a dash")
	}
	*p = plate(strings.ToLower(string(text)))
	return nil
}

const (
	signed   = "^(0|-?[1-9][0-9]*)$"
	unsigned = "^(0|[1-9][0-9]*)$"
	real     = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`
)

func TestValuesOfOtherFormsAreRead(t *testing.T) {
	i8 := func(r *Reader, v *int8) { QuotedInt(r, v, signed).MaxLength(4) }
	u16 := func(r *Reader, v *uint16) { QuotedUint(r, v, unsigned) }
	f32 := func(r *Reader, v *float32) { QuotedFloat(r, v, real) }
	sure := func(r *Reader, v *bool) { QuotedBool(r, v) }
	octets := func(r *Reader, v *[]octet) { BytesOf(r, v) }
	plates := func(r *Reader, v *map[plate]bool) { Map(r, v, TextKey, func(r *Reader, v *bool) { Bool(r, v) }) }
	either := func(r *Reader, v *any) { r.Any(v, "string", "integer") }
	anything := func(r *Reader, v *any) { r.Any(v) }
	deep := strings.Repeat("[", DefaultDepth+1) + strings.Repeat("]", DefaultDepth+1)
	whole := func(r *Reader, v *any) { r.Any(v, "integer") }
	some := func(r *Reader, v *json.RawMessage) { r.Raw(v, "array", "null") }
	standing := func(r *Reader, v *plate) {
		Default(r, "p", `"A-1"`, v, func(r *Reader, v *plate) { r.Unmarshal(v) })
		skipAll(r)
	}
	broken := func(r *Reader, v *plate) {
		Default(r, "p", `"A"`, v, func(r *Reader, v *plate) { r.Unmarshal(v) })
		skipAll(r)
	}
	for _, test := range []struct{ name, doc, got, want string }{
		{"int", `"-128"`, tried(i8, `"-128"`), "-128"},
		{"int beyond its type", `"200"`, tried(i8, `"200"`), `(root): 200 is beyond the range -128 to 127`},
		{"int of another form", `"007"`, tried(i8, `"007"`), `(root): "007" does not match the pattern ^(0|-?[1-9][0-9]*)$`},
		{"int too long", `"-12800"`, tried(i8, `"-12800"`), `(root): "-12800" has 6 characters, more than the maximum 4; (root): -12800 is beyond the range -128 to 127`},
		{"no string", `7`, tried(i8, `7`), `(root): 7 is a number, expected a string`},
		{"uint", `"65535"`, tried(u16, `"65535"`), "65535"},
		{"uint beyond its type", `"65536"`, tried(u16, `"65536"`), `(root): 65536 is beyond the range 0 to 65535`},
		{"negative uint", `"-1"`, tried(u16, `"-1"`), `(root): "-1" does not match the pattern ^(0|[1-9][0-9]*)$`},
		{"float", `"1.5e1"`, tried(f32, `"1.5e1"`), "15"},
		{"float beyond its type", `"1e39"`, tried(f32, `"1e39"`), `(root): 1e39 is beyond the range of a 32-bit number`},
		{"no float", `"NaN"`, tried(f32, `"NaN"`), `(root): "NaN" does not match the pattern ` + real},
		{"bool", `"true"`, tried(sure, `"true"`), "true"},
		{"no bool", `"yes"`, tried(sure, `"yes"`), `(root): "yes" is not one of "true", "false"`},
		{"bare bool", `true`, tried(sure, `true`), `(root): true is a boolean, expected a string`},
		{"named bytes", `"AQI="`, tried(octets, `"AQI="`), `"AQI="`},
		{"no base64", `"!"`, tried(octets, `"!"`), `(root): "!" ` + Base64Message},
		{"text keys", `{"A-1":true,"b-2":false}`, tried(plates, `{"A-1":true,"b-2":false}`), `{"a-1":true,"b-2":false}`},
		{"refused key", `{"x":true}`, tried(plates, `{"x":true}`), `/x: has a name that cannot be decoded: a plate without a dash`},
		{"secret key", `{"password":true}`, tried(plates, `{"password":true}`), `/password: has a name that cannot be decoded`},
		{"equal keys", `{"a-1":true,"A-1":true}`, tried(plates, `{"a-1":true,"A-1":true}`),
			`(root): has two names that decode to the same key`},
		{"a string of two types", `"x"`, tried(either, `"x"`), `"x"`},
		{"an integer of two types", `10e-1`, tried(either, `10e-1`), `1`},
		{"neither of two types", `1.5`, tried(either, `1.5`), `(root): 1.5 is a number, expected a string or an integer`},
		{"null of two types", `null`, tried(either, `null`), `(root): is null, expected a string or an integer`},
		{"too deep", deep, tried(anything, deep), strings.Repeat("/0", DefaultDepth) +
			": is nested deeper than the maximum of 128 levels"},
		{"a fraction", `1.5`, tried(whole, `1.5`), `(root): 1.5 is not an integer`},
		{"raw", `[1]`, tried(some, `[1]`), `[1]`},
		{"raw null", `null`, tried(some, `null`), `null`},
		{"raw of another type", `{}`, tried(some, `{}`), `(root): is an object, expected an array or null`},
		{"default", `{}`, tried(standing, `{}`), `"a-1"`},
		{"has a default that its type does not accept", `{}`, tried(broken, `{}`),
			`/p: has a default that its type does not accept`},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s\n got %s\nwant %s", test.name, test.doc, test.got, test.want)
		}
	}
}

func TestObjectOfManyRequiredProperties(t *testing.T) {
	var names, members []string
	for i := range 66 {
		names = append(names, fmt.Sprint("p", i))
		members = append(members, fmt.Sprintf(`"p%d":true`, i))
	}
	read := func(r *Reader, v *int) {
		o := r.Object(65, names...)
		for o.Next() {
			Bool(r, new(bool))
			*v++
		}
		if o.Next() {
			*v = -1
		}
	}
	for _, test := range []struct {
		members []string
		want    string
	}{
		{members, "66"}, {members[:65], "65"}, {members[:64], "/p64: is required"},
		{members[1:65], "/p0: is required"},
	} {
		if got := tried(read, "{"+strings.Join(test.members, ",")+"}"); got != test.want {
			t.Errorf("%d properties: %s", len(test.members), got)
		}
	}
}

func TestGroupsOfProperties(t *testing.T) {
	names := []string{"a", "b", "c"}
	read := func(oneOf, anyOf [][]string) func(*Reader, *map[string]bool) {
		return func(r *Reader, v *map[string]bool) {
			*v = map[string]bool{}
			o := r.Object(0, names...)
			o.OneOf, o.AnyOf = oneOf, anyOf
			for o.Next() {
				var b bool
				Bool(r, &b)
				(*v)[names[o.Property]] = b
			}
		}
	}
	one := read([][]string{{"a"}, {"b", "c"}}, nil)
	some := read(nil, [][]string{{"a"}, {"b"}})
	only := read(nil, [][]string{{"a", "unheard-of"}})
	for _, test := range []struct{ got, want string }{
		{tried(one, `{"a":true}`), `{"a":true}`},
		{tried(one, `{"a":true,"b":true}`), `{"a":true,"b":true}`},
		{tried(one, `{"b":true}`), "(root): " + NoMatchMessage},
		{tried(one, `{"a":true,"b":true,"c":true}`), "(root): " + ManyMatchesMessage},
		{tried(some, `{"a":true,"b":true}`), `{"a":true,"b":true}`},
		{tried(some, `{"c":true}`), "(root): " + NoMatchMessage},
		{tried(only, `{"c":true}`), "/a: is required; /unheard-of: is required"},
	} {
		if test.got != test.want {
			t.Errorf("got %s\nwant %s", test.got, test.want)
		}
	}
}

func skipAll(r *Reader) {
	for o := r.Object(0); o.Next(); {
	}
}

// tried is what a func reads from a document, as JSON, or what it says of it.
func tried[T any](read func(*Reader, *T), doc string) string {
	v, err := Arguments([]byte(doc), read)
	if err != nil {
		var zero T
		if !reflect.DeepEqual(v, zero) {
			return "a value beside an error"
		}
		return err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
