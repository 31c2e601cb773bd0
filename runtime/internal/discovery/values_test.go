package discovery

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// The schemas of one caller are, byte for byte, those that mcpgen generates for an enum of the
// values that this caller may send.
func TestNarrowedSchemaIsThatOfASmallerEnum(t *testing.T) {
	const (
		head = `{"properties":{"action":{"type":"string","enum":["list","add","delete"],` +
			`"description":"a <b> & c"},"mode":{"type":"string","enum":["fast","deep"],` +
			`"default":"deep","examples":["deep","fast"]},"name":{"type":"string"}},` +
			`"additionalProperties":false,"type":"object"`
		tail = `,"description":"What to manage."}`
	)
	for name, test := range map[string]struct {
		input, want   string
		actions, mode []string
	}{
		"all": {head + `,"required":["action","name"]` + tail,
			head + `,"required":["action","name"]` + tail,
			[]string{"add", "delete", "list"}, []string{"deep", "fast"}},
		"some": {head + `,"required":["action","name"]` + tail,
			`{"properties":{"action":{"type":"string","enum":["list","add"],` +
				`"description":"a <b> & c"},"mode":{"type":"string","enum":["deep"],` +
				`"default":"deep","examples":["deep"]},"name":{"type":"string"}},` +
				`"additionalProperties":false,"type":"object","required":["action","name"]` + tail,
			[]string{"add", "list"}, []string{"deep"}},
		"without the default": {head + `,"required":["action","name"]` + tail,
			`{"properties":{"action":{"type":"string","enum":["list"],` +
				`"description":"a <b> & c"},"mode":{"type":"string","enum":["fast"],` +
				`"examples":["fast"]},"name":{"type":"string"}},` +
				`"additionalProperties":false,"type":"object","required":["action","mode","name"]` +
				tail,
			[]string{"list"}, []string{"fast"}},
		"the first that is required": {head + tail,
			`{"properties":{"action":{"type":"string","enum":["list"],` +
				`"description":"a <b> & c"},"mode":{"type":"string","enum":["fast"],` +
				`"examples":["fast"]},"name":{"type":"string"}},` +
				`"additionalProperties":false,"type":"object","required":["mode"]` + tail,
			[]string{"list"}, []string{"fast"}},
	} {
		tool := &mcp.Tool{Name: "manage", InputSchema: json.RawMessage(test.input)}
		got := narrow(tool, []access.Choice{
			{Argument: "action", Values: test.actions}, {Argument: "mode", Values: test.mode}}, nil)
		if text := string(got.InputSchema.(json.RawMessage)); text != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, text, test.want)
		}
		if string(tool.InputSchema.(json.RawMessage)) != test.input {
			t.Errorf("%s: the shared tool has changed", name)
		}
	}
}

func TestExamplesOfResultsNameNoHiddenValue(t *testing.T) {
	tool := &mcp.Tool{
		InputSchema: json.RawMessage(`{"properties":{"action":{"type":"string",` +
			`"enum":["list","delete"]}},"type":"object","required":["action"]}`),
		OutputSchema: json.RawMessage(`{"properties":{"did":{"type":"string",` +
			`"examples":["list","delete"]},"all":{"items":{"examples":["delete"],` +
			`"type":"string"},` +
			`"type":"array"},"examples":{"anyOf":[{"type":"string"},{"type":"null"}]}},` +
			`"examples":[{"a":"list"},{"a":["delete"]},{"a":{"b":[1,"list"]}}],"type":"object"}`)}
	got := narrow(tool, []access.Choice{{Argument: "action", Values: []string{"list"}}}, nil)
	const want = `{"properties":{"did":{"type":"string","examples":["list"]},` +
		`"all":{"items":{"type":"string"},"type":"array"},` +
		`"examples":{"anyOf":[{"type":"string"},{"type":"null"}]}},` +
		`"examples":[{"a":"list"},{"a":{"b":[1,"list"]}}],"type":"object"}`
	if text := string(got.OutputSchema.(json.RawMessage)); text != want {
		t.Errorf("%s, want\n%s", text, want)
	}
	tool.InputSchema = json.RawMessage(`{"required":["b"],"properties":{"b":{},` +
		`"action":{"default":"delete","enum":["list","delete"]}},"type":"object"}`)
	got = narrow(tool, []access.Choice{{Argument: "action", Values: []string{"list"}}}, nil)
	const narrowed = `{"required":["b","action"],"properties":{"b":{},` +
		`"action":{"enum":["list"]}},"type":"object"}`
	if text := string(got.InputSchema.(json.RawMessage)); text != narrowed {
		t.Errorf("%s, want\n%s", text, narrowed)
	}
	tool.InputSchema = json.RawMessage(`{"properties":`)
	if narrow(tool, []access.Choice{}, nil) != nil {
		t.Error("a schema that cannot be read is listed")
	}
}

// An enum with values that the argument lacks is of another type. A property may have the name of a
// keyword.
func TestSchemasOfOtherTypesStay(t *testing.T) {
	const output = `{"type":"object","properties":{"state":{"type":"string",` +
		`"enum":["active","delete"]},"default":{"type":"string"},"enum":{"type":"integer","enum":[1]},` +
		`"const":{"required":["delete"]}},"required":[]}`
	tool := &mcp.Tool{InputSchema: json.RawMessage(`{"properties":{"action":{"type":"string",` +
		`"enum":["list","delete"]}},"type":"object","required":["action"]}`),
		OutputSchema: json.RawMessage(output)}
	got := narrow(tool, []access.Choice{{Argument: "action", Values: []string{"list"}}}, nil)
	if got == nil || string(got.OutputSchema.(json.RawMessage)) != output {
		t.Errorf("%s", got.OutputSchema)
	}
}

