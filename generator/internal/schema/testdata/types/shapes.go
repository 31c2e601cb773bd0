package types

import (
	"database/sql"
	"log/slog"
	"math/big"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types/odd.v2"
	"github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types/other"
)

// Node refers to itself.
type Node struct {
	// Value is at the node.
	Value string `json:"value"`
	Left  *Node  `json:"left,omitempty"`
	Right *Node  `json:"right,omitempty"`
}

// Tree refers to itself by a slice.
type Tree struct {
	Kids []Tree `json:"kids"`
}

// Graph refers to itself by a map.
type Graph struct {
	Edges map[string]Graph `json:"edges"`
}

// Forest is a list of lists.
type Forest []Forest

// Dict is a map of maps.
type Dict map[string]Dict

// Ping and Pong refer to each other.
type Ping struct {
	Pong *Pong `json:"pong,omitempty"`
	Same Base  `json:"same"`
}

// Pong refers back.
type Pong struct {
	Ping *Ping `json:"ping,omitempty"`
	Same Base  `json:"same"`
}

// Reaches leads to a cycle without being in it.
type Reaches struct {
	First *Pong  `json:"first"`
	Next  *Ping  `json:"next"`
	Node  Node   `json:"node"`
	Again []Node `json:"again" jsonschema:"minItems=1"`
}

// Chain requires a pointer to itself.
type Chain struct {
	// Next is null at the end.
	Next  *Chain `json:"next"`
	Value int    `json:"value"`
}

// Chained holds a chain, and is no part of it.
type Chained struct {
	First *Chain    `json:"first"`
	Both  [2]*Chain `json:"both"`
	Couple
}

// Couple and Partner require each other.
type Couple struct {
	Partner *Partner `json:"partner"`
}

// Partner has a couple in every place.
type Partner struct {
	Of    Holder    `json:"of"`
	Pairs []Partner `json:"pairs"`
}

// Holder is held by value.
type Holder struct {
	Couple *Couple `json:"couple"`
}

// Quad holds itself in an array.
type Quad struct {
	Four [4]*Quad `json:"four"`
}

// Limited has a limit on a list that refers to itself.
type Limited struct {
	Trees Forest `json:"trees" jsonschema:"maxItems=3"`
	Many  Forest `json:"many" jsonschema:"maxItems=5"`
}

// Page is a page of this package.
type Page struct {
	Prev *Page      `json:"prev,omitempty"`
	Far  other.Page `json:"far"`
}

// Of is generic.
type Of[T any] struct {
	// Value is of the type.
	Value T `json:"value"`
}

// Pair is generic twice.
type Pair[A comparable, B any] struct {
	First  A     `json:"first"`
	Second B     `json:"second"`
	Of     Of[B] `json:"of"`
}

// Linked is generic and refers to itself.
type Linked[T any] struct {
	Head T          `json:"head"`
	Tail *Linked[T] `json:"tail,omitempty"`
}

// Set is a generic map.
type Set[T comparable] map[T]bool

// List is a generic list.
type List[T any] []T

// OfAlias is a generic alias.
type OfAlias[T any] = Of[[]T]

// Wide has many uses of one type.
type Wide struct {
	A Reaches    `json:"a"`
	B Reaches    `json:"b"`
	C []Reaches  `json:"c"`
	D other.Item `json:"d"`
	E Item       `json:"e"`
}

// Item is sold here.
type Item struct {
	Price int `json:"price"`
}

// Status has constants.
type Status string

const (
	Active  Status = "active"
	Offline Status = "offline"
	Legacy  Status = "active" // the same value again
)

// Enums uses constants.
type Enums struct {
	Status Status         `json:"status"`
	Opt    *Status        `json:"opt,omitempty"`
	List   []Status       `json:"list"`
	Keys   map[Status]int `json:"keys"`
	Narrow Status         `json:"narrow" jsonschema:"enum=active"`
	Colour other.Colour   `json:"colour"`
}

// Proto is an enum as protobuf generates it.
type Proto int32

// EnumDescriptor makes it one.
func (Proto) EnumDescriptor() ([]byte, []int) { return nil, nil }

// ProtoHolder has one.
type ProtoHolder struct {
	P Proto `json:"p"`
}

// Text has text methods.
type Text struct{ a, b int }

// MarshalText writes it.
func (t Text) MarshalText() ([]byte, error) { return []byte("text"), nil }

// UnmarshalText reads it.
func (t *Text) UnmarshalText([]byte) error { t.a, t.b = t.b, t.a; return nil }

// Texts uses types with text methods.
type Texts struct {
	Text  Text         `json:"text"`
	Ptr   *Text        `json:"ptr"`
	List  []Text       `json:"list"`
	Map   map[Text]int `json:"map"`
	Addr  netip.Addr   `json:"addr"`
	Pfx   netip.Prefix `json:"pfx"`
	Level slog.Level   `json:"level"`
	Rat   *big.Rat     `json:"rat"`
	Int   *big.Int     `json:"int"`
}

