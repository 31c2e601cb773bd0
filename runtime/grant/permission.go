package grant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/grant/pattern"
)

// The kinds that the runtime itself opens, starts and dials for handlers. No other kind begins with
// file, system or net: it would be a slip. Any other dotted kind is decided, and what is done with
// the decision is the handler's.
const (
	FileRead      = "file.read"
	FileWrite     = "file.write"
	SystemCommand = "system.command"
	NetConnect    = "net.connect"
)

// Permission says that resources of a type may be used. The zero Permission is none, and not valid.
type Permission struct {
	// Type is a dotted kind, as in "file.read" or "db.table.read". It decides how Resource is read:
	// see the package's documentation.
	Type string `json:"type"`
	// Resource is a pattern of resources.
	Resource string `json:"resource"`
	// Restricted says that it counts inside isolation only.
	Restricted bool `json:"restricted,omitempty"`
	// Params narrow it in ways that the handlers of a type of one's own know, who find them by
	// [Granted]; the other types have none. No two are compared but for equality.
	Params map[string]string `json:"params,omitempty"`
}

// Family is how the resources of a type are read.
type Family string

// The families.
const (
	Paths    Family = "paths"    // file.*
	Commands Family = "commands" // system.command
	Hosts    Family = "hosts"    // net.*
	Custom   Family = "custom"   // all else
)

// FamilyOf returns the family of a type.
func FamilyOf(kind string) Family {
	switch {
	case strings.HasPrefix(kind, "file."):
		return Paths
	case kind == SystemCommand:
		return Commands
	case strings.HasPrefix(kind, "net."):
		return Hosts
	}
	return Custom
}

// compile reads the resource of a permission, whose type is valid.
func (p Permission) compile() (pattern.Pattern, error) {
	switch FamilyOf(p.Type) {
	case Paths:
		return compiled(pattern.ParsePath(p.Resource))
	case Commands:
		return compiled(pattern.ParseCommand(p.Resource))
	case Hosts:
		return compiled(pattern.ParseHost(p.Resource))
	}
	return compiled(pattern.ParseCustom(p.Resource))
}

