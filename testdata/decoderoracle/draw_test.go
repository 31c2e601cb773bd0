package decoderoracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// drawer draws documents for one schema: most parts as the schema has them, some beside it.
type drawer struct {
	rand  *rand.Rand
	root  map[string]any
	wrong float64 // the chance of each value to be wrong
	loose float64 // the chance of each value to need a coercion of lenient arguments
	b     []byte
}

// longest is where a document has grown long enough, in bytes.
const longest = 2000

// document draws one document: of three, one is valid, one nearly so, one is meant to hurt.
func (d *drawer) document() []byte {
	d.b = nil
	d.wrong = 0
	switch d.rand.IntN(8) {
	case 0, 1:
		d.wrong = 0.1
	case 2:
		d.wrong = 0.5
	}
	d.value(d.root, 0)
	if d.rand.IntN(20) == 0 {
		d.damage()
	}
	if len(d.b) == 0 {
		d.add(" ") // no text at all stands for no arguments
	}
	return d.b
}

// damage changes the text itself.
func (d *drawer) damage() {
	at := d.rand.IntN(len(d.b) + 1)
	piece := d.pick("\xff", `\ud800`, `"`, "{", "}", "[", "]", ",", ":", "0", "-", "null", `\u0061`, "\x00", " ", strings.Repeat("[", 200), `"a":1,`, "1e999999999", "//")
	switch d.rand.IntN(3) {
	case 0:
		d.b = slices.Concat(d.b[:at], []byte(piece), d.b[at:])
	case 1:
		d.b = d.b[:at]
	default:
		end := min(len(d.b), at+1+d.rand.IntN(4))
		d.b = slices.Concat(d.b[:at], d.b[end:])
	}
}

func (d *drawer) pick(choices ...string) string { return choices[d.rand.IntN(len(choices))] }

func (d *drawer) chance(of int) bool { return d.rand.IntN(of) == 0 }

func (d *drawer) add(text string) { d.b = append(d.b, text...) }

func (d *drawer) space() {
	if d.chance(30) {
		d.add(d.pick(" ", "\n", "\t", "\r\n", "  "))
	}
}

