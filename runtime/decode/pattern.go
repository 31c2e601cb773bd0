package decode

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
	runs     []run          // the same, if it is as simple as that
	next     *pattern       // with the same slot of patterns
}

// patterns holds each pattern since its first use, in lists by hash. It is a variable of this
// package, so that generated code needs none. Patterns come from generated code, not from callers.
var patterns [1 << 10]atomic.Pointer[pattern]

var patternSeed = maphash.MakeSeed()

// patternOf returns the compiled pattern of an expression. It is safe for concurrent use.
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

// runsOf reads a pattern like ^[A-Z]+-[0-9]+$: classes in a row, from the text's beginning to its
// end. It is nil for any other, and where what follows a run could have been part of it: one look
// at each character must do.
func runsOf(expr string) (runs []run) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil || re.Op != syntax.OpConcat || re.Sub[0].Op != syntax.OpBeginText || re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
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
			next, n := run{many: many}, len(ranges)
			if part.Op == syntax.OpLiteral {
				n = 2
			}
			for i := 0; i < n; i += 2 {
				for c := ranges[i]; c <= ranges[i+1]; c++ {
					if c >= utf8.RuneSelf || len(runs) > 0 && runs[len(runs)-1].many && runs[len(runs)-1].class[c] {
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
