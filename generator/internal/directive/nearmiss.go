package directive

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// mostEdits bounds the distance of a near miss from mcp: and a directive's name together. At most
// one of the edits is in mcp, and there is at most one for three letters of the name.
const mostEdits = 2

// Miss is a comment line that is nearly a directive.
type Miss struct {
	Name string // of the nearest directive
	Line int    // of the comment, from 0
	// Arguments reports that arguments of the directive follow.
	Arguments bool
	// Sure reports that arguments follow, or that mcp, the name and the colon are right: no other
	// program's directive looks so.
	Sure bool
	Rest string // of the line, after the name
	// Odd is the first character of mcp and the name that is not ASCII, as a Go literal, or empty.
	Odd string
}

// Misses returns the lines of a comment, markers included, that are nearly a directive.
//
// The first letters of a line are compared with mcp and each name. Letters that look alike are
// equal, and separators, upper case and invisible characters do not count. Prose such as
// "MCP server" may be as near. Then the separator, the space after the slashes and the rest decide.
// A directive after two more slashes is commented out, and no miss.
func Misses(comment string) []Miss {
	if is(comment) {
		return nil
	}
	body, block := strings.CutPrefix(comment, "/*")
	if !block {
		body = strings.TrimPrefix(comment, "//")
		if strings.HasPrefix(strings.TrimLeft(body, " \t"), "//") {
			return nil
		}
	}
	var misses []Miss
	n := 0
	for line := range strings.Lines(strings.TrimSuffix(body, "*/")) {
		first, _ := utf8.DecodeRuneInString(line)
		if m, ok := missIn(line, n == 0 && fold(first) != space); ok {
			m.Line = n
			misses = append(misses, m)
		}
		n++
	}
	return misses
}

// protocol are the directives with the names of the protocol's own nouns, as in "mcp server".
var protocol = []string{"server", "tool", "prompt", "resource", "type", "field"}

// missIn judges one line. tight reports that no space follows the comment's slashes.
func missIn(line string, tight bool) (Miss, bool) {
	h := nearestHead(strings.TrimLeft(line, " \t0123456789.)"))
	if h.edits > mostEdits {
		return Miss{}, false
	}
	spec, exact := h.spec, h.edits == 0
	m := Miss{Name: spec.Name, Arguments: spec.argues(h.rest, exact), Rest: h.rest, Odd: h.odd}
	m.Sure = m.Arguments || exact && h.colon
	if m.Sure && !h.quoted {
		return m, true
	}
	after := strings.TrimLeftFunc(h.rest, unicode.IsSpace)
	first, _ := utf8.DecodeRuneInString(after)
	bare := !strings.ContainsFunc(after, func(r rune) bool {
		f := fold(r)
		return f == enclosing || unicode.IsLetter(f) || unicode.IsDigit(f)
	})
	switch {
	case h.quoted: // a doc link, a quotation or code, unless it looks written for a program
		return m, tight && (m.Arguments || bare && !h.upper)
	case bare && after != "" && !tight:
		return m, false // the end of a sentence
	case !bare && (len(after) == len(h.rest) || fold(first) == separator):
		return m, false // a call or an operator, in code that is commented out
	}
	word := !h.spaced
	prose := h.upper || slices.Contains(protocol, m.Name)
	switch {
	case h.colon && h.inPrefix == 0 && word, // mcp:limits
		word && h.parted && (tight || bare),           // mpc.limit
		word && h.parted && h.inPrefix == 0 && !prose, // mcp-limits
		bare && (tight || exact && !h.upper),          // mcp limit
		exact && (tight && !h.upper || !prose):        // mcp limit 1s
		return m, true
	}
	return m, false
}

// head is the beginning of a line, up to the end of a word.
type head struct {
	letters []rune // folded, without what is between words
	rest    string // of the line
	spaced  bool   // white space is between the letters
	parted  bool   // another separator is
	colon   bool   // one of the separators is a colon
	upper   bool   // a letter is in upper case
	quoted  bool   // a bracket or a quote is before or between the letters
	odd     string // as in Miss
	// spec is the nearest directive, inPrefix the edits in mcp, edits all edits.
	spec            *Spec
	inPrefix, edits int
}

// nearestHead returns the beginning of a line that is the nearest to a directive. Without a near
// directive its edits are more than mostEdits.
func nearestHead(line string) head {
	best := head{edits: mostEdits + 1}
	for _, h := range heads(line) {
		h.spec, h.inPrefix, h.edits = nearestSpec(h.letters, h.rest)
		if h.edits < best.edits {
			best = h
		}
	}
	return best
}

// shortestHead and longestHead are in letters.
const (
	shortestHead = len("mcptool") - mostEdits
	longestHead  = len("mcpgencomplete") + mostEdits
)

