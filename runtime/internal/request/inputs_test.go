package request

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestInputsAreThoseOfTheCapabilities(t *testing.T) {
	type form = mcp.FormElicitationCapabilities
	type url = mcp.URLElicitationCapabilities
	for text, test := range map[string]struct {
		capabilities *mcp.ClientCapabilities
		want         Inputs
	}{
		`null`: {nil, Inputs{}},
		`{}`:   {&mcp.ClientCapabilities{}, Inputs{}},
		`{"elicitation":{}}`: {&mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{}}, Inputs{Form: true}},
		`{"elicitation":{"url":{}}}`: {&mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{URL: &url{}}}, Inputs{URL: true}},
		`{"elicitation":{"url":{},"form":{}},"roots":{"listChanged":true}}`: {&mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{URL: &url{}, Form: &form{}},
			RootsV2:     &mcp.RootCapabilities{}}, Inputs{URL: true, Form: true, Roots: true}},
		`{"sampling":{}}`: {&mcp.ClientCapabilities{
			Sampling: &mcp.SamplingCapabilities{}}, Inputs{Sampling: true}},
		`{"sampling":{"tools":{}}}`: {&mcp.ClientCapabilities{
			Sampling: &mcp.SamplingCapabilities{Tools: &mcp.SamplingToolsCapabilities{}}},
			Inputs{Sampling: true, SamplingTools: true}},
		`{"elicitation":null,"sampling":7,"roots":[]}`: {nil, Inputs{}},
	} {
		var decoded any
		if err := json.Unmarshal([]byte(text), &decoded); err != nil {
			t.Fatal(err)
		}
		if got := InputsOf(test.capabilities); got != test.want {
			t.Errorf("%s: %+v in a session", text, got)
		}
		if got := InputsIn(map[string]any{mcp.MetaKeyClientCapabilities: decoded}); got != test.want {
			t.Errorf("%s: %+v in _meta", text, got)
		}
	}
}