func compiled[P pattern.Pattern](p P, err error) (pattern.Pattern, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Validate returns what is wrong with the permission, all of it, or nil. Where the resource is, the
// error is or wraps a [*pattern.Error].
func (p Permission) Validate() error {
	_, err := p.validate()
	return err
}

func (p Permission) validate() (pattern.Pattern, error) {
	var errs []error
	if problem := badKind(p.Type); problem != "" {
		errs = append(errs, fmt.Errorf("type %q: %s; write a dotted kind in lower case, as in file.read or db.table.read", p.Type, problem))
	} else if problem := unknownKind(p.Type); problem != "" {
		errs = append(errs, fmt.Errorf("type %q: %s", p.Type, problem))
	}
	compiled, err := p.compile()
	if err != nil {
		errs = append(errs, fmt.Errorf("resource of %s: %w", p.Type, err))
	}
	if len(p.Params) > 0 && FamilyOf(p.Type) != Custom {
		errs = append(errs, errors.New("parameters: files, commands and hosts are decided on without any, so that they would narrow nothing: leave them out"))
	}
	for _, key := range slices.Sorted(maps.Keys(p.Params)) {
		if problem := badParam(key, p.Params[key]); problem != "" {
			errs = append(errs, fmt.Errorf("parameter %q: %s", key, problem))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return compiled, nil
}

func badKind(kind string) string {
	if len(kind) > 128 {
		return "it is longer than 128 bytes"
	}
	if !strings.Contains(kind, ".") {
		return "it has no dot"
	}
	for part := range strings.SplitSeq(kind, ".") {
		if part == "" || part[0] < 'a' || part[0] > 'z' {
			return "each part begins with a letter from a to z"
		}
		if strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			return "a part holds letters from a to z, digits, hyphens and underscores"
		}
	}
	return ""
}

// unknownKind says that a kind looks like one of the runtime's and is none.
func unknownKind(kind string) string {
	if slices.Contains([]string{FileRead, FileWrite, SystemCommand, NetConnect}, kind) {
		return ""
	}
	switch begins, _, _ := strings.Cut(kind, "."); begins {
	case "file":
		return "of file. there are " + FileRead + " and " + FileWrite + " alone"
	case "system":
		return "of system. there is " + SystemCommand + " alone"
	case "net":
		return "of net. there is " + NetConnect + " alone"
	}
	return ""
}

func badParam(key, value string) string {
	switch {
	case key == "" || key[0] < 'a' || key[0] > 'z' ||
		strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "":
		return "a key begins with a letter from a to z and holds letters, digits, dots, hyphens and underscores"
	case !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 ||
		len(value) > pattern.MaxLength:
		return fmt.Sprintf("a value is UTF-8 without NUL, at most %d bytes", pattern.MaxLength)
	}
	return ""
}

// Canonical returns the permission with its resource as it is stored and compared: names of hosts
// in lower case, commands as words where they can be. One that is not valid is returned as it is.
func (p Permission) Canonical() Permission {
	if compiled, err := p.validate(); err == nil {
		p.Resource = compiled.Canonical()
	}
	return p
}

// Covers reports whether whatever other allows is allowed by p as well. It never says so wrongly;
// in rare cases of signs that overlap ("[a-c]*" next to two others) it denies what an exhaustive
// comparison would find. One that is not valid covers nothing, and nothing covers it.
//
// A permission outside isolation covers one inside, not the other way round; and one without
// parameters covers one with them, since parameters narrow.
func (p Permission) Covers(other Permission) bool {
	if p.Type != other.Type || p.Restricted && !other.Restricted {
		return false
	}
	for key, value := range p.Params {
		if o, ok := other.Params[key]; !ok || o != value {
			return false
		}
	}
	a, err1 := p.validate()
	b, err2 := other.validate()
	return err1 == nil && err2 == nil && a.Covers(b)
}

// Equal reports whether both say the same in their canonical form.
func (p Permission) Equal(other Permission) bool {
	return p.Canonical().same(other.Canonical())
}

// String is the permission in one line, as audit and API show it, in its canonical form:
//
//	file.read public/**
//	system.command "git log *" restricted
//	net.connect api.example.com:443 purpose="price list"
//
// A word that holds white space, quotes or what is [Hidden] is a Go string literal. [Parse] reads
// it back.
func (p Permission) String() string {
	p = p.Canonical()
	words := []string{word(p.Type), word(p.Resource)}
	if p.Restricted {
		words = append(words, "restricted")
	}
	for _, key := range slices.Sorted(maps.Keys(p.Params)) {
		words = append(words, key+"="+word(p.Params[key]))
	}
	return strings.Join(words, " ")
}

func word(s string) string {
	plain := s != ""
	for _, r := range s {
		plain = plain && r != '"' && r != '`' && r != ' '
	}
	switch {
	case Hidden(s) != nil:
		return strconv.QuoteToASCII(s)
	case plain:
		return s
	case strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s):
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// Parse reads a permission from one line, as [Permission.String] writes it, and validates it.
func Parse(line string) (Permission, error) {
	words, err := splitWords(line)
	if err != nil {
		return Permission{}, fmt.Errorf("permission %q: %w", line, err)
	}
	if len(words) < 2 {
		return Permission{}, fmt.Errorf("permission %q: a type and a resource are needed, as in: file.read public/**", line)
	}
	p := Permission{Type: words[0].text, Resource: words[1].text}
	for _, w := range words[2:] {
		if w.key == "" && w.text == "restricted" && !w.quoted && !p.Restricted {
			p.Restricted = true
			continue
		}
		if _, twice := p.Params[w.key]; w.key == "" || twice {
			return Permission{},
				fmt.Errorf("permission %q: after type and resource stand the word restricted and parameters key=value, each once, and not %q; a resource with spaces stands in quotes", line, w.text)
		}
		if p.Params == nil {
			p.Params = map[string]string{}
		}
		p.Params[w.key] = w.text
	}
	compiled, err := p.validate()
	if err != nil {
		return Permission{}, fmt.Errorf("permission %q: %w", line, err)
	}
	p.Resource = compiled.Canonical()
	return p, nil
}

type lineWord struct {
	key    string // of a parameter, which stands behind the first two words
	text   string
	quoted bool
}

func splitWords(line string) ([]lineWord, error) {
	var words []lineWord
	for rest := strings.TrimLeft(line, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		var w lineWord
		if i := strings.IndexAny(rest, "= \t\"`"); len(words) >= 2 && i > 0 && rest[i] == '=' {
			w.key, rest = rest[:i], rest[i+1:]
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] != '\'' {
			w.text, _ = strconv.Unquote(quoted) // a quoted prefix can be unquoted
			w.quoted, rest = true, rest[len(quoted):]
			if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				return nil, fmt.Errorf("behind %s stands no space", quoted)
			}
		} else {
			end := len(rest)
			if i := strings.IndexAny(rest, " \t"); i >= 0 {
				end = i
			}
			w.text, rest = rest[:end], rest[end:]
			if strings.ContainsAny(w.text, "\"`") {
				return nil, fmt.Errorf("the quotes of %s are not closed; quote a whole word as Go does", w.text)
			}
		}
		words = append(words, w)
	}
	return words, nil
}
