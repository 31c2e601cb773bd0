// Package schema turns Go types into the JSON Schemas of tools, as invopop's Reflector would
// at run time, and then makes them fit for MCP clients.
//
// One walk does both. Without rules it makes what a Reflector with Settings makes, byte for
// byte, defects included: Reflect is there to prove it. Input, Output and Object walk with
// the rules that Rules lists, each a difference with a name, a reason and a test; nothing
// else differs. What has no schema, and tags that cannot be meant, come back as Problems,
// all of a type at once.
package schema

import "go/types"

// Source answers what go/types does not know about a declaration: its comments and const
// blocks. Objects may come from export data; answers are found by package path and name.
type Source interface {
	// TypeDoc is the doc comment of a named type as plain text, directives removed.
	TypeDoc(name *types.TypeName) string
	// FieldDoc is the comment of a field of a named struct type, doc comment before line
	// comment, as plain text. path names the field from the type inwards: one element for a
	// field of the struct itself, more for fields of anonymous structs within it.
	FieldDoc(owner *types.TypeName, path ...string) string
	// Enum returns the constants of a string type of the same module when two or more stand
	// in one const block, in source order, and nil otherwise.
	Enum(name *types.TypeName) []*types.Const
	// Local reports whether a package belongs to a module of this run: its types can be
	// edited together with the handlers.
	Local(pkg *types.Package) bool
}

// Problem is a part of a type that has no static schema.
type Problem struct {
	Kind ProblemKind
	// Path names the offending part from the root type inwards: "GetByIDInput.Filter.Match".
	Path string
	// Obj is the innermost field or type name that has a position, or nil.
	Obj     types.Object
	Message string // one line, no full stop
	Cure    string // one line
	// Panics reports a type that no decoder can fill, also by a schema that is written by hand.
	Panics bool
	// InTag reports a struct tag that is malformed at the byte Offset of its text.
	InTag  bool
	Offset int
}

// ProblemKind sorts problems into the diagnostics that report them.
type ProblemKind int

const (
	UnsupportedType ProblemKind = iota // func, chan, complex, unsafe pointer, non-string map key …
	BadTag                             // unknown key, unparsable or contradictory value
	HookedType                         // JSONSchema and friends: known at run time only
	HiddenText                         // a tag with a character that people do not see
)
