// Package decode is the runtime of generated decoders: a JSON lexer, readers of values, and the
// form of their errors.
//
// It imports only the standard library.
package decode

import (
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
		problems = append(problems[:MaxProblems:MaxProblems], Problem{Message: "has more problems than are shown"})
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
