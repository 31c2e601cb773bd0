package types

import "time"

// Base is embedded.
type Base struct {
	// ID is given by the base.
	ID   string `json:"id"`
	Kind string `json:"kind,omitempty"`
}

type base struct {
	Low string `json:"low"`
}

// Embeds promotes fields.
type Embeds struct {
	Base
	Name string `json:"name"`
}

// EmbedsPointer promotes through a pointer.
type EmbedsPointer struct {
	*Base
	Name string `json:"name"`
}

// EmbedsNamed has an embedded field with a name.
type EmbedsNamed struct {
	// Base has a comment here.
	Base `json:"base"`
	Name string `json:"name"`
}

// EmbedsUnexported promotes fields of an unexported struct.
type EmbedsUnexported struct {
	base
	Name string `json:"name"`
}

// EmbedsTagged names an unexported embedded struct.
type EmbedsTagged struct {
	base `json:"tagged"`
}

// Shadows hides a promoted field.
type Shadows struct {
	Base
	ID int `json:"id"`
}

// ShadowsBefore hides a field that comes later.
type ShadowsBefore struct {
	ID int `json:"id"`
	Base
}

// Left has X.
type Left struct {
	X string
	L string
}

// Right has X too.
type Right struct {
	X int
	R string
}

// Ambiguous loses X.
type Ambiguous struct {
	Left
	Right
}

// RightTagged has a tag for X.
type RightTagged struct {
	Why int `json:"X"`
}

// TagWins keeps the tagged X.
type TagWins struct {
	Left
	RightTagged
}

// Deepest is two levels down.
type Deepest struct {
	Embeds
	Own string `json:"own,omitempty"`
}

// Diamond embeds Base twice.
type Diamond struct {
	Embeds
	EmbedsPointer
}

// EmbedsKinds embeds what is no struct.
type EmbedsKinds struct {
	Label
	Labels
	Anything
	*Level
	small
}

type small int

// EmbedsAlias embeds another name of a struct.
type EmbedsAlias struct {
	Alias
}

// Inline uses a tag option that encoding/json does not know.
type Inline struct {
	Base Base           `json:",inline"`
	Meta map[string]int `json:",inline"`
}

// Dash has names of dashes.
type Dash struct {
	Dash string `json:"-,"`
	Own  string `json:"own"`
}

// Names has names that encoding/json refuses, and odd ones.
type Names struct {
	Bad   string `json:"a\"b"`
	Odd   string `json:"a.b-c/d e"`
	Uni   string `json:"größe"`
	Empty string `json:",omitempty"`
	Comma string `json:",string"`
}

// Hides keeps a field and a base from the schema.
type Hides struct {
	Base   `jsonschema:"-"`
	Secret string `json:"secret" jsonschema:"-"`
	Seen   string `json:"seen"`
}

// EmbedsGeneric embeds an instance.
type EmbedsGeneric struct {
	Of[int]
	Name string `json:"name"`
}

// Anonymous embeds in a struct without a name.
type Anonymous struct {
	V struct {
		Base
		T time.Time `json:"t"`
	} `json:"v"`
}
