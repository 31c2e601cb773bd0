package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// payOutside is a type whose field has a rule in no package that the tools import.
type payOutside struct {
	Salary int `json:"salary"`
}

// payTeam is a type with a member only if its struct is not zero.
type payTeam struct {
	Lead payWorker `json:"lead,omitzero"`
}

// payPair is a type whose JSON method reads interfaces.
type payPair struct{ name, worker any }

// MarshalJSON implements json.Marshaler.
func (p payPair) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.name, p.worker}) }

// paying is an existing server with a tool that returns a salary.
func paying(*scenarioWorld, []string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "0.9"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "adopted"},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, payOutside, error) {
			return nil, payOutside{4711}, nil
		})
	return server
}

// labelling is an interceptor that adds a salary to the metadata of the results of two tools: as
// JSON to "intercepted", and as a type with a rule to "labelled".
func labelling(*scenarioWorld) intercept.Middleware {
	labels := map[string]any{"intercepted": json.RawMessage(`{"salary":4711}`),
		"labelled": payWorker{Name: "eve", Salary: new(4711)}}
	return intercepting(func(_ context.Context, m intercept.Message, res mcp.Result) mcp.Result {
		call, _ := m.Params.(*mcp.CallToolParamsRaw)
		if call != nil && labels[call.Name] != nil {
			res.(*mcp.CallToolResult).Meta = mcp.Meta{"of": labels[call.Name]}
		}
		return res
	})
}

// renaming is an interceptor that passes on calls of "renamed" as calls of "page".
func renaming(*scenarioWorld) intercept.Middleware {
	return func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if call, _ := m.Params.(*mcp.CallToolParamsRaw); call != nil && call.Name == "renamed" {
				other := *call
				other.Name = "page"
				m.Params = &other
			}
			return next(ctx, m)
		}
	}
}

// paidOpenly has handlers that send the salary 4711 on ways that no rule of a field covers.
func paidOpenly(w *scenarioWorld) toolset.Toolset {
	type page struct {
		People []*payWorker `json:"people"`
		Total  int          `json:"total"`
		Next   string       `json:"next"`
	}
	const pageSchema = `{"$defs":{"Worker":{` + payProperties + `},"properties":{"people":{"items":` +
		`{"$ref":"#/$defs/Worker"},"type":"array"},"total":{"type":"integer"},` +
		`"next":{"type":"string"}},` +
		`"type":"object"}`
	returning := func(t toolset.Tool, out any) toolset.Tool {
		t.Input = anyInput
		t.Handle = func(_ context.Context, r *decode.Reader) (any, error) { return out, r.Nothing() }
		return t
	}
	odd := func(name string, out any) toolset.Tool {
		return returning(toolset.Tool{Name: name, Output: `{}`, Returns: toolset.Value}, out)
	}
	doing := func(name, script string) toolset.Tool {
		return toolset.Tool{Name: name, Input: anyInput, Returns: toolset.Text, Elicits: true,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := w.script(ctx, script)
				return toolset.Result{Out: text, HasOut: true}, err
			}}
	}
	const secret = "eve earns 4711"
	learns := toolset.Tool{Name: "learns", Input: anyInput, Returns: toolset.Text, Elicits: true,
		Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			answer, err := runtime.Elicit[payOutside](ctx, "pay", "What does eve earn?")
			return toolset.Result{Out: fmt.Sprint(answer.Salary), HasOut: true}, err
		}}
	reads := toolset.Tool{Name: "reads", Input: anyInput, Returns: toolset.Text,
		Call: func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			var in struct{ Record json.RawMessage }
			err := json.Unmarshal(c.Arguments, &in)
			return toolset.Result{Out: string(in.Record), HasOut: true}, err
		}}
	apart := toolset.Tool{Name: "apart", Input: anyInput, Output: paySchema,
		Limits: toolset.Limits{Output: 20}, Isolate: "example.com/payroll.apart",
		Call: func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			return toolset.Structured(c.Isolated(ctx))
		}}
	g := toolsetOf([]toolset.Tool{
		apart,
		doing("asks", "elicit raise "+secret),
		doing("fails", "error "+secret),
		returning(toolset.Tool{Name: "intercepted", Returns: toolset.Text}, "eve"),
		learns,
		doing("logs", "log info "+secret+"; progress 1 2 "+secret),
		odd("outside", payOutside{4711}),
		returning(toolset.Tool{Name: "page", Output: pageSchema}, page{Total: 4711 + 1, Next: "4711",
			People: []*payWorker{{Name: "bob", Salary: new(1)}, {Name: "eve", Salary: new(4711)}}}),
		odd("pair", payPair{"eve", payWorker{Salary: new(4711)}}),
		returning(toolset.Tool{Name: "raw", Output: paySchema},
			payWorker{Name: "eve", More: json.RawMessage(`{"salary":4711}`)}),
		reads,
		returning(toolset.Tool{Name: "renamed", Returns: toolset.Text, Task: toolset.TaskOptional}, ""),
		returning(toolset.Tool{Name: "team", Output: `{` + payDefs +
			`,"properties":{"lead":{"$ref":"#/$defs/Worker"}},"type":"object"}`},
			payTeam{Lead: payWorker{Salary: new(4711)}}),
		returning(toolset.Tool{Name: "text", Returns: toolset.Text}, secret),
		odd("unnamed", struct {
			Salary int `json:"salary"`
		}{4711}),
	}).Generated()
	g.Table.Fields = []access.Rule{{Field: payField, MinRole: []string{"Manager"}}}
	g.Table.Prompts = []access.Rule{{Prompt: "pay", Authenticated: true}}
	g.Prompts = []toolset.Prompt{{Name: "pay", Description: "Prints the salary of eve.",
		Arguments: []toolset.Argument{{Name: "of",
			Complete: func(context.Context, string) ([]string, error) { return []string{secret}, nil }}},
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
