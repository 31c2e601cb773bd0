package schema

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
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
