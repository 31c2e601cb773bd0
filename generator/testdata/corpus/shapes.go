package corpus

import (
	"database/sql"
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/mcpgen/mcpgen/generator/testdata/corpus/far"
)

// Shapes are what Go can do to a type: instances, shadows, cycles, names of names.
type Shapes struct {
	// Generics.
	Maybe        Maybe[string]
	MaybePtr     Maybe[*time.Time]
	MaybeMaybe   Maybe[Maybe[int]]
	MaybeFar     Maybe[far.Thing]
	MaybeMap     Maybe[map[string][]far.Thing]
	MaybeAny     Maybe[any]
	MaybeByte    Maybe[[]byte]
	MaybeArray   Maybe[[4]rune]
	MaybeSQL     Maybe[sql.Null[uuid.UUID]]
	Either       Either[string, Maybe[far.Thing]]
	EitherSame   Either[far.Thing, Thing]
	Tree         Tree[int]
	TreeOfTrees  Tree[Tree[string]]
	Ring         Ring[string]
	Index        Index[far.Level, Thing]
	Stack        Stack[Stack[int]]
	Constrained  Sum[float32]
	Promoted     Promoted[Thing]
	Phantom      Phantom[chan int]
	Paged        far.Page[Thing]
	PagedTwice   far.Page[far.Page[Thing]]
	SQLNull      sql.Null[string]
	SQLNullThing sql.Null[Thing]
	Curry        Curry
	AliasOf      AliasOf[int]
	AliasMap     Lookup[Thing]

	// Embedding and shadowing.
	Shadow        Shadow
	ShadowDeep    ShadowDeep
	ShadowTag     ShadowTag
	Diamond       Diamond
	DiamondTagged DiamondTagged
	Hidden        Hidden
	HiddenPointer HiddenPointer
	EmbedAlias    EmbedAlias
	EmbedGeneric  EmbedGeneric
	EmbedMap      EmbedMap
	EmbedBasic    EmbedBasic
	EmbedIface    EmbedIface
	EmbedFar      EmbedFar
	EmbedTime     EmbedTime
	EmbedK8s      EmbedK8s
	EmbedIgnored  EmbedIgnored
	EmbedInlined  EmbedInlined
	EmbedOmit     EmbedOmit
	EmbedDeep     EmbedDeep

	// Cycles.
	Self       Self
	SelfSlice  SelfSlice
	SelfMap    SelfMap
	SelfArray  SelfArray
	Mutual     Mutual
	Triangle   TriangleA
	Forest     Forest
	Dictionary Dictionary
	Expression Expression
	Linked     *Linked

	// Aliases.
	Another  Another
	OfFar    OfFar
	OfList   OfList
	OfAlias  OfAlias
	OfStruct OfStruct
	Foreign  Foreign

	// Named everything.
	Int      Int
	Text     Text
	Truth    Truth
	Real     Real
	Octets   Octets
	Digest   Digest
	Words    Words
	Table    Table
	Anything Anything
	Pointed  Pointed
	Copied   Copied
	Far      far.Thing
	FarLevel far.Level
	Inner    inner
	InnerPtr *inner

	// Without a name.
	Anonymous struct {
		A int `json:"a"`
		B struct {
			C []struct{ D map[string]struct{ E *bool } } `json:"c"`
		} `json:"b"`
	}
	AnonymousEmbed struct {
		Thing
		More bool `json:"more,omitempty"`
	}
	Empty     struct{}
	Pointers  ***Thing
	Bytes     []byte
	ByteArray [16]byte
	Matrix    [][][]float64
	MapMap    map[string]map[int]map[far.Level]*Thing
	SliceMap  []map[string][]*Thing
	Interface interface{ String() string }
	Error     error

	// Widely used types of others.
	Values   Values
	Texts    Texts
	Nulls    Nulls
	Networks Networks
	Numbers  Numbers
	Cluster  Cluster
	JSONTags JSONTags
	Unicode  Unicode
	Options  Options
	Zeroes   Zeroes
	Raw      Raw
	Callback Callback
	Channels Channels
	Complex  Complex
	Unsafe   Unsafe
	BoolKeys BoolKeys
	Keys     Keys
	Ifaces   Ifaces

	// Types that decide for themselves.
	HookSchema   HookSchema
	HookExtend   HookExtend
	HookAlias    HookAlias
	HookProperty HookProperty
	HookNested   HookNested
	HookPointer  HookPointer
	Enumerated   Enumerated
	Marshals     Marshals
	MarshalsText MarshalsText
	Unmarshals   Unmarshals
}

