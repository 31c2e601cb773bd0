package redact

import (
	"encoding"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// maxDepth is how deep values are searched; deeper ones are masked, so that the walk of a value
// that contains itself ends.
const maxDepth = 64

// maxValues is how many values are searched; the others are masked, so that the walk of a value
// that contains itself more than once ends soon: maxDepth alone would allow 2^maxDepth ways.
const maxValues = 100_000

// walk is one walk through values. newWalk makes it.
type walk struct {
	Masker
	left *int // of maxValues
}

func newWalk(m Masker) walk {
	left := maxValues
	return walk{m, &left}
}

// over counts a value at a depth, and reports whether a limit is exceeded.
func (m walk) over(depth int) bool {
	*m.left--
	return depth > maxDepth || *m.left < 0
}

// Any returns a printable form of a value, with the secrets masked. It never changes the value
// itself.
//
// Strings, and maps and slices of JSON types, keep their types. An error, a fmt.Stringer and an
// encoding.TextMarshaler become text. Other values become the maps, slices and strings that
// encoding/json makes of them, because printing could reveal more than marshalling. A value that
// cannot be marshalled is masked as a whole.
//
// In maps, a secret name masks the whole value, however deep, except true, false and null. A name
// may also be a value, as in {"name":"DB_PASSWORD","value":…}. In lists, a flag masks the next
// item: ["--password","x"]. Names that are equal after masking get numbers.
//
// Very deep values, and values of very many parts, are masked beyond a limit.
func (m Masker) Any(v any) any { return newWalk(m).any(v, 0) }

func (m walk) any(v any, depth int) any {
	if m.over(depth) {
		return Mask
	}
	switch v := v.(type) {
	case nil, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32,
		float64, time.Time, time.Duration:
		return v
	case json.Number:
		return v
	case string:
		return m.Text(v)
	case []byte:
		return m.Text(string(v))
	case map[string]any:
		return eachOf(m.Masker, v, func(v any) any { return m.any(v, depth+1) })
	case map[string]string:
		return eachOf(m.Masker, v, func(s string) string { return m.Text(wholeURL(s)) })
	case http.Header:
		return http.Header(eachOf(m.Masker, v, m.texts))
	case url.Values:
		return url.Values(eachOf(m.Masker, v, m.texts))
	case map[string][]string:
		return eachOf(m.Masker, v, m.texts)
	case []string:
		return m.texts(v)
	case []any:
		return listOf(m.Masker, v, func(v any) any { return m.any(v, depth+1) })
	}
	return m.shown(v, depth)
}

func (m Masker) texts(values []string) []string { return listOf(m, values, m.Text) }

// listOf masks the items of a list.
func listOf[V any](m Masker, from []V, inner func(V) V) []V {
	if from == nil {
		return nil
	}
	masked := make([]V, len(from))
	for i, item := range from {
		if i > 0 && m.flagged(from[i-1], item) {
			masked[i] = any(Mask).(V)
			continue
		}
		masked[i] = inner(item)
	}
	return masked
}

// eachOf masks the members of a map.
func eachOf[V any](m Masker, from map[string]V, inner func(V) V) map[string]V {
	if from == nil {
		return nil
	}
	masked := make(map[string]V, len(from))
	var renamed []string
	mask := func(name string) V {
		value := from[name]
		if m.named(name, value) || isLabelled(name) && labelled(m, from) {
			return whole(value)
		}
		return inner(value)
	}
	for name := range from {
		if m.Text(name) != name {
			renamed = append(renamed, name)
			continue
		}
		masked[name] = mask(name)
	}
	slices.Sort(renamed) // so that they are numbered alike each time
	for _, name := range renamed {
		masked[free(masked, m.Text(name))] = mask(name)
	}
	return masked
}

// whole masks a value that has a secret's name, in its own type.
func whole[V any](value V) V {
	switch v := any(value).(type) {
	case nil, bool:
		return value
	case string:
		if v == "" {
			return value
		}
		return any(Mask).(V)
	case []string:
		masked := make([]string, len(v))
		for i := range masked {
			masked[i] = Mask
		}
		return any(masked).(V)
	}
	return any(Mask).(V) // V is any
}

// shown is the printable form of a value of another type. Its methods may panic, as with fmt and
// slog.
func (m walk) shown(v any, depth int) (masked any) {
	defer func() {
		if p := recover(); p != nil {
			masked = fmt.Sprintf("%s (%T panicked)", Mask, v)
		}
	}()
	switch v := v.(type) {
	case slog.Value:
		return m.logged(v, depth)
	case slog.Attr:
		return m.logged(slog.GroupValue(v), depth)
	case slog.LogValuer:
		return m.logged(v.LogValue(), depth)
	case error:
		return m.Text(v.Error())
	case fmt.Stringer:
		return m.Text(v.String())
	case encoding.TextMarshaler:
		text, err := v.MarshalText()
		if err != nil {
			return fmt.Sprintf("%s (%T)", Mask, v)
		}
		return m.Text(string(text))
	}
	doc, err := json.Marshal(v)
	tree, ok := treeOf(doc)
	if err != nil || !ok {
		return fmt.Sprintf("%s (%T)", Mask, v)
	}
	return m.any(tree, depth+1)
}

// logged is the printable form of a value of a log; a group is a map.
func (m walk) logged(v slog.Value, depth int) any {
	v = v.Resolve()
	if v.Kind() != slog.KindGroup {
		return m.any(v.Any(), depth+1)
	}
	group := map[string]any{}
	for _, a := range v.Group() {
		group[a.Key] = a.Value
	}
	return m.any(group, depth+1)
}
