package schemafile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/mcpgen/mcpgen/generator/internal/ecma"
	"github.com/mcpgen/mcpgen/generator/internal/ordered"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// Foreign reads a schema of another server: an object, or null for an empty one. It returns the
// schema with three changes, and a note about each change of the second kind.
//
//   - A keyword with null is absent. Servers in Go write null for a nil slice or map.
//   - A pattern has its equal in the common subset of Go and JavaScript, if there is one.
//   - A length or a number of items has digits only.
func Foreign(doc []byte) (text []byte, notes []string, err error) {
	if doc = bytes.TrimSpace(doc); len(doc) == 0 || isNull(doc) {
		return []byte("{}"), nil, nil
	}
	if _, err := ordered.Read(doc); err != nil {
		return nil, nil, err
	}
	f := &foreigner{}
	text = f.schema(doc)
	return text, f.notes, f.err
}

type foreigner struct {
	notes []string
	err   error
}

func isNull(value []byte) bool { return string(value) == "null" }

// members replaces the members of an object. The function returns nil for a member to drop.
func (f *foreigner) members(
	doc []byte, edit func(ordered.Member) (name string, value []byte),
) json.RawMessage {
	list, err := ordered.Read(doc)
	if err != nil { // a value of another kind
		return doc
	}
	last := map[string]int{} // of a repeated name the last counts, as for encoding/json
	for _, m := range list {
		last[m.Key] = m.At
	}
	var edited ordered.Object
	for _, m := range list {
		if last[m.Key] != m.At {
			continue
		}
		if name, value := edit(m); value != nil {
			edited = append(edited, ordered.Member{Key: name, Value: value})
		}
	}
	return edited.Text()
}

func (f *foreigner) schema(doc []byte) json.RawMessage {
	var types struct{ Type any }
	_ = json.Unmarshal(doc, &types) // a value of another kind has no type
	return f.members(doc, func(m ordered.Member) (string, []byte) {
		form := keywords[m.Key]
		if m.Key == "default" && isNull(m.Value) && types.Type != nil && types.Type != "null" {
			if list, ok := types.Type.([]any); !ok || !slices.Contains(list, any("null")) {
				return "", nil
			}
		}
		if form != 0 && isNull(m.Value) {
			return "", nil
		}
		return m.Key, f.value(form, m.Value)
	})
}

func (f *foreigner) value(form form, value json.RawMessage) json.RawMessage {
	switch form {
	case schemaForm:
		return f.schema(value)
	case schemas:
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return value
		}
		list = slices.DeleteFunc(list, func(item json.RawMessage) bool { return isNull(item) })
		if len(list) == 0 {
			return nil
		}
		for i, item := range list {
			list[i] = f.schema(item)
		}
		return f.encoded(list)
	case named, pattern:
		return f.members(value, func(m ordered.Member) (string, []byte) {
			if form == pattern {
				m.Key = f.pattern(m.Key)
			}
			if isNull(m.Value) {
				return m.Key, []byte("{}")
			}
			return m.Key, f.schema(m.Value)
		})
	case needs, dependencies:
		return f.members(value, func(m ordered.Member) (string, []byte) {
			if isNull(m.Value) {
				return "", nil
			}
			return m.Key, f.schema(m.Value)
		})
	case count:
		if n, err := strconv.ParseFloat(string(value), 64); err == nil &&
			n == float64(int64(n)) && schema.Exact(string(value)) {
			return strconv.AppendInt(nil, int64(n), 10)
		}
	case expression:
		var text string
		if json.Unmarshal(value, &text) != nil {
			return value
		}
		return f.encoded(f.pattern(text))
	}
	return value
}

// encoded is a value that JSON can hold.
func (f *foreigner) encoded(value any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil && f.err == nil {
		f.err = err
	}
	return bytes.TrimSpace(b.Bytes())
}

// pattern is the equal of a pattern in the common subset, or the pattern.
func (f *foreigner) pattern(text string) string {
	common := ecma.Common(text)
	if common == "" || common == text {
		return text
	}
	f.notes = append(f.notes, fmt.Sprintf("wrote the pattern %+q as %+q", text, common))
	return common
}
