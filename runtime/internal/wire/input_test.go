package wire

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and older clients still support them

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestInputRequestsThatCannotBeSentAreRefused(t *testing.T) {
	for name, r := range map[string]mcp.InputRequest{
		"nil":                         nil,
		"a typed nil elicitation":     (*mcp.ElicitParams)(nil),
		"a typed nil sampling":        (*mcp.CreateMessageParams)(nil),
		"a typed nil sampling, tools": (*mcp.CreateMessageWithToolsParams)(nil),
		"a typed nil roots":           (*mcp.ListRootsParams)(nil),
		"a nil message":               &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{nil}},
		"a nil message, tools":        &mcp.CreateMessageWithToolsParams{Messages: []*mcp.SamplingMessageV2{nil}},
		"a message of nil":            &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user"}}},
		"a message of typed nil":      &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: (*mcp.TextContent)(nil)}}},
		"a message of nil, tools":     &mcp.CreateMessageWithToolsParams{Messages: []*mcp.SamplingMessageV2{{Role: "user", Content: []mcp.Content{nil}}}},
		"NaN":                         &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{}, Temperature: math.NaN()},
		"a schema that is no JSON":    &mcp.ElicitParams{Message: "?", RequestedSchema: func() {}},
	} {
		if out, err := CopyInputRequests(mcp.InputRequestMap{"a": r}); err == nil {
			t.Errorf("%s: %v", name, out)
		}
	}
	if out, err := CopyInputRequests(nil); out != nil || err != nil {
		t.Error("nil is copied")
	}
}

func TestInputRequestsAreCopiedWithTheirSchemas(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"maximum":12345678901234567890}}}`)
	asked := &mcp.ElicitParams{Message: "?", RequestedSchema: schema}
	out, err := CopyInputRequests(mcp.InputRequestMap{
		"e": asked, "n": &mcp.ElicitParams{Message: "?", RequestedSchema: (map[string]any)(nil)},
		"s": &mcp.CreateMessageParams{Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "x"}}}},
		"r": &mcp.ListRootsParams{},
	})
	if err != nil || len(out) != 4 {
		t.Fatal(out, err)
	}
	copied := out["e"].(*mcp.ElicitParams)
	if got, ok := copied.RequestedSchema.(json.RawMessage); !ok || string(got) != string(schema) || copied == asked {
		t.Errorf("%v", copied.RequestedSchema)
	}
}

func TestSchemasOfFormsHaveNumbersThatEveryClientKeeps(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"n":{"minimum":-9007199254740991}}}`: true,
		`{"type":"object","properties":{"n":{"maximum":9007199254740992}}}`:  false,
		`{"type":"object","properties":{"n":{"enum":[1,1e16]}}}`:             false,
		`{"type":"object","properties":{"n":{"default":-1e400}}}`:            false,
	} {
		p := &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(schema)}
		if _, err := ElicitSchema(p); (err == nil) != want {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

func TestFormsAreFlat(t *testing.T) {
	for field, want := range map[string]bool{
		`{"type":"string","enum":["a"]}`: true, `{"type":["string","null"]}`: true, `{}`: true,
		`{"type":"array","items":{"type":"string","enum":["a"]}}`: true,
		`{"type":"array","items":{"anyOf":[{"const":"a"}]}}`:      true,
		`{"type":"array","items":{"type":"string"}}`:              false,
		`{"type":"array"}`:                       false,
		`{"type":"object"}`:                      false,
		`{"properties":{"a":{"type":"string"}}}`: false,
		`{"type":"array","items":{"type":"object","properties":{}}}`: false,
	} {
		p := &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"f":` + field + `}}`)}
		if _, err := ElicitSchema(p); (err == nil) != want {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestResponsesMatchTheKindOfTheirRequest(t *testing.T) {
	requests := map[string][]mcp.InputRequest{
		"e": {&mcp.ElicitParams{}}, "s": {&mcp.CreateMessageParams{}, &mcp.CreateMessageWithToolsParams{}}, "r": {&mcp.ListRootsParams{}},
	}
	responses := map[string][]mcp.InputResponse{
		"e": {&mcp.ElicitResult{}}, "s": {&mcp.CreateMessageResult{}, &mcp.CreateMessageWithToolsResult{}}, "r": {&mcp.ListRootsResult{}},
		"": {nil, (*mcp.ElicitResult)(nil)},
	}
	for want, all := range requests {
		for _, r := range all {
			if kind, err := CheckInputRequest(r); err != nil || kind != want {
				t.Errorf("%T: %q %v", r, kind, err)
			}
		}
	}
	for want, all := range responses {
		for _, r := range all {
			if kind := InputKind(r); kind != want {
				t.Errorf("%T: %q", r, kind)
			}
		}
	}
}

// The words are the handler's error, which its author and the model read.
func TestFormsThatNoClientShowsAreRefusedInWords(t *testing.T) {
	const object, list = "a is an object: a form has texts, numbers, booleans and choices",
		"a is a list without choices: add enum or anyOf to its items"
	for field, want := range map[string]string{
		`{"type":"object"}`: object, `{"properties":{}}`: object,
		`{"type":"array"}`: list, `{"type":"array","items":true}`: list,
		`{"type":"array","items":{"type":"string"}}`: list,
		`{"type":"array","items":{"enum":["x"]}}`:    "",
		`{"type":"array","items":{"anyOf":[{}]}}`:    "", `{"type":"string"}`: "", `true`: "",
		`{"type":"string","Type":"object"}`: "",
	} {
		schema := json.RawMessage(`{"type":"object","properties":{"a":` + field + `}}`)
		got := ""
		if _, err := ElicitSchema(&mcp.ElicitParams{Message: "?", RequestedSchema: schema}); err != nil {
			got = err.Error()
		}
		if want != "" {
			want = "its schema: " + want
		}
		if got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
