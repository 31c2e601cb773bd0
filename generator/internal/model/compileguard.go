package model

// CompileGuardKind is a kind of statement that stops the build after a change of the source.
type CompileGuardKind int

const (
	// StructGuard has a literal type (struct, slice, array, map) that must equal Subject's
	// underlying type, tags included.
	StructGuard    CompileGuardKind = iota
	TypeGuard                       // the underlying type of any other named type
	CodecGuard                      // Subject has no JSON or text method but those it had
	SignatureGuard                  // the func type of a handler
	ConstGuard                      // an enum or integer role constant and its value
)

// CompileGuard pins one fact of the source that generated code depends on.
type CompileGuard struct {
	Kind CompileGuardKind
	// Subject is the pinned thing: a type, a func or method expression ((*Service).GetByID), a
	// constant. The guard of an alias is a SignatureGuard: its func literal takes the aliased type.
	Subject Expr
	// Want is the pinned fact: the struct or underlying type, the func type (receiver first for a
	// method expression), the constant's value. For CodecGuard, the names of the
	// methods that the type must not get, empty for all four.
	Want Expr
	// InTest puts the guard into mcp_gen_test.go: types of other modules may gain fields and must
	// not stop the build.
	InTest bool
}

// HashInputs lists the declarations and files that the source hash of the generated test covers.
type HashInputs struct {
	// Decls are the declarations by directory relative to the package ("." for its own):
	// "Service.GetByID", "GetByIDInput", "Status".
	Decls map[string][]string
	// Files are the schemas by hand, relative to the package with slashes, sorted. The hash covers
	// their content.
	Files []string
}
