// Package decode is the runtime of generated decoders: a JSON lexer, readers of values, and the
// form of their errors.
//
// It links only the standard library.
package decode

import (
	"cmp"
	"slices"
	"strings"
)

// MaxProblems is the maximum number of problems in an [Error]. Without it, a hostile document of
// many wrong items would get a response larger than itself.
const MaxProblems = 50

// Error contains the problems of a document. Decoders return it as *Error.
type Error struct {
	Problems []Problem // never empty; in the order of pointers, root first
}

// Problem is one problem of a document, with its place.
type Problem struct {
	// Pointer is the RFC 6901 JSON Pointer of the value; "" is the whole document. Names
	// longer than MaxShown bytes are shortened, because a hostile document chooses them.
	Pointer string
	// Message is one line without a full stop: the problem and the requirement, as in "5000 is more
	// than the maximum 4094".
	Message string
}

// NewError returns the problems as one error, sorted and without duplicates. If there are more
// than MaxProblems, a last one reports that others were left out. It returns nil without
// problems. The slice belongs to the error afterwards.
func NewError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortFunc(problems, compareProblems)
	problems = slices.Compact(problems)
	if len(problems) > MaxProblems {
		problems = append(problems[:MaxProblems:MaxProblems],
			Problem{Message: "has more problems than are shown"})
	}
	return &Error{Problems: problems}
}

// Error returns the problems in one line, as in "/vlan/id: 5000 is more than the maximum 4094;
// /name: is required". The line has no control characters, whatever the names in the document
// are.
func (e *Error) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// Map returns a copy of the error with each message, and each name in a pointer, replaced by the
// result of change.
func (e *Error) Map(change func(string) string) error {
	problems := slices.Clone(e.Problems)
	for i, p := range problems {
		names := strings.Split(p.Pointer, "/")
		for j, name := range names {
			name = pointerUnescapes.Replace(name)
			if changed := change(name); changed != name {
				names[j] = pointerEscapes.Replace(changed)
			}
		}
		problems[i] = Problem{Pointer: strings.Join(names, "/"), Message: change(p.Message)}
	}
	return NewError(problems)
}

// String returns a line as in "/vlan/id: 5000 is more than the maximum 4094". The whole document
// is "(root)".
func (p Problem) String() string {
	pointer := p.Pointer
	if pointer == "" {
		pointer = "(root)"
	}
	return printable(pointer) + ": " + p.Message
}

func compareProblems(a, b Problem) int {
	if c := comparePointers(a.Pointer, b.Pointer); c != 0 {
		return c
	}
	return strings.Compare(a.Message, b.Message)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")
var pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")

// Pointer appends a property name or an array index to a JSON Pointer, escaped by RFC 6901,
// section 3, and shortened to MaxShown bytes.
func Pointer(pointer, name string) string {
	return pointer + "/" + pointerEscapes.Replace(shorten(name))
}

// comparePointers orders pointers in reading order: a value before its parts, properties by name,
// items by number (/2 before /10).
func comparePointers(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = cutSegment(a)
		y, b = cutSegment(b)
		if x == y {
			continue
		}
		if isIndex(x) && isIndex(y) && len(x) != len(y) {
			return cmp.Compare(len(x), len(y))
		}
		return strings.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

// cutSegment splits "/a/b" into "a" and "/b".
func cutSegment(pointer string) (segment, rest string) {
	pointer = strings.TrimPrefix(pointer, "/")
	if i := strings.IndexByte(pointer, '/'); i >= 0 {
		return pointer[:i], pointer[i:]
	}
	return pointer, ""
}

// isIndex reports whether a segment is an array index as RFC 6901 writes it.
func isIndex(segment string) bool {
	if segment == "" || segment[0] == '0' && segment != "0" {
		return false
	}
	for i := range len(segment) {
		if segment[i] < '0' || segment[i] > '9' {
			return false
		}
	}
	return true
}

// rule is the reason of a fault.
type rule int

const (
	notJSON   rule = iota // encoding/json refuses it as well
	notUTF8               // invalid UTF-8, or half of a surrogate pair
	duplicate             // a name twice in one object
	tooLarge              // a limit
)

// fault is the error that stops the reading of a document. Its pointer grows from the inside
// outwards while the lexer returns, so that a valid document costs no pointers.
type fault struct {
	rule    rule
	path    []string // innermost name or index first
	literal string   // JSON text of the value, or empty
	message string
}

// within prepends a name or an index to the fault's path.
func (f *fault) within(name string) *fault {
	f.path = append(f.path, name)
	return f
}

func (f *fault) problem() Problem {
	pointer := ""
	for i := len(f.path) - 1; i >= 0; i-- {
		pointer = Pointer(pointer, f.path[i])
	}
	return NewProblem(pointer, f.literal, f.message)
}

// twice is the fault of a repeated name in an object.
func twice(name []byte) *fault {
	return (&fault{rule: duplicate, message: "is twice in its object"}).within(string(name))
}
