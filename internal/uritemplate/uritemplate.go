// Package uritemplate reads the URIs and URI templates of resources: RFC 6570 with simple
// expansion {name} and reserved expansion {+name}.
//
// It imports the standard library alone. The generator judges templates with it and the
// runtime matches with it, so that both mean the same.
package uritemplate

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what the text of a variable may be.
type Kind int

// The kinds of variables.
const (
	Text    Kind = iota
	Integer      // an integer as JSON writes it; nothing in it is percent-encoded
	Boolean      // true or false
)

// MaxLength is the longest URI, in bytes, that a template matches: the least that RFC 9110, section
// 4.1 recommends to support. It bounds the work for a hostile URI.
const MaxLength = 8000

// Template is a parsed URI template, or a URI where it has no variables. It is never changed
// after Parse and Typed, and safe for concurrent use.
type Template struct {
	text    string
	atoms   []atom
	pattern *regexp.Regexp
	scanner *scanner
}

// atom is one literal byte or one variable.
type atom struct {
	literal  byte
	name     string // of a variable; empty for a literal
	reserved bool   // {+name}
	kind     Kind
}

// Error is a fault of a template, and its cure.
type Error struct{ Message, Cure string }

func (e *Error) Error() string { return e.Message + ": " + e.Cure }

// Parse reads a template. It must begin with a scheme, and the text outside of braces must be
// characters of a URI. Between two variables is literal text: without it the end of the first would
// be ambiguous.
func Parse(text string) (Template, error) {
	t := Template{text: text}
	seen := map[string]bool{}
	for rest := text; rest != ""; {
		if rest[0] != '{' {
			c := rest[0]
			switch {
			case c == '}':
				return Template{}, &Error{"a } without its {", "write a variable as {name}"}
			case c == '%' && (len(rest) < 3 || !hex(rest[1]) || !hex(rest[2])):
				return Template{}, &Error{"a % that encodes nothing", "write %25"}
			case c != '%' && !unreserved(c) && !reserved(c):
				return Template{}, &Error{fmt.Sprintf("%q stands in no URI", c), "percent-encode it"}
			}
			t.atoms = append(t.atoms, atom{literal: c})
			rest = rest[1:]
			continue
		}
		inner, after, closed := strings.Cut(rest[1:], "}")
		if !closed {
			return Template{}, &Error{"a { without its }", "write a variable as {name}"}
		}
		name, isReserved := strings.CutPrefix(inner, "+")
		switch {
		case !isName(name):
			return Template{}, unsupported(inner)
		case seen[name]:
			return Template{}, &Error{"the variable " + name + " stands twice", "use each variable once"}
		case len(t.atoms) > 0 && t.atoms[len(t.atoms)-1].name != "":
			return Template{}, &Error{"nothing stands between two variables",
				"write literal text between them, as in {a}/{b}"}
		}
		seen[name] = true
		t.atoms = append(t.atoms, atom{name: name, reserved: isReserved})
		rest = after
	}
	scheme, _, found := strings.Cut(text, ":")
	if !found || !isScheme(scheme) {
		return Template{}, &Error{"it begins with no scheme",
			"write an absolute URI, as in team://people/{id}"}
	}
	return t.compiled(), nil
}

// unsupported refuses text between braces that is neither name nor +name. The other forms of RFC
// 6570, sections 2.4 and 3.2, have a cure of their own: they can be written out.
func unsupported(inner string) *Error {
	cure := "write {name}, or {+name} for text with slashes"
	operator, names := "", inner
	if inner != "" && strings.ContainsRune("+#./;?&", rune(inner[0])) {
		operator, names = inner[:1], inner[1:]
	}
	first, _, several := strings.Cut(names, ",")
	switch name := strings.TrimRight(first, "*:0123456789"); {
	case !isName(name) || operator == "+" && !several:
	case several:
		cure = "write each variable by itself, with literal text between them, as in {a}/{b}"
	case operator == "?" || operator == "&":
		cure = fmt.Sprintf("write the query out, as in %s%s={%s}", operator, name, name)
	case operator != "":
		cure = fmt.Sprintf("write the %s out, as in %s{%s}", operator, operator, name)
	}
	return &Error{fmt.Sprintf("{%s} is not supported", inner), cure}
}

