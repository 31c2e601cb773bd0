// Package decoderoracle has tools whose inputs have every feature of a schema. Its tests compare
// the generated decoders with an independent validator of the schemas.
//
//mcp:server name=decoderoracle version=1.0.0
//mcp:default public
//mcp:type Grade schema=integer,enum
package decoderoracle

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

//go:generate go run ./gentypes
//go:generate go tool mcpgen

// Color is an enum.
type Color string

// The colors.
const (
	Red   Color = "red"
	Green Color = "green"
	Blue  Color = "light \"blue\""
)

// Label is a string of its own type.
type Label string

// Names is a list of its own type.
type Names []string

// Codes is a map of its own type.
type Codes map[Label]int16

// Anything is an interface of its own type.
type Anything any

// Octet is a byte of its own type.
type Octet byte

// Octets is a list of them.
type Octets []Octet

// Level is an integer of its own type.
type Level int8

// Grade is an enum of integers.
type Grade int8

// The grades.
const (
	Best  Grade = 1
	Good  Grade = 2
	Worst Grade = -6
)

// Plate has a text form of its own.
type Plate struct{ text string }

// MarshalText writes the plate.
func (p Plate) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText reads a plate, which is never without a dash.
func (p *Plate) UnmarshalText(text []byte) error {
	if !strings.Contains(string(text), "-") {
		return errors.New("a plate without a dash")
	}
	p.text = string(text)
	return nil
}

// Site is a struct to be held by others.
type Site struct {
	ID   int32   `json:"id" jsonschema:"minimum=1,maximum=4094"`
	Name string  `json:"name,omitempty" jsonschema:"maxLength=12"`
	Size float32 `json:"size" jsonschema:"exclusiveMinimum=0,default=1"`
}

// Mark is embedded, and its fields come first or not at all.
type Mark struct {
	Key   string `json:"key"`
	Level Level  `json:"level,omitempty" jsonschema:"default=3"`
}

// Stamp is embedded by pointer.
type Stamp struct {
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty" jsonschema:"default=none"`
	*Inner
}

// Inner is embedded deeper.
type Inner struct {
	Deep uint8 `json:"deep"`
}

type hidden struct {
	Shown bool `json:"shown"`
}

// Embeds shows what embedding does to properties.
type Embeds struct {
	Mark
	*Stamp
	hidden
	Key  int  `json:"key"` // before Mark's
	Tail Site `json:"tail"`
}

// Tree holds itself in every way.
type Tree struct {
	Name     string          `json:"name" jsonschema:"minLength=1"`
	Left     *Tree           `json:"left,omitempty"`
	Children []Tree          `json:"children,omitempty" jsonschema:"maxItems=3"`
	ByName   map[string]Tree `json:"by_name,omitempty"`
	Boxed    []*Tree         `json:"boxed,omitempty"`
	Other    *Knot           `json:"other,omitempty"`
}

// Knot and Tree hold each other.
type Knot struct {
	Tree *Tree  `json:"tree,omitempty"`
	Knot []Knot `json:"knot,omitempty"`
}

// Page is generic.
type Page[T any] struct {
	Items []T `json:"items" jsonschema:"minItems=1"`
	Next  *T  `json:"next,omitempty"`
}

// Numbers has the numbers that floating point cannot tell.
type Numbers struct {
	I    int         `json:"i"`
	U    uint        `json:"u"`
	U64  uint64      `json:"u64"`
	I64  int64       `json:"i64" jsonschema:"exclusiveMaximum=9007199254740991"`
	Step int         `json:"step" jsonschema:"multipleOf=7"`
	Cent float64     `json:"cent" jsonschema:"multipleOf=0.01,minimum=0.1,maximum=1e3"`
	Odd  float64     `json:"odd" jsonschema:"exclusiveMinimum=-0.3,exclusiveMaximum=0.3"`
	Big  *big.Int    `json:"big"`
	Text json.Number `json:"text" jsonschema:"minimum=-1"`
	One  int16       `json:"one" jsonschema:"enum=1,enum=20,enum=-3"`
	Half float64     `json:"half" jsonschema:"enum=0.5,enum=1.5"`
}

