package decode

// rule is what a document broke.
type rule int

const (
	notJSON   rule = iota // encoding/json refuses it as well
	notUTF8               // invalid UTF-8, or half of a surrogate pair
	duplicate             // a name twice in one object
	tooLarge              // a limit
)

// fault is the first thing that keeps a document from being read. Its pointer grows from the inside
// outwards while the lexer returns, so that a sound document pays nothing for pointers.
type fault struct {
	rule    rule
	path    []string // innermost name or index first
	literal string   // what the message is about, or empty
	says    string
}

// within adds the name or index that holds what the fault is about.
func (f *fault) within(name string) *fault {
	f.path = append(f.path, name)
	return f
}

func (f *fault) problem() Problem {
	pointer := ""
	for i := len(f.path) - 1; i >= 0; i-- {
		pointer = Pointer(pointer, f.path[i])
	}
	return NewProblem(pointer, f.literal, f.says)
}
