// Package configfile reads settings from files of YAML or JSON, and reports all mistakes with their
// lines.
package configfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxBytes bounds a file.
const MaxBytes = 16 << 20

// Limits of a file, beyond its size. JSON and YAML have the same, so that one can be made of the
// other.
const (
	maxDepth    = 100 // mappings and lists within each other
	maxProblems = 50  // reported of one file
)

// Kind is what a value of a file is, in the word for messages.
type Kind string

// The kinds of values.
const (
	Null    Kind = "nothing"
	Truth   Kind = "true or false"
	Number  Kind = "a number"
	Text    Kind = "text"
	List    Kind = "a list"
	Mapping Kind = "a mapping"
)

// Value is a value of a file, whether it was YAML or JSON.
type Value struct {
	Kind    Kind
	Line    int    // where it starts, from 1
	Text    string // the text; for a number its literal as JSON has it, and for a truth true or false
	Items   []Value
	Members []Member // in the order of the file, each name once
}

// Member is a member of a mapping.
type Member struct {
	Name  string
	Line  int // of the name
	Value Value
}

// AppendJSON appends the value as JSON (RFC 8259).
func (v Value) AppendJSON(b []byte) []byte {
	switch v.Kind {
	case Text:
		return appendQuoted(b, v.Text)
	case Number, Truth:
		return append(b, v.Text...)
	case List:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.AppendJSON(b)
		}
		return append(b, ']')
	case Mapping:
		b = append(b, '{')
		for i, m := range v.Members {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.Value.AppendJSON(append(appendQuoted(b, m.Name), ':'))
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// Problems are what is wrong with a file.
type Problems struct {
	File string
	All  []problem
}

type problem struct {
	line    int
	pointer string // RFC 6901
	message string
}

// Add adds a problem of the value at a pointer (RFC 6901), which is empty for the document.
func (p *Problems) Add(line int, pointer, format string, args ...any) {
	p.All = append(p.All, problem{line, pointer, fmt.Sprintf(format, args...)})
}

// maxName bounds the bytes of a name in a pointer.
const maxName = 64

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer appends a name or an index to a pointer (RFC 6901). Long names are shortened.
func Pointer(pointer, name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return pointer + "/" + pointerEscapes.Replace(name)
}

// firstNames are the names of one mapping, each with the line where it stands first.
type firstNames map[string]int

// add reports whether a name is new, and adds a problem for one that is not.
func (f firstNames) add(bad *Problems, name string, line int, pointer string) bool {
	if first, twice := f[name]; twice {
		bad.Add(line, pointer, "is written twice, first in line %d: keep one of them", first)
		return false
	}
	f[name] = line
	return true
}

// Once drops problems after the first n that are of a value which one of those is about: it was not
// read.
func (p *Problems) Once(n int) {
	unread := map[string]bool{}
	for _, one := range p.All[:n] {
		unread[one.pointer] = true
	}
	again := func(one problem) bool { return unread[one.pointer] }
	p.All = append(p.All[:n], slices.DeleteFunc(p.All[n:], again)...)
}

// Err is all problems as one error, a line each, in the order of the file. Nil if there are
// none.
func (p *Problems) Err() error {
	slices.SortStableFunc(p.All, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for i, one := range p.All {
		if i == maxProblems {
			errs = append(errs, fmt.Errorf("%s: and %d more problems", p.File, len(p.All)-i))
			break
		}
		place := p.File + ":" + strconv.Itoa(one.line)
		if one.pointer != "" {
			place += ": " + printable(one.pointer)
		}
		errs = append(errs, fmt.Errorf("%s: %s", place, one.message))
	}
	return errors.Join(errs...)
}

// printable is a pointer without control characters, which a name may have in a file.
func printable(pointer string) string {
	quoted := strconv.Quote(pointer)
	return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
}
