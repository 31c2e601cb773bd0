package validator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// open accepts every object: what happens is up to the Go type alone.
const open = `{"type":"object"}`

// decoded is what a document becomes, or the error's text.
func decoded[T any](schema, doc string) string {
	v, err := decoderOf[T](schema)(json.RawMessage(doc))
	if err != nil {
		var zero T
		if !reflect.DeepEqual(v, zero) {
			return fmt.Sprintf("half filled: %+v", v)
		}
		return err.Error()
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "cannot be encoded: " + err.Error()
	}
	return string(b)
}

type numbers struct {
	I   int         `json:"i"`
	I8  int8        `json:"i8"`
	U   uint        `json:"u"`
	U8  uint8       `json:"u8"`
	U64 uint64      `json:"u64"`
	F32 float32     `json:"f32"`
	F   float64     `json:"f"`
	P   **int       `json:"p,omitempty"`
	Any any         `json:"any,omitempty"`
	N   json.Number `json:"n"`
}

func TestNumbersFitTheGoType(t *testing.T) {
	number := func(name, literal string) string {
		return decoded[map[string]json.Number](open, `{"`+name+`":`+literal+`}`)
	}
	if got := number("x", "1.50e2"); got != `{"x":1.50e2}` {
		t.Errorf("a json.Number keeps its text: %s", got)
	}
	for _, c := range []struct{ doc, want string }{
		{`{"i":1.0}`, `{"i":1}`},
		{`{"i":1e2}`, `{"i":100}`},
		{`{"i":-0}`, `{"i":0}`},
		{`{"i":-0.0e5}`, `{"i":0}`},
		{`{"i":-12300e-2}`, `{"i":-123}`},
		{`{"i":1.5e1}`, `{"i":15}`},
		{`{"u":-0}`, `{"u":0}`},
		{`{"p":7.0}`, `{"p":7}`},
		{`{"u64":18446744073709551615}`, `{"u64":18446744073709551615}`},
		{`{"f":0.1}`, `{"f":0.1}`},
		{`{"f":1e-400}`, `{"f":0}`},
		{`{"any":[1e2]}`, `{"any":[100]}`},
		{`{"n":"12"}`, `{"n":12}`},
		{`{"i":1.5}`, `/i: 1.5 is not an integer`},
		{`{"i":1e-1}`, `/i: 1e-1 is not an integer`},
		{`{"i":1e20}`, `/i: 1e20 is beyond the range -9223372036854775808 to 9223372036854775807`},
		{`{"i8":-129}`, `/i8: -129 is beyond the range -128 to 127`},
		{`{"u8":256}`, `/u8: 256 is beyond the range 0 to 255`},
		{`{"u":-1}`, `/u: -1 is beyond the range 0 to 18446744073709551615`},
		{`{"u64":18446744073709551616}`, `/u64: 18446744073709551616 is beyond the range 0 to 18446744073709551615`},
		{`{"f32":1e39}`, `/f32: 1e39 is beyond the range of a 32-bit number`},
		{`{"f":1e400}`, `/f: 1e400 is beyond the range of a 64-bit number`},
		{`{"any":{"a":[0,-1e400]}}`, `/any/a/1: -1e400 is beyond the range of a 64-bit number`},
		{`{"n":"x"}`, `/n: "x" is a string, expected a number`},
		{`{"n":" 1"}`, `/n: " 1" is a string, expected a number`},
		{`{"i":1e20,"u8":-1}`, `/i: 1e20 is beyond the range -9223372036854775808 to 9223372036854775807; /u8: -1 is beyond the range 0 to 255`},
	} {
		want := c.want
		if want[0] == '{' {
			want = mergedNumbers(t, want)
		}
		if got := decoded[numbers](open, c.doc); got != want {
			t.Errorf("%s\n got %s\nwant %s", c.doc, got, want)
		}
	}
}

