package document

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/ordered"
)

func TestContractIsOneLineAProperty(t *testing.T) {
	const schema = `{
		"type": "object", "additionalProperties": false, "required": ["name", "hosts"],
		"properties": {
			"name": {"type": "string", "description": "Who.", "maxLength": 80},
			"hosts": {"type": "array", "items": {"$ref": "#/$defs/Host"}},
			"tags": {"type": "array", "items": {"type": "string"}},
			"ports": {"type": "array", "items": {"type": "object", "required": ["a/b"],
				"properties": {"a/b": true}}}
		},
		"$defs": {"Host": {"type": "object", "properties": {"ip": {"type": "string"}}}}
	}`
	text, err := contractOf(strings.ReplaceAll(schema, "\n", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := layout([]byte(`{"server":{},"tools":[{"input":` + string(text) +
		`,"access":{}}],"none":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  "server": {},
  "tools": [
    {
      "input": {
        "/name": {"type": "string", "required": true, "maxLength": 80, "description": "Who."},
        "/hosts": {"type": "array", "required": true, "items": {"$ref": "#/$defs/Host"}},
        "/tags": {"type": "array", "items": {"type": "string"}},
        "/ports": {"type": "array"},
        "/ports/[]": {"type": "object"},
        "/ports/[]/a~1b": {"required": true},
        "$defs/Host": {"type": "object"},
        "$defs/Host/ip": {"type": "string"}
      },
      "access": {}
    }
  ],
  "none": []
}
`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestContractLosesNothing restores schemas from their contracts.
func TestContractLosesNothing(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object"}`,
		`{"type":"object","additionalProperties":false}`,
		`{"type":"object","description":"All.","additionalProperties":{"type":"string"}}`,
		`{"type":"object","properties":{}}`,
		`{"properties":{"a":{"properties":{"b":{"type":["string","null"]}},"required":["b"]}}}`,
		`{"properties":{"a":{"required":["b"]}},"required":["a"]}`,
		`{"properties":{"a":{}},"required":["a","other"]}`,
		`{"properties":{"a":false,"b":{}},"required":["b"]}`,
		`{"properties":{"a":true,"b":{}},"required":["b"]}`,
		`{"properties":{"[]":{"type":"string"},"x":{"properties":{"{}":{}}}}}`,
		`{"properties":{"a~b/c":{"type":"array","items":{"properties":{"":{"minimum":1}}}}}}`,
		`{"properties":{"m":{"additionalProperties":{"properties":{"x":{"const":1}}}}}}`,
		`{"properties":{"m":{"items":{"items":{"properties":{"x":{}}}}}}}`,
		`{"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}`,
		`{"$ref":"#/$defs/A/x","$defs":{"A/x":{"properties":{"next":{"$ref":"#/$defs/A~1x"}}}}}`,
		`{"$defs":{"Any":true,"Never":false}}`,
		`{"properties":{"$defs":{"type":"object","$defs":{"A":{}}}}}`,
		`{"properties":{"a":{}},"required":{"odd":1}}`,
		`{"anyOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"type":"null"}]}`,
		`{"description":"A.","anyOf":[{"type":"object","properties":{"a":{"items":{"anyOf":[
			{"type":"object","properties":{"b":{}}},{"type":"null"}]}}}},{"type":"null"}],
			"$defs":{"D":{"type":"null"}}}`,
		`{"anyOf":[{"type":"object","properties":{"a":{}}},{"type":"null"}],"minProperties":1}`,
		`{"anyOf":[{"type":"array"},{"type":"null"}]}`,
		`{"anyOf":[{"type":"null"},{"type":"object","properties":{"a":{}}}]}`,
		`{"anyOf":[{"type":"object","description":"B.","properties":{}},{"type":"null"}]}`,
	} {
		text, err := contractOf(schema, nil)
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		want := valueOf(t, []byte(schema))
		lines, err := ordered.Read(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := restore(t, lines); !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nhas the contract %s\nwhich restores %v", schema, text, got)
		}
	}
}

// valueOf reads a schema with true as {}, which is equal to it, and without empty properties.
func valueOf(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"properties", "$defs"} {
		properties, _ := v[list].(map[string]any)
		var never bool
		for _, p := range properties {
			never = never || p == false
		}
		for name, p := range properties {
			if p == true && !never {
				properties[name] = map[string]any{}
			}
		}
		if len(properties) == 0 {
			delete(v, list)
		}
	}
	return v
}

// restore makes a schema of the lines of a contract, in their order.
func restore(t *testing.T, lines ordered.Object) map[string]any {
	t.Helper()
	root := map[string]any{"type": "object", "additionalProperties": false}
	type alternative struct{ outer, object map[string]any }
	var alternatives []alternative
	defer func() {
		for _, a := range alternatives {
			for key := range a.outer {
				if key != "description" && key != "$defs" {
					a.object[key] = a.outer[key]
					delete(a.outer, key)
				}
			}
			a.outer["anyOf"] = []any{a.object, map[string]any{"type": "null"}}
		}
	}()
	for _, line := range lines {
		keywords := valueOf(t, line.Value)
		if keywords["null"] == true {
			delete(keywords, "null")
			alternatives = append(alternatives, alternative{keywords, map[string]any{}})
		}
		if line.Key == "" {
			root = keywords
			continue
		}
		required := keywords["required"] == true
		delete(keywords, "required")
		if list, ok := keywords["requires"]; ok {
			delete(keywords, "requires")
			keywords["required"] = list
		}
		parent, tokens := root, strings.Split(line.Key, "/")
		for i, token := range tokens[1:] {
			under, name := "properties", strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
			switch {
			case i == 0 && tokens[0] == "$defs":
				under = "$defs"
			case token == "[]":
				under, name = "items", ""
			case token == "{}":
				under, name = "additionalProperties", ""
			}
			holder, key := parent, under
			if name != "" || under == "properties" {
				if parent[under] == nil {
					parent[under] = map[string]any{}
				}
				holder, key = parent[under].(map[string]any), name
			}
			if i < len(tokens)-2 {
				parent = holder[key].(map[string]any)
				continue
			}
			holder[key] = keywords
			if list, _ := parent["required"].([]any); required {
				parent["required"] = append(list, name)
			}
		}
	}
	if list, ok := root["requires"]; ok {
		delete(root, "requires")
		root["required"] = list
	}
	return root
}
