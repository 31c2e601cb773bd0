// Package regex matches the regular expressions of schemas, and checks those that callers send.
package regex

import (
	"hash/maphash"
	"regexp"
	"regexp/syntax"
	"sync/atomic"
)

// pattern is a regular expression of a schema, compiled.
type pattern struct {
	expr     string
	compiled *regexp.Regexp // nil if regexp.Compile refuses it: it matches nothing
	next     *pattern       // with the same slot of patterns
}

// patterns holds each pattern since its first use, in lists by hash. It is a variable of this
// package, so that generated code needs none. Patterns come from generated code, not from callers.
var patterns [1 << 10]atomic.Pointer[pattern]

var patternSeed = maphash.MakeSeed()

// Match reports whether an expression matches anywhere in text. It compiles an expression at its
// first use, and is safe for concurrent use.
func Match(expr, text string) bool {
	p := patternOf(expr)
	return p.compiled != nil && p.compiled.MatchString(text)
}

// patternOf returns the compiled pattern of an expression.
func patternOf(expr string) *pattern {
	slot := &patterns[maphash.String(patternSeed, expr)%uint64(len(patterns))]
	for {
		first := slot.Load()
		for p := first; p != nil; p = p.next {
			if p.expr == expr {
				return p
			}
		}
		p := &pattern{expr: expr, next: first}
		p.compiled, _ = regexp.Compile(expr)
		if slot.CompareAndSwap(first, p) {
			return p
		}
	}
}

// maxLength is the maximum length of a regular expression in bytes: parsing may take a thousand
// times as long.
const maxLength = 4 << 10

// Valid reports whether text is a regular expression of RE2, the syntax that Go shares with most
// clients' patterns; ECMA-262 has more, which Go cannot run. Valid parses the text only: compiling
// takes far longer and refuses no more.
func Valid(s string) bool {
	if len(s) > maxLength {
		return false
	}
	_, err := syntax.Parse(s, syntax.Perl)
	return err == nil
}