// heads returns the beginnings of a line that may be mcp and a directive's name. It ends early in a
// line that has other letters, as most lines have.
func heads(line string) []head {
	var (
		list []head
		h    head
		gap  head // what is between the last word and the next
		odd  string
	)
	inWord := false
	for i, r := range line {
		f := fold(r)
		if odd == "" && r >= utf8.RuneSelf {
			odd = strconv.QuoteRuneToASCII(r)
		}
		switch f {
		case invisible:
			continue
		case space, colon, separator, enclosing:
			if inWord {
				h.rest, gap = line[i:], head{}
				if len(h.letters) >= shortestHead {
					list = append(list, h)
				}
				if f != space && string(h.letters) == "go" {
					h, list = head{}, nil // as in //go:mcp:tool
				}
			}
			inWord = false
			if f == enclosing && len(h.letters) >= shortestHead || r == '=' && gap.spaced {
				return list
			}
			h.quoted = h.quoted || f == enclosing
			gap.spaced = gap.spaced || f == space
			gap.parted = gap.parted || f != space
			gap.colon = gap.colon || f == colon
			continue
		}
		last := len(h.letters) - 1
		if !inWord && last >= 0 {
			h.spaced = h.spaced || gap.spaced
			h.parted = h.parted || gap.parted
			h.colon = h.colon || gap.colon
		}
		switch {
		case inWord && f == 'n' && h.letters[last] == 'r':
			h.letters[last] = 'm'
		case inWord && f == 'v' && h.letters[last] == 'v':
			h.letters[last] = 'w'
		default:
			h.letters = append(h.letters, f)
		}
		inWord = true
		h.upper = h.upper || unicode.IsUpper(r)
		h.odd = odd
		if len(h.letters) == 4 && !begins(h.letters) || len(h.letters) > longestHead {
			return list
		}
	}
	if inWord {
		h.rest = ""
		list = append(list, h)
	}
	return list
}

// begins reports whether four letters may begin with mcp, one edit included.
func begins(letters []rune) bool {
	n := 0
	for _, l := range "mcp" {
		if slices.Contains(letters, l) {
			n++
		}
	}
	return n >= 2
}

// nearestSpec returns the directive that is the nearest to letters, the edits in its prefix, and
// all edits. Without a near directive these are more than mostEdits. Of two that are equally near,
// as of roles and rule for rules, it is the one that the rest of the line looks like arguments of.
func nearestSpec(letters []rune, rest string) (spec *Spec, inPrefix, edits int) {
	edits = mostEdits + 1
	for _, prefix := range []string{"mcp", "mcpgen"} {
		for n := len(prefix) - 1; n <= len(prefix)+1 && n < len(letters); n++ {
			p := editdistance.Between(string(letters[:n]), prefix)
			if p > 1 {
				continue
			}
			for i := range specs {
				name := specs[i].Name
				d := editdistance.Between(string(letters[n:]), name)
				tie := p+d == edits && spec != nil && d > 0 &&
					!spec.argues(rest, false) && specs[i].argues(rest, false)
				if d <= len(name)/3 && (p+d < edits || tie) {
					spec, inPrefix, edits = &specs[i], p, p+d
				}
			}
		}
	}
	return spec, inPrefix, edits
}

var (
	assignment = regexp.MustCompile(`^([\pL.]+)[=＝]`)
	comparison = regexp.MustCompile(`^[\pL_]\w*\s*<\s*\w`)
	inclusion  = regexp.MustCompile(`^\pL\S*\s*>\s*\w`)
)

// argues reports whether text looks like arguments of the directive. exact reports that the name
// before it is right: then any key may be misspelt.
func (s *Spec) argues(text string, exact bool) bool {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	words := strings.Fields(text)
	switch {
	case s.Form == Chain:
		return comparison.MatchString(text)
	case s.Form == Included:
		return inclusion.MatchString(text)
	case s.Form == Bindings:
		m := assignment.FindStringSubmatch(text)
		return m != nil &&
			(exact || slices.Contains(kinds, m[1]) || strings.HasPrefix(text[len(m[0]):], "{"))
	case s.Form == Named && len(words) > 0,
		s.Form == Qualified && len(words) > 1 && strings.Contains(words[0], "."):
		words = words[1:]
	case s.Form == Valued:
		if len(words) == 0 || !strings.ContainsAny(words[0], "=＝") || exact {
			return len(words) > 0 && strings.ContainsAny(words[0], "=＝")
		}
		words = words[1:]
	}
	near := func(word string, flag bool) bool {
		return slices.ContainsFunc(s.Keys, func(k Key) bool {
			return (!flag || k.Kind == Flag || k.Kind == Hint || k.Kind == Mode) &&
				editdistance.Between(word, strings.ToLower(k.Name)) <= 1
		})
	}
	for i, w := range words {
		w = strings.ToLower(w)
		if m := assignment.FindStringSubmatch(w); m != nil {
			return exact && i == 0 || near(m[1], false)
		}
		if !near(w, true) {
			return false
		}
	}
	return len(words) > 0
}
