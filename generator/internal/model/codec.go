package model

// Codec describes how one JSON value becomes a Go value: the input schema and the Go type in one.
// Objects are named, so that the types that hold each other stay plain data.
type Codec struct {
	Kind CodecKind
	Type Expr // the Go type, pointers around it left out
	// Pointers is how many pointers are around Type.
	Pointers int
	// Nullable is whether null is accepted, as the zero value.
	Nullable bool
	// Quoted is whether the number or the boolean is in a string. The first of Checks is the
	// pattern of a number.
	Quoted  bool
	Name    string   // ObjectCodec: which of Service.Objects it is
	Key     string   // MapCodec: "string", "enum", "int", "uint" or "text"
	Keys    []string // MapCodec with enum keys: which
	KeyType Expr
	Elem    *Codec // ListCodec, ArrayCodec, MapCodec, OptionalCodec
	Least   string // IntCodec, UintCodec: the limits, integers within the Go type
	Most    string
	Checks  []Check // in the order in which they run
}

// CodecKind is a JSON form and what of Go it becomes.
type CodecKind int

const (
	ObjectCodec     CodecKind = iota // a struct
	ListCodec                        // a slice
	ArrayCodec                       // an array
	MapCodec                         // a map
	StringCodec                      // a string type
	BoolCodec                        // a bool type
	IntCodec                         // an integer type with a sign
	UintCodec                        // an integer type without
	FloatCodec                       // a floating-point type
	BytesCodec                       // base64 as a []byte
	NamedBytesCodec                  // base64 as a slice of bytes of their own type
	TimeCodec                        // date-time as a time.Time
	TextCodec                        // a string that the type reads by UnmarshalText
	NumeralCodec                     // a number as a json.Number
	BigIntCodec                      // an integer as a big.Int
	AnyCodec                         // anything, or the types of a check, as an empty interface
	RawCodec                         // the same as a json.RawMessage
	OptionalCodec                    // a value or null as a toolset.Optional
)

// Check is one keyword of the schema and its values, as JSON writes numbers and as strings
// themselves: {"minLength", ["1"]}, {"enum", ["open", "closed"]}.
type Check struct {
	Keyword string
	Values  []string
}

// Object is the codec of one struct type.
type Object struct {
	Name   string // unique within the service; no identifier
	Type   Expr
	Fields []ObjectField
	// OneOf and AnyOf are groups of properties, of which one or at least one must be there whole.
	OneOf, AnyOf [][]string
}

// ObjectField is one property of an object.
type ObjectField struct {
	Name string // as in JSON
	// Path leads from the struct to the field: through what it embeds, the field's own name last.
	Path     []Selector
	Required bool
	// Default is the JSON text of the value of an absent property, or empty.
	Default string
	// NullAbsent is whether null means the same as an absent property, also if it has a default.
	NullAbsent bool
	Guard      string // the name of its own rule; empty for none
	Codec      Codec
}

// Selector is one step to a field.
type Selector struct {
	Name    string
	Pointer bool // what is embedded here is a pointer, which may be nil
}
