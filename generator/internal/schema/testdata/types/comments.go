package types

import "github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types/other"

// Written has a comment of every form. See [Person] and
// the text of [RFC 6901].
//
// It is one of:
//   - a list item
//     of two lines
//   - another
//
// # Heading
//
//	code := "of\ttwo"
//	lines()
//
// [RFC 6901]: https://www.rfc-editor.org/rfc/rfc6901
//
// [RFC 6902]: https://www.rfc-editor.org/rfc/rfc6902
type Written struct {
	// Plain is a list
	// without indentation:
	// * one
	// * two
	// 1. three
	Plain string `json:"plain"`
	// Marked is for another generator as well.
	// +optional
	// +listType=map
	Marked string `json:"marked"`
	//nolint:all
	Directive string `json:"directive"` // Directives are no text.
	/* Block is a block
	   comment. */
	Block string `json:"block"`
}

// The types of one declaration have this comment, which none of them has.
type (
	GroupedFirst struct {
		A string `json:"a"`
	}
	// GroupedSecond has its own.
	GroupedSecond struct {
		A string `json:"a"`
	}
	GroupedThird struct {
		A string `json:"a"`
	}
)

// Mixed has two fields of one name.
type Mixed struct {
	Name string `json:"name"`
	Sub  struct {
		// Name of the anonymous struct.
		Name string `json:"name"`
	} `json:"sub"`
}

var _ = struct {
	// Sub of a variable behind the type.
	Sub string
}{}

// Foreign has a type of another module.
type Foreign struct {
	F other.Foreign `json:"f"`
}

// ForeignTwice has a type of another module whose strings are quoted twice.
type ForeignTwice struct {
	Twice other.Twice `json:"twice"`
}

// Swagger has the comments of a type that go-swagger reads.
//
// swagger:parameters listOrders
type Swagger struct {
	// Limit of a page.
	//
	// in: query
	// required: true
	Limit int `json:"limit"`
	Inner struct {
		// Unit of it.
		// required: true
		Unit string `json:"unit"`
	} `json:"inner"`
}

// NoSwagger has the same comments without an annotation.
type NoSwagger struct {
	// Limit of a page.
	//
	// in: query
	// required: true
	Limit int `json:"limit"`
	// Unit of it.
	// required: true
	Unit string `json:"unit"`
}

// ForeignLimits has a type of another module whose tags have mistakes.
type ForeignLimits struct {
	Limited other.Limited `json:"limited"`
}
