package validator

import (
	"reflect"
	"strings"
	"sync"
	"unicode"
)

// field is a property that encoding/json fills in a struct.
type field struct {
	typ    reflect.Type
	quoted bool // the string option: a scalar written within a string
}

// candidate is a field of a name at one depth of embedding.
type candidate struct {
	field
	tagged bool // by a name in its tag, which beats a field's own name
	rivals int  // equals at the same depth: none of them is filled
}

var fieldsOf sync.Map // reflect.Type → map[string]field

// fields returns the properties of a struct by name, as encoding/json finds them: of several
// fields of one name the least deeply embedded counts, then the tagged one, then none.
func fields(t reflect.Type) map[string]field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.(map[string]field)
	}
	found := map[string]candidate{}
	visited := map[reflect.Type]bool{}
	for level := map[reflect.Type]int{t: 1}; len(level) > 0; {
		here, next := map[string]candidate{}, map[reflect.Type]int{}
		for structType, times := range level {
			visited[structType] = true
			for i := range structType.NumField() {
				sf := structType.Field(i)
				if embedded := embeddedStruct(sf); embedded != nil {
					next[embedded] += times
					continue
				}
				if name, c, ok := property(sf); ok {
					c.rivals = times - 1
					here[name] = preferred(here[name], c)
				}
			}
		}
		for name, c := range here {
			if _, hidden := found[name]; !hidden {
				found[name] = c
			}
		}
		for structType := range next {
			if visited[structType] {
				delete(next, structType)
			}
		}
		level = next
	}
	filled := map[string]field{}
	for name, c := range found {
		if c.rivals == 0 {
			filled[name] = c.field
		}
	}
	known, _ := fieldsOf.LoadOrStore(t, filled)
	return known.(map[string]field)
}

// preferred returns the candidate of a depth that counts. a may be zero.
func preferred(a, b candidate) candidate {
	switch {
	case a.typ == nil || b.tagged && !a.tagged:
		return b
	case a.tagged && !b.tagged:
		return a
	}
	a.rivals += b.rivals + 1
	return a
}

// embeddedStruct returns the struct whose fields are promoted through sf, or nil.
func embeddedStruct(sf reflect.StructField) reflect.Type {
	t := sf.Type
	if sf.Anonymous && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !sf.Anonymous || t.Kind() != reflect.Struct || sf.Tag.Get("json") == "-" {
		return nil
	}
	if name, _, _ := strings.Cut(sf.Tag.Get("json"), ","); validName(name) {
		return nil
	}
	return t
}

// property returns the name under which encoding/json fills sf.
func property(sf reflect.StructField) (name string, c candidate, ok bool) {
	tag := sf.Tag.Get("json")
	if !sf.IsExported() && !(sf.Anonymous && embedsExported(sf.Type)) || tag == "-" {
		return "", candidate{}, false
	}
	name, options, _ := strings.Cut(tag, ",")
	c.typ = sf.Type
	c.tagged = validName(name)
	if !c.tagged {
		name = sf.Name
	}
	for option := range strings.SplitSeq(options, ",") {
		c.quoted = c.quoted || option == "string" && quotable(sf.Type)
	}
	return name, c, true
}

// embedsExported reports whether an embedded field of unexported type is a struct, which
// encoding/json treats like an exported field if it has a name in its tag.
func embedsExported(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// validName reports whether a name in a tag counts for encoding/json.
func validName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) &&
			!unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

// quotable reports whether the string option applies to a type.
func quotable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	}
	return false
}
