package mcptest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// concealsField is [AssertConcealed] for a field.
func concealsField(t testing.TB, server *runtime.Server, principal access.Principal,
	rule access.Rule) {
	t.Helper()
	table, field := server.Table(), rule.Field
	if len(table.Hidden(principal, []string{field})) == 0 {
		t.Errorf("mcptest: the rule of %s holds for %q", field, principal.Subject)
		return
	}
	able := principal
	if able.Anonymous() {
		able.Subject = "mcptest"
	}
	able.Roles = slices.Concat(able.Roles, rule.MinRole)
	able.Scopes = slices.Concat(able.Scopes, slices.Concat(rule.Alternatives()...))
	shown, hidden := schemasOf(t, server, principal), schemasOf(t, server, able)
	found := false
	for _, tool := range slices.Sorted(maps.Keys(hidden)) {
		own, listed := shown[tool]
		for _, place := range slices.Sorted(maps.Keys(hidden[tool].properties)) {
			if !listed || own.properties[place] {
				continue
			}
			found = true
			if argument, ok := strings.CutPrefix(place, "/inputSchema/properties/"); ok &&
				!strings.Contains(argument, "/") {
				sameAsUnknown(t, carriers(t, server, principal), tool, argument, own)
			}
		}
	}
	if !found {
		t.Errorf("mcptest: %s is not checked: with the roles and scopes of its rule, %q is listed no "+
			"further property", field, principal.Subject)
	}
}

// sameAsUnknown compares a call with an argument to one with an unknown argument.
func sameAsUnknown(t testing.TB, over map[string]func(string) string, tool, argument string,
	schemas toolSchemas) {
	t.Helper()
	if schemas.misfit == "" {
		return // a lenient tool would reach its handler
	}
	// The problems of the arguments are in the order of names.
	begin := len(argument) / 2
	unknown := argument[:begin] + unknownName(argument[begin:])
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

// toolSchemas are the schemas of a listed tool.
type toolSchemas struct {
	properties map[string]bool // JSON Pointers from the tool to all properties
	// misfit is a member of arguments that no decoder accepts, with a comma before it; a space if the
	// arguments lack a required one, and empty if neither is known.
	misfit string
}

// schemasOf returns the schemas of the tools that a principal is listed.
func schemasOf(t testing.TB, server *runtime.Server, p access.Principal) map[string]toolSchemas {
	t.Helper()
	all := map[string]toolSchemas{}
	for tool, err := range Pipe(t, server, p, concealVersion).Tools(context.Background(), nil) {
		if err != nil {
			t.Fatalf("mcptest: listing tools: %v", err)
		}
		s := toolSchemas{properties: map[string]bool{}}
		s.add("/inputSchema", tool.InputSchema)
		s.add("/outputSchema", tool.OutputSchema)
		input, _ := tool.InputSchema.(map[string]any)
		properties, _ := input["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			property, _ := properties[name].(map[string]any)
			switch property["type"] {
			case "string", "integer", "number", "boolean":
				text, _ := json.Marshal(name)
				s.misfit = `,` + string(text) + `:{"mcptest":1}`
			}
		}
		if required, _ := input["required"].([]any); len(required) > 0 {
			s.misfit = " "
		}
		all[tool.Name] = s
	}
	return all
}

// add adds the properties in a schema, or in a part of one.
func (s toolSchemas) add(at string, schema any) {
	switch schema := schema.(type) {
	case []any:
		for _, item := range schema {
			s.add(at+"/*", item)
		}
	case map[string]any:
		for name, part := range schema {
			if strings.HasSuffix(at, "/properties") {
				s.properties[at+"/"+name] = true
			}
			s.add(at+"/"+name, part)
		}
	}
}