// mergedNumbers is a document of numbers with the zeros of the absent properties.
func mergedNumbers(t *testing.T, doc string) string {
	t.Helper()
	var n numbers
	if err := json.Unmarshal([]byte(doc), &n); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestIntegersAreWrittenAsGoReadsThem(t *testing.T) {
	for _, number := range []string{
		"0", "-0", "0.0", "0e5", "0.000e-3", "1", "-1", "10", "1.0", "1.50", "1.5e1", "1.5e0", "15e-1", "150e-1", "100e-2",
		"1e3", "-1E+3", "0.001e3", "0.0010e3", "0.0015e3", "123456789012345678901234567890", "1e30", "1.23e1", "1200e-3",
	} {
		want, _ := new(big.Rat).SetString(number)
		got, ok := canonicalInteger(number)
		if ok != want.IsInt() || ok && got != want.Num().String() {
			t.Errorf("%s: got %q, %v; want %s", number, got, ok, want)
		}
	}
}

func TestNamesThatDifferInCaseFillNothing(t *testing.T) {
	type inner struct {
		Admin bool `json:"admin"`
	}
	type in struct {
		Name   string           `json:"name"`
		Kelvin int              `json:"kelvin"`
		Inner  inner            `json:"inner"`
		List   []inner          `json:"list,omitempty"`
		Map    map[string]inner `json:"map,omitempty"`
	}
	for _, c := range []struct{ doc, want string }{
		{`{"NAME":"x"}`, `{"name":"","kelvin":0,"inner":{"admin":false}}`},
		{`{"name":"x","Name":"y"}`, `{"name":"x","kelvin":0,"inner":{"admin":false}}`},
		{`{"Name":"y","name":"x","other":1}`, `{"name":"x","kelvin":0,"inner":{"admin":false}}`},
		{`{"\u212aelvin":1}`, `{"name":"","kelvin":0,"inner":{"admin":false}}`},
		{`{"inner":{"Admin":true}}`, `{"name":"","kelvin":0,"inner":{"admin":false}}`},
		{`{"Inner":{"admin":true}}`, `{"name":"","kelvin":0,"inner":{"admin":false}}`},
		{`{"list":[{"aDmin":true},{"admin":true}]}`, `{"name":"","kelvin":0,"inner":{"admin":false},"list":[{"admin":false},{"admin":true}]}`},
		{`{"map":{"A":{"ADMIN":true},"a":{"admin":true}}}`, `{"name":"","kelvin":0,"inner":{"admin":false},"map":{"A":{"admin":false},"a":{"admin":true}}}`},
	} {
		if got := decoded[in](open, c.doc); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.doc, got, c.want)
		}
	}
	if got := decoded[map[string]int](open, `{"A":1,"a":2}`); got != `{"A":1,"a":2}` {
		t.Errorf("a map keeps every name: %s", got)
	}
	if got := refusals(t, `{"type":"object","properties":{"name":{}},"additionalProperties":false}`, `{"Name":1}`); got != `/Name: unknown property, did you mean "name"?` {
		t.Errorf("a closed object refuses: %s", got)
	}
}

func TestTypesThatTheSchemaDoesNotMatchAreReportedWithTheirPlace(t *testing.T) {
	type in struct {
		S    string         `json:"s"`
		B    bool           `json:"b"`
		I    int            `json:"i"`
		F    float64        `json:"f"`
		L    []int          `json:"l"`
		A    [2]int         `json:"a"`
		M    map[string]int `json:"m"`
		St   struct{}       `json:"st"`
		E    error          `json:"e"`
		C    chan int       `json:"c"`
		Null int            `json:"null"`
	}
	doc := `{"s":1,"b":"x","i":"x","f":[],"l":{},"a":[1,2,3],"m":[],"st":"x","e":{},"c":1,"null":null}`
	want := `/a: has 3 items, more than the maximum 2; /b: "x" is a string, expected a boolean; /c: 1 cannot be decoded; ` +
		`/e: cannot be decoded; /f: is an array, expected a number; /i: "x" is a string, expected an integer; ` +
		`/l: is an object, expected an array; /m: is an array, expected an object; /s: 1 is a number, expected a string; ` +
		`/st: "x" is a string, expected an object`
	if got := decoded[in](open, doc); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestMapsWithIntegerNames(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{`{"1":"a","-2":"b"}`, `{"-2":"b","1":"a"}`},
		{`{"x":"a"}`, `/x: has a name that is not an integer in range`},
		{`{"200":"a"}`, `/200: has a name that is not an integer in range`},
	} {
		if got := decoded[map[int8]string](open, c.doc); got != c.want {
			t.Errorf("%s: got %s, want %s", c.doc, got, c.want)
		}
	}
	if got := decoded[map[uint]string](open, `{"-1":"a"}`); got != `/-1: has a name that is not an integer in range` {
		t.Errorf("got %s", got)
	}
	if got := decoded[map[uint]string](open, `{"7":"a"}`); got != `{"7":"a"}` {
		t.Errorf("got %s", got)
	}
	if got := decoded[map[int]string](open, `{"1":"a","01":"b"}`); !strings.Contains(got,
		"has two names that decode to the same key") {
		t.Errorf("two names of one number: %s", got)
	}
	if got := decoded[map[netip.Addr]int](open, `{"192.0.2.1":1}`); got != `{"192.0.2.1":1}` {
		t.Errorf("got %s", got)
	}
	if got := decoded[map[netip.Addr]int](open, `{"nowhere":1}`); !strings.HasPrefix(got, `/nowhere: has a name that cannot be decoded: `) {
		t.Errorf("got %s", got)
	}
}