// Texts has strings of every kind.
type Texts struct {
	Color   Color              `json:"color"`
	Colors  []Color            `json:"colors" jsonschema:"uniqueItems=true"`
	ByColor map[Color]Level    `json:"by_color"`
	Plate   Plate              `json:"plate" jsonschema:"maxLength=9"`
	Addr    netip.Addr         `json:"addr"`
	Blob    []byte             `json:"blob" jsonschema:"maxLength=8"`
	At      time.Time          `json:"at"`
	Maybe   *time.Time         `json:"maybe,omitempty" jsonschema:"nullable"`
	Code    string             `json:"code" jsonschema:"pattern=^[A-Z]{2\\,3}$"`
	Names   Names              `json:"names" jsonschema:"default=a,default=b"`
	Codes   Codes              `json:"codes"`
	Raw     json.RawMessage    `json:"raw"`
	Any     any                `json:"any"`
	Named   Anything           `json:"named"`
	Flat    struct{ A, B int } `json:"flat"`
	Sides   [3]float32         `json:"sides" jsonschema:"uniqueItems=true"`
	Grid    [2][2]Level        `json:"grid"`
	ByID    map[int8]*Site     `json:"by_id"`
	ByBig   map[uint64][]bool  `json:"by_big"`
	Sites   []struct {
		Site
		Last bool `json:"last"`
	} `json:"sites" jsonschema:"uniqueItems=true"`
	Null  *string `json:"null" jsonschema:"nullable,default=x"`
	Zero  int     `json:"zero" jsonschema:"nullable,default=5"`
	Lists [][]int `json:"lists"`
	Odd   string  `json:"a/b~c"`
}

// Quoted has numbers and booleans within strings.
type Quoted struct {
	I8    int8     `json:"i8,string"`
	I64   int64    `json:"i64,string" jsonschema:"enum=1,enum=20,enum=9223372036854775807"`
	U     uint     `json:"u,string" jsonschema:"default=4"`
	U16   *uint16  `json:"u16,string" jsonschema:"nullable"`
	F     float64  `json:"f,string" jsonschema:"maxLength=8"`
	F32   *float32 `json:"f32,omitempty,string"`
	B     bool     `json:"b,string" jsonschema:"default=true"`
	Maybe *bool    `json:"maybe,string" jsonschema:"nullable"`
	Level Level    `json:"level,string"`
}

// Choices has values of several types, and keys and bytes of their own types.
type Choices struct {
	Text     any                  `json:"text" jsonschema:"type=string"`
	Whole    any                  `json:"whole" jsonschema:"oneof_type=integer;string"`
	Some     json.RawMessage      `json:"some" jsonschema:"anyof_type=array;object;null"`
	Plates   map[Plate]int        `json:"plates"`
	Addrs    map[netip.Addr]Level `json:"addrs"`
	Octets   Octets               `json:"octets"`
	Unnamed  []Octet              `json:"unnamed" jsonschema:"maxLength=4"`
	Template string               `json:"template" jsonschema:"format=uri-template"`
	Version  string               `json:"version" jsonschema:"format=semver"`
	Expr     string               `json:"expr" jsonschema:"format=regex"`
}

// Graded has enums of integers, and lists of values of several types.
type Graded struct {
	Grade  Grade            `json:"grade"`
	Best   Grade            `json:"best" jsonschema:"enum=1,enum=2,default=2"`
	Opt    *Grade           `json:"opt,omitempty"`
	Null   *Grade           `json:"null" jsonschema:"nullable"`
	All    []Grade          `json:"all" jsonschema:"maxItems=3"`
	By     map[string]Grade `json:"by"`
	Values []any            `json:"values" jsonschema:"anyof_type=string;number;null"`
	Table  [][]any          `json:"table,omitempty" jsonschema:"oneof_type=string;boolean"`
}

// Endorsed adds to what it holds.
type Endorsed struct{ text string }

// MarshalText is the text so far.
func (e Endorsed) MarshalText() ([]byte, error) { return []byte(e.text), nil }

