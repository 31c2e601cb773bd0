package redact

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
)

// This file finds a name and its value in two members of one object, as environments, headers and
// forms are often written: {"name":"DB_PASSWORD","value":"hunter2"}.

// isLabel reports whether a member holds a name.
func isLabel(member string) bool { return isOne(member, "name", "key", "header") }

// isLabelled reports whether a member holds the value whose name another one holds.
func isLabelled(member string) bool { return isOne(member, "value", "values") }

// alone is PASS as a name of one word. Before a text it is a secret's name, and before a number a
// count of tests.
func alone(name string) bool { return strings.EqualFold(name, "PASS") }

// named reports whether a member of a map is secret by its name.
func (m Masker) named(name string, value any) bool {
	return m.Name(name) || alone(name) && first(value) != ""
}

// first returns a text or the first of several, and "" for other values.
func first(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []string:
		if len(v) > 0 {
			return v[0]
		}
	case slog.Value:
		if v.Kind() == slog.KindString {
			return v.String()
		}
	}
	return ""
}

// labelled reports whether the values of a map belong to a secret's name in it.
func labelled[V any](m Masker, of map[string]V) bool {
	for name, value := range of {
		if isLabel(name) && m.namesSecret(first(value)) {
			return true
		}
	}
	return false
}

func (m Masker) namesSecret(name string) bool { return name != "" && (alone(name) || m.Name(name)) }

// labelledBy is labelled for an attribute.
func (m Masker) labelledBy(a slog.Attr) bool {
	return isLabel(a.Key) && a.Value.Kind() == slog.KindString && m.namesSecret(a.Value.String())
}

// free is an unused name: two names that differ only in their secrets are equal once masked.
func free[V any](taken map[string]V, name string) string {
	free := name
	for n := 2; ; n++ {
		if _, is := taken[free]; !is {
			return free
		}
		free = fmt.Sprintf("%s (%d)", name, n)
	}
}

const spaces = " \t\r\n"

// flagged reports whether an item of a list is the secret after a flag, as in ["--password", "x"].
func (m Masker) flagged(flag, item any) bool {
	name, _ := flag.(string)
	var value string
	switch item := item.(type) {
	case string:
		value = item
	case json.Number, float64, int, int64:
		value = fmt.Sprint(item)
	}
	return strings.HasPrefix(name, "-") && runEnd(name, 0, &dotted) == len(name) && m.Name(name) &&
		value != "" && value[0] != '-' && !measure(name, value)
}
