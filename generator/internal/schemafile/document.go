package schemafile

import (
	"bytes"
	"encoding/json"
	"errors"
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