// Endless are types on which the Reflector overflows the stack, which ends the process: no side by
// side. The walker ends on each.
type Endless struct {
	CycleEmbed CycleEmbed
	Pointer    Pointer
}

// Pointer points to itself and to nothing else.
type Pointer *Pointer

// Thing is the one that others are made of.
type Thing struct {
	// ID identifies it.
	ID   uuid.UUID `json:"id"`
	Name string    `json:"name" jsonschema:"minLength=1,maxLength=64"` // Name is shown.
	Tags []string  `json:"tags,omitempty" jsonschema:"uniqueItems=true"`
}

type (
	// Maybe is a value or none.
	Maybe[T any] struct {
		// Value counts where Valid holds.
		Value T    `json:"value"`
		Valid bool `json:"valid,omitempty"`
	}
	// Either is one of two.
	Either[A, B any] struct {
		Left  *A `json:"left,omitempty"`
		Right *B `json:"right,omitempty"`
	}
	// Tree is recursive and generic.
	Tree[T any] struct {
		Value    T         `json:"value"`
		Children []Tree[T] `json:"children,omitempty"`
	}
	// Ring points to itself.
	Ring[T any] struct {
		Next  *Ring[T] `json:"next"`
		Value T        `json:"value"`
	}
	// Index is a generic map.
	Index[K comparable, V any] map[K]V
	// Stack is a generic list.
	Stack[T any] []T
	// Sum has a constraint.
	Sum[N ~int | ~float32] struct {
		Of    []N `json:"of"`
		Total N   `json:"total"`
	}
	// Promoted embeds an instance.
	Promoted[T any] struct {
		Maybe[T]
		Note string `json:"note"`
	}
	// Phantom does not use its parameter where JSON sees it.
	Phantom[T any] struct {
		hidden T
		Shown  string `json:"shown"`
	}
	// Curry names an instance.
	Curry Either[int, string]
	// AliasOf is a generic alias.
	AliasOf[T any] = Maybe[[]T]
	// Lookup is a generic alias of a map.
	Lookup[V any] = map[string]Tree[V]
)

var _ = Phantom[int]{}.hidden

type (
	one struct {
		X, Y string
		Z    int `json:"z"`
	}
	two struct {
		X string
		W bool
	}
	// Shadow has its own X.
	Shadow struct {
		one
		X float64
	}
	// ShadowDeep shadows at two depths.
	ShadowDeep struct {
		Shadow
		Z []string `json:"z"`
	}
	// ShadowTag wins by a tag.
	ShadowTag struct {
		one
		Q bool `json:"X"`
	}
	// Diamond has two X of one depth.
	Diamond struct {
		one
		two
	}
	// DiamondTagged decides between them.
	DiamondTagged struct {
		one
		two
		X string `json:"X,omitempty"`
	}
	// Hidden promotes from an unexported struct.
	Hidden struct {
		inner
		quiet string
		Loud  string
	}
	// HiddenPointer promotes from a pointer to one.
	HiddenPointer struct {
		*inner
		Loud string
	}
	inner struct {
		// Seen is promoted.
		Seen   string `json:"seen"`
		unseen int
	}
	// EmbedAlias embeds by another name.
	EmbedAlias struct {
		Another
		N int
	}
	// EmbedGeneric embeds an instance of another package.
	EmbedGeneric struct {
		far.Page[Thing]
		N int
	}
	// EmbedMap embeds what is no struct.
	EmbedMap struct {
		Table
		N int
	}
	// EmbedBasic embeds a named string.
	EmbedBasic struct {
		Text
		Int
	}
	// EmbedIface embeds an interface.
	EmbedIface struct {
		error
		Anything
		N int
	}
	// EmbedFar embeds a type of another package.
	EmbedFar struct {
		far.Thing
		Own bool
	}
	// EmbedTime embeds a type with methods.
	EmbedTime struct {
		time.Time
		Zone string
	}
	// EmbedK8s is how objects of a cluster look.
	EmbedK8s struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              Maybe[Thing] `json:"spec"`
	}
	// EmbedIgnored takes it out.
	EmbedIgnored struct {
		Thing `json:"-"`
		N     int
	}
	// EmbedInlined uses the option of other libraries.
	EmbedInlined struct {
		Part  Thing  `json:",inline"`
		Part2 *Thing `json:"part2,inline,omitempty"`
	}
	// EmbedOmit gives the embedded field a name.
	EmbedOmit struct {
		*Thing `json:"thing,omitempty"`
		far    far.Thing
	}
	// EmbedDeep goes down four levels.
	EmbedDeep struct {
		ShadowDeep
		*EmbedFar
		EmbedOmit
	}
)

