package invoke

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const (
	guardedObject = `{"type":"object","properties":{"a":{"x-mcpgen-field":"p.T.A"},"b":{}}}`
	guardedList   = `{"type":"array","items":` + guardedObject + `}`
)

// The output of a kept result is cut as every version has it.
func TestOutputIsCutInEachForm(t *testing.T) {
	const object, cut = `{"a":1,"b":[2]}`, `{"b":[2]}`
	for name, test := range map[string]struct {
		tool      toolset.Tool
		natural   string
		want      string
		inSession string
	}{
		"an object": {toolset.Tool{Output: guardedObject}, object, cut, object},
		"a list": {toolset.Tool{Output: guardedList}, "[" + object + "]", "[" + cut +
			"]", ""},
		"a list as text": {toolset.Tool{Guarded: guardedList}, "[" + object + "]", "[" + cut +
			"]", ""},
		"a list without one": {toolset.Tool{Guarded: guardedList, Returns: toolset.Value}, "[]",
			"[]", ""},
		"another output": {toolset.Tool{Output: guardedObject}, `"a"`, `"a"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tool := newTool(t, test.tool, nothingAtAll)
			got, err := tool.Cut([]byte(test.natural), []string{"p.T.A"})
			if err != nil || string(got) != test.want {
				t.Errorf("%s, %v, want %s", got, err, test.want)
			}
			if tool.form != structured.InResult {
				return
			}
			got, err = tool.Cut([]byte(`{"result":`+test.natural+`}`), []string{"p.T.A"})
			if err != nil || string(got) != `{"result":`+test.want+`}` {
				t.Errorf("%s, %v, want the result %s", got, err, test.want)
			}
		})
	}
	tool := newTool(t, toolset.Tool{Output: guardedList}, nothingAtAll)
	if got, err := tool.Cut([]byte(`[{"a":1`), []string{"p.T.A"}); err == nil {
		t.Errorf("a broken output becomes %s", got)
	}
}

func nothingAtAll(context.Context, toolset.Call) (toolset.Result,
	error) {
	return toolset.Done(nil)
}

// The audit has the value or the field that is the reason of a refusal. The caller gets the text of
// arguments that do not exist.
func TestRefusedFieldsAndValuesAreRecorded(t *testing.T) {
	r, _ := newRunner(t)
	table, err := access.Compose(access.Part{Table: access.Table{
		Roles: [][]string{{"Member", "Admin"}}, Rules: []access.Rule{{Tool: "t",
			MinRole: []string{"Member"}}},
		Values: []access.Rule{{Tool: "t", Argument: "do", Value: "add", MinRole: []string{"Member"}},
			{Tool: "t", Argument: "do", Value: "drop", MinRole: []string{"Admin"}}},
		Fields: []access.Rule{{Field: "p.T.A", MinRole: []string{"Admin"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Policy = &discovery.Policy{Table: table}
	tool, err := NewTool(toolset.Tool{Name: "t", Returns: toolset.Nothing, Input: `{"type":"object",` +
		`"properties":{"do":{"type":"string","enum":["add","drop"]},"a":{"x-mcpgen-field":"p.T.A"}},` +
		`"required":["do"],"additionalProperties":false}`,
		Handle: func(_ context.Context, r *decode.Reader) (any, error) {
			o := r.Object(1, "do", "a")
			o.Guard(1, "p.T.A")
			for o.Next() {
				if o.Property == 0 {
					do := ""
					decode.String(r, &do).OneOf("add", "drop")
				} else {
					var n int
					decode.Int(r, &n, 0, 9)
				}
			}
			return nil, r.Finish()
		}}, Schemas{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tool.BindValues(table.Values); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"do":"add"}`:       " ||",
		`{"do":"add","a":1}`: "!/a: unknown property |fields|p.T.A needs role Admin",
		`{"do":"add","x":1}`: "!/x: unknown property |arguments|",
		`{"do":"drop"}`:      `!/do: "drop" is not "add" |values|do=drop needs role Admin`,
		`{"do":"dray"}`:      `!/do: "dray" is not "add" |arguments|`,
		`{"do":"drop",` +
			`"a":1}`: `!/a: unknown property; /do: "drop" is not "add" |values|do=drop needs role Admin`,
		`{"do":"dray",` +
			`"a":1}`: `!/a: unknown property; /do: "dray" is not "add" |fields|p.T.A needs role Admin`,
		`{"a":1}`: "!/a: unknown property; /do: is required |fields|p.T.A needs role Admin",
	} {
		got, report, err := called(r, tool, arguments)
		if err != nil {
			t.Fatal(err)
		}
		if denied := report.Failure == audit.Denied; denied != (report.Missing != "") {
			t.Errorf("%s: %+v", arguments, report)
		}
		got += " |" + report.Axis + "|" + report.Missing
		if got != want {
			t.Errorf("%s: %s, want %s", arguments, got, want)
		}
	}
	all := message(r, access.Principal{Subject: "a", Roles: []string{"Admin"}})
	got, report, err := calledBy(r, all, tool, &mcp.CallToolParamsRaw{
		Arguments: json.RawMessage(`{"do":"drop","a":1}`)})
	if err != nil || got != "" || report.Failure != "" {
		t.Errorf("%s %+v %v", got, report, err)
	}
}
