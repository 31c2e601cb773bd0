// Package pattern parses, compares and matches the patterns of resources that grants contain:
// paths, commands, hosts, and texts of any other kind. It is pure: it opens, resolves and starts
// nothing.
//
// Matching and comparing read the same parsed form, so that they cannot disagree. A comparison that
// cannot be decided cheaply returns false, which denies.
package pattern

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxLength is the longest text of a pattern and of a path, in bytes: PATH_MAX of Linux.
const MaxLength = 4096

// Pattern is a parsed pattern: a [*Path], [*Command], [*Host] or [*Custom]. It does not change, and
// many goroutines may use it at once.
type Pattern interface {
	// Canonical returns the text of the pattern as it is stored and compared.
	Canonical() string
	// Covers reports whether the pattern holds everything that other holds. It never returns true
	// wrongly. For signs that overlap ("[a-c]*" next to two others) it may return false wrongly.
	Covers(other Pattern) bool
}

// Parse reads a pattern of a type of permission. Its error is an [*Error].
func Parse(kind, text string) (Pattern, error) {
	switch FamilyOf(kind) {
	case Paths:
		return parsed(ParsePath(text))
	case Commands:
		return parsed(ParseCommand(text))
	case Hosts:
		return parsed(ParseHost(text))
	}
	return parsed(ParseCustom(text))
}

// parsed returns no pattern for an error.
func parsed[P Pattern](p P, err error) (Pattern, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Error is a mistake in a pattern.
type Error struct {
	Pattern string
	Offset  int // in bytes
	Problem string
	Cure    string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("pattern %q, at byte %d: %s; %s", e.Pattern, e.Offset, e.Problem, e.Cure)
}

// checkText checks what holds for patterns of every kind.
func checkText(text string) error {
	switch {
	case text == "":
		return &Error{"", 0, "it is empty", "write the resource"}
	case len(text) > MaxLength:
		return &Error{text[:32] + "…", MaxLength, fmt.Sprintf("it is longer than %d bytes",
			MaxLength),
			"grant a folder, or several patterns"}
	case !utf8.ValidString(text):
		at := 0
		for i, r := range text {
			if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
				at = i
				break
			}
		}
		return &Error{text, at, "it is not UTF-8", "write it in UTF-8"}
	}
	return nil
}

// Custom is a pattern of a kind that the runtime does not know. No sign has a separator to stop at.
type Custom struct {
	text string
	glob
}

// ParseCustom reads a pattern of a kind that the runtime does not know. Its error is an [*Error].
func ParseCustom(text string) (*Custom, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	g, err := parseGlob(text, 0, text, false)
	if err != nil {
		return nil, err
	}
	return &Custom{text, g}, nil
}

// Match reports whether the pattern holds a resource.
func (p *Custom) Match(resource string) bool { return p.match(resource) }

// Canonical returns the text of the pattern as it is stored and compared.
func (p *Custom) Canonical() string { return p.text }

// Covers reports whether p holds everything that other holds.
func (p *Custom) Covers(other Pattern) bool {
	o, ok := other.(*Custom)
	return ok && p.covers(&o.glob)
}

// Literal returns the pattern that matches a text and no other.
func Literal(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\*?[]{}`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