var _ = Hidden{quiet: "", inner: inner{unseen: 0}}.quiet + EmbedOmit{}.far.Name

type (
	// Self points to itself.
	Self struct {
		Me *Self `json:"me,omitempty"`
	}
	// SelfSlice lists itself.
	SelfSlice struct {
		Us []SelfSlice `json:"us"`
	}
	// SelfMap maps to itself.
	SelfMap struct {
		Them map[string]SelfMap `json:"them"`
	}
	// SelfArray holds pointers to itself.
	SelfArray struct {
		Four [4]*SelfArray `json:"four"`
	}
	// Mutual and Other know each other.
	Mutual struct {
		Other *Other `json:"other,omitempty"`
	}
	// Other knows Mutual.
	Other struct {
		Back []Mutual `json:"back,omitempty"`
		Self *Other   `json:"self,omitempty"`
	}
	// TriangleA leads to B.
	TriangleA struct{ B *TriangleB }
	// TriangleB leads to C.
	TriangleB struct{ C map[string]TriangleC }
	// TriangleC leads to A.
	TriangleC struct{ A []TriangleA }
	// Forest is a list of itself.
	Forest []Forest
	// Dictionary is a map of itself.
	Dictionary map[string]Dictionary
	// Expression is what compilers have.
	Expression struct {
		Op    string                 `json:"op" jsonschema:"enum=add,enum=mul,enum=lit"`
		Args  []*Expression          `json:"args,omitempty"`
		Named map[string]*Expression `json:"named,omitempty"`
		Value *float64               `json:"value,omitempty"`
		Where struct{ Outer *Expression }
	}
	// CycleEmbed embeds a pointer to itself.
	CycleEmbed struct {
		*CycleEmbed
		N int
	}
	// Linked is met behind a pointer.
	Linked struct {
		Next  *Linked
		Value json.RawMessage
	}
)

type (
	// Another is Thing.
	Another = Thing
	// OfFar is another package's.
	OfFar = far.Thing
	// OfList is a list.
	OfList = []Another
	// OfAlias is an alias of an alias.
	OfAlias = Another
	// OfStruct has no other name.
	OfStruct = struct {
		A Another `json:"a"`
		B OfList  `json:"b"`
	}
	// Foreign is an alias of the standard library.
	Foreign = time.Duration
)

type (
	// Int is a named integer.
	Int int32
	// Text is a named string.
	Text string
	// Truth is a named bool.
	Truth bool
	// Real is a named float.
	Real float64
	// Octets is named bytes.
	Octets []byte
	// Digest is a named array.
	Digest [32]byte
	// Words is a named list.
	Words []Text
	// Table is a named map.
	Table map[Text]Int
	// Anything is a named empty interface.
	Anything any
	// Pointed is a named pointer.
	Pointed *Thing
	// Copied has the fields of another.
	Copied Thing
)

