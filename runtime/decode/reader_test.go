package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// parcel is what a generated decoder's type looks like.
type parcel struct {
	ID      int32
	Name    string
	Tags    []string
	Inner   *parcel
	ByName  map[string]float64
	Limit   int
	Comment *string
}

func readParcel(r *Reader, v *parcel) {
	v.Limit = 10
	o := r.Object(2, "id", "name", "tags", "inner", "by_name", "limit", "comment")
	for o.Next() {
		switch o.Property {
		case 0: // id
			Int(r, &v.ID, 1, 4094)
		case 1: // name
			String(r, &v.Name).MinLength(1).MaxLength(6).Match("^[a-z]+$")
		case 2: // tags
			Slice(r, &v.Tags, func(r *Reader, v *string) {
				String(r, v).OneOf("a", "b", "c")
			}).MaxItems(2).Unique()
		case 3: // inner
			readParcel(r, New(&v.Inner))
		case 4: // by_name
			Map(r, &v.ByName, StringKey, func(r *Reader, v *float64) {
				Float(r, v).Minimum("0.1").MultipleOf("0.1")
			})
		case 5: // limit
			Int(r, &v.Limit, 0, 100)
		case 6: // comment
			if !r.Null() {
				String(r, New(&v.Comment))
			}
		}
	}
}

func TestReaderReportsEveryProblemAtOnce(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{``, `/id: is required; /name: is required`},
		{`null`, `(root): is null, expected an object`},
		{`{"id":5000,"name":"ok"}`, `/id: 5000 is more than the maximum 4094`},
		{`{"id":1.5,"name":7}`,
			`/id: 1.5 is not an integer; /name: 7 is a number, expected a string`},
		{`{"id":1,"name":"Grüße!!","nam":1}`,
			`/nam: unknown property, did you mean "name"?; /name: "Grüße!!" does not match the pattern ^[a-z]+$; /name: "Grüße!!" has 7 characters, more than the maximum 6`},
		{`{"id":1,"name":"a","tags":["a","x","a"]}`,
			`/tags: has 3 items, more than the maximum 2; /tags: has equal items at 0 and 2, which must differ; /tags/1: "x" is not one of "a", "b", "c"`},
		{`{"id":1,"name":"a","by_name":{"x":0.05,"y":0.3}}`,
			`/by_name/x: 0.05 is less than the minimum 0.1; /by_name/x: 0.05 is not a multiple of 0.1`},
		{`{"id":1,"name":"a","comment":1}`, `/comment: 1 is a number, expected a string or null`},
		{`{"id":null,"name":"a","limit":null,"inner":{"id":1,"name":null},"tags":[null],"by_name":{"x":null}}`,
			`/by_name/x: is null, expected a number; /id: is null, expected an integer; /inner/name: ` +
				`is null, expected a string; /limit: is null, expected an integer: omit it instead; ` +
				`/tags/0: is null, expected a string`},
		{`{"id":1,"name":"a","inner":{"id":0}}`,
			`/inner/id: 0 is less than the minimum 1; /inner/name: is required`},
		{`{"id":9999,"id":1}`, `/id: is twice in its object`},
		{`{"id":9999,"inner":{"tags":["a" "b"]}}`,
			`/inner/tags/1: is not JSON: '"' at byte 32 where ',' or ']' is expected`},
		{`{"id":1,"name":"a"} x`, `(root): is not JSON: 'x' at byte 20 where the end is expected`},
	} {
		value, err := Arguments([]byte(c.doc), readParcel)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.doc, err, c.want)
		}
		if !reflect.DeepEqual(value, parcel{}) {
			t.Errorf("%s half fills %+v", c.doc, value)
		}
	}
}

