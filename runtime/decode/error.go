// Package decode is what generated decoders stand on: the lexer that decides what is JSON,
// and the one form in which everything wrong with a document is told.
//
// It imports the standard library alone.
package decode

import (
	"slices"
	"strings"
)

// MaxProblems bounds how many problems of one document are told. A hostile document of
// many wrong items would otherwise be answered with an error larger than itself.
const MaxProblems = 50

// Error is everything that is wrong with one document. Decoders return it as *Error.
type Error struct {
	Problems []Problem // never empty; in the order of pointers, root first
}

// Problem is one thing that is wrong, and where.
type Problem struct {
	// Pointer is the RFC 6901 JSON Pointer of the value; "" is the whole document. Names
	// longer than MaxShown bytes are shortened, because a hostile document chooses them.
	Pointer string
	// Message is one line without a full stop that says what is wrong and what was
	// expected: "5000 is more than the maximum 4094".
	Message string
}

// NewError returns the problems as one error: sorted, each once, and no more than
// MaxProblems of them; one more at the end says that others were left out. It returns nil without problems.
// The slice belongs to the error afterwards.
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

// Error joins the problems into one line: "/vlan/id: 5000 is more than the maximum 4094; /name: is required".
// The line has no control characters, whatever the names in the document are.
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

// Map returns a copy of the error whose messages, and names in pointers, are those that change
// returns for them.
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

// String is "/vlan/id: 5000 is more than the maximum 4094"; the whole document is "(root)".
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
