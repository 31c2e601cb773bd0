package pattern

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// invalidByte replaces a byte that is no UTF-8, in names to match: it equals no character, and is
// in every negated class.
const invalidByte rune = -1

// span is an inclusive range of characters, invalidByte included.
type span struct{ low, high rune }

var everyRune = []span{{invalidByte, utf8.MaxRune}}

// atom is one sign of a glob: a run of any length, or one character of a set. Spans are sorted, and
// neither overlap nor touch.
type atom struct {
	star  bool
	spans []span
}

// glob is a pattern of characters. Matching and covering read the same atoms, so that they cannot
// differ.
type glob struct {
	exact  bool   // no sign in it
	lit    string // what it is, where exact; else what it begins with
	any    bool   // it is "*"
	atoms  []atom
	noSep  bool // no sign stands for "/"
	offset int  // of its text in the whole pattern
}

// parseGlob reads text, which is at offset in pattern.
func parseGlob(pattern string, offset int, text string, noSep bool) (glob, error) {
	g := glob{exact: true, noSep: noSep, offset: offset}
	fail := func(at int, problem, cure string) (glob, error) {
		return glob{}, &Error{pattern, offset + at, problem, cure}
	}
	var lit strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return fail(i, "it is not UTF-8", "write it in UTF-8")
		}
		at := i
		i += size
		switch r {
		case 0:
			return fail(at, "it contains NUL, which is not allowed in a resource", "leave it out")
		case '{', '}':
			return fail(at, "braces do not mean alternatives here",
				`grant one pattern for each, or write \`+string(r)+" for the character itself")
		case '*':
			if i < len(text) && text[i] == '*' {
				return fail(at, `"**" must be a whole segment or word`,
					`write "*" for any number of characters`)
			}
			g.exact, g.any = false, text == "*"
			g.atoms = append(g.atoms, atom{star: true})
			continue
		case '?':
			g.exact = false
			g.atoms = append(g.atoms, atom{spans: everyRune})
			continue
		case '[':
			spans, length, problem, cure := parseClass(text[i:])
			if problem != "" {
				return fail(i+length, problem, cure)
			}
			i += length
			g.exact = false
			g.atoms = append(g.atoms, atom{spans: spans})
			continue
		case '\\':
			if i == len(text) {
				return fail(at,
					"a backslash escapes the next character, but none follows",
					`write \\ for a backslash`)
			}
			if r, size = utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 ||
				r == 0 {
				return fail(i, "only a character of UTF-8 other than NUL can follow a backslash",
					"leave both out")
			}
			i += size
		}
		if g.exact {
			lit.WriteRune(r)
		}
		g.atoms = append(g.atoms, atom{spans: []span{{r, r}}})
	}
	g.lit = lit.String()
	orderRuns(g.atoms, func(a atom) bool {
		return a.star
	}, func(a atom) bool { return !a.star && slices.Equal(a.spans, everyRune) })
	return g, nil
}

// orderRuns puts the stars of each run of stars and single signs behind the single ones: "*?" and
// "?*" match the same, and patterns are compared sign by sign.
func orderRuns[T any](signs []T, star, single func(T) bool) {
	for i := 0; i < len(signs); {
		j := i
		for j < len(signs) && (star(signs[j]) || single(signs[j])) {
			j++
		}
		slices.SortStableFunc(signs[i:j], func(a, b T) int {
			switch {
			case star(a) == star(b):
				return 0
			case star(a):
				return 1
			}
			return -1
		})
		i = j + 1
	}
}

// parseClass reads a class from behind its bracket. It returns how many bytes it takes, the closing
// one included, or how far behind the bracket a problem is.
func parseClass(text string) (spans []span, length int, problem, cure string) {
	negated := strings.HasPrefix(text, "^")
	if negated {
		length++
	} else if strings.HasPrefix(text, "!") {
		return nil, 0, `write "^" to negate a class`, `write [^…], or [\!…] for the character itself`
	}
	next := func() (rune, bool) {
		if length < len(text) && text[length] == '\\' {
			length++
		} else if length < len(text) && (text[length] == '-' || text[length] == '[') {
			return 0, false
		}
		r, size := utf8.DecodeRuneInString(text[length:])
		length += size
		return r, size > 0 && (r != utf8.RuneError || size > 1) && r != 0
	}
	for {
		if length >= len(text) {
			return nil, length, "a class is not closed in its segment or word",
				`close it with "]", or write \[ for the character itself`
		}
		if text[length] == ']' {
			break
		}
		low, ok := next()
		if !ok {
			return nil, length, "a class contains characters and ranges, in UTF-8",
				`put a backslash before "-" and "["`
		}
		high := low
		if length < len(text) && text[length] == '-' {
			length++
			if length < len(text) && text[length] == ']' {
				return nil, length, "a range has no end", `write \- for the character itself`
			}
			if high, ok = next(); !ok {
				return nil, length, "a range has no end", `write \- for the character itself`
			}
		}
		if high < low {
			return nil, length, "a range is reversed", "write the lower character first"
		}
		spans = append(spans, span{low, high})
	}
	if len(spans) == 0 {
		return nil, length, "a class is empty", "write its characters"
	}
	length++
	spans = unite(spans)
	if negated {
		spans = complement(spans)
	}
	if len(spans) == 0 {
		return nil, length - 1, "a class matches no character", "write its characters"
	}
	return spans, length, "", ""
}

func unite(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return int(a.low - b.low) })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.low <= last.high+1 {
			last.high = max(last.high, s.high)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func complement(spans []span) []span {
	var out []span
	low := invalidByte
	for _, s := range spans {
		if low < s.low {
			out = append(out, span{low, s.low - 1})
		}
		low = s.high + 1
	}
	if low <= utf8.MaxRune {
		out = append(out, span{low, utf8.MaxRune})
	}
	return out
}

func (a atom) has(r rune) bool {
	for _, s := range a.spans {
		if r <= s.high {
			return s.low <= r
		}
	}
	return false
}

// within reports whether every character of a is one of b: each span lies within one, since neither
// set's touch.
func (a atom) within(b atom) bool {
	for _, s := range a.spans {
		if !slices.ContainsFunc(b.spans, func(o span) bool {
			return o.low <= s.low && s.high <= o.high
		}) {
			return false
		}
	}
	return true
}

// isSlash reports whether the atom is the character "/", and not a wildcard that matches it.
func (a atom) isSlash() bool { return len(a.spans) == 1 && a.spans[0] == span{'/', '/'} }

// match reports whether the whole of name is in the pattern. It takes time in proportion to the
// product of both lengths at worst, and allocates nothing.
func (g *glob) match(name string) bool {
	switch {
	case g.exact:
		return name == g.lit
	case !strings.HasPrefix(name, g.lit):
		return false
	case g.any && !g.noSep:
		return true
	}
	i, at := 0, 0
	retry, from := -1, 0 // where a star was met: the atom behind it, and what it has not taken yet
	for at < len(name) {
		if i < len(g.atoms) && g.atoms[i].star {
			i++
			retry, from = i, at
			continue
		}
		r, size := decode(name[at:])
		if i < len(g.atoms) && g.takes(&g.atoms[i], r) {
			i++
			at += size
			continue
		}
		if retry < 0 {
			return false
		}
		r, size = decode(name[from:])
		if g.noSep && r == '/' {
			return false
		}
		from += size
		i, at = retry, from
	}
	for i < len(g.atoms) && g.atoms[i].star {
		i++
	}
	return i == len(g.atoms)
}

func (g *glob) takes(a *atom, r rune) bool {
	return a.has(r) && (r != '/' || !g.noSep || a.isSlash())
}

func decode(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return invalidByte, 1
	}
	return r, size
}

// covers reports whether every text of other is in g. Both are read by the same rule about "/". It
// is never wrong with yes.
func (g *glob) covers(other *glob) bool {
	if other.exact {
		return g.match(other.lit)
	}
	if g.any && !g.noSep {
		return true
	}
	slash := func(a atom) bool { return g.noSep && !a.star && a.isSlash() }
	return inclusion(g.atoms, other.atoms,
		func(a atom) bool { return a.star },
		func(_, b atom) bool { return !slash(b) },
		func(a, b atom) bool {
			if b.star {
				return false
			}
			return slash(a) == slash(b) && b.within(a)
		})
}

// inclusion reports whether a includes everything that b matches, sign by sign: a star of a takes
// any signs of b that it may absorb, any other sign one that lies within it.
func inclusion[T any](a, b []T, star func(T) bool, absorbs, takes func(a, b T) bool) bool {
	// reach[j] is whether the signs of a so far take the first j of b.
	reach := make([]bool, len(b)+1)
	reach[0] = true
	for _, sign := range a {
		if star(sign) {
			for j := range b {
				reach[j+1] = reach[j+1] || reach[j] && absorbs(sign, b[j])
			}
			continue
		}
		for j := len(b); j > 0; j-- {
			reach[j] = reach[j-1] && takes(sign, b[j-1])
		}
		reach[0] = false
	}
	return reach[len(b)]
}
