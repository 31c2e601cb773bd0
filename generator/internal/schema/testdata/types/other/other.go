// Package other has types whose names occur in package types too.
package other

// Page is a page of the other package.
type Page struct {
	// Next leads on.
	Next *Page `json:"next,omitempty"`
	Size int   `json:"size"`
}

// Item is sold elsewhere.
type Item struct {
	Price float64 `json:"price"`
}

type hidden struct {
	Inner string `json:"inner"`
}

// Shown embeds what cannot be named.
type Shown struct {
	hidden
	Outer string `json:"outer"`
}

// Colour has constants in another package of the module.
type Colour string

const (
	Red  Colour = "red"
	Blue Colour = "blue"
)

// Foreign has two
// paragraphs.
//
// This is the second.
type Foreign struct {
	// Value is one of:
	//   - a
	//   - b
	//
	// It has a second paragraph, too.
	Value string `json:"value"`
	// Hidden​ has a character that people do not see.
	Hidden string `json:"hidden"`
}

// Twice has strings with a JSON string in them.
type Twice struct {
	Text string  `json:"text,string"`
	Kind *Colour `json:"kind,string,omitempty"`
}

// Limited has tags with a mistake each.
type Limited struct {
	Pattern  string   `json:"pattern" jsonschema:"pattern=(?i)a"`
	Posix    []string `json:"posix" jsonschema:"pattern=[[:alpha:]]"`
	Crossed  int      `json:"crossed" jsonschema:"minimum=2,maximum=1"`
	Default  int      `json:"default" jsonschema:"maximum=1,default=2"`
	Length   int      `json:"length" jsonschema:"maxLength=2"`
	Key      int      `json:"key" jsonschema:"maximun=2"`
	Word     string   `json:"word" jsonschema:"words, pattern=^a$"`
	Unquoted string   `json:"unquoted" jsonschema:maxLength=2`
	Large    int64    `json:"large" jsonschema:"maximum=9007199254740993"`
}