func TestBytesAreBase64(t *testing.T) {
	type in struct {
		B []byte `json:"b"`
	}
	for _, c := range []struct{ doc, want string }{
		{`{"b":"aGk="}`, `{"b":"aGk="}`},
		{`{"b":"aG\nl="}`, `{"b":"aGk="}`},
		{`{"b":[104,105]}`, `{"b":"aGk="}`},
		{`{"b":[256]}`, `/b/0: 256 is beyond the range 0 to 255`},
		{`{"b":"aGk"}`, `/b: "aGk" is not base64 (RFC 4648, standard alphabet, with padding)`},
	} {
		if got := decoded[in](open, c.doc); got != c.want {
			t.Errorf("%s: got %s, want %s", c.doc, got, c.want)
		}
	}
}

func TestTheStringOptionMeansNothingForASlice(t *testing.T) {
	if f := fields(oddTags[1])["quoted"]; f.quoted {
		t.Error("a slice is not quoted")
	}
}

func TestTheStringOption(t *testing.T) {
	type in struct {
		I int     `json:"i,string"`
		F float64 `json:"f,string"`
		B *bool   `json:"b,omitempty,string"`
	}
	for _, c := range []struct{ doc, want string }{
		{`{"i":"5","f":"0.5","b":"true"}`, `{"i":"5","f":"0.5","b":"true"}`},
		{`{"i":"5.0"}`, `{"i":"5","f":"0"}`},
		{`{"i":"x"}`, `/i: "x" is not a value in quotes`},
		{`{"i":"1e999999999"}`, `/i: "1e999999999" is not a value in quotes`},
		{`{"i":"1.5"}`, `/i: 1.5 is not an integer`},
		{`{"b":"1"}`, `/b: 1 is a number, expected a boolean`},
	} {
		if got := decoded[in](open, c.doc); got != c.want {
			t.Errorf("%s: got %s, want %s", c.doc, got, c.want)
		}
	}
}

// even refuses odd numbers and repeats them.
type even int

func (e *even) UnmarshalJSON(b []byte) error {
	var n int
	if err := json.Unmarshal(b, &n); err != nil || n%2 != 0 {
		return fmt.Errorf("%s is odd", b)
	}
	*e = even(n)
	return nil
}

// span is an object with a rule over two properties.
type span struct {
	From, To int
	Token    string `json:",omitempty"`
}

func (s *span) UnmarshalJSON(b []byte) error {
	type plain span
	if err := json.Unmarshal(b, (*plain)(s)); err != nil {
		return err
	}
	if s.From > s.To {
		return errors.New("the span ends before it begins, " + s.Token)
	}
	return nil
}

func TestATypesOwnMethodIsReportedWithItsPlace(t *testing.T) {
	type in struct {
		Even   even            `json:"even"`
		Evens  []*even         `json:"evens,omitempty"`
		Addr   netip.Addr      `json:"addr"`
		Span   span            `json:"span"`
		APIKey even            `json:"api_key"`
		Raw    json.RawMessage `json:"raw,omitempty"`
	}
	for _, c := range []struct{ doc, want string }{
		{`{"even":2,"addr":"::1","raw":{"b":[1.0, 2]}}`, `{"even":2,"addr":"::1","span":{"From":0,"To":0},"api_key":0,"raw":{"b":[1.0,2]}}`},
		{`{"even":3,"evens":[2,5],"addr":"nowhere"}`, `/addr: "nowhere" cannot be decoded: ParseAddr("nowhere"): unable to parse IP; /even: 3 cannot be decoded: 3 is odd; /evens/1: 5 cannot be decoded: 5 is odd`},
		{`{"addr":7}`, `/addr: 7 is a number, expected a string`},
		{`{"addr":{}}`, `/addr: is an object, expected a string`},
		{`{"addr":[]}`, `/addr: is an array, expected a string`},
		{`{"addr":null}`, `{"even":0,"addr":"","span":{"From":0,"To":0},"api_key":0}`},
		{`{"span":{"From":2,"To":1}}`, `/span: cannot be decoded: the span ends before it begins, `},
		{`{"span":{"From":2,"To":1,"Token":"hunter2"}}`, `/span: cannot be decoded`},
		{`{"span":{"From":2,"To":1,"List":[{"password":1}]}}`, `/span: cannot be decoded`},
		{`{"api_key":3}`, `/api_key: cannot be decoded`},
	} {
		if got := decoded[in](open, c.doc); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.doc, got, c.want)
		}
	}
}

