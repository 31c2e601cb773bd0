package model

// GuardKind is a way to make drift a compile error.
type GuardKind int

const (
	StructGuard    GuardKind = iota // a literal type (struct, slice, array, map) that must equal Subject's underlying type, tags included
	TypeGuard                       // the underlying type of any other named type
	CodecGuard                      // Subject has no JSON or text method
	SignatureGuard                  // the func type of a handler
	ConstGuard                      // an enum or integer role constant and its value
)

// Guard pins one fact that generated code was made from.
type Guard struct {
	Kind GuardKind
	// Subject is what is pinned: a type, a func or method expression ((*Service).GetByID), a constant.
	// The guard of an alias is a SignatureGuard of a func literal that takes what the alias stands for.
	Subject Expr
	// Want is the pinned fact: the struct or underlying type, the func type (receiver first for a
	// method expression), the constant's value. Empty for CodecGuard.
	Want Expr
	// InTest puts the guard into mcp_gen_test.go: types of other modules may grow without us.
	InTest bool
}

// Fresh lists the declarations whose text the generated test hashes.
type Fresh struct {
	// Decls are the declarations by directory relative to the package ("." for its own):
	// "Service.GetByID", "GetByIDInput", "Status".
	Decls map[string][]string
	// Files are the schemas by hand, relative to the package with slashes, sorted: their content counts.
	Files []string
}
