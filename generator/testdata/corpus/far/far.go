// Package far has types whose names are those of package corpus.
package far

// Thing is not the Thing of corpus.
type Thing struct {
	// Name says how far.
	Name  string  `json:"name"`
	Level Level   `json:"level" jsonschema:"enum=low,enum=high"`
	Next  *Thing  `json:"next,omitempty"`
	Dist  float64 `json:"dist" jsonschema:"minimum=0,exclusiveMaximum=1e6"`
}

// Level is a string with constants.
type Level string

// The levels.
const (
	Low  Level = "low"
	High Level = "high"
)

// Page is one page of something.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"` // Next is where the following page begins.
}
