package static

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits of a file, beyond its size. JSON and YAML have the same, so that one can be made of the
// other.
const (
	maxDepth    = 100 // mappings and lists within each other
	maxProblems = 50  // reported of one file
)

// kind is what a value of a file is, in the word for messages.
type kind string

const (
	isNull    kind = "nothing"
	isTruth   kind = "true or false"
	isNumber  kind = "a number"
	isText    kind = "text"
	isList    kind = "a list"
	isMapping kind = "a mapping"
)

// value is a value of a file, whether it was YAML or JSON.
type value struct {
	kind    kind
	line    int    // where it starts, from 1
	text    string // the text; for a number its literal as JSON has it, and for a truth true or false
	items   []value
	members []member // in the order of the file, each name once
}

type member struct {
	name  string
	line  int // of the name
	value value
}

// appendJSON appends the value as JSON (RFC 8259).
func (v value) appendJSON(b []byte) []byte {
	switch v.kind {
	case isText:
		return appendQuoted(b, v.text)
	case isNumber, isTruth:
		return append(b, v.text...)
	case isList:
		b = append(b, '[')
		for i, item := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case isMapping:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = m.value.appendJSON(append(appendQuoted(b, m.name), ':'))
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// problems are what is wrong with a file.
type problems struct {
	file string
	all  []problem
}

type problem struct {
	line    int
	pointer string // RFC 6901
	message string
}

func (p *problems) add(line int, pointer, format string, args ...any) {
	p.all = append(p.all, problem{line, pointer, fmt.Sprintf(format, args...)})
}

// firstNames are the names of one mapping, each with the line where it stands first.
type firstNames map[string]int

// add reports whether a name is new, and adds a problem for one that is not.
func (f firstNames) add(bad *problems, name string, line int, pointer string) bool {
	if first, twice := f[name]; twice {
		bad.add(line, pointer, "is written twice, first in line %d: keep one of them", first)
		return false
	}
	f[name] = line
	return true
}

// once drops problems after the first n that are of a value which one of those is about: it was not
// read.
func (p *problems) once(n int) {
	unread := map[string]bool{}
	for _, one := range p.all[:n] {
		unread[one.pointer] = true
	}
	again := func(one problem) bool { return unread[one.pointer] }
	p.all = append(p.all[:n], slices.DeleteFunc(p.all[n:], again)...)
}

// err is all problems as one error, a line each, in the order of the file. Nil if there are
// none.
func (p *problems) err() error {
	slices.SortStableFunc(p.all, func(a, b problem) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for i, one := range p.all {
		if i == maxProblems {
			errs = append(errs, fmt.Errorf("static: %s: and %d more problems", p.file, len(p.all)-i))
			break
		}
		place := p.file + ":" + strconv.Itoa(one.line)
		if one.pointer != "" {
			place += ": " + printable(one.pointer)
		}
		errs = append(errs, fmt.Errorf("static: %s: %s", place, one.message))
	}
	return errors.Join(errs...)
}

// printable is a pointer without control characters, which a name may have in a file.
func printable(pointer string) string {
	quoted := strconv.Quote(pointer)
	return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
}