// UnmarshalText keeps the text before.
func (e *Endorsed) UnmarshalText(text []byte) error {
	e.text += string(text)
	return nil
}

// Standing has defaults that Go has no literals for.
type Standing struct {
	At    time.Time   `json:"at" jsonschema:"default=2026-01-31t15:04:05.5z"`
	Ends  *time.Time  `json:"ends,omitempty" jsonschema:"nullable,default=2027-01-31T15:04:05+01:00"`
	Plate Plate       `json:"plate" jsonschema:"default=A-1"`
	Addr  netip.Addr  `json:"addr" jsonschema:"default=::1"`
	Blob  []byte      `json:"blob" jsonschema:"default=YWI="`
	Big   *big.Int    `json:"big" jsonschema:"default=9007199254740991"`
	Text  json.Number `json:"text" jsonschema:"default=1.50"`
	Lists []time.Time `json:"lists" jsonschema:"default=2026-01-31T15:04:05Z"`
	Plain *Names      `json:"plain" jsonschema:"default=a"`
	Both  [2]Plate    `json:"both" jsonschema:"default=A-1,default=B-2"`
	Marks [2]Endorsed `json:"marks" jsonschema:"default=a,default=b"`
}

// Chain requires a pointer to itself, which is null at the end.
type Chain struct {
	Next  *Chain `json:"next"`
	Value int8   `json:"value"`
}

// Couple and Partner require each other.
type Couple struct {
	Partner **Partner  `json:"partner"`
	Chain   *Chain     `json:"chain"`
	Two     [2]*Couple `json:"two"`
}

// Partner has a couple in every place.
type Partner struct {
	Of    struct{ Couple *Couple } `json:"of"`
	Pairs []Partner                `json:"pairs"`
	Some  []*Couple                `json:"some" jsonschema:"minItems=1"`
}

// Pointed has pointers to values of any kind, which null makes nil.
type Pointed struct {
	Raw    *json.RawMessage            `json:"raw"`
	Any    *any                        `json:"any"`
	Twice  **json.RawMessage           `json:"twice"`
	Named  *Anything                   `json:"named,omitempty"`
	List   []*json.RawMessage          `json:"list"`
	ByName map[string]*any             `json:"by_name"`
	Some   *json.RawMessage            `json:"some" jsonschema:"anyof_type=null;array"`
	Text   *any                        `json:"text" jsonschema:"type=string"`
	Null   *json.RawMessage            `json:"null" jsonschema:"nullable"`
	Plain  json.RawMessage             `json:"plain"`
	Value  any                         `json:"value"`
	Deep   map[string][]*[]json.Number `json:"deep"`
}

// Group has properties of which some exclude others.
type Group struct {
	ID    int    `json:"id,omitempty" jsonschema:"oneof_required=number"`
	Name  string `json:"name,omitempty" jsonschema:"oneof_required=text"`
	City  string `json:"city,omitempty" jsonschema:"oneof_required=text,anyof_required=place"`
	Zone  string `json:"zone,omitempty" jsonschema:"anyof_required=area"`
	Inner struct {
		Only *int `json:"only,omitempty" jsonschema:"anyof_required=it"`
	} `json:"inner"`
	Next *Group `json:"next,omitempty"`
}

// Optionals tell absent, null and a value apart.
type Optionals struct {
	N    toolset.Optional[int]            `json:"n,omitzero" jsonschema:"minimum=1,maximum=300"`
	Text toolset.Optional[string]         `json:"text,omitzero" jsonschema:"minLength=1"`
	Site toolset.Optional[Site]           `json:"site,omitzero"`
	List toolset.Optional[[]Color]        `json:"list,omitzero" jsonschema:"maxItems=3"`
	Any  toolset.Optional[any]            `json:"any,omitzero"`
	Bit  toolset.Optional[*bool]          `json:"bit,omitzero"`
	At   toolset.Optional[time.Time]      `json:"at,omitzero"`
	Map  toolset.Optional[map[string]int] `json:"map,omitzero" jsonschema:"required"`
}