type (
	// Values has everything by value, pointer, list and map.
	Values struct {
		V Int            `json:"v"`
		P *Int           `json:"p"`
		L []Int          `json:"l"`
		M map[string]Int `json:"m"`
		T Thing          `json:"t"`
		Q *Thing         `json:"q,omitzero"`
	}
	// Texts has types with text methods.
	Texts struct {
		Addr   netip.Addr            `json:"addr"`
		Prefix *netip.Prefix         `json:"prefix,omitempty"`
		ByAddr map[netip.Addr]string `json:"by_addr"`
		ID     uuid.UUID             `json:"id"`
		IDs    []uuid.UUID           `json:"ids"`
		Null   uuid.NullUUID         `json:"null"`
	}
	// Nulls has what databases return.
	Nulls struct {
		S sql.NullString  `json:"s"`
		I sql.NullInt64   `json:"i"`
		F sql.NullFloat64 `json:"f"`
		B sql.NullBool    `json:"b"`
		T sql.NullTime    `json:"t"`
		Y sql.NullByte    `json:"y"`
	}
	// Networks has addresses.
	Networks struct {
		URL  url.URL        `json:"url"`
		Ref  *url.URL       `json:"ref"`
		User *url.Userinfo  `json:"user"`
		AP   netip.AddrPort `json:"ap"`
	}
	// Numbers has wide ones.
	Numbers struct {
		Int   *big.Int      `json:"int"`
		Float big.Float     `json:"float"`
		Rat   *big.Rat      `json:"rat"`
		Num   json.Number   `json:"num"`
		Wait  time.Duration `json:"wait"`
		Month time.Month    `json:"month"`
	}
	// Cluster has types with JSON methods of their own.
	Cluster struct {
		Port  intstr.IntOrString `json:"port"`
		Quota resource.Quantity  `json:"quota"`
		Since metav1.Time        `json:"since"`
		Micro *metav1.MicroTime  `json:"micro,omitempty"`
		Wait  metav1.Duration    `json:"wait"`
		List  metav1.ListMeta    `json:"list"`
	}
	// JSONTags has every form of the json tag.
	JSONTags struct {
		A int    `json:"a"`
		B int    `json:",omitempty"`
		C int    `json:"-"`
		D int    `json:"-,"`
		E int    `json:"e,string"`
		F *int   `json:"f,omitzero,omitempty,string"`
		G int    `json:"with space"`
		H int    `json:"sl/ash~"`
		I int    `json:"qu\"ote"`
		J string `json:"j,nonsense"`
		K string `yaml:"kay"`
		L int    `json:""`
		M int    `json:"$ref"`
	}
	// Unicode has names of other scripts.
	Unicode struct {
		Größe  int `json:"größe"`
		名前     string
		Ελλάδα Text
	}
	// Options has pointers for everything.
	Options struct {
		A *string          `json:"a"`
		B **int            `json:"b,omitempty"`
		C *[]string        `json:"c"`
		D *map[string]int  `json:"d"`
		E *any             `json:"e"`
		F *struct{ G int } `json:"f"`
	}
	// Zeroes leaves zeroes out.
	Zeroes struct {
		A time.Time `json:"a,omitzero"`
		B Thing     `json:"b,omitzero"`
		C [0]int    `json:"c,omitempty"`
		D []Thing   `json:"d,omitzero"`
	}
	// Raw has JSON within JSON.
	Raw struct {
		A json.RawMessage            `json:"a"`
		B *json.RawMessage           `json:"b"`
		C []json.RawMessage          `json:"c"`
		D map[string]json.RawMessage `json:"d"`
	}
	// Callback has no JSON form.
	Callback struct{ F func(int) error }
	// Channels has none either.
	Channels struct{ C <-chan Thing }
	// Complex neither.
	Complex struct{ C complex64 }
	// Unsafe neither.
	Unsafe struct{ P uintptr }
	// BoolKeys has keys that JSON cannot write.
	BoolKeys struct{ M map[bool]string }
	// Keys has those that it can.
	Keys struct {
		S map[Text]int
		I map[Int]int
		U map[uint64]int
		T map[time.Month]bool
	}
	// Ifaces has interfaces.
	Ifaces struct {
		E error
		S interface{ String() string }
		A any
		N Anything
	}
)
