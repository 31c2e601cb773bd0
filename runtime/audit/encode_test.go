package audit_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

var odd = []string{"", "a", "tool name", "é", "\u2028\u2029", "<a href=\"x\">&'\\",
	"\x00\b\f\n\r\t\x1f",
	"\x7f", "\u0080", "\u202egpj.exe\U000e0041", "\xff\xc0bad", "\U0001f600", "/" + strings.Repeat("long ", 300)}

// arbitrary sets each field of a value, so that a field that is new is part of the test.
func arbitrary(r *rand.Rand, v reflect.Value) {
	if _, ok := v.Interface().(time.Time); ok {
		zones := []*time.Location{time.UTC, time.Local, time.FixedZone("east", 5*3600+1800),
			time.FixedZone("west", -11*3600)}
		at := time.Unix(r.Int64N(1<<33)-1<<32, r.Int64N(1e9)*r.Int64N(2))
		v.Set(reflect.ValueOf(at.In(zones[r.IntN(len(zones))])))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(odd[r.IntN(len(odd))])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, math.MaxInt64, r.Int64()}[r.IntN(5)])
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Float64:
		v.SetFloat([]float64{0, math.Copysign(0, -1), 1, 1e-6, 9.9e-7, 1e21, 9.9e20, -12.25,
			math.Float64frombits(r.Uint64N(0x7ff << 52)), r.Float64() * 1000}[r.IntN(10)])
	case reflect.Pointer:
		if r.IntN(2) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			arbitrary(r, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			arbitrary(r, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			arbitrary(r, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			arbitrary(r, v.Field(i))
		}
	default:
		panic(fmt.Sprint("no arbitrary value of ", v.Type()))
	}
}

// visible has the escapes of the odd characters that JSON leaves as they are.
var visible = strings.NewReplacer("\x7f", `\u007f`, "\u0080", `\u0080`, "\u202e", `\u202e`,
	"\U000e0041", `\udb40\udc41`)

// The text of a record is what chains authenticate and what earlier versions have written.
func TestTextOfAnEventIsThatOfEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 4))
	for i := range 20_000 {
		var e audit.Event
		if arbitrary(r, reflect.ValueOf(&e).Elem()); i < 20 {
			e = audit.Event{Time: e.Time, Milliseconds: e.Milliseconds}
		}
		type fields audit.Event // without its own method
		plain, err := json.Marshal(fields(e))
		if err != nil {
			t.Fatal(err)
		}
		want := visible.Replace(string(plain))
		if through, err := json.Marshal(e); err != nil || string(through) != want {
			t.Fatalf("%v\n%s\n%s", err, through, want)
		}
		got, err := e.Encode(i % 100)
		if err != nil || string(got) != want || cap(got) < len(got)+i%100 {
			t.Fatalf("%v, room for %d\n%s\n%s", err, cap(got)-len(got), got, want)
		}
		if e.Chain != nil {
			text, _ := json.Marshal(e.Chain)
			if want := visible.Replace(string(text)); string(e.Chain.Append(nil)) != want {
				t.Fatalf("%s, not %s", e.Chain.Append(nil), want)
			}
		}
	}
	for _, e := range []audit.Event{{Milliseconds: math.NaN()}, {Milliseconds: math.Inf(-1)},
		{Time: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.FixedZone("far", 30*3600))}} {
		type fields audit.Event
		_, want := json.Marshal(fields(e))
		if text, err := e.Encode(0); err == nil || want == nil {
			t.Errorf("%s, %v and %v", text, err, want)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	e := audit.Event{Time: time.Now(), Type: audit.ToolCalled, RequestID: "01234567890123456789",
		Issuer: "https://id.example", Principal: "ada", Client: "cli", Roles: []string{"Member"},
		Tool:   "book",
		Status: audit.Success, Milliseconds: 1.234567}
	for _, name := range []string{"parcel", "depot", "weight", "speed", "labels"} {
		e.Arguments = append(e.Arguments, audit.Argument{Name: name, Bytes: 5,
			Digest: audit.DigestOf([]byte(name))})
	}
	b.Run("json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = json.Marshal(e)
		}
	})
	b.Run("Encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = e.Encode(0)
		}
	})
}
