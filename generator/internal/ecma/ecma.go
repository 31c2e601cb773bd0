// Package ecma compares regular expressions of Go with those of JavaScript. Go has the syntax of
// RE2. The pattern of a JSON Schema is a regular expression of ECMA-262, which clients compile with
// the flag u. The common subset has the patterns that both languages take and read alike.
//
// One difference is within the common subset. The dot matches no line feed in either language. In
// JavaScript it matches no U+000D, U+2028 and U+2029 either.
package ecma

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is a part of a pattern that is outside of the common subset.
type Problem struct {
	Part   string // as the pattern has it
	Reason string // a clause about the part
	// Cure is the whole pattern in the common subset, with the meaning that it has in Go. It is
	// empty if there is none, or none that a person would read.
	Cure string
}

// String is the part and the reason, as the end of a sentence.
func (p *Problem) String() string { return p.Part + ", " + p.Reason }

// Fix is what an author of the pattern can do.
func (p *Problem) Fix() string {
	if p.Cure == "" {
		return "write a regular expression that Go and JavaScript read alike"
	}
	return "write " + p.Cure + ", which Go and JavaScript read alike"
}

// The reasons.
const (
	refused   = "which JavaScript refuses with the flag u"
	recent    = "which JavaScript before ES2025 refuses"
	octal     = "an octal number, which JavaScript reads as a reference to a group, or not at all"
	counted   = "a quantifier in JavaScript alone"
	empty     = "an empty class in JavaScript"
	missing   = "which JavaScript does not have"
	different = "which matches other characters in JavaScript"
)

// Check returns the first part of a pattern that is outside of the common subset, or nil. The
// pattern has to compile with package regexp.
func Check(pattern string) *Problem {
	problem, cure := rewrite(pattern)
	if problem == nil || cure == "" {
		return problem
	}
	if _, err := regexp.Compile(cure); err != nil {
		return problem
	}
	if again, _ := rewrite(cure); again == nil {
		problem.Cure = cure
	}
	return problem
}

// Common returns a pattern in the common subset: the pattern itself, or its cure. It returns
// nothing if there is none, as for a pattern that Go refuses.
func Common(pattern string) string {
	if _, err := regexp.Compile(pattern); err != nil {
		return ""
	}
	if problem := Check(pattern); problem != nil {
		return problem.Cure
	}
	return pattern
}

func rewrite(pattern string) (first *Problem, cure string) {
	r := &rewriter{rest: pattern, names: map[string]bool{}}
	for r.rest != "" {
		r.token()
	}
	if r.stuck {
		return r.first, ""
	}
	return r.first, string(r.out)
}

// rewriter reads a pattern as package regexp/syntax does, and writes it in the common subset.
type rewriter struct {
	rest  string
	out   []byte
	first *Problem
	stuck bool // a part cannot be written

	flags
	outer []flags // of the groups around
	names map[string]bool

	begin int  // where the last operand begins in out
	whole bool // a quantifier may follow the last operand in both languages
}

// flags are those of Go that are set at a place.
type flags struct {
	fold, lines, dotNL bool
	group              int // where the group begins in out
}

func (r *rewriter) problem(part, reason string) {
	if r.first == nil {
		r.first = &Problem{Part: part, Reason: reason}
	}
}

// take removes n bytes from the rest and returns them.
func (r *rewriter) take(n int) string {
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

// operand writes a text that a quantifier may follow.
func (r *rewriter) operand(text string) {
	r.begin, r.whole = len(r.out), true
	r.out = append(r.out, text...)
}

// assertion writes a text that a quantifier may follow in Go alone.
func (r *rewriter) assertion(text string) {
	r.operand(text)
	r.whole = false
}

// repeat matches a quantifier of Go. Other braces are literals there.
var repeat = regexp.MustCompile(`^([*+?]|\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\})\??`)

// zeros matches a quantifier of JavaScript that is none for Go.
var zeros = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)

