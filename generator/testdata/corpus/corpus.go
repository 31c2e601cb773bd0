// Package corpus is the types that the schema walker is held against: those of well-known
// modules, and those that show what Go, encoding/json and invopop's tags can do.
//
// Every field of the structs that Corpus embeds is one case; so is every case of the walker's own
// tests, in generator/internal/schema/testdata/types. The test walks each by go/types, reflects it
// by jsonschema.Reflector, and compares bytes.
package corpus

import "github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types"

// Corpus is all cases, by where they come from.
type Corpus struct {
	Shapes
	Grammar
	Standard
	GitHub
	Walker types.Corpus
}
