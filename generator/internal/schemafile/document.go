package schemafile

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of a schema: an indented copy grows with its square.
const maxDepth = 200

// Deep reports JSON text that is nested too deeply for a schema.
func Deep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// oneDocument reports text that is not one JSON document, at the byte of the error.
func oneDocument(doc []byte) error {
	var v any
	err := json.Unmarshal(doc, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset := max(0, int(syntax.Offset)-1)
		return &Error{offset, "the file is not JSON: " + syntax.Error(), "fix the JSON"}
	}
	if err != nil {
		return &Error{0, "the file is not JSON: " + err.Error(), "fix the JSON"}
	}
	return nil
}

// member is one name of a JSON object with its value, compact, and the position of the name.
type member struct {
	name  string
	value json.RawMessage
	at    int
}

// membersOf are the members of an object in the order of the text; of a repeated name the last
// counts, as for encoding/json.
func membersOf(doc []byte) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	var list []member
	last := map[string]int{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string), at: int(decoder.InputOffset()) - 1}
		m.at = max(0, bytes.LastIndexByte(doc[:m.at], '"'))
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return nil, err
		}
		m.value = b.Bytes()
		last[m.name] = m.at
		list = append(list, m)
	}
	return slices.DeleteFunc(list, func(m member) bool { return last[m.name] != m.at }), nil
}

// objectOf writes members as an object, without one of them.
func objectOf(members []member, without ...string) string {
	var parts []string
	for _, m := range members {
		if slices.Contains(without, m.name) {
			continue
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			continue // a string always marshals
		}
		parts = append(parts, string(name)+":"+string(m.value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// offsetOf is the byte at which the value of a path begins, or 0 where the document has none.
func offsetOf(doc []byte, path []string) int {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	var skipped json.RawMessage
	for _, step := range path {
		open, err := decoder.Token()
		if err != nil {
			return 0
		}
		found := false
		for i := 0; decoder.More() && !found; i++ {
			name := strconv.Itoa(i)
			if open == json.Delim('{') {
				key, err := decoder.Token()
				if err != nil {
					return 0
				}
				name, _ = key.(string)
			}
			if found = name == step; !found && decoder.Decode(&skipped) != nil {
				return 0
			}
		}
		if !found {
			return 0
		}
	}
	at := int(decoder.InputOffset())
	for at < len(doc) && strings.IndexByte(" \t\r\n:,", doc[at]) >= 0 {
		at++
	}
	return at
}

// pointerTo is the JSON Pointer of a path, as the fragment of a URL has it.
func pointerTo(path []string) string {
	var b strings.Builder
	for _, step := range path {
		b.WriteString("/" + fragment.Replace(step))
	}
	return b.String()
}

var fragment = strings.NewReplacer(
	"~", "~0", "/", "~1", "%", "%25", " ", "%20", "#", "%23", "?", "%3F")