func TestSchemasOfNoVersionNameAHiddenValue(t *testing.T) {
	for _, output := range []string{
		`{"type":"string","examples":["list","delete"]}`,
		`{"type":["string","null"],"examples":["delete"]}`,
		`{"type":"array","items":{"type":"string","examples":["delete"]}}`,
		`{"type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"examples":["list","delete"]}}}`,
		`{"anyOf":[{"type":"object","properties":{"a":{"examples":["delete"]}}},{"type":"null"}]}`,
		`{"type":"array","items":{"type":"string"},"examples":[["list","delete"]]}`,
		`{"type":"object","examples":[{"did":["list",{"a":"\u0064elete"}]}]}`,
		`{"type":"string","enum":["list","delete"]}`,
		`{"type":"string","enum":["\u0064elete"],"default":"delete"}`,
		`{"type":"array","items":{"type":"string","enum":["list","delete"],"const":"delete"}}`,
		`{"type":"object","properties":{"default":{"enum":["delete","list"]},"enum":{"const":"delete"}}}`,
		`{"type":"object","additionalProperties":{"default":["list","delete"]},` +
			`"propertyNames":{"enum":["list","delete"]},"examples":[{"delete":1}],"default":{"delete":2}}`,
	} {
		for _, sessions := range []bool{false, true} {
			tool := withOutput(&mcp.Tool{InputSchema: json.RawMessage(`{"type":"object","properties":{` +
				`"action":{"type":"string","enum":["list","delete"]}},"required":["action"]}`),
				OutputSchema: json.RawMessage(output)}, sessions)
			got := narrow(tool, []access.Choice{{Argument: "action", Values: []string{"list"}}}, nil)
			if got == nil || strings.Contains(string(got.OutputSchema.(json.RawMessage)), "elete") {
				t.Errorf("sessions %t: %s is listed as %s", sessions, output, got.OutputSchema)
			}
		}
	}
}

// A result is listed as if its types had no hidden value, wherever a schema has the values.
func TestNarrowedResultIsThatOfASmallerType(t *testing.T) {
	all := []string{"list", "add", "delete", "purge"}
	const input = `{"properties":{"action":{"type":"string","enum":["list","add","delete","purge"]}},` +
		`"type":"object","required":["action"]}`
	type object = map[string]any
	var schema func(t *rapid.T, depth int) (whole, small any)
	rapid.Check(t, func(t *rapid.T) {
		shown := rapid.SliceOfDistinct(rapid.SampledFrom(all), rapid.ID).Draw(t, "shown")
		kept := func(of []string) (list []any) {
			for _, v := range of {
				if slices.Contains(shown, v) {
					list = append(list, v)
				}
			}
			return list
		}
		value := func(t *rapid.T) (v any, visible bool) {
			text := rapid.SampledFrom(append([]string{"other"}, all...)).Draw(t, "value")
			visible = text == "other" || slices.Contains(shown, text)
			shape := []any{text, []any{text, 1}, object{"a": text}, object{text: nil}}
			return rapid.SampledFrom(shape).Draw(t, "shape"), visible
		}
		schema = func(t *rapid.T, depth int) (any, any) {
			whole, small := object{"title": "t"}, object{"title": "t"}
			if rapid.Bool().Draw(t, "enum") {
				of := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 4, rapid.ID).Draw(t, "values")
				if whole["enum"] = of; len(kept(of)) > 0 {
					small["enum"] = kept(of)
				}
			}
			for _, key := range []string{"default", "const", "examples"} {
				if !rapid.Bool().Draw(t, key) {
					continue
				}
				v, visible := value(t)
				if key == "examples" {
					v = []any{v}
				}
				if whole[key] = v; visible {
					small[key] = v
				}
			}
			if depth == 0 {
				return whole, small
			}
			a, b := schema(t, depth-1)
			switch key := rapid.SampledFrom([]string{"items", "additionalProperties", "propertyNames",
				"anyOf", "prefixItems", "properties", "patternProperties", "$defs"}).Draw(t, "key"); key {
			case "anyOf", "prefixItems":
				whole[key], small[key] = []any{a, true}, []any{b, true}
			case "properties", "patternProperties", "$defs":
				name := rapid.SampledFrom([]string{"a", "enum", "default", "examples",
					"const"}).Draw(t, "name")
				whole[key], small[key] = object{name: a}, object{name: b}
			default:
				whole[key], small[key] = a, b
			}
			return whole, small
		}
		whole, small := schema(t, rapid.IntRange(0, 4).Draw(t, "depth"))
		text, _ := json.Marshal(whole)
		want, _ := json.Marshal(small)
		got := narrow(&mcp.Tool{InputSchema: json.RawMessage(input),
			OutputSchema: json.RawMessage(text)}, []access.Choice{{Argument: "action", Values: shown}}, nil)
		if got == nil || string(got.OutputSchema.(json.RawMessage)) != string(want) {
			t.Errorf("of %q, %s is listed as %s, want %s", shown, text, got.OutputSchema, want)
		}
	})
}