func (d *drawer) value(s map[string]any, depth int) {
	d.space()
	defer d.space()
	if d.rand.Float64() < d.wrong {
		d.anything(depth)
		return
	}
	if depth > 12 || len(d.b) > longest { // a type that must hold itself has no document
		d.add("null")
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		s = d.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	forms, ok := s["anyOf"].([]any)
	if !ok {
		forms, ok = s["oneOf"].([]any)
	}
	if ok && s["type"] == nil { // beside a type they are groups of properties
		s = forms[d.rand.IntN(len(forms))].(map[string]any)
		d.value(s, depth)
		return
	}
	if enum, ok := s["enum"].([]any); ok {
		d.json(enum[d.rand.IntN(len(enum))])
		return
	}
	if d.loose > 0 && d.rand.Float64() < d.loose && d.loosely(s, depth) {
		return
	}
	switch s["type"] {
	case "object":
		d.object(s, depth)
	case "array":
		d.array(s, depth)
	case "string":
		d.text(s)
	case "integer":
		d.number(s, true)
	case "number":
		d.number(s, false)
	case "boolean":
		d.add(d.pick("true", "false"))
	case "null":
		d.add("null")
	default:
		d.anything(depth)
	}
}

// loosely draws a value that lenient arguments accept, or would if it were another, and reports
// whether there is one for the type.
func (d *drawer) loosely(s map[string]any, depth int) bool {
	if depth > 0 && d.chance(3) {
		d.add("null")
		return true
	}
	switch s["type"] {
	case "integer", "number":
		start := len(d.b)
		d.number(s, s["type"] == "integer")
		text := string(d.b[start:])
		d.b = d.b[:start]
		if d.chance(8) {
			text = d.pick("", "+1", "01", " 1", "1 ", "0x10", "NaN", "1e3", "1_0", "1.",
				".5", "-", "1e999")
		}
		d.quote(text)
	case "boolean":
		d.quote(d.pick("true", "false", "true", "false", "TRUE", "1", ""))
	case "array":
		items, _ := s["items"].(map[string]any)
		d.value(items, depth+1)
	default:
		return false
	}
	return true
}

func (d *drawer) json(v any) {
	if n, ok := v.(float64); ok && d.chance(2) {
		d.add(d.spelled(strconv.FormatFloat(n, 'f', -1, 64)))
		return
	}
	if s, ok := v.(string); ok {
		d.quote(s)
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	d.add(string(text))
}

// quote writes a string, some of its letters escaped.
func (d *drawer) quote(s string) {
	d.add(`"`)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			d.add(`\` + string(r))
		case r < 0x20 || r < 0x10000 && d.chance(12):
			d.add(fmt.Sprintf(d.pick(`\u%04x`, `\u%04X`), r))
		default:
			d.add(string(r))
		}
	}
	d.add(`"`)
}

func (d *drawer) object(s map[string]any, depth int) {
	properties, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	if list, ok := s["required"].([]any); ok {
		for _, name := range list {
			required[name.(string)] = true
		}
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		keep := required[name]
		if !keep {
			keep = d.rand.IntN(3+depth) < 2 && depth < 7
		} else if d.wrong > 0 && d.rand.Float64() < d.wrong/2 {
			keep = false
		}
		if keep {
			names = append(names, name)
		}
	}
	if d.loose > 0 && d.rand.Float64() < d.loose {
		names = append(names, d.pick("stranger", "größe"))
	}
	if d.chance(2) {
		d.rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	if d.wrong > 0 && d.rand.Float64() < d.wrong/2 {
		names = append(names, d.pick("", "id", "nam", "ID", "größe", "unknown", "F0", "x"))
	}
	d.add("{")
	first := true
	member := func(name string, of map[string]any) {
		if !first {
			d.add(",")
		}
		first = false
		d.space()
		d.quote(name)
		d.space()
		d.add(":")
		d.value(of, depth+1)
	}
	for _, name := range names {
		of, _ := properties[name].(map[string]any)
		member(name, of)
	}
	d.members(s, depth, member)
	d.add("}")
}

// members draws the properties of a map.
func (d *drawer) members(s map[string]any, depth int, member func(string, map[string]any)) {
	additional, open := s["additionalProperties"].(map[string]any)
	pattern := ""
	if list, ok := s["patternProperties"].(map[string]any); ok {
		for p, of := range list {
			pattern, additional, open = p, of.(map[string]any), true
		}
	}
	if _, closed := s["additionalProperties"].(bool); !open && (closed || s["properties"] != nil && len(s["properties"].(map[string]any)) > 0) || depth > 6 {
		return
	}
	met := map[string]bool{}
	for range d.rand.IntN(4) {
		name := d.pick("a", "b", "red", "a/b", "é", "~", "", "a-b", "X-1", "::1", "192.0.2.1")
		switch names, _ := s["propertyNames"].(map[string]any); {
		case pattern != "":
			name = strconv.Itoa(d.rand.IntN(100))
			if d.chance(12) {
				name = d.pick("-1", "-0", "01", "300", "99999999999999999999", "x", "-", "127", "128", "-128", "")
			}
		case names != nil && !d.chance(20):
			enum := names["enum"].([]any)
			name = enum[d.rand.IntN(len(enum))].(string)
		}
		if met[name] && !d.chance(30) {
			continue
		}
		met[name] = true
		member(name, additional)
	}
}

func (d *drawer) array(s map[string]any, depth int) {
	least, most := 0, 3
	if depth > 5 {
		most = 0
	}
	if n, ok := s["minItems"].(float64); ok {
		least = int(n)
		most = max(most, least)
	}
	if n, ok := s["maxItems"].(float64); ok {
		most = min(most, int(n))
	}
	n := least + d.rand.IntN(most-least+1)
	if d.rand.Float64() < d.wrong/2 {
		n = d.rand.IntN(6)
	}
	items, _ := s["items"].(map[string]any)
	d.add("[")
	for i := range n {
		if i > 0 {
			d.add(",")
		}
		d.value(items, depth+1)
	}
	d.add("]")
}
