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