// token rewrites the next part of the pattern.
func (r *rewriter) token() {
	if m := repeat.FindString(r.rest); m != "" {
		r.quantifier(r.take(len(m)))
		return
	}
	switch c := r.rest[0]; c {
	case '\\':
		r.escape()
	case '[':
		r.class()
	case '(':
		r.open()
	case ')':
		r.out = append(r.out, r.take(1)...)
		last := len(r.outer) - 1
		r.begin, r.whole = r.group, true
		r.flags, r.outer = r.outer[last], r.outer[:last]
	case '|':
		r.out = append(r.out, r.take(1)...)
	case '^', '$':
		r.stuck = r.stuck || r.lines // no other text matches at the begin or end of a line
		r.assertion(r.take(1))
	case '.':
		r.take(1)
		if r.dotNL {
			r.operand(anyCharacter)
		} else {
			r.operand(".")
		}
	case '{', '}', ']':
		if m := zeros.FindString(r.rest); m != "" {
			r.problem(m, counted)
		}
		r.problem(string(c), refused)
		r.operand(`\` + r.take(1))
	default:
		c, size := utf8.DecodeRuneInString(r.rest)
		r.character(c, r.take(size))
	}
}

// quantifier follows an assertion, or another quantifier after an empty \Q\E or a change of flags,
// in Go alone.
func (r *rewriter) quantifier(text string) {
	if !r.whole {
		last := string(r.out[r.begin:])
		r.problem(last+text, refused)
		r.out = append(r.out[:r.begin], "(?:"+last+")"...)
	}
	r.out = append(r.out, text...)
	r.whole = false
}

// open begins a group, or changes the flags.
func (r *rewriter) open() {
	if !strings.HasPrefix(r.rest, "(?") {
		r.push(r.take(1))
		return
	}
	if strings.HasPrefix(r.rest, "(?P<") || strings.HasPrefix(r.rest, "(?<") {
		part := r.take(strings.IndexByte(r.rest, '>') + 1)
		name := part[strings.IndexByte(part, '<')+1 : len(part)-1]
		text := "(?<" + name + ">"
		if name[0] <= '9' || r.names[name] {
			text = "("
		}
		r.names[name] = true
		if text != part {
			r.problem(part, refused)
		}
		r.push(text)
		return
	}
	part := r.take(strings.IndexAny(r.rest, ":)") + 1)
	changed, on := r.flags, true
	for _, c := range part[2 : len(part)-1] {
		switch c {
		case '-':
			on = false
		case 'i':
			changed.fold = on
		case 'm':
			changed.lines = on
		case 's':
			changed.dotNL = on
		} // U makes quantifiers lazy, which matches the same texts
	}
	switch {
	case part == "(?:":
	case strings.HasSuffix(part, ")"), strings.Contains(part, "U"):
		r.problem(part, refused)
	default:
		r.problem(part, recent)
	}
	if strings.HasSuffix(part, ":") {
		r.push("(?:")
		changed.group = r.group
	} else {
		changed.group = r.flags.group
	}
	r.flags = changed
}

func (r *rewriter) push(text string) {
	r.outer = append(r.outer, r.flags)
	r.group = len(r.out)
	r.out = append(r.out, text...)
}

// escape rewrites a part that begins with a backslash, outside of a class.
func (r *rewriter) escape() {
	switch c := r.rest[1]; c {
	case 'A':
		r.problem(r.take(2), refused)
		r.assertion("^")
	case 'z':
		r.problem(r.take(2), refused)
		r.assertion("$")
	case 'b', 'B':
		r.assertion(r.take(2))
	case 'Q':
		quoted, rest, _ := strings.Cut(r.rest[2:], `\E`)
		r.problem(r.take(len(r.rest)-len(rest)), refused)
		for _, c := range quoted {
			r.character(c, "")
		}
	case 'd', 'D', 'w', 'W', 's', 'S', 'p', 'P':
		e := readClassEscape(r.rest)
		r.take(len(e.part))
		if e.reason != "" {
			r.problem(e.part, e.reason)
		}
		switch {
		case e.text == "" || r.fold:
			r.ranges(parsed(e.part, r.fold))
		case c == 's':
			r.operand("[" + e.text + "]")
		default:
			r.operand(e.text)
		}
	default:
		c, part, reason := readCharacter(r.rest, false)
		text := r.take(len(part))
		if reason != "" {
			r.problem(part, reason)
			text = ""
		}
		r.character(c, text)
	}
}

// character writes a character, or all of its cases under the flag i. An empty text stands for the
// plainest one.
func (r *rewriter) character(c rune, text string) {
	switch {
	case r.fold && unicode.SimpleFold(c) != c:
		r.ranges(cases(c))
	case text != "":
		r.operand(text)
	default:
		r.operand(r.plain(c, syntaxCharacters))
	}
}

// syntaxCharacters have a meaning outside of classes. Both languages read them literally after a
// backslash.
const syntaxCharacters = `^$\.*+?()[]{}|`
