package types

import (
	"encoding/json"
	"strings"
)

// Malformed has tags that Go does not read to their end. They are written on purpose.
type Malformed struct {
	Unquoted int    `json:"unquoted" jsonschema:minimum=3`
	Comma    int    `json:"comma", jsonschema:"minimum=3"`
	Joined   int    `json:"joined"jsonschema:"minimum=3"`
	Cased    int    `json:"cased" jsonSchema:"minimum=3"`
	Snake    int    `json:"snake" json_schema:"minimum=3"`
	Escaped  string `json:"escaped" jsonschema:"pattern=^\d+$"`
	Twice    int    `json:"twice" jsonschema:"minimum=3" jsonschema:"maximum=5"`
}

// Pointed has pointers to JSON of any kind.
type Pointed struct {
	Raw  *json.RawMessage   `json:"raw"`
	Any  *any               `json:"any,omitempty"`
	List []*json.RawMessage `json:"list"`
}

// Plate reads a text.
type Plate struct{ Text string }

// UnmarshalText reads a plate in lower case.
func (p *Plate) UnmarshalText(text []byte) error {
	p.Text = strings.ToLower(string(text))
	return nil
}

// Promotes gets UnmarshalText from a pointer, which is nil while it is read.
type Promotes struct {
	*Plate
	Extra string `json:"extra"`
}

// Embedding holds it, and one that embeds the plate itself.
type Embedding struct {
	Nil   Promotes `json:"nil"`
	Value struct{ Plate }
	Blob  []byte `json:"blob"`
}
