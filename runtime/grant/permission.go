package grant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
	"github.com/mcpgen/mcpgen/internal/pattern"
)

// The kinds that the runtime opens, starts and dials for handlers. Other kinds must not begin
// with file, system or net, because that is probably a mistake. For other dotted kinds the
// runtime decides, and the handler uses the decision.
const (
	FileRead      = "file.read"
	FileWrite     = "file.write"
	SystemCommand = "system.command"
	NetConnect    = "net.connect"
)

// Permission allows the use of resources of a type. The zero Permission is not valid and allows
// nothing.
type Permission struct {
	// Type is a dotted kind, as in "file.read" or "db.table.read". It determines the form of
	// Resource: see the package documentation.
	Type string `json:"type"`
	// Resource is a pattern of resources.
	Resource string `json:"resource"`
	// Unrestricted permissions count in every call, others in isolated calls only.
	Unrestricted Unrestricted `json:"restricted"`
	// Parameters are JSON values that narrow a permission of a custom type. Its handlers read them
	// by [Granted]; other types have none. They are compared for equality only, in canonical form,
	// in which 1 and 1.0 differ.
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
	// Params refuses the former JSON name of Parameters, because a permission without them is wider.
	Params renamedToParameters `json:"params,omitzero"`
}

// Unrestricted is the opposite of its JSON member "restricted", which is true by default. So a
// permission without it counts in isolated calls only, in Go and in JSON.
type Unrestricted bool

// MarshalJSON implements [json.Marshaler].
func (u Unrestricted) MarshalJSON() ([]byte, error) { return json.Marshal(bool(!u)) }

// UnmarshalJSON implements [json.Unmarshaler]. It reads null as true, like a missing member.
func (u *Unrestricted) UnmarshalJSON(data []byte) error {
	restricted := true
	err := json.Unmarshal(data, &restricted)
	*u = Unrestricted(!restricted)
	return err
}

// String returns "unrestricted" or "restricted".
func (u Unrestricted) String() string {
	if u {
		return "unrestricted"
	}
	return "restricted"
}

type renamedToParameters struct{}

func (*renamedToParameters) UnmarshalJSON([]byte) error {
	return errors.New(`grant: rename "params" of a permission to "parameters", and set ` +
		`"restricted": without it, the permission counts in isolated calls only`)
}

// Validate returns all problems of the permission, or nil. For a wrong resource the error is or
// wraps a [*pattern.Error].
func (p Permission) Validate() error {
	_, _, err := p.validate()
	return err
}

// validate returns the permission in canonical form, and its compiled resource.
func (p Permission) validate() (Permission, pattern.Pattern, error) {
	var errs []error
	if problem := badKind(p.Type); problem != "" {
		errs = append(
			errs,
			fmt.Errorf(
				"type %q: %s; write a dotted kind in lower case, for example file.read or db.table.read",
				p.Type, problem))
	} else if problem := unknownKind(p.Type); problem != "" {
		errs = append(errs, fmt.Errorf("type %q: %s", p.Type, problem))
	}
	compiled, err := pattern.Parse(p.Type, p.Resource)
	if err != nil {
		errs = append(errs, fmt.Errorf("resource of %s: %w", p.Type, err))
	}
	if len(p.Parameters) > 0 && pattern.FamilyOf(p.Type) != pattern.Customs {
		errs = append(
			errs, errors.New("parameters: permissions on files, commands and hosts have none: remove them"))
	}
	var parameters map[string]json.RawMessage
	for _, key := range slices.Sorted(maps.Keys(p.Parameters)) {
		value, err := canonicalParameter(key, p.Parameters[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("parameter %q: %w", key, err))
		} else if parameters == nil {
			parameters = map[string]json.RawMessage{}
		}
		if err == nil {
			parameters[key] = value
		}
	}
	if err := errors.Join(errs...); err != nil {
		return p, nil, err
	}
	p.Resource, p.Parameters = compiled.Canonical(), parameters
	return p, compiled, nil
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
			return "a part contains letters from a to z, digits, hyphens and underscores"
		}
	}
	return ""
}

// unknownKind returns the fault of a kind that looks like one of the runtime's and is none.
func unknownKind(kind string) string {
	if slices.Contains([]string{FileRead, FileWrite, SystemCommand, NetConnect}, kind) {
		return ""
	}
	switch begins, _, _ := strings.Cut(kind, "."); begins {
	case "file":
		return "the only kinds of file. are " + FileRead + " and " + FileWrite
	case "system":
		return "the only kind of system. is " + SystemCommand
	case "net":
		return "the only kind of net. is " + NetConnect
	}
	return ""
}

// Canonical returns the permission as it is stored and compared: host names in lower case,
// commands as words if possible, parameters as compact JSON with sorted names. It returns a
// permission that is not valid unchanged.
func (p Permission) Canonical() Permission {
	if canonical, _, err := p.validate(); err == nil {
		return canonical
	}
	return p
}

