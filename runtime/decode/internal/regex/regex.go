// Package regex matches the regular expressions of schemas, and checks those that callers send.
package regex

import (
	"hash/maphash"
	"regexp"
	"regexp/syntax"
	"sync/atomic"
	"unicode/utf8"
)

// pattern is a regular expression of a schema, compiled.
type pattern struct {
	expr     string
	compiled *regexp.Regexp // nil if regexp.Compile refuses it: it matches nothing
	runs     []run          // the same, if the pattern is simple enough
	next     *pattern       // with the same slot of patterns
}

// patterns holds each pattern since its first use, in lists by hash. It is a variable of this
// package, so that generated code needs none. Patterns come from generated code, not from callers.
var patterns [1 << 10]atomic.Pointer[pattern]

var patternSeed = maphash.MakeSeed()

// Match reports whether an expression matches anywhere in text. It compiles an expression at its
// first use, and is safe for concurrent use.
func Match(expr, text string) bool { return patternOf(expr).match(text) }

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
		p := &pattern{expr: expr, runs: runsOf(expr), next: first}
		p.compiled, _ = regexp.Compile(expr)
		if slot.CompareAndSwap(first, p) {
			return p
		}
	}
}

func (p *pattern) match(text string) bool {
	if p.runs != nil {
		return matchRuns(p.runs, text)
	}
	return p.compiled != nil && p.compiled.MatchString(text)
}

// run is one ASCII character of a class, or many of them.
type run struct {
	class [utf8.RuneSelf]bool
	many  bool
}

// runsOf parses a pattern like ^[A-Z]+-[0-9]+$: consecutive classes from the beginning to the end
// of the text. It returns nil for other patterns, and if the characters after a run could be part
// of it: runs are matched without backtracking.
func runsOf(expr string) (runs []run) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || re.Sub[0].Op != syntax.OpBeginText ||
		re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
		return nil
	}
	for _, part := range re.Sub[1 : len(re.Sub)-1] {
		many := part.Op == syntax.OpPlus
		if many {
			part = part.Sub[0]
		}
		ranges := part.Rune // of a class: pairs of the first and the last
		if part.Op == syntax.OpLiteral && part.Flags&syntax.FoldCase == 0 {
			ranges = nil
			for _, c := range part.Rune {
				ranges = append(ranges, c, c)
			}
		} else if part.Op != syntax.OpCharClass {
			return nil
		}
		for len(ranges) > 0 {
			var before run
			if len(runs) > 0 {
				before = runs[len(runs)-1]
			}
			next, n := run{many: many}, len(ranges)
			if part.Op == syntax.OpLiteral {
				n = 2
			}
			for i := 0; i < n; i += 2 {
				for c := ranges[i]; c <= ranges[i+1]; c++ {
					if c >= utf8.RuneSelf || before.many && before.class[c] {
						return nil
					}
					next.class[c] = true
				}
			}
			runs, ranges = append(runs, next), ranges[n:]
		}
	}
	return runs
}

func matchRuns(runs []run, text string) bool {
	i := 0
	for n := range runs {
		r, from := &runs[n], i
		for i < len(text) && text[i] < utf8.RuneSelf && r.class[text[i]] && (r.many || i == from) {
			i++
		}
		if i == from {
			return false
		}
	}
	return i == len(text)
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