func TestTimesOfRFC3339(t *testing.T) {
	type in struct {
		At   time.Time `json:"at"`
		Text string    `json:"text"`
	}
	schema := `{"properties":{"at":{"type":"string","format":"date-time"},"text":{"type":"string","format":"date-time"}}}`
	got := decoded[in](schema, `{"at":"2026-01-31t15:04:05.5z","text":"2026-01-31t15:04:05z"}`)
	if want := `{"at":"2026-01-31T15:04:05.5Z","text":"2026-01-31t15:04:05z"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

type deepest struct {
	A      string `json:"a"`
	Hidden string `json:"hidden"`
}

type Left struct {
	deepest
	Both string
	L    string
}

type Right struct {
	Both   string
	R      string `json:"r"`
	Tagged string `json:"Winner"`
}

type Plain struct {
	Winner string
}

type Pointed struct {
	*deepest
	InPointed string
}

type lower string

type shapes struct {
	Left
	Right
	Plain
	lower          // not a struct, unexported: no property
	Named   Left   `json:"named"`
	Skipped int    `json:"-"`
	Hidden  string `json:"hidden"`
	private int
	Time    time.Time `json:"ti me"`
	Cyclic  *shapes   `json:"cyclic"`
}

type twice struct {
	Left
	Right
	Pointed
}

type cyclic struct {
	*cyclic2
	X int
}

type cyclic2 struct {
	*cyclic
	Y int
}

// oddTags are made at run time, because go vet and staticcheck do not let them be written.
var oddTags = []reflect.Type{
	reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"same"`},
		{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"same"`},
		{Name: "C", Type: reflect.TypeFor[int]()},
	}),
	reflect.StructOf([]reflect.StructField{
		{Name: "Dash", Type: reflect.TypeFor[int](), Tag: `json:"-,"`},
		{Name: "Quote", Type: reflect.TypeFor[int](), Tag: `json:"bad\"name"`},
		{Name: "Quoted", Type: reflect.TypeFor[[]int](), Tag: `json:"quoted,string"`},
	}),
}

func TestPropertiesAreThoseOfEncodingJSON(t *testing.T) {
	_ = shapes{private: 0, lower: ""}
	values := []any{
		shapes{}, Left{}, Right{}, struct{}{},
		twice{Pointed: Pointed{deepest: &deepest{}}},
		Pointed{deepest: &deepest{}},
		cyclic{cyclic2: &cyclic2{}},
		struct {
			Left `json:"left"`
			Right
		}{},
		struct {
			*deepest `json:"d"`
			lower    `json:"lower"`
		}{},
		struct {
			Left `json:"-"`
			R    int `json:"r,omitzero"`
		}{R: 1},
	}
	for _, t := range oddTags {
		values = append(values, reflect.New(t).Elem().Interface())
	}
	for _, v := range values {
		doc, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var properties map[string]json.RawMessage
		if err := json.Unmarshal(doc, &properties); err != nil {
			t.Fatal(err)
		}
		got, want := slices.Sorted(maps.Keys(fields(reflect.TypeOf(v)))), slices.Sorted(maps.Keys(properties))
		if !slices.Equal(got, want) {
			t.Errorf("%T\n got %q\nwant %q", v, got, want)
		}
	}
}

func TestWhatOnlyEncodingJSONRefusesIsAProblemOfTheWhole(t *testing.T) {
	// encoding/json cannot allocate an embedded pointer to an unexported struct.
	if got, want := decoded[Pointed](open, `{"a":"x"}`), `(root): cannot be decoded`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAHostileDocumentHasABoundedRefusal(t *testing.T) {
	many := strings.Repeat(`"x",`, decode.DefaultValues-3) + `"x"`
	type in struct {
		List []int `json:"list"`
	}
	for name, schema := range map[string]string{
		"by the schema": `{"properties":{"list":{"items":{"type":"integer"}}}}`,
		"by the type":   open,
	} {
		_, err := decoderOf[in](schema)(json.RawMessage(`{"list":[` + many + `]}`))
		var e *decode.Error
		if !errors.As(err, &e) || len(e.Problems) != decode.MaxProblems+1 || e.Problems[1].Pointer != "/list/1" {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}
