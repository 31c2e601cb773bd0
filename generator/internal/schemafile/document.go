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

// UTF8 returns JSON text without a byte order mark, in whose place are spaces. It reports UTF-16.
func UTF8(text []byte) ([]byte, error) {
	const mark = "\xef\xbb\xbf"
	switch {
	case bytes.HasPrefix(text, []byte(mark)):
		return append([]byte("   "), text[len(mark):]...), nil
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")),
		len(text) > 1 && (text[0] == 0) != (text[1] == 0):
		return nil, errors.New("the text is UTF-16 and not UTF-8")
	}
	return text, nil
}

// oneDocument decodes text that is one JSON document, with its numbers as written. It reports other
// text at the byte of the error.
func oneDocument(doc []byte) (tree any, err error) {
	var raw json.RawMessage // which only a syntax error refuses
	if err := json.Unmarshal(doc, &raw); err != nil {
		offset := 0
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			offset = max(0, int(syntax.Offset)-1)
		}
		return nil, &Error{offset, "the file is not JSON: " + err.Error(), "fix the JSON"}
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	err = decoder.Decode(&tree)
	return tree, err
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
