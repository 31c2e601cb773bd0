// Package types is the corpus of the schema walker: every field of Corpus is a case.
package types

import (
	"encoding/json"
	"net"
	"net/url"
	"time"
)

// Empty has nothing.
type Empty struct{}

// Numbers has every number.
type Numbers struct {
	Int   int     `json:"int"`
	I8    int8    `json:"i8"`
	I16   int16   `json:"i16"`
	I32   int32   `json:"i32"`
	I64   int64   `json:"i64"`
	Uint  uint    `json:"uint"`
	U8    uint8   `json:"u8"`
	U16   uint16  `json:"u16"`
	U32   uint32  `json:"u32"`
	U64   uint64  `json:"u64"`
	F32   float32 `json:"f32"`
	F64   float64 `json:"f64"`
	Byte  byte    `json:"byte"`
	Rune  rune    `json:"rune"`
	Bool  bool    `json:"bool"`
	Text  string  `json:"text"`
	Named Level   `json:"named"`
}

// Level is a named integer.
type Level int16

// Label is a named string without constants.
type Label string

// Flag is a named bool.
type Flag bool

// Ratio is a named float.
type Ratio float32

// Person is described. It has a second sentence,
// and a second line.
type Person struct {
	// Name is what people say.
	Name string `json:"name"`
	Age  int    `json:"age,omitempty"` // Age in years.
	// Both comes first.
	Both  string `json:"both"` // Not this.
	Plain string
	Zero  string `json:"zero,omitzero"`
	Gone  string `json:"-"`
	quiet string
	Ptr   *string  `json:"ptr"`
	Opt   *string  `json:"opt,omitempty"`
	Deep  **string `json:"deep"`
}

// Twice has two fields of one name.
type Twice struct {
	A string `json:"name"`
	B string `json:"name,omitempty" jsonschema:"title=Again"`
}

var _ = Person{quiet: ""}.quiet

type (
	// Grouped stands in a group.
	Grouped struct {
		A string `json:"a"`
	}
	// Second stands below it.
	Second struct {
		B Grouped `json:"b"`
	}
)

type unexported struct {
	// Field is not seen by the Reflector's comments.
	Field string `json:"field"`
}

// Holds has fields of all kinds of named types.
type Holds struct {
	Level  Level         `json:"level"`
	Label  Label         `json:"label"`
	Flag   Flag          `json:"flag"`
	Ratio  Ratio         `json:"ratio"`
	List   Labels        `json:"list"`
	Table  Table         `json:"table"`
	Fixed  Fixed         `json:"fixed"`
	Person Person        `json:"person"`
	Ptr    *Person       `json:"ptr,omitempty"`
	Time   time.Time     `json:"time"`
	When   *time.Time    `json:"when,omitempty"`
	Wait   time.Duration `json:"wait"`
	Inner  unexported    `json:"inner"`
	// Anon is written in place.
	Anon struct {
		// Depth is in metres.
		Depth int `json:"depth"`
		Inner struct {
			Width int `json:"width"` // Width is in inches.
		} `json:"inner"`
	} `json:"anon"`
	Rows []struct {
		Cell string `json:"cell"`
	} `json:"rows"`
}

// Labels is a named list.
type Labels []Label

// Table is a named map.
type Table map[string]Person

// Fixed is a named array.
type Fixed [3]int

// Lists has every kind of list.
type Lists struct {
	Strings []string         `json:"strings"`
	Ints    []int            `json:"ints"`
	Nested  [][]string       `json:"nested"`
	Ptrs    []*Person        `json:"ptrs"`
	Bytes   []byte           `json:"bytes"`
	Hash    [4]byte          `json:"hash"`
	Matrix  [2][3]float64    `json:"matrix"`
	Octets  []Octet          `json:"octets"`
	Raw     Blob             `json:"raw"`
	Any     []any            `json:"any"`
	Maps    []map[string]int `json:"maps"`
	Zero    [0]string        `json:"zero"`
}

// Octet is a byte with a name.
type Octet byte

// Blob is bytes with a name.
type Blob []byte

// Maps has every kind of map.
type Maps struct {
	Str    map[string]string           `json:"str"`
	Int    map[int]string              `json:"int"`
	Int8   map[int8]Person             `json:"int8"`
	Uint   map[uint]string             `json:"uint"`
	Named  map[Label]int               `json:"named"`
	Any    map[string]any              `json:"any"`
	Iface  map[string]interface{ M() } `json:"iface"`
	IntAny map[int64]any               `json:"intany"`
	Deep   map[string]map[string][]int `json:"deep"`
	Struct map[string]Person           `json:"struct"`
	Ptr    map[string]*Person          `json:"ptr"`
	Table  Table                       `json:"table"`
	Anon   map[string]struct{ X int }  `json:"anon"`
	Level  map[Level]string            `json:"level"`
	Raw    map[string]json.RawMessage  `json:"raw"`
}

// Dynamic has fields of any type.
type Dynamic struct {
	Any   any             `json:"any"`
	Empty interface{}     `json:"empty"`
	Raw   json.RawMessage `json:"raw"`
	Num   json.Number     `json:"num"`
	Err   error           `json:"err"`
	Named Anything        `json:"named"`
	Ptr   *any            `json:"ptr"`
	// Doc has a comment.
	Doc any `json:"doc"`
}

// Anything is a named empty interface.
type Anything interface{}

// Network has types of net.
type Network struct {
	IP   net.IP           `json:"ip"`
	IPs  []net.IP         `json:"ips"`
	Mask net.IPMask       `json:"mask"`
	MAC  net.HardwareAddr `json:"mac"`
	URL  url.URL          `json:"url"`
	Ref  *url.URL         `json:"ref,omitempty"`
	Net  net.IPNet        `json:"net"`
}

// Alias is another name of Person.
type Alias = Person

// Aliased uses names of names.
type Aliased struct {
	P Alias    `json:"p"`
	L []Alias  `json:"l"`
	T TextList `json:"t"`
}

// TextList is another name of a list.
type TextList = []string

// Copy is defined by another struct.
type Copy Person

// Quoted has the string option.
type Quoted struct {
	Int   int       `json:"int,string"`
	Float float64   `json:"float,string,omitempty"`
	Bool  bool      `json:"bool,string"`
	Ptr   *uint8    `json:"ptr,string"`
	Level Level     `json:"level,string" jsonschema:"minLength=1"`
	List  []int     `json:"list,string"`
	Time  time.Time `json:"time,string"`
}
