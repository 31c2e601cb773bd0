package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

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

// fieldTag is what the tags of a field say of its schema.
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

// assignment is how a tag begins that wants to be read as keys: a word and an equals sign.
// go-sdk refuses such a tag as a description, for the same reason.
var assignment = regexp.MustCompile(`^[^ \t\n]*=`)

// readTag reads the jsonschema tags of a field.
func (p *pass) readTag(tag reflect.StructTag) fieldTag {
	raw := tag.Get("jsonschema")
	t := fieldTag{description: tag.Get("jsonschema_description")}
	if extras := tag.Get("jsonschema_extras"); extras != "" {
		t.extras = elements(extras)
	}
	t.given = raw != "" || len(t.extras) > 0
	if !p.on.has(wholeValues) {
		// Flags are looked for between all commas, escaped ones too.
		pieces := strings.Split(raw, ",")
		t.required, t.nullable = slices.Contains(pieces, "required"), slices.Contains(pieces, "nullable")
	}
	if raw == "" {
		return t
	}
	list := elements(raw)
	if isDescription(raw, list) {
		if p.on.has(plainDescription) && t.description == "" {
			t.description = raw
		}
		if t.mistaken = mistaken(raw); t.mistaken != "" {
			t.text = raw
		}
		return t
	}
	t.add(list, p.on.has(wholeValues))
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

// declaredTypes reports whether a tag says which JSON types a property has.
func (t fieldTag) declaredTypes() bool {
	return slices.ContainsFunc(t.elements, func(e element) bool {
		return e.key == "type" || strings.HasPrefix(e.key, "oneof_") && e.key != "oneof_required" ||
			strings.HasPrefix(e.key, "anyof_") && e.key != "anyof_required"
	})
}

// flaw is a mistake in the text of a struct tag, by which [reflect.StructTag] misses a part of it.
type flaw struct {
	offset        int // byte of the tag
	message, cure string
	lost          string // the part of the tag that is missed, or empty
}

const (
	onePair = `write pairs, for example json:"name" jsonschema:"minimum=3"`
	noSpace = "write one space between two pairs"
	quoted  = `write jsonschema:"minimum=3"`
)

// flaws lists the mistakes of a tag. It reads pairs as [reflect.StructTag.Lookup] does.
func flaws(tag string) (list []flaw) {
	seen := make([]string, 0, 4)
	for at := 0; ; {
		at += len(tag[at:]) - len(strings.TrimLeft(tag[at:], " "))
		if at == len(tag) {
			return list
		}
		rest := tag[at:]
		n := strings.IndexFunc(rest, endsKey)
		switch {
		case at > 0 && strings.ContainsRune(",;\t\r\n", rune(rest[0])):
			message := fmt.Sprintf("the struct tag has %q between two pairs", rest[:1])
			return append(list, flaw{at, message, noSpace, rest})
		case n > 0 && rest[n] == ':' && !strings.HasPrefix(rest[n+1:], `"`):
			value := strings.TrimLeft(rest[n+1:], " ")
			value, _, _ = strings.Cut(value, " ")
			message := "the value of the tag key " + rest[:n] + " has no double quotes"
			cure := fmt.Sprintf("write %s:%q", rest[:n], strings.Trim(value, "\"'`"))
			return append(list, flaw{at, message, cure, rest})
		case n <= 0 || rest[n] != ':' || strings.ContainsAny(rest[:n], noKey):
			word := strings.Fields(rest + " .")[0]
			if i := strings.IndexByte(word, '"'); i > 0 {
				word = word[:i]
			}
			message := fmt.Sprintf("the struct tag is not a list of pairs from %q on", word)
			return append(list, flaw{at, message, onePair, rest})
		}
		key, value := rest[:n], closed(rest[n+1:])
		if value == "" {
			message := "the value of the tag key " + key + " has no closing quote"
			return append(list, flaw{at, message, quoted, rest})
		}
		pair := rest[:n+1+len(value)]
		if _, err := strconv.Unquote(value); err != nil {
			message, cure := "the value of the tag key "+key+" is not a Go string", quoted
			if escape := badEscape(value); escape != "" {
				message, cure = message+": it has "+escape, `write \`+escape
			}
			list = append(list, flaw{at + n + 1, message, cure, pair})
		}
		switch near := nearKey(key); {
		case near != key && near != "":
			shown := strings.Trim(strconv.QuoteToASCII(key), `"`)
			message := "the struct tag has the key " + shown + ", which no package reads"
			list = append(list, flaw{at, message, "write " + near, near + pair[n:]})
		case near == key && slices.Contains(seen, key):
			message := "the struct tag has the key " + key + " twice, and Go reads only the first"
			list = append(list, flaw{at, message, "write one", pair})
		}
		seen = append(seen, key)
		at += len(pair)
		if at < len(tag) && !strings.ContainsRune(" ,;\t\r\n", rune(tag[at])) {
			message := "the struct tag has no space between two pairs"
			list = append(list, flaw{at, message, noSpace, ""})
		}
	}
}

// noKey are characters that no library has in a key. A key with one of them is a mistake.
const noKey = ",;=&|'`(){}[]<>\\"

func endsKey(c rune) bool { return c <= ' ' || c == ':' || c == '"' || c == 0x7f }

// closed is the quoted text at the start of s, or empty if its quote is not closed.
func closed(s string) string {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i+1]
		}
	}
	return ""
}

// badEscape is the first escape of a quoted text that Go does not have, or empty.
func badEscape(text string) string {
	for text = text[1 : len(text)-1]; text != ""; {
		_, _, rest, err := strconv.UnquoteChar(text, '"')
		if err != nil {
			if text[0] == '\\' {
				return text[:2]
			}
			return ""
		}
		text = rest
	}
	return ""
}

// tagKeys are the keys that this package reads.
var tagKeys = []string{"json", "jsonschema", "jsonschema_description", "jsonschema_extras"}

// nearKey is the key of tagKeys that a key is, or is but for its writing or a slip. It is empty for
// the keys of others, such as bson, jsonb and jsonapi.
func nearKey(key string) string {
	if slices.Contains(tagKeys, key) {
		return key
	}
	plain := strings.NewReplacer("_", "", "-", "").Replace
	fold := plain(strings.ToLower(key))
	best, distance := "", 3
	for _, known := range tagKeys[1:] {
		if d := editdistance.Between(fold, plain(known)); d < distance {
			best, distance = known, d
		}
	}
	switch {
	case best != "":
		return best
	case strings.HasPrefix(fold, "jsonschema"):
		return "jsonschema"
	case slices.Contains(jsonSlips, fold):
		return "json"
	}
	return ""
}

// jsonSlips are the word json itself, with a letter left out or doubled, and with two swapped.
var jsonSlips = []string{
	"json", "jso", "jsn", "jon", "jjson", "jsson", "jsoon", "jsonn", "sjon", "josn", "jsno",
}

// lostTag finds what was meant as a jsonschema tag within a part that is missed.
var lostTag = regexp.MustCompile(`(?is)json[_-]?schema\W+(.*)`)

// losesLimit reports whether the part of a tag that is missed limits values.
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
	for _, flaw := range flaws(string(f.tag)) {
		if !own {
			if !losesLimit(flaw.lost) {
				continue
			}
			flaw.cure = foreignCure
		}
		found := at.found(BadTag, flaw.message, flaw.cure)
		found.InTag, found.Offset = true, flaw.offset
		p.add(found)
	}
}
