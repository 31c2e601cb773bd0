package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// served has a prompt p, the resources file:///a and note:{name}, and their:a of an adopted server.
// All need the role Member.
func served(t *testing.T, g *Guard) {
	t.Helper()
	rules := []access.Rule{{Tool: "t"}, {Prompt: "p"}, {Resource: "file:///a"},
		{Resource: "note:{name}"}, {Resource: "their:a"}}
	for i := range rules {
		rules[i].MinRole = 1
	}
	table := access.NewTable(rules...)
	table.Roles = []string{"Member"}
	table, err := access.Compose(access.Part{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	g.Policy.Table = table
	g.Prompts = map[string]*invoke.Prompt{"p": {}}
	g.Capabilities = &mcp.ServerCapabilities{Completions: &mcp.CompletionCapabilities{}}
	read := func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceResult{}, nil
	}
	for _, r := range []toolset.Resource{{URI: "file:///a", Name: "a", Read: read},
		{URI: "note:{name}", Name: "n", Read: read,
			Variables: []toolset.Variable{{Name: "name"}}}} {
		resource, err := invoke.NewResource(r)
		if err != nil {
			t.Fatal(err)
		}
		g.Resources.Add(resource)
	}
	g.Resources.Add(&invoke.Resource{Resource: toolset.Resource{URI: "their:a"}, Exact: true,
		Adopted: true})
}

// The event has the name by its rule, and the arguments by name. A toolset's own handler has a
// report; a result without one is of the adopted server, and counts for its own items alone.
func TestEventHasTheSubjectAndItsArguments(t *testing.T) {
	get := func(name string, arguments map[string]string) mcp.Params {
		return &mcp.GetPromptParams{Name: name, Arguments: arguments}
	}
	read := func(uri string) mcp.Params { return &mcp.ReadResourceParams{URI: uri} }
	complete := func(kind, name string) mcp.Params {
		p := &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/" + kind, URI: name},
			Argument: mcp.CompleteParamsArgument{Name: "b", Value: "x"},
			Context:  &mcp.CompleteContext{Arguments: map[string]string{"a": "1", "c": "2"}}}
		if kind == "prompt" {
			p.Ref.Name, p.Ref.URI = name, ""
		}
		return p
	}
	for _, test := range []struct {
		method string
		params mcp.Params
		want   string // outcome, prompt, resource and arguments; * for one without a name
	}{
		{"prompts/get", get("p", nil), "crashed p - "},
		{"prompts/get", get("p", map[string]string{"b": "1", "a": ""}), "crashed p - a b"},
		{"prompts/get", get("x", map[string]string{"b": "1"}), "denied x - *"},
		{"resources/read", read("file:///a"), "crashed - file:///a "},
		{"resources/read", read("note:x"), "crashed - note:{name} name"},
		{"resources/read", read("their:a"), "success - their:a "},
		{"resources/read", read("file:///b"), "denied - - *"},
		{"completion/complete", complete("prompt", "p"), "crashed p - a b c"},
		{"completion/complete", complete("prompt", "x"), "denied x - *"},
		{"completion/complete", complete("resource", "note:{name}"), "crashed - note:{name} a b c"},
		{"completion/complete", complete("resource", "their:a"), "success - their:a a b c"},
		{"completion/complete", complete("resource", "file:///b"), "denied - - *"},
	} {
		var result mcp.Result = &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}
		s := send(t, func(g *Guard, m *Message, _ *mcp.CallToolParamsRaw) {
			served(t, g)
			m.Method, m.Params, m.Arguments = test.method, test.params, []byte(`{"as":"sent"}`)
		}, answering(Answer{Result: result}))
		if got := eventText(s); got != test.want {
			t.Errorf("%s %+v: %s, want %s", test.method, test.params, got, test.want)
		}
	}
}

func eventText(s sent) string {
	words := []string{s.outcome, "-", "-"}
	if s.event.Prompt != "" {
		words[1] = s.event.Prompt
	}
	if s.event.Resource != "" {
		words[2] = s.event.Resource
	}
	var names []string
	for _, a := range s.event.Arguments {
		if a.Name == "" {
			a.Name = "*"
		}
		names = append(names, a.Name)
	}
	return strings.Join(words, " ") + " " + strings.Join(names, " ")
}

// Of the arguments of an allowed call the event has 64 names in their order; of other JSON, and of
// a refused call, it has one digest.
func TestEventHasTheNamesOfArguments(t *testing.T) {
	many := map[string]int{}
	for i := range 100 {
		many[fmt.Sprintf("n%02d", 99-i)] = i
	}
	object, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments, role, first string
		count, bytes           int
	}{
		{`{"b":"xyz","a":1}`, "Member", "a", 2, 1}, {`[1]`, "Member", "", 1, 3},
		{string(object), "Member", "n00", 64, 2}, {`{"a":1}`, "", "", 1, 7},
		{"", "Member", "", 0, 0}, {"null", "", "", 0, 0}, {"", "", "", 0, 0},
	} {
		s := send(t, func(_ *Guard, m *Message, call *mcp.CallToolParamsRaw) {
			call.Arguments, m.Principal.Role = []byte(test.arguments), test.role
		}, answering(handled("")))
		got := s.event.Arguments
		if len(got) != test.count || test.count > 0 && (got[0].Name != test.first ||
			got[0].Bytes != test.bytes || got[0].Digest == audit.Digest{}) {
			t.Errorf("%.40s for %q: %d: %+v", test.arguments, test.role, len(got), got)
		}
	}
}

// The operator reads why a tool with a rule is unknown.
func TestEventHasWhyAToolIsUnknown(t *testing.T) {
	for _, test := range []struct {
		tool, role, want string
		readOnly         bool
	}{
		{"t", "Member", "the client requested only readonly tools", true},
		{"x", "Member", "", true}, {"t", "", "needs role Member", true},
		{"t", "", "needs role Member", false},
	} {
		s := send(t, func(_ *Guard, m *Message, call *mcp.CallToolParamsRaw) {
			m.Catalog = request.CatalogQuery{ReadOnly: test.readOnly}
			call.Name, m.Principal.Role = test.tool, test.role
		}, nil)
		if s.outcome != "denied" || s.event.Missing != test.want {
			t.Errorf("%+v: %s, %q", test, s.outcome, s.event.Missing)
		}
	}
}
