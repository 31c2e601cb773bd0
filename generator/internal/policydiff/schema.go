package policydiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// schema is a JSON Schema as the manifest has it: the keywords of each property by its pointer.
type schema map[string]keywords

type keywords map[string]json.RawMessage

// closedObject is the root that the manifest leaves out.
var closedObject = keywords{
	"type": json.RawMessage(`"object"`), "additionalProperties": json.RawMessage("false"),
}

// guardKey is the keyword of a property whose field has a rule: the name of the field.
const guardKey = "x-mcpgen-field"

// properties returns the pointers of all properties, each with the field that has its rule, or "".
// Parts without lines of their own have a pointer with their place in the line.
func (s schema) properties() map[string]string {
	all := map[string]string{}
	var within func(pointer string, part any)
	within = func(pointer string, part any) {
		switch part := part.(type) {
		case []any:
			for i, item := range part {
				within(fmt.Sprint(pointer, "/", i), item)
			}
		case map[string]any:
			for key, value := range part {
				properties, _ := value.(map[string]any)
				for name, of := range properties {
					if key == "properties" {
						property, _ := of.(map[string]any)
						field, _ := property[guardKey].(string)
						all[pointer+"/"+escape(name)] = field
					}
				}
				within(pointer+"/"+escape(key), value)
			}
		}
	}
	for pointer, line := range s {
		last := pointer[strings.LastIndexByte(pointer, '/')+1:]
		defined := strings.HasPrefix(pointer, "$defs/") && strings.Count(pointer, "/") == 1
		if pointer != "" && !defined && last != "[]" && last != "{}" {
			field := ""
			_ = json.Unmarshal(line[guardKey], &field) // none, or a string
			all[pointer] = field
		}
		for key, value := range line {
			var part any
			_ = json.Unmarshal(value, &part) // a manifest is JSON
			within(pointer+"/"+key, part)
		}
	}
	return all
}

func (s schema) at(pointer string) (line keywords, known bool) {
	line, known = s[pointer]
	if !known && pointer == "" {
		return closedObject, true
	}
	return line, known
}

// edit is a difference between two schemas.
type edit struct {
	text string
	// stricter means that the new schema may refuse what the old one accepts, and looser that it
	// may accept what the old one refuses. A new property that is not required is neither.
	stricter, looser bool
	// absent means that a value no longer has this property.
	absent bool
}

// edits compares two schemas.
func edits(before, after schema) (list []edit) {
	pointers := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	for _, pointer := range sorted(append(pointers, "")) {
		old, was := before.at(pointer)
		line, is := after.at(pointer)
		switch {
		case !was:
			e := edit{text: pointer + " added"}
			// A property of a new object breaks nothing by itself.
			_, known := before.at(pointer[:max(strings.LastIndexByte(pointer, '/'), 0)])
			if known && required(line) {
				e.text, e.stricter = pointer+" added, required", true
			}
			list = append(list, e)
		case !is:
			list = append(list, edit{text: pointer + " removed", stricter: true, absent: true})
		default:
			list = append(list, lineEdits(pointer, old, line)...)
		}
	}
	return list
}

func required(line keywords) bool { return string(line["required"]) == "true" }

func lineEdits(pointer string, before, after keywords) (list []edit) {
	at := strings.TrimSpace(pointer + " ")
	if at != "" {
		at += ": "
	}
	if before["anyOf"] == nil || after["anyOf"] == nil {
		before, after = orNull(before), orNull(after)
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		old, value := before[key], after[key]
		if equal(old, value) {
			continue
		}
		e := edit{text: fmt.Sprintf("%s%s: %s, now %s", at, key, text(old), text(value))}
		switch {
		case key == "required":
			e.stricter, e.looser = required(after), !required(after)
			e.text = at + map[bool]string{true: "now required", false: "no longer required"}[e.stricter]
		case key == "null": // as an object or null has it
			e.stricter, e.looser = value == nil, old == nil
		case slices.Contains(annotations, key):
		case key == "items" || key == "additionalProperties":
			e.stricter, e.looser = compareSchemas(old, value)
		default:
			e.stricter, e.looser = keyword(key, old, value)
		}
		list = append(list, e)
	}
	return list
}

