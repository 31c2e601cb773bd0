package runtime_test

import (
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// paidOpenly has handlers that send the salary 4711 on ways that no rule of a field covers.
func paidOpenly(w *scenarioWorld) toolset.Toolset {
	type page struct {
		People []*payWorker `json:"people"`
		Total  int          `json:"total"`
		Next   string       `json:"next"`
	}
	const pageSchema = `{"$defs":{"Worker":{` + payProperties + `},"properties":{"people":{"items":` +
		`{"$ref":"#/$defs/Worker"},"type":"array"},"total":{"type":"integer"},"next":{"type":"string"}},` +
		`"type":"object"}`
	returning := func(t toolset.Tool, out any) toolset.Tool {
		t.Input = anyInput
		t.Handle = func(_ context.Context, r *decode.Reader) (any, error) { return out, r.Nothing() }
		return t
	}
	doing := func(name, script string) toolset.Tool {
		return toolset.Tool{Name: name, Input: anyInput, Returns: toolset.Text, Elicits: true,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := w.script(ctx, script)
				return toolset.Result{Out: text, HasOut: true}, err
			}}
	}
	const secret = "eve earns 4711"
	g := toolsetOf([]toolset.Tool{
		doing("asks", "elicit raise "+secret),
		doing("fails", "error "+secret),
		doing("logs", "log info "+secret+"; progress 1 2 "+secret),
		returning(toolset.Tool{Name: "page", Output: pageSchema}, page{Total: 4711 + 1, Next: "4711",
			People: []*payWorker{{Name: "bob", Salary: new(1)}, {Name: "eve", Salary: new(4711)}}}),
		returning(toolset.Tool{Name: "raw", Output: paySchema},
			payWorker{Name: "eve", More: json.RawMessage(`{"salary":4711}`)}),
		returning(toolset.Tool{Name: "text", Returns: toolset.Text}, secret),
	}).Generated()
	g.Table.Fields = []access.Rule{{Field: payField, MinRole: []string{"Manager"}}}
	g.Table.Prompts = []access.Rule{{Prompt: "pay", Authenticated: true}}
	g.Prompts = []toolset.Prompt{{Name: "pay",
		Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText(secret, nil)
		}}}
	g.Table.Resources = []access.Rule{{Resource: "pay://eve", Authenticated: true}}
	g.Resources = []toolset.Resource{{URI: "pay://eve", Name: "eve", Subscribe: true,
		Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText(secret, nil)
		}}}
	return toolset.NewToolset(g)
}