// Corpus has one case a field.
type Corpus struct {
	Written          Written
	GroupedFirst     GroupedFirst
	GroupedSecond    GroupedSecond
	GroupedThird     GroupedThird
	Mixed            Mixed
	Foreign          Foreign
	Twice            Twice
	Empty            Empty
	Numbers          Numbers
	Person           Person
	PersonPtr        *Person
	Persons          []Person
	PersonPtrs       []*Person
	PersonMap        map[string]Person
	Grouped          Grouped
	Second           Second
	Unexported       unexported
	Holds            Holds
	Lists            Lists
	Maps             Maps
	Dynamic          Dynamic
	Network          Network
	Aliased          Aliased
	Alias            Alias
	Copy             Copy
	Quoted           Quoted
	TextTags         TextTags
	NumberTags       NumberTags
	ListTags         ListTags
	OtherTags        OtherTags
	Choice           Choice
	Shapes           Shapes
	Described        Described
	Ignored          Ignored
	Base             Base
	Embeds           Embeds
	EmbedsPointer    EmbedsPointer
	EmbedsNamed      EmbedsNamed
	EmbedsUnexported EmbedsUnexported
	EmbedsTagged     EmbedsTagged
	Shadows          Shadows
	ShadowsBefore    ShadowsBefore
	Ambiguous        Ambiguous
	TagWins          TagWins
	Deepest          Deepest
	Diamond          Diamond
	EmbedsKinds      EmbedsKinds
	EmbedsAlias      EmbedsAlias
	Inline           Inline
	Dash             Dash
	Names            Names
	Hides            Hides
	EmbedsGeneric    EmbedsGeneric
	Anonymous        Anonymous
	OtherShown       other.Shown
	Node             Node
	Tree             Tree
	Graph            Graph
	Forest           Forest
	Dict             Dict
	Ping             Ping
	Pong             Pong
	Reaches          Reaches
	Limited          Limited
	Chain            Chain
	Chained          Chained
	Couple           Couple
	Quad             Quad
	Malformed        Malformed
	Pointed          Pointed
	Embedding        Embedding
	Page             Page
	OtherPage        other.Page
	Wide             Wide
	Enums            Enums
	Status           Status
	Proto            Proto
	ProtoHolder      ProtoHolder
	Texts            Texts
	Text             Text
	Level            Level
	Label            Label
	Labels           Labels
	Table            Table
	Fixed            Fixed
	Blob             Blob
	Octet            Octet
	Circle           Circle
	OfInt            Of[int]
	OfPerson         Of[Person]
	OfPtr            Of[*Person]
	OfSlice          Of[[]Person]
	OfMap            Of[map[string]Person]
	OfArray          Of[[2]Item]
	OfAny            Of[any]
	OfByte           Of[byte]
	OfRune           Of[[]rune]
	OfAnon           Of[struct{ X int }]
	OfTagged         Of[struct {
		X int    `json:"x"`
		Y string `json:"y,omitempty"`
		Base
	}]
	OfEmpty    Of[struct{}]
	OfOf       Of[Of[Of[string]]]
	OfOdd      Of[odd.Part]
	OfOther    Of[other.Item]
	OfAlias    OfAlias[Item]
	OfTime     Of[time.Time]
	PairII     Pair[int, int]
	PairSP     Pair[string, *other.Page]
	PairMixed  Pair[Label, Pair[int, []Item]]
	LinkedInt  Linked[int]
	LinkedItem Linked[Item]
	LinkedBoth Pair[string, Linked[Linked[string]]]
	SetInt     Set[int]
	SetLabel   Set[Label]
	ListItem   List[Item]
	ListOfList List[List[Item]]
	Int        int
	Int8       int8
	Uint64     uint64
	Float      float64
	Bool       bool
	String     string
	Any        any
	Bytes      []byte
	Strings    []string
	Matrix     [2][2]int
	MapSI      map[string]int
	MapIS      map[int]string
	MapUS      map[uint16]string
	Anon       struct{ X, Y int }
	AnonTagged struct {
		X []Item `json:"x" jsonschema:"minItems=1"`
	}
	Deep        ***Person
	Time        time.Time
	Duration    time.Duration
	Month       time.Month
	TimePtr     *time.Time
	Times       []time.Time
	URL         url.URL
	Values      url.Values
	Userinfo    url.Userinfo
	Header      http.Header
	Cookie      http.Cookie
	Cookies     []*http.Cookie
	Address     mail.Address
	Addr        netip.Addr
	AddrPort    netip.AddrPort
	Prefix      netip.Prefix
	BigInt      big.Int
	BigFloat    big.Float
	BigRat      *big.Rat
	NullString  sql.NullString
	NullTime    sql.NullTime
	NullGeneric sql.Null[int64]
	DBStats     sql.DBStats
	Mutex       sync.Mutex
	Location    *time.Location
	SlogLevel   slog.Level
	FileMode    os.FileMode
}
