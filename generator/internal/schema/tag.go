package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/schema/internal/structtag"
	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// element is one part of a jsonschema tag: a flag, or a key with a value.
type element struct {
	text       string // as written
	key, value string
	flag       bool   // no equals sign
	after      string // the last element before it that has a value
}

// elements splits a tag at the commas that no backslash precedes.
func elements(tag string) []element {
	var list []element
	for i, piece := range strings.Split(tag, ",") {
		if last := len(list) - 1; i > 0 && strings.HasSuffix(list[last].text, `\`) {
			list[last].text = strings.TrimSuffix(list[last].text, `\`) + "," + piece
			continue
		}
		list = append(list, element{text: piece})
	}
	for i := range list {
		e := &list[i]
		var found bool
		e.key, e.value, found = strings.Cut(e.text, "=")
		e.flag = !found
		if i > 0 {
			if e.after = list[i-1].text; list[i-1].flag {
				e.after = list[i-1].after
			}
		}
	}
	return list
}

// fieldTag is the part of a field's schema that its tags set.
type fieldTag struct {
	description        string
	elements           []element
	extras             []element
	required, nullable bool
	given              bool   // there is a tag to check
	mistaken           string // the element that a tag without keys was probably meant to be
	text               string // the tag, where mistaken is set
}

// flags are the elements without a value.
var flags = []string{"required", "nullable", "-"}

// assignment is the beginning of a tag with keys: a word and an equals sign. go-sdk refuses such a
// tag as a description.
var assignment = regexp.MustCompile(`^[^ \t\n]*=`)

// readTag reads the jsonschema tags of a field.
func (p *pass) readTag(tag reflect.StructTag) fieldTag {
	raw := tag.Get("jsonschema")
	t := fieldTag{description: tag.Get("jsonschema_description")}
	if extras := tag.Get("jsonschema_extras"); extras != "" {
		t.extras = elements(extras)
	}
	t.given = raw != "" || len(t.extras) > 0
	if raw == "" {
		return t
	}
	list := elements(raw)
	if isDescription(raw, list) {
		if t.description == "" {
			t.description = raw
		}
		if t.mistaken = mistaken(raw); t.mistaken != "" {
			t.text = raw
		}
		return t
	}
	t.add(list, true)
	return t
}

// add takes elements, flags where they are read from elements.
func (t *fieldTag) add(list []element, readFlags bool) {
	for _, e := range list {
		switch {
		case readFlags && e.text == "required":
			t.required = true
		case readFlags && e.text == "nullable":
			t.nullable = true
		default:
			t.elements = append(t.elements, e)
		}
	}
}

// isDescription reports a tag without any known key that does not look like one either.
func isDescription(raw string, list []element) bool {
	for _, e := range list {
		if e.flag && slices.Contains(flags, e.text) || !e.flag && knownKey(e.key) {
			return false
		}
	}
	return !assignment.MatchString(raw)
}

// declaredTypes reports whether a tag declares the JSON types of a property.
func (t fieldTag) declaredTypes() bool {
	return slices.ContainsFunc(t.elements, func(e element) bool {
		return e.key == "type" || strings.HasPrefix(e.key, "oneof_") && e.key != "oneof_required" ||
			strings.HasPrefix(e.key, "anyof_") && e.key != "anyof_required"
	})
}

// lostTag finds an intended jsonschema tag in the ignored part of a malformed tag.
var lostTag = regexp.MustCompile(`(?is)json[_-]?schema\W+(.*)`)

// losesLimit reports whether the ignored part of a tag limits values.
func losesLimit(part string) bool {
	m := lostTag.FindStringSubmatch(part)
	if m == nil {
		return false
	}
	text, _, _ := strings.Cut(m[1], `"`)
	return slices.ContainsFunc(elements(text), func(e element) bool {
		notes := []string{"title", "description", "example", "anchor", "readOnly", "writeOnly"}
		return e.flag && slices.Contains(flags, e.text) ||
			!e.flag && knownKey(e.key) && !slices.Contains(notes, e.key)
	})
}

// wellFormed reports a malformed tag. In a type that the author cannot edit it does so only if a
// limit is lost.
func (p *pass) wellFormed(f field, at place) {
	own := f.v.Pkg().Path() == p.w.in || p.w.src != nil && p.w.src.Local(f.v.Pkg())
	for _, flaw := range structtag.Flaws(string(f.tag)) {
		if !own {
			if !losesLimit(flaw.Lost) {
				continue
			}
			flaw.Cure = foreignCure
		}
		found := at.found(BadTag, flaw.Message, flaw.Cure)
		found.InTag, found.Offset = true, flaw.Offset
		p.add(found)
	}
}

// A jsonschema tag without a key is a description, as in go-sdk. An intended key in it would be
// ignored silently, and its limit with it.

// everyday are keys that are also words of descriptions. Alone, or with a word that is no value of
// theirs, they count as description.
var everyday = []string{
	"anchor", "default", "description", "example", "format", "pattern", "title", "type",
}

// assigned finds a key within text: a word, an equals sign and something after it. A colon without
// spaces counts as well.
var assigned = regexp.MustCompile(`(?:^|[\s;,(])([A-Za-z_]+)(\s*=\s*|:)(\S+)`)

// numeral is a number, with any unit or bracket after it.
var numeral = regexp.MustCompile(`^[-+]?[0-9][0-9.eE+-]*$`)

// mistaken returns the element that a description was probably meant to be, or nothing: parts
// between commas, each of one or two words of which the first is, or nearly is, a key; or an
// assignment after other words.
func mistaken(text string) string {
	for _, m := range assigned.FindAllStringSubmatch(text, -1) {
		key, value := resembled(m[1]), m[3]
		if key != "pattern" {
			value = strings.TrimRight(value, ",;.)")
		}
		common := slices.Contains(everyday, key)
		switch {
		case key == "" || value == "":
		case slices.Contains(flags, key):
			if value == "true" {
				return key
			}
		case m[2] == ":" && (common || !isValue(key, value)):
		case !common || isValue(key, value):
			return key + "=" + strings.ReplaceAll(value, ",", `\\,`)
		}
	}
	first := ""
	for i, part := range strings.Split(text, ",") {
		e := meant(strings.Fields(part))
		if e == "" {
			return ""
		}
		if i == 0 {
			first = e
		}
	}
	return first
}

func meant(words []string) string {
	if len(words) == 0 || len(words) > 2 {
		return ""
	}
	word, colon := strings.CutSuffix(words[0], ":")
	key := resembled(word)
	switch {
	case key == "":
	case slices.Contains(flags, key):
		if len(words) == 1 {
			return key
		}
	case len(words) == 1:
		if !slices.Contains(everyday, key) {
			return key + "=" + sample(key)
		}
	case isValue(key, words[1]) || colon && !slices.Contains(everyday, key):
		return key + "=" + words[1]
	}
	return ""
}

// resembled is the key or flag that a word equals except for case and a typing mistake, or nothing.
// It is stricter than [nearest], which is for words that are known to be wrong.
func resembled(word string) string {
	for _, known := range slices.Concat(allKeys, flags[:2]) {
		if strings.EqualFold(word, known) {
			return known
		}
	}
	for _, known := range slices.Concat(allKeys, flags[:2]) {
		slips := max(1, len(known)/4)
		if slices.Contains(flags, known) || slices.Contains(everyday, known) {
			slips = 1
		}
		distance := editdistance.Between(strings.ToLower(word), strings.ToLower(known))
		if len(word) >= 4 && distance <= slips {
			return known
		}
	}
	return ""
}

// sample is a value to show for a key that was written without.
func sample(key string) string {
	if slices.Contains([]string{"uniqueItems", "readOnly", "writeOnly"}, key) {
		return "true"
	}
	return "…"
}

// isValue reports whether a word looks like a value of the key rather than the next of a sentence.
func isValue(key, word string) bool {
	switch key {
	case "pattern":
		return strings.ContainsAny(word, `^$[]\*+(){}|`)
	case "format":
		return formats[word]
	case "type":
		return slices.Contains(jsonTypes, word)
	case "uniqueItems", "readOnly", "writeOnly":
		return word == "true" || word == "false"
	case "default", "example":
		return numeral.MatchString(word) || word == "true" || word == "false"
	case "title", "description", "anchor", "enum":
		return false
	}
	return numeral.MatchString(word)
}

// formats are those of JSON Schema (2020-12, validation, section 7.3).
var formats = map[string]bool{
	"date-time": true, "date": true, "time": true, "duration": true, "email": true,
	"idn-email": true, "hostname": true, "idn-hostname": true, "ipv4": true, "ipv6": true,
	"uri": true, "uri-reference": true, "iri": true, "iri-reference": true, "uuid": true,
	"uri-template": true, "json-pointer": true, "relative-json-pointer": true, "regex": true,
}

// HeaderKey is the keyword of an argument that clients repeat in an HTTP header (SEP-2243).
const HeaderKey = "x-mcp-header"

// bind adds the HTTP header of an argument; empty for none.
func (t *fieldTag) bind(header string) {
	if header != "" {
		t.extras = append(t.extras, element{key: HeaderKey, value: header})
	}
}

// IsHeader reports whether a text is a token of RFC 9110, section 5.6.2, and so a name of a header.
func IsHeader(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// headers reports an HTTP header of an argument that clients cannot send. Clients find headers by
// properties of objects within the root, and leave out a tool with another one.
func (p *pass) headers(root *jsonschema.Schema) {
	of := map[string]string{} // the arguments, by header
	seen := map[*jsonschema.Schema]bool{}
	report := func(s *jsonschema.Schema, cure, format string, args ...any) {
		p.add(p.places[s].found(BadTag, fmt.Sprintf(format, args...), cure))
	}
	var walk func(s *jsonschema.Schema, path string)
	walk = func(s *jsonschema.Schema, path string) {
		if s.Properties == nil {
			return
		}
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			at, s := path+pair.Key, pair.Value
			if value := headerOf(s); value != nil {
				seen[s] = true
				name, _ := value.(string)
				switch other := of[strings.ToLower(name)]; {
				case !IsHeader(name):
					report(s, "write letters, digits and -", "%q is not the name of a header",
						fmt.Sprint(value))
				case s.Type != "string" && s.Type != "integer" && s.Type != "boolean":
					report(s, "remove the header, or give the argument such a type",
						"a header is for a string, an integer or a boolean, and never for null")
				case other != "":
					report(s, "write another name", "the header Mcp-Param-%s is that of %s too", name, other)
				default:
					of[strings.ToLower(name)] = at
				}
			}
			walk(s, at+".")
		}
	}
	walk(p.resolve(root), "")
	for s := range p.places {
		if headerOf(s) != nil && !seen[s] {
			report(s, "remove the header", "clients send no header for a value within a list, a map, "+
				"a value that may be null or a type that contains itself")
		}
	}
}

// headerOf returns the HTTP header of an argument, which may be null; nil for none.
func headerOf(s *jsonschema.Schema) any {
	if len(s.AnyOf) == 2 && s.Extras[HeaderKey] == nil {
		s = s.AnyOf[0]
	}
	return s.Extras[HeaderKey]
}
