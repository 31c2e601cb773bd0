package toollist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/internal/structured"
)

// Diff writes how the tools of one list differ from those of another, one line per difference, and
// a last line with the sizes. It reports whether they differ. The order of tools and of properties
// is no difference, nor is $schema, nor how a schema allows null.
func Diff(w io.Writer, before, after List) (differ bool, err error) {
	lines, err := Differences(before, after)
	if err != nil {
		return false, err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return false, err
		}
	}
	_, err = fmt.Fprintf(w, "tools: %d, %d; bytes: %d, %d\n",
		len(before.Tools), len(after.Tools), before.size(), after.size())
	return len(lines) > 0, err
}

func (l List) size() (n int) {
	for _, t := range l.Tools {
		n += len(t.text)
	}
	return n
}

// Differences returns the lines of [Diff] without the last one. Each begins with "added", "removed"
// or "changed".
func Differences(before, after List) (lines []string, err error) {
	old, err := before.byName()
	if err != nil {
		return nil, fmt.Errorf("the old list: %w", err)
	}
	current, err := after.byName()
	if err != nil {
		return nil, fmt.Errorf("the new list: %w", err)
	}
	twoVersions := before.natural() != after.natural()
	names := maps.Clone(old)
	maps.Copy(names, current)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, was := old[name]
		b, is := current[name]
		tool := plain(name)
		switch {
		case !was:
			lines = append(lines, "added   "+tool)
			continue
		case !is:
			lines = append(lines, "removed "+tool)
			continue
		}
		change := func(format string, args ...any) {
			lines = append(lines, "changed "+tool+": "+fmt.Sprintf(format, args...))
		}
		for _, part := range []struct {
			what     string
			old, new any
		}{
			{"title", a.Title, b.Title},
			{"description", a.Description, b.Description},
			{"annotations", a.Annotations, b.Annotations},
		} {
			if !reflect.DeepEqual(part.old, part.new) {
				change("%s: %s, now %s", part.what, text(part.old), text(part.new))
			}
		}
		if twoVersions && a.OutputSchema != nil && b.OutputSchema != nil {
			a.OutputSchema = structured.New(a.OutputSchema).InSessions
			b.OutputSchema = structured.New(b.OutputSchema).InSessions
		}
		for _, schema := range []struct {
			what     string
			old, new json.RawMessage
		}{
			{"input", a.InputSchema, b.InputSchema}, {"output", a.OutputSchema, b.OutputSchema},
		} {
			if err := schemas(schema.old, schema.new, func(format string, args ...any) {
				change(schema.what+format, args...)
			}); err != nil {
				return nil, fmt.Errorf("tool %s: %s schema: %w", tool, schema.what, err)
			}
		}
		if grown := len(b.text) - len(a.text); len(lines) > 0 && grown != 0 &&
			strings.HasPrefix(lines[len(lines)-1], "changed "+tool+": ") {
			change("bytes: %d, now %d", len(a.text), len(b.text))
		}
	}
	return lines, nil
}

// natural reports whether a list has results as 2026-07-28 has them: versions with sessions have
// objects alone. A list of objects may be of any version.
func (l List) natural() bool {
	return slices.ContainsFunc(l.Tools, func(t Tool) bool {
		return t.OutputSchema != nil && structured.New(t.OutputSchema).Form != structured.AsObject
	})
}

func (l List) byName() (map[string]Tool, error) {
	tools := map[string]Tool{}
	for _, t := range l.Tools {
		if _, twice := tools[t.Name]; twice {
			return nil, fmt.Errorf("two tools have the name %s", plain(t.Name))
		}
		tools[t.Name] = t
	}
	return tools, nil
}