// Typed returns the template with the kinds of its variables set, by name.
func (t Template) Typed(kinds map[string]Kind) Template {
	atoms := make([]atom, len(t.atoms))
	for i, a := range t.atoms {
		a.kind = kinds[a.name]
		atoms[i] = a
	}
	return Template{text: t.text, atoms: atoms}.compiled()
}

// String is the template as written.
func (t Template) String() string { return t.text }

// Variables are the names of the variables, in the order of the template.
func (t Template) Variables() []string {
	var names []string
	for _, a := range t.atoms {
		if a.name != "" {
			names = append(names, a.name)
		}
	}
	return names
}

// Match returns the values of the variables in a URI, percent-decoded, and whether the URI is one
// of the template's. A value is never empty, a {name} holds unreserved and percent-encoded
// characters, a {+name} reserved ones as well, and the decoded text is UTF-8 without control
// characters. A URI longer than MaxLength is nobody's. Where a URI can be read in several ways the
// first variable is the longest.
func (t Template) Match(uri string) (map[string]string, bool) {
	if len(uri) > MaxLength {
		return nil, false
	}
	if t.pattern == nil { // the zero Template
		return nil, false
	}
	found := t.pattern.FindStringSubmatch(uri)
	if found == nil {
		return nil, false
	}
	values := map[string]string{}
	for i, name := range t.Variables() {
		value, err := url.PathUnescape(found[i+1])
		if err != nil || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// Matches reports whether the template matches a URI, as [Template.Match] does. A URI that does not
// match takes as long as one of the same length that does.
func (t Template) Matches(uri string) bool {
	if len(uri) > MaxLength || t.scanner == nil {
		return false
	}
	found := t.scanner.matches(uri)
	if strings.IndexByte(uri, '%') < 0 {
		return found // the template admits no other text that cannot be decoded
	}
	decodes := decodable(uri)
	if found && strings.IndexByte(t.text, '%') >= 0 { // a variable can begin in a character
		_, decodes = t.Match(uri)
	}
	return found && decodes
}

// decodable reports whether a text is percent-encoded UTF-8 without control characters.
func decodable(text string) bool {
	text, err := url.PathUnescape(text)
	return err == nil && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// compiled returns the template with its pattern and its scanner. RE2 reads a hostile URI in time
// linear in its length.
func (t Template) compiled() Template {
	var b strings.Builder
	b.WriteString(`\A`)
	for _, a := range t.atoms {
		switch {
		case a.name == "":
			b.WriteString(regexp.QuoteMeta(string(rune(a.literal))))
		case a.kind == Integer:
			b.WriteString(`(-?(?:0|[1-9][0-9]*))`)
		case a.kind == Boolean:
			b.WriteString(`(true|false)`)
		case a.reserved:
			b.WriteString(`((?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)`)
		default:
			b.WriteString(`((?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+)`)
		}
	}
	b.WriteString(`\z`)
	t.pattern = regexp.MustCompile(b.String()) // made of the pieces above and of quoted literals
	t.scanner = newScanner(t.atoms)
	return t
}

// holds reports whether a byte may be part of a variable's text.
func (a atom) holds(c byte) bool {
	switch a.kind {
	case Integer:
		return c == '-' || '0' <= c && c <= '9'
	case Boolean:
		return strings.IndexByte("truefals", c) >= 0
	}
	return c == '%' || unreserved(c) || a.reserved && reserved(c)
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && !letter(c) && (i == 0 || !digit(c)) {
			return false
		}
	}
	return s != ""
}

// isScheme is RFC 3986, section 3.1.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !letter(c) && (i == 0 || !digit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func hex(c byte) bool { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// unreserved and reserved are the sets of RFC 3986, sections 2.3 and 2.2.
func unreserved(c byte) bool { return letter(c) || digit(c) || strings.IndexByte("-._~", c) >= 0 }

func reserved(c byte) bool { return strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0 }