// Covers reports whether p allows everything that other allows. True is always right. In rare
// cases of overlapping patterns ("[a-c]*" next to two others) it returns false although p covers
// other. Invalid permissions neither cover nor are covered.
//
// An unrestricted permission covers a restricted one, not the other way round. A permission
// without parameters covers one with them, because parameters narrow.
func (p Permission) Covers(other Permission) bool {
	p, a, err1 := p.validate()
	other, b, err2 := other.validate()
	if err1 != nil || err2 != nil || p.Type != other.Type ||
		bool(other.Unrestricted && !p.Unrestricted) {
		return false
	}
	for key, value := range p.Parameters {
		if !bytes.Equal(other.Parameters[key], value) { // no value is empty
			return false
		}
	}
	return a.Covers(b)
}

// Equal reports whether the canonical forms are the same.
func (p Permission) Equal(other Permission) bool {
	return p.Canonical().same(other.Canonical())
}

// String returns the permission in one line, in canonical form, as audit and API show it:
//
//	file.read public/** unrestricted
//	system.command "git log *" restricted
//	db.read orders restricted columns:=`["id","total"]` purpose="price list" rows:=100
//
// A parameter key=text is a string, and key:=json any other JSON value. A word that contains
// white space, quotes or hidden characters is a Go string literal. [Parse] reads the line back.
func (p Permission) String() string {
	p = p.Canonical()
	words := []string{word(p.Type), word(p.Resource), p.Unrestricted.String()}
	for _, key := range slices.Sorted(maps.Keys(p.Parameters)) {
		var text *string
		if json.Unmarshal(p.Parameters[key], &text) == nil && text != nil {
			words = append(words, key+"="+word(*text))
		} else {
			words = append(words, key+":="+word(string(p.Parameters[key])))
		}
	}
	return strings.Join(words, " ")
}

func word(s string) string {
	plain := s != ""
	for _, r := range s {
		plain = plain && r != '"' && r != '`' && r != ' '
	}
	switch {
	case hiddentext.First(s) != nil:
		return strconv.QuoteToASCII(s)
	case plain:
		return s
	case strings.ContainsAny(s, `"\`) && strconv.CanBackquote(s):
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// Parse reads a permission from one line, as [Permission.String] writes it, and validates it. The
// third word is required: a line without it meant an unrestricted permission in earlier versions.
func Parse(line string) (Permission, error) {
	fail := func(err error) (Permission, error) {
		return Permission{}, fmt.Errorf("permission %q: %w", line, err)
	}
	words, err := splitWords(line)
	if err != nil {
		return fail(err)
	}
	if len(words) < 3 || words[2].quoted ||
		!slices.Contains([]string{"restricted", "unrestricted"}, words[2].text) {
		return fail(
			errors.New("write a type, a resource, and restricted (it counts in isolated calls " +
				"only) or unrestricted, as in: file.read public/** restricted; " +
				"quote a resource with spaces"))
	}
	p := Permission{Type: words[0].text, Resource: words[1].text,
		Unrestricted: words[2].text == "unrestricted"}
	for _, w := range words[3:] {
		key, isJSON := strings.CutSuffix(w.key, ":")
		if _, twice := p.Parameters[key]; key == "" || twice {
			return fail(fmt.Errorf("%q follows restricted or unrestricted: write only parameters there, "+
				"key=text or key:=json, each key once", w.text))
		}
		if p.Parameters == nil {
			p.Parameters = map[string]json.RawMessage{}
		}
		if p.Parameters[key] = json.RawMessage(w.text); !isJSON {
			if p.Parameters[key], err = jsonText(w.text); err != nil {
				return fail(fmt.Errorf("parameter %q: %w", key, err))
			}
		}
	}
	if p, _, err = p.validate(); err != nil {
		return fail(err)
	}
	return p, nil
}

type lineWord struct {
	key    string // of a parameter, which follows the first two words
	text   string
	quoted bool
}

func splitWords(line string) ([]lineWord, error) {
	var words []lineWord
	for rest := strings.TrimLeft(line, " \t"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		var w lineWord
		if i := strings.IndexAny(rest, "= \t\"`"); len(words) > 2 && i > 0 && rest[i] == '=' {
			w.key, rest = rest[:i], rest[i+1:]
		}
		if quoted, err := strconv.QuotedPrefix(rest); err == nil && quoted[0] != '\'' {
			w.text, _ = strconv.Unquote(quoted) // a quoted prefix can be unquoted
			w.quoted, rest = true, rest[len(quoted):]
			if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
				return nil, fmt.Errorf("no space follows %s", quoted)
			}
		} else {
			end := len(rest)
			if i := strings.IndexAny(rest, " \t"); i >= 0 {
				end = i
			}
			w.text, rest = rest[:end], rest[end:]
			if strings.ContainsAny(w.text, "\"`") {
				return nil,
					fmt.Errorf("the quotes of %s are not closed; quote a whole word as Go does",
						w.text)
			}
		}
		words = append(words, w)
	}
	return words, nil
}
