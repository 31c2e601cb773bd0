package grant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// Limits of the JSON value of a parameter in canonical form.
const (
	maxDepth = 8
	// maxValue is enough for every string of an earlier version, which had MaxLength bytes
	// unquoted.
	maxValue = 2*pattern.MaxLength + len(`""`)
)

// canonicalParameter returns the value as compact JSON, with sorted names, one spelling of each
// string, and numbers as they are written.
func canonicalParameter(key string, value json.RawMessage) (json.RawMessage, error) {
	if key == "" || key[0] < 'a' || key[0] > 'z' || strings.Trim(key,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" {
		return nil, errors.New("a key begins with a letter from a to z and has letters, digits, " +
			"dots, hyphens and underscores")
	}
	if !utf8.Valid(value) || !json.Valid(value) {
		return nil, errors.New("its value is not JSON in UTF-8; " +
			`write a string in quotes, as in "x"`)
	}
	canonical, err := canonicalJSON(jsonDecoder(value), maxDepth)
	if len(canonical) > maxValue {
		return nil, fmt.Errorf("its value has more than %d bytes", maxValue)
	}
	return canonical, err
}

func jsonDecoder(value []byte) *json.Decoder {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	return d
}

func canonicalJSON(d *json.Decoder, depth int) ([]byte, error) {
	token, _ := d.Token() // never fails in valid JSON
	switch token := token.(type) {
	case string:
		return jsonText(token)
	case json.Delim:
		if depth == 0 {
			return nil, fmt.Errorf("its value is nested deeper than %d levels", maxDepth)
		}
		var items [][]byte
		members := map[string][]byte{}
		for d.More() {
			name := ""
			if token == '{' {
				next, _ := d.Token() // a string, in valid JSON
				name = next.(string)
			}
			item, err := canonicalJSON(d, depth-1)
			if err != nil {
				return nil, err
			}
			if _, twice := members[name]; twice && token == '{' {
				return nil, fmt.Errorf("its value has the name %q twice in one object", name)
			}
			members[name], items = item, append(items, item)
		}
		_, _ = d.Token() // the bracket at the end
		if token == '[' {
			return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]")), nil
		}
		items = nil
		for _, name := range slices.Sorted(maps.Keys(members)) {
			quoted, err := jsonText(name)
			if err != nil {
				return nil, err
			}
			items = append(items, slices.Concat(quoted, []byte(":"), members[name]))
		}
		return slices.Concat([]byte("{"), bytes.Join(items, []byte(",")), []byte("}")), nil
	}
	return json.Marshal(token) // null, true, false, or a number as it is written
}

// jsonText returns a string as JSON, or an error if JSON or a database cannot keep it.
func jsonText(text string) (json.RawMessage, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, errors.New("a string must be UTF-8 without NUL")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(text)
	return bytes.TrimSpace(b.Bytes()), err
}
