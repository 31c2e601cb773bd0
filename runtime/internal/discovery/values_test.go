package discovery

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
			{Argument: "action", Values: test.actions}, {Argument: "mode", Values: test.mode}})
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
	got := narrow(tool, []access.Choice{{Argument: "action", Values: []string{"list"}}})
	const want = `{"properties":{"did":{"type":"string","examples":["list"]},` +
		`"all":{"items":{"type":"string"},"type":"array"},` +
		`"examples":{"anyOf":[{"type":"string"},{"type":"null"}]}},` +
		`"examples":[{"a":"list"},{"a":{"b":[1,"list"]}}],"type":"object"}`
	if text := string(got.OutputSchema.(json.RawMessage)); text != want {
		t.Errorf("%s, want\n%s", text, want)
	}
	tool.InputSchema = json.RawMessage(`{"required":["b"],"properties":{"b":{},` +
		`"action":{"default":"delete","enum":["list","delete"]}},"type":"object"}`)
	got = narrow(tool, []access.Choice{{Argument: "action", Values: []string{"list"}}})
	const narrowed = `{"required":["b","action"],"properties":{"b":{},` +
		`"action":{"enum":["list"]}},"type":"object"}`
	if text := string(got.InputSchema.(json.RawMessage)); text != narrowed {
		t.Errorf("%s, want\n%s", text, narrowed)
	}
	tool.InputSchema = json.RawMessage(`{"properties":`)
	if narrow(tool, nil) != nil {
		t.Error("a schema that cannot be read is listed")
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
	} {
		for _, sessions := range []bool{false, true} {
			tool := withOutput(&mcp.Tool{InputSchema: json.RawMessage(`{"type":"object","properties":{` +
				`"action":{"type":"string","enum":["list","delete"]}},"required":["action"]}`),
				OutputSchema: json.RawMessage(output)}, sessions)
			got := narrow(tool, []access.Choice{{Argument: "action", Values: []string{"list"}}})
			if got == nil || strings.Contains(string(got.OutputSchema.(json.RawMessage)), "elete") {
				t.Errorf("sessions %t: %s is listed as %s", sessions, output, got.OutputSchema)
			}
		}
	}
}
