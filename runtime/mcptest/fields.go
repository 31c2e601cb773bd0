package mcptest

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// concealsField is [AssertConcealed] for a field.
func concealsField(t testing.TB, server *runtime.Server, principal access.Principal,
	field string) {
	t.Helper()
	e := server.ExplainOf(context.Background(), principal, access.Fields, field)
	if e.Allowed {
		t.Errorf("mcptest: the rule of %s holds for %q", field, principal.Subject)
		return
	}
	listed, found := schemasOf(t, server, principal), false
	for _, place := range e.Places {
		tool, at, _ := strings.Cut(place, " ")
		own, ok := listed[tool]
		if !ok || strings.HasPrefix(at, "/result") {
			continue
		}
		found = true
		if own.properties[at] {
			t.Errorf("mcptest: %q is listed %s", principal.Subject, place)
		} else if argument, ok := strings.CutPrefix(at, "/inputSchema/properties/"); ok &&
			!strings.Contains(argument, "/") {
			argument = strings.NewReplacer("~1", "/", "~0", "~").Replace(argument)
			sameAsUnknown(t, carriers(t, server, principal), tool, argument, own)
		}
	}
	if !found {
		t.Errorf("mcptest: %s is not checked: %q is listed no tool with a schema that has the field",
			field, principal.Subject)
	}
}

// sameAsUnknown compares a call with an argument to one with an unknown argument.
func sameAsUnknown(t testing.TB, over map[string]func(string) string, tool, argument string,
	schemas toolSchemas) {
	t.Helper()
	if schemas.misfit == "" {
		return // a lenient tool would reach its handler
	}
	unknown := likeUnknown(argument, schemas.arguments)
	for _, carrier := range slices.Sorted(maps.Keys(over)) {
		for _, value := range []string{`1`, `null`, `"mcptest"`, `{"mcptest":[]}`} {
			call := func(name string) string {
				text, _ := json.Marshal(name)
				return over[carrier](callOf(tool, `,"arguments":{`+string(text)+`:`+value+
					schemas.misfit+`}`))
			}
			hidden, missing := call(argument), strings.ReplaceAll(call(unknown), "/"+unknown+":",
				"/"+argument+":")
			if hidden != missing {
				t.Errorf("mcptest: over %s, a call of %s with the argument %s differs from one with an "+
					"unknown argument:\n%s\nunknown argument:\n%s", carrier, tool, argument, hidden, missing)
			}
		}
	}
}

// likeUnknown returns another name of the same length that gets the error of the argument, if that
// does not exist: in the same place, since problems are in the order of names, and with the same
// suggestion.
func likeUnknown(argument string, known []string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	message := decode.UnknownPropertyMessage(argument, slices.Values(known))
	for i := len(argument) - 1; i >= 0; i-- {
		for _, letter := range letters {
			name := argument[:i] + string(letter) + argument[i+1:]
			between := func(other string) bool {
				return min(name, argument) <= other && other <= max(name, argument)
			}
			if name != argument && utf8.ValidString(name) && !slices.ContainsFunc(known, between) &&
				decode.UnknownPropertyMessage(name, slices.Values(known)) == message {
				return name
			}
		}
	}
	return unknownName(argument)
}

// toolSchemas are the schemas of a listed tool.
type toolSchemas struct {
	properties map[string]bool // JSON Pointers from the tool to all properties
	arguments  []string        // the names of the arguments
	// misfit is a member of arguments that no decoder accepts, with a comma before it. It is a space
	// if the call lacks a required argument, and empty if neither is known.
	misfit string
}

// schemasOf returns the schemas of the tools that a principal is listed.
func schemasOf(t testing.TB, server *runtime.Server, p access.Principal) map[string]toolSchemas {
	t.Helper()
	all := map[string]toolSchemas{}
	for tool, err := range Pipe(t, server, p, "2026-07-28").Tools(context.Background(), nil) {
		if err != nil {
			t.Fatalf("mcptest: listing tools: %v", err)
		}
		s := toolSchemas{properties: map[string]bool{}}
		s.add("/inputSchema", tool.InputSchema)
		s.add("/outputSchema", tool.OutputSchema)
		input, _ := tool.InputSchema.(map[string]any)
		properties, _ := input["properties"].(map[string]any)
		s.arguments = slices.Sorted(maps.Keys(properties))
		for _, name := range s.arguments {
			if value := misfit(properties[name], input["$defs"], 0); value != "" {
				text, _ := json.Marshal(name)
				s.misfit = `,` + string(text) + `:` + value
			}
		}
		if required, _ := input["required"].([]any); len(required) > 0 && s.misfit == "" {
			s.misfit = " "
		}
		all[tool.Name] = s
	}
	return all
}

// misfit returns a value that no decoder accepts, also of lenient arguments, or "".
func misfit(of, defs any, depth int) string {
	schema, _ := of.(map[string]any)
	ref, refers := schema["$ref"].(string)
	alternatives, _ := schema["anyOf"].([]any)
	switch all, _ := defs.(map[string]any); {
	case depth > 9:
		return ""
	case refers:
		return misfit(all[strings.TrimPrefix(ref, "#/$defs/")], defs, depth+1)
	case len(alternatives) == 2 && reflect.DeepEqual(alternatives[1], map[string]any{"type": "null"}):
		return misfit(alternatives[0], defs, depth+1)
	}
	switch schema["type"] {
	case "string", "integer", "number", "boolean":
		return `{"mcptest":1}`
	case "object":
		return `1`
	case "array":
		if item := misfit(schema["items"], defs, depth+1); item != "" {
			return `[` + item + `]`
		}
	}
	return ""
}

// add adds the properties in a schema, or in a part of one.
func (s toolSchemas) add(at string, schema any) {
	switch schema := schema.(type) {
	case []any:
		for i, item := range schema {
			s.add(at+"/"+strconv.Itoa(i), item)
		}
	case map[string]any:
		for name, part := range schema {
			name = strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			if strings.HasSuffix(at, "/properties") {
				s.properties[at+"/"+name] = true
			}
			s.add(at+"/"+name, part)
		}
	}
}
