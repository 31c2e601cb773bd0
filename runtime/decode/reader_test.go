package decode

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
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

func TestReaderTellsEveryProblemAtOnce(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{``, `/id: is required; /name: is required`},
		{`null`, `(root): is null, expected an object`},
		{`{"id":5000,"name":"ok"}`, `/id: 5000 is more than the maximum 4094`},
		{`{"id":1.5,"name":7}`, `/id: 1.5 is not an integer; /name: 7 is a number, expected a string`},
		{`{"id":1,"name":"Grüße!!","nam":1}`, `/nam: unknown property, did you mean "name"?; /name: "Grüße!!" does not match the pattern ^[a-z]+$; /name: "Grüße!!" has 7 characters, more than the maximum 6`},
		{`{"id":1,"name":"a","tags":["a","x","a"]}`, `/tags: has 3 items, more than the maximum 2; /tags: has equal items at 0 and 2, which must differ; /tags/1: "x" is not one of "a", "b", "c"`},
		{`{"id":1,"name":"a","by_name":{"x":0.05,"y":0.3}}`, `/by_name/x: 0.05 is less than the minimum 0.1; /by_name/x: 0.05 is not a multiple of 0.1`},
		{`{"id":1,"name":"a","comment":1}`, `/comment: 1 is a number, expected a string or null`},
		{`{"id":null,"name":"a","limit":null,"inner":{"id":1,"name":null},"tags":[null],"by_name":{"x":null}}`, `/by_name/x: is null, expected a number; /id: is null, expected an integer; /inner/name: is null, expected a string; /limit: is null, expected an integer: leave it out instead; /tags/0: is null, expected a string`},
		{`{"id":1,"name":"a","inner":{"id":0}}`, `/inner/id: 0 is less than the minimum 1; /inner/name: is required`},
		{`{"id":9999,"id":1}`, `/id: stands twice in its object`},
		{`{"id":9999,"inner":{"tags":["a" "b"]}}`, `/inner/tags/1: is not JSON: '"' at byte 32 where ',' or ']' should be`},
		{`{"id":1,"name":"a"} x`, `(root): is not JSON: 'x' at byte 20 where the end should be`},
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
	doc := []byte(`{"n\u0061me":"a\u0062c","id":1e1,"by_name":{"x":0.3},"inner":{"id":-0.2e1,"name":"z"},"comment":null,"tags":[]}`)
	if _, err := Arguments(doc, readParcel); err == nil {
		t.Error("-2 passes for 1 to 4094")
	}
	doc = bytes.Replace(doc, []byte("-0.2e1"), []byte("20e-1"), 1)
	got, err := Arguments(doc, readParcel)
	want := parcel{ID: 10, Name: "abc", Tags: []string{}, ByName: map[string]float64{"x": 0.3}, Limit: 10, Inner: &parcel{ID: 2, Name: "z", Limit: 10}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	clear(doc)
	if got.Name != "abc" {
		t.Error("the value shares memory with the document")
	}
}

// FuzzReader holds the Reader against encoding/json on documents of any shape.
func FuzzReader(f *testing.F) {
	for _, doc := range []string{`{}`, `[1,"a",{"b":null}]`, `1e400`, `"\ud800"`, `{"a":1,"a":2}`, `[[[]]]`, `-0`, " true "} {
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

// BenchmarkReader decodes a parcel with limits of every kind.
func BenchmarkReader(b *testing.B) {
	doc := []byte(`{"id":17,"name":"parcel","tags":["a","b"],"by_name":{"x":0.3,"y":12},"limit":5,"inner":{"id":2,"name":"z"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Arguments(doc, readParcel); err != nil {
			b.Fatal(err)
		}
	}
}