// orNull returns the line of a value or null as that of an object or null is written: with the
// keywords of the value and "null". It returns other lines as they are.
func orNull(line keywords) keywords {
	var of []keywords
	if json.Unmarshal(line["anyOf"], &of) != nil || len(of) != 2 || of[0]["required"] != nil ||
		!reflect.DeepEqual(of[1], keywords{"type": json.RawMessage(`"null"`)}) {
		return line
	}
	whole := maps.Clone(line)
	delete(whole, "anyOf")
	for key, value := range of[0] {
		if whole[key] != nil {
			return line
		}
		whole[key] = value
	}
	whole["null"] = json.RawMessage("true")
	return whole
}

// annotations are keywords that accept and refuse nothing.
var annotations = []string{"$comment", "$schema", "default", "deprecated", "description",
	"examples", "readOnly", "title", "writeOnly"}

// compareSchemas compares schemas that have no lines of their own.
func compareSchemas(before, after json.RawMessage) (stricter, looser bool) {
	var old, current keywords
	oldObject := before != nil && json.Unmarshal(before, &old) == nil
	object := after != nil && json.Unmarshal(after, &current) == nil
	no := func(text json.RawMessage) bool { return string(text) == "false" }
	switch {
	case oldObject && object:
		for _, e := range lineEdits("", old, current) {
			stricter, looser = stricter || e.stricter, looser || e.looser
		}
	case no(before):
		looser = true
	case no(after), object:
		stricter = true
	case oldObject:
		looser = true
	}
	return stricter, looser
}

// keyword compares the values of a keyword; nil is a missing one. What it cannot judge may be both
// stricter and looser.
func keyword(key string, before, after json.RawMessage) (stricter, looser bool) {
	switch {
	case key == guardKey: // rules are compared by themselves
		return before == nil, after == nil
	case key == "type":
		old, current := types(before), types(after)
		return !accepts(current, old), !accepts(old, current)
	case before == nil:
		return true, false
	case after == nil:
		return false, true
	case key == "enum" || key == "anyOf":
		var old, current []any
		if decode(before, &old) != nil || decode(after, &current) != nil {
			return true, true
		}
		return !covers(current, old), !covers(old, current)
	}
	var old, current float64
	if json.Unmarshal(before, &old) != nil || json.Unmarshal(after, &current) != nil {
		return true, true
	}
	switch {
	case strings.HasPrefix(key, "max"), key == "exclusiveMaximum":
		return current < old, current > old
	case strings.HasPrefix(key, "min"), key == "exclusiveMinimum":
		return current > old, current < old
	}
	return true, true
}

// types are the types that a value of the keyword type allows.
func types(value json.RawMessage) (list []string) {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(value, &list) != nil || value == nil {
		return []string{"array", "boolean", "null", "number", "object", "string"}
	}
	return list
}

// accepts reports whether a list of types has each of some types. Each integer is a number.
func accepts(list, some []string) bool {
	return !slices.ContainsFunc(some, func(t string) bool {
		return !slices.Contains(list, t) && (t != "integer" || !slices.Contains(list, "number"))
	})
}

func covers(list, part []any) bool {
	return !slices.ContainsFunc(part, func(v any) bool {
		return !slices.ContainsFunc(list, func(o any) bool { return reflect.DeepEqual(o, v) })
	})
}

func equal(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return (a == nil) == (b == nil)
	}
	var x, y any
	if decode(a, &x) != nil || decode(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(x, y)
}

// decode keeps numbers as they are written.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// text is a value of a keyword, for messages.
func text(value json.RawMessage) string {
	if value == nil {
		return "none"
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return short(b.String())
}

// short is at most 80 characters of a text.
func short(s string) string {
	if runes := []rune(s); len(runes) > 80 {
		return string(runes[:80]) + "…"
	}
	return s
}