func TestReaderTakesEveryWritingAndFillsDefaults(t *testing.T) {
	doc := []byte(
		`{"n\u0061me":"a\u0062c","id":1e1,"by_name":{"x":0.3},"inner":{"id":-0.2e1,"name":"z"},"comment":null,"tags":[]}`)
	if _, err := Arguments(doc, readParcel); err == nil {
		t.Error("-2 passes for 1 to 4094")
	}
	doc = bytes.Replace(doc, []byte("-0.2e1"), []byte("20e-1"), 1)
	got, err := Arguments(doc, readParcel)
	want := parcel{ID: 10, Name: "abc", Tags: []string{}, ByName: map[string]float64{"x": 0.3},
		Limit: 10, Inner: &parcel{ID: 2, Name: "z", Limit: 10}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	clear(doc)
	if got.Name != "abc" {
		t.Error("the value shares memory with the document")
	}
}

// reading returns what a document's property "v" is read as, or the problem with it.
func reading[T any](read func(*Reader, *T)) func(doc string) string {
	return func(doc string) string {
		v, err := Arguments([]byte(`{"v":`+doc+`}`), func(r *Reader, v *T) {
			for o := r.Object(1, "v"); o.Next(); {
				read(r, v)
			}
		})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%v", v)
	}
}

// size is a key that reads its own text.
type size int

func (s *size) UnmarshalText(text []byte) error {
	sizes := []string{"small", "large"}
	if *s = size(slices.Index(sizes, string(text))); *s < 0 {
		return errors.New("is not a size")
	}
	return nil
}

func TestReadersOfOneValue(t *testing.T) {
	number := func(r *Reader, v *int) { Int(r, v, -20, 20) }
	for name, test := range map[string]struct {
		read func(doc string) string
		want map[string]string // by document
	}{
		"int": {reading(number), map[string]string{
			`20`:                    "20",
			`-20`:                   "-20",
			`-0`:                    "0",
			`-0.0`:                  "0",
			`2e1`:                   "20",
			`21`:                    "/v: 21 is more than the maximum 20",
			`-21`:                   "/v: -21 is less than the minimum -20",
			`99999999999999999999`:  "/v: 99999999999999999999 is more than the maximum 20",
			`-99999999999999999999`: "/v: -99999999999999999999 is less than the minimum -20",
			`"2"`:                   `/v: "2" is a string, expected an integer`,
			`-`:                     "/v: is not JSON: '}' at byte 6 where a digit is expected",
		}},
		"int64": {reading(func(r *Reader, v *int64) { Int(r, v, math.MinInt64, math.MaxInt64) }),
			map[string]string{
				`9223372036854775807`:  "9223372036854775807",
				`-9223372036854775808`: "-9223372036854775808",
				`9223372036854775808`: "/v: 9223372036854775808 is beyond the range " +
					"-9223372036854775808 to 9223372036854775807",
				`-1e19`: "/v: -1e19 is beyond the range " +
					"-9223372036854775808 to 9223372036854775807",
			}},
		"int8 of an int": {reading(func(r *Reader, v *int8) { Int(r, v, -1000, 1000) }),
			map[string]string{
				`127`: "127",
				`128`: `/v: 128 is beyond the range -2147483648 to 2147483647`,
			}},
		"uint": {reading(func(r *Reader, v *uint64) { Uint(r, v, 3, 1<<64-1) }), map[string]string{
			`3`:                    "3",
			`18446744073709551615`: "18446744073709551615",
			`2`:                    "/v: 2 is less than the minimum 3",
			`-1`:                   "/v: -1 is less than the minimum 3",
			`18446744073709551616`: "/v: 18446744073709551616 is beyond the range 0 to 18446744073709551615",
			`true`:                 "/v: true is a boolean, expected an integer",
		}},
		"uint8 of a uint": {reading(func(r *Reader, v *uint8) { Uint(r, v, 0, 1000) }),
			map[string]string{
				`255`: "255",
				`256`: `/v: 256 is beyond the range 0 to 4294967295`,
			}},
		"float": {reading(func(r *Reader, v *float32) {
			Float(r, v).Maximum("8").Above("-1").Below("9").OneOf("1", "8")
		}),
			map[string]string{
				`8`:   "8",
				`1e0`: "1",
				`9`: `/v: 9 is more than the maximum 8; ` +
					`/v: 9 is not less than 9; ` +
					`/v: 9 is not one of 1, 8`,
				`-1`: `/v: -1 is not more than -1; /v: -1 is not one of 1, 8`,
				`1e39`: `/v: 1e39 is beyond the range of a 32-bit number; ` +
					`/v: 1e39 is more than the maximum 8; ` +
					`/v: 1e39 is not less than 9; ` +
					`/v: 1e39 is not one of 1, 8`,
				`[]`: `/v: is an array, expected a number`,
				`2`:  `/v: 2 is not one of 1, 8`,
			}},
		"json.Number": {reading(func(r *Reader, v *json.Number) { r.Numeral(v) }),
			map[string]string{
				`1.50`: "1.50",
				`"x"`:  `/v: "x" is a string, expected a number`,
			}},
		"big.Int": {reading(func(r *Reader, v *big.Int) { r.BigInt(v).Minimum("-5") }),
			map[string]string{
				`1e2`: "{false [100]}",
				`-6`:  `/v: -6 is less than the minimum -5`,
				`0.5`: `/v: 0.5 is not an integer`,
				`{}`:  `/v: is an object, expected an integer`,
			}},
		"array": {reading(func(r *Reader, v *[2]int) {
			Array(r, v[:], number).MinItems(2).MaxItems(2)
		}),
			map[string]string{
				`[1,2]`:     "[1 2]",
				`[1]`:       `/v: has 1 item, fewer than the minimum 2`,
				`[1,2,3]`:   `/v: has 3 items, more than the maximum 2`,
				`[1,2,"x"]`: `/v: has 3 items, more than the maximum 2; /v/2: "x" is a string, expected an integer`,
				`{}`:        `/v: is an object, expected an array`,
				`[1 2]`:     `/v/1: is not JSON: '2' at byte 8 where ',' or ']' is expected`,
				`null`:      `/v: is null, expected an array`,
			}},
		"slice": {reading(func(r *Reader, v *[]int) { Slice(r, v, number).MinItems(1).Unique() }),
			map[string]string{
				`[1]`:     "[1]",
				`[]`:      `/v: has 0 items, fewer than the minimum 1`,
				`[1,1.0]`: `/v: has equal items at 0 and 1, which must differ`,
				`1`:       `/v: 1 is a number, expected an array`,
			}},
		"map of names": {reading(func(r *Reader, v *map[string]int) {
			Map(r, v, StringKey, number)
		}),
			map[string]string{
				`{"a":1,"b":2}`: "map[a:1 b:2]",
				`[]`:            `/v: is an array, expected an object`,
				`{"a":1,"a":2}`: `/v/a: is twice in its object`,
				`{"a" 1}`:       `/v/a: is not JSON: '1' at byte 10 where ':' is expected`,
				`{"a":1 "b"}`:   `/v: is not JSON: '"' at byte 12 where ',' or '}' is expected`,
			}},
		"map of an enum": {reading(func(r *Reader, v *map[string]int) {
			Map(r, v, func(r *Reader, name []byte,
				k *string) bool {
				return EnumKey(r, name, k, "a", "b")
			}, number)
		}), map[string]string{
			`{"b":2}`: "map[b:2]",
			`{"c":2}`: `/v/c: is not a valid name: it is not one of "a", "b"`,
		}},
		"map of ints": {reading(func(r *Reader, v *map[int8]int) { Map(r, v, IntKey, number) }),
			map[string]string{
				`{"-1":1,"127":2}`: "map[-1:1 127:2]",
				`{"128":1}`:        `/v/128: has a name that is not an integer in range`,
				`{"01":1}`:         `/v/01: unknown property`,
				`{"+1":1}`:         `/v/+1: unknown property`,
				`{"-0":1}`:         `/v/-0: unknown property`,
				`{"x":1}`:          `/v/x: unknown property`,
				`{"":1}`:           `/v/: unknown property`,
			}},
		"map of uints": {reading(func(r *Reader, v *map[uint8]int) { Map(r, v, UintKey, number) }),
			map[string]string{
				`{"0":1}`:   "map[0:1]",
				`{"256":1}`: `/v/256: has a name that is not an integer in range`,
				`{"-1":1}`:  `/v/-1: unknown property`,
				`{"x":1}`:   `/v/x: unknown property`,
			}},
		"map of texts": {reading(func(r *Reader, v *map[size]int) { Map(r, v, TextKey, number) }),
			map[string]string{
				`{"small":1,"large":2}`: "map[0:1 1:2]",
				`{"huge":1}`:            `/v/huge: has a name that cannot be decoded: is not a size`,
			}},
		"map of texts that are one key": {reading(func(r *Reader, v *map[string]int) {
			Map(r, v, func(_ *Reader, name []byte, k *string) bool {
				*k = strings.ToLower(string(name))
				return true
			}, number)
		}), map[string]string{
			`{"A":1}`:       "map[a:1]",
			`{"A":1,"a":2}`: `/v: has two names that decode to the same key`,
		}},
		"bool": {reading(func(r *Reader, v *bool) { Bool(r, v).OneOf("true") }), map[string]string{
			`true`:  "true",
			`false`: `/v: false is not true`,
			`null`:  `/v: is null, expected a boolean`,
			`1`:     `/v: 1 is a number, expected a boolean`,
			`tru`:   `/v: is not JSON: '}' at byte 8 where true is expected`,
		}},
		"bytes": {reading(func(r *Reader, v *[]byte) { Bytes(r, v).MinLength(4) }),
			map[string]string{
				`"AQI="`: "[1 2]",
				`"AQ"`: `/v: "AQ" has 2 characters, fewer than the minimum 4; ` +
					`/v: "AQ" is not base64 (RFC 4648, standard alphabet, with padding)`,
				`""`: `/v: "" has 0 characters, fewer than the minimum 4`,
				`1`:  `/v: 1 is a number, expected a string`,
			}},
		"bytes of a type": {reading(func(r *Reader, v *[]letter) { BytesOf(r, v) }),
			map[string]string{
				`"AQI="`: "[1 2]",
				`1`:      `/v: 1 is a number, expected a string`,
			}},
		"time": {reading(func(r *Reader, v *time.Time) { r.Time(v) }), map[string]string{
			`"2026-01-02t03:04:05z"`: "2026-01-02 03:04:05 +0000 UTC",
			`"2026-01-02"`: `/v: "2026-01-02" ` +
				`is not a valid date-time, for example 2026-01-31T15:04:05Z`,
			`1`: `/v: 1 is a number, expected a string`,
			`"2026-02-30T00:00:00Z"`: `/v: "2026-02-30T00:00:00Z" ` +
				`is not a valid date-time, for example 2026-01-31T15:04:05Z`,
		}},
		"text": {reading(func(r *Reader, v *size) { r.Unmarshal(v) }), map[string]string{
			`"large"`: "1",
			`"huge"`:  `/v: "huge" cannot be decoded: is not a size`,
			`1`:       `/v: 1 is a number, expected a string`,
		}},
		"enum": {reading(func(r *Reader, v *string) {
			String(r, v).OneOf("a", "b").MinLength(9).MaxLength(0).Match("x").Format("date")
		}), map[string]string{
			`"c"`: `/v: "c" is not one of "a", "b"`,
			`1`:   `/v: 1 is a number, expected a string`,
			`"a`:  `/v: is not JSON: the text ends where '"' is expected`,
		}},
		"length": {reading(func(r *Reader, v *string) {
			String(r, v).MinLength(2).MaxLength(2)
		}), map[string]string{
			`"äö"`:  "äö", // two characters of two bytes
			`"äöü"`: `/v: "äöü" has 3 characters, more than the maximum 2`,
			`"ä"`:   `/v: "ä" has 1 character, fewer than the minimum 2`,
		}},
		"any": {reading(func(r *Reader, v *any) { r.Any(v) }), map[string]string{
			`{"a":[1,"\u0062",true,null,{}]}`: "map[a:[1 b true <nil> map[]]]",
			`1e999`:                           `/v: 1e999 has an exponent beyond 400`,
			`{"a":1,"a":1}`:                   `/v/a: is twice in its object`,
			`[1`:                              `/v/1: is not JSON: '}' at byte 7 where ',' or ']' is expected`,
			`"x`:                              `/v: is not JSON: the text ends where '"' is expected`,
			`nul`:                             `/v: is not JSON: '}' at byte 8 where null is expected`,
			`-`:                               `/v: is not JSON: '}' at byte 6 where a digit is expected`,
		}},
		"any of types": {reading(func(r *Reader, v *any) { r.Any(v, "integer", "string") }),
			map[string]string{
				`1.0`: "1",
				`"x"`: "x",
				`1.5`: `/v: 1.5 is a number, expected an integer or a string`,
				`[]`:  `/v: is an array, expected an integer or a string`,
			}},
		"raw": {reading(func(r *Reader, v *json.RawMessage) { r.Raw(v, "object", "array") }),
			map[string]string{
				`[1, 2]`: "[91 49 44 32 50 93]",
				`"x"`:    `/v: "x" is a string, expected an object or an array`,
				`[1`:     `/v/1: is not JSON: '}' at byte 7 where ',' or ']' is expected`,
			}},
	} {
		for doc, want := range test.want {
			if got := test.read(doc); got != want {
				t.Errorf("%s %s: %s, want %s", name, doc, got, want)
			}
		}
	}
}

type letter byte

// FuzzReader holds the Reader against encoding/json on documents of any shape.
func FuzzReader(f *testing.F) {
	for _, doc := range []string{`{}`, `[1,"a",{"b":null}]`, `1e400`, `"\ud800"`, `{"a":1,"a":2}`,
		`[[[]]]`, `-0`, " true "} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if len(doc) == 0 {
			return
		}
		got, err := Arguments(doc, func(r *Reader, v *any) { r.Any(v) })
		if scanned := Scan(doc, Limits{}); scanned != nil {
			if err == nil || err.Error() != scanned.Error() {
				t.Fatalf("%q: %v, but Scan says %v", doc, err, scanned)
			}
			return
		}
		var want any
		if wantErr := json.Unmarshal(doc, &want); (wantErr == nil) != (err == nil) {
			t.Fatalf("%q: %v, but encoding/json says %v", doc, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v, but encoding/json has %v", doc, got, want)
		}
	})
}

func TestNothingTakesTheEmptyObjectAlone(t *testing.T) {
	for doc, ok := range map[string]bool{`{}`: true, ` { } `: true, `{"a":1}`: false, `[]`: false,
		`null`: false, ``: true, `{}{}`: false} {
		if err := Begin([]byte(doc)).Nothing(); (err == nil) != ok {
			t.Errorf("%q: %v", doc, err)
		}
	}
}

// BenchmarkReader decodes a parcel with limits of every kind.
func BenchmarkReader(b *testing.B) {
	doc := []byte(
		`{"id":17,"name":"parcel","tags":["a","b"],"by_name":{"x":0.3,"y":12},"limit":5,"inner":{"id":2,"name":"z"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Arguments(doc, readParcel); err != nil {
			b.Fatal(err)
		}
	}
}