// schemas reports how the properties of a schema changed.
func schemas(before, after json.RawMessage, change func(format string, args ...any)) error {
	switch {
	case before == nil && after == nil:
		return nil
	case before == nil:
		change(" schema added")
		return nil
	case after == nil:
		change(" schema removed")
		return nil
	}
	old, err := properties(before)
	if err != nil {
		return fmt.Errorf("of the old list: %w", err)
	}
	current, err := properties(after)
	if err != nil {
		return fmt.Errorf("of the new list: %w", err)
	}
	pointers := maps.Clone(old)
	maps.Copy(pointers, current)
	for _, pointer := range slices.Sorted(maps.Keys(pointers)) {
		a, was := old[pointer]
		b, is := current[pointer]
		at := " " + plain(pointer)
		if pointer == "" {
			at = ""
		}
		switch {
		case !was:
			change("%s: added%s, %s", at, required(b), kind(b))
			continue
		case !is:
			change("%s: removed%s, %s", at, required(a), kind(a))
			continue
		}
		keywords := maps.Clone(a)
		maps.Copy(keywords, b)
		for _, key := range slices.Sorted(maps.Keys(keywords)) {
			x, y := a[key], b[key]
			switch {
			case reflect.DeepEqual(x, y):
			case key == "required" && y == nil:
				change("%s: no longer required", at)
			case key == "required" && x == nil:
				change("%s: now required", at)
			default:
				change("%s: %s: %s, now %s", at, plain(key), text(x), text(y))
			}
		}
	}
	return nil
}

func required(keywords map[string]any) string {
	if keywords["required"] == true {
		return ", required"
	}
	return ""
}

func kind(keywords map[string]any) string {
	if t, ok := keywords["type"]; ok {
		return text(t)
	}
	return "any type"
}

// properties are the keywords of a schema by pointer, as values.
func properties(schema json.RawMessage) (map[string]map[string]any, error) {
	var whole any
	if err := decode(schema, &whole); err != nil {
		return nil, err
	}
	alike, err := json.Marshal(nullsAlike(whole))
	if err != nil {
		return nil, err
	}
	list, err := document.Properties(alike)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]any{}
	for _, p := range list {
		delete(p.Keywords, "$schema")
		values := map[string]any{}
		for key, raw := range p.Keywords {
			var v any
			if err := decode(raw, &v); err != nil {
				return nil, err
			}
			values[key] = v
		}
		all[p.Pointer] = values
	}
	return all, nil
}

// decode keeps numbers as they are written.
func decode(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
}

// nullsAlike writes each schema that allows null as a list of types in order. go-sdk publishes such
// a list, and mcpgen an anyOf of the schema and null.
func nullsAlike(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = nullsAlike(v[i])
		}
	case map[string]any:
		for key := range v {
			if !slices.Contains([]string{"const", "default", "enum", "examples"}, key) {
				v[key] = nullsAlike(v[key])
			}
		}
		if schema := notNull(v); schema != nil {
			delete(v, "anyOf")
			maps.Copy(v, schema)
			v["type"] = []any{schema["type"], "null"}
		}
		if types, ok := v["type"].([]any); ok {
			slices.SortFunc(types, func(a, b any) int { // null is first
				return strings.Compare(strings.TrimPrefix(fmt.Sprint(a), "null"),
					strings.TrimPrefix(fmt.Sprint(b), "null"))
			})
		}
	}
	return v
}

// notNull returns the schema of an anyOf that has one type, if null is the only alternative and if
// its keywords mean the same beside those of v.
func notNull(v map[string]any) map[string]any {
	of, _ := v["anyOf"].([]any)
	null := slices.IndexFunc(of, func(s any) bool {
		return reflect.DeepEqual(s, map[string]any{"type": "null"})
	})
	if len(of) != 2 || null < 0 {
		return nil
	}
	schema, _ := of[1-null].(map[string]any)
	if _, one := schema["type"].(string); !one {
		return nil
	}
	for key := range schema {
		_, both := v[key]
		if both || slices.Contains([]string{"$ref", "allOf", "anyOf", "const", "enum", "if", "not",
			"oneOf"}, key) {
			return nil
		}
	}
	return schema
}

// text is a value as ASCII: what a foreign server sends may hold control characters.
func text(v any) string {
	if v == nil {
		return "none"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return plain(short(b))
}

// plain is a text without characters that a terminal could act on.
func plain(s string) string {
	quoted := fmt.Sprintf("%+q", s)
	return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
}
