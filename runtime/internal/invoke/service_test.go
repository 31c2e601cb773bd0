package invoke

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

type prompter func(context.Context, toolset.Call) (toolset.PromptResult, error)

func prompts(res toolset.PromptResult, err error) prompter {
	return func(context.Context, toolset.Call) (toolset.PromptResult, error) { return res, err }
}

type reader func(context.Context, toolset.Call) (toolset.ResourceResult, error)

func reads(res toolset.ResourceResult, err error) reader {
	return func(context.Context, toolset.Call) (toolset.ResourceResult, error) { return res, err }
}

func newPrompt(t testing.TB, name string, get prompter) *Prompt {
	t.Helper()
	p, err := NewPrompt(toolset.Prompt{Name: name, Description: "d", Get: get})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newResource(t testing.TB, res toolset.Resource, read reader) *Resource {
	t.Helper()
	res.Name, res.Read = "n", read
	built, err := NewResource(res)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func TestWhatAPromptComesTo(t *testing.T) {
	const internal = "internal error"
	misfit := decode.NewError([]decode.Problem{{Pointer: "/a", Message: "is missing"}})
	one := &mcp.GetPromptResult{
		Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "x"}}},
	}
	empty := &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil}}
	asking := &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{}}
	for name, test := range map[string]struct {
		get    prompter
		want   string // of the result, as JSON
		code   int64
		err    string
		status audit.Failure
	}{
		"a text": {func(_ context.Context, c toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText(string(c.Arguments), nil)
		}, `{"description":"d","messages":[{"content":{"type":"text","text":"{\"a\":\"1\"}"},` +
			`"role":"user"}]}`, 0, "", ""},
		"its own result": {prompts(toolset.PromptNative(one, nil)),
			`{"messages":[{"content":{"type":"text","text":"x"},"role":"user"}]}`, 0, "", ""},
		"no messages": {prompts(toolset.PromptNative(&mcp.GetPromptResult{}, nil)),
			`{"messages":[]}`, 0, "", ""},
		"a content": {prompts(toolset.PromptNative(&mcp.TextContent{Text: "a"}, nil)),
			`{"description":"d","messages":[{"content":{"type":"text","text":"a"},"role":"user"}]}`,
			0, "", ""},
		"contents": {prompts(toolset.PromptNative([]mcp.Content{&mcp.ResourceLink{URI: "a:b",
			Name: "b"}, &mcp.ImageContent{Data: []byte("a"), MIMEType: "image/png"}}, nil)),
			`{"description":"d","messages":[{"content":{"type":"resource_link","uri":"a:b",` +
				`"name":"b"},"role":"user"},{"content":{"type":"image","mimeType":"image/png",` +
				`"data":"YQ=="},"role":"user"}]}`, 0, "", ""},
		"a nil content": {prompts(toolset.PromptNative((*mcp.TextContent)(nil), nil)),
			"", jsonrpc.CodeInternalError, internal, audit.Crashed},
		"a nil content in a list": {prompts(toolset.PromptNative([]mcp.Content{nil}, nil)),
			"", jsonrpc.CodeInternalError, internal, audit.Crashed},
		"no content": {prompts(toolset.PromptNative(7, nil)),
			"", jsonrpc.CodeInternalError, internal, audit.Crashed},
		"a nil result": {prompts(toolset.PromptNative(nil, nil)),
			"", jsonrpc.CodeInternalError, internal, audit.Crashed},
		"a nil message": {prompts(toolset.PromptNative(empty, nil)),
			"", jsonrpc.CodeInternalError, internal, audit.Crashed},
		"an input request": {prompts(toolset.PromptNative(asking, nil)),
			"", jsonrpc.CodeInternalError, internal, audit.Crashed},
		"a panic": {func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			panic("!")
		},
			"", jsonrpc.CodeInternalError, internal, audit.Crashed},
		"an error": {prompts(toolset.PromptText("", errors.New("no password=hunter2hunter2"))),
			"", jsonrpc.CodeInternalError, "no password=" + redact.Mask, audit.Errored},
		"a JSON-RPC error": {
			prompts(toolset.PromptText("", &jsonrpc.Error{Code: 7, Message: "seven"})),
			"", 7, "seven", audit.Errored},
		"a misfit": {prompts(toolset.PromptText("", misfit)),
			"", jsonrpc.CodeInvalidParams, misfit.Error(), audit.Invalid},
	} {
		r, _ := newRunner(t)
		res, report, err := r.Prompt(t.Context(), message(r, member), newPrompt(t, "t", test.get),
			&mcp.GetPromptParams{Arguments: map[string]string{"a": "1"}})
		got := ""
		if err == nil {
			text, failed := wire.Marshal(res)
			if failed != nil {
				t.Fatal(failed)
			}
			got = string(text)
		}
		var rpc *jsonrpc.Error
		if got != test.want || report.Failure != test.status ||
			(report.Err != nil) != (err != nil) ||
			test.code != 0 &&
				(!errors.As(err, &rpc) || rpc.Code != test.code || rpc.Message != test.err) {
			t.Errorf("%s: %s, %+v, %v", name, got, report, err)
		}
		if errors.As(err, new(wire.MaskedError)) != (name == "a misfit" || name == "an error") {
			t.Errorf("%s: %T", name, err)
		}
	}
}

func TestWhatAResourceComesTo(t *testing.T) {
	const internal = "internal error"
	shared := &mcp.ReadResourceResult{
		Contents: []*mcp.ResourceContents{{Text: "x"}, {URI: "own:1", MIMEType: "own"}},
	}
	empty := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}
	asking := &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{}}
	misfit := decode.NewError([]decode.Problem{{Message: "too large"}})
	for name, test := range map[string]struct {
		read   reader
		want   string
		err    string
		status audit.Failure
	}{
		"a text": {func(_ context.Context, c toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText(string(c.Arguments), nil)
		}, `note:7: m {"n":7}`, "", ""},
		"bytes": {reads(toolset.ResourceBytes(nil, nil)), `note:7: m `, "", ""},
		"its own": {reads(toolset.ResourceNative(shared, nil)),
			"note:7: m x|own:1: own ", "", ""},
		"a nil result":  {reads(toolset.ResourceNative(nil, nil)), "", internal, audit.Crashed},
		"a nil content": {reads(toolset.ResourceNative(empty, nil)), "", internal, audit.Crashed},
		"an input":      {reads(toolset.ResourceNative(asking, nil)), "", internal, audit.Crashed},
		"out of range": {reads(toolset.ResourceText("", misfit)),
			"", "Resource not found", audit.Errored},
		"an error": {reads(toolset.ResourceText("", errors.New("no"))), "", "no", audit.Errored},
	} {
		r, _ := newRunner(t)
		resource := newResource(t,
			toolset.Resource{URI: "note:{n}", MIMEType: "m",
				Variables: []toolset.Variable{{Name: "n", Type: toolset.IntegerVariable}}},
			test.read)
		res, report, err := r.Resource(t.Context(), message(r, member), resource,
			&mcp.ReadResourceParams{URI: "note:7"})
		var parts []string
		if err == nil {
			for _, c := range res.Contents {
				parts = append(parts, fmt.Sprintf("%s: %s %s", c.URI, c.MIMEType, c.Text))
			}
		}
		if got := strings.Join(parts, "|"); got != test.want || report.Failure != test.status ||
			(err != nil) != (test.err != "") || err != nil && err.Error() != test.err {
			t.Errorf("%s: %s, %+v, %v", name, got, report, err)
		}
	}
	if shared.Contents[0].URI != "" {
		t.Error("a shared content is written to")
	}
}

func TestVariablesAreAnObject(t *testing.T) {
	for uri, want := range map[string]string{"x:a%22b/7/true": `{"b":true,"n":7,"t":"a\"b"}`,
		"x:a/-7/false": `{"b":false,"n":-7,"t":"a"}`} {
		res := newResource(t, toolset.Resource{URI: "x:{t}/{n}/{b}", Variables: []toolset.Variable{
			{Name: "t"}, {Name: "n", Type: toolset.IntegerVariable}, {Name: "b",
				Type: toolset.BooleanVariable},
		}}, reads(toolset.ResourceText("", nil)))
		if got, err := res.arguments(uri); string(got) != want || err != nil {
			t.Errorf("%s: %s %v", uri, got, err)
		}
	}
}

func TestURIMeansOneResource(t *testing.T) {
	var all Resources
	read := reads(toolset.ResourceText("", nil))
	any := regexp.MustCompile(`\A.+\z`)
	all.Add(NewAdoptedResource("a:{+any}", any))
	all.Add(newResource(t, toolset.Resource{URI: "x:{b}",
		Variables: []toolset.Variable{{Name: "b"}}},
		read))
	all.Add(newResource(t, toolset.Resource{URI: "x:{a}",
		Variables: []toolset.Variable{{Name: "a"}}},
		read))
	all.Add(newResource(t, toolset.Resource{URI: "x:1"}, read))
	all.Add(NewAdoptedResource("y:1", nil))
	exists := func(string) bool { return true }
	for uri, want := range map[string]string{"x:1": "x:1 map[]", "x:2": "x:{a} map[a:2]",
		"y:1": "y:1 map[]", "z:1": "a:{+any} map[uri:z:1]"} {
		if r := all.Find(uri, exists); r == nil || fmt.Sprint(r.URI, " ", r.Values(uri)) != want {
			t.Errorf("%s: %+v", uri, r)
		}
	}
	if r := all.Find("z:"+strings.Repeat("1", uritemplate.MaxLength-1), exists); r != nil {
		t.Errorf("a URI that is too long for every template is that of %s", r.URI)
	}
	for names, want := range map[string]string{"x:1 x:{a}": "x:1", "x:{a} x:{b}": "x:{a}",
		"x:{b}":          "x:{b}",
		"x:{b} a:{+any}": "x:{b}", "a:{+any}": "a:{+any}", "": "x:1"} {
		r := all.Find("x:1", func(name string) bool {
			return slices.Contains(strings.Fields(names), name)
		})
		if r == nil || r.URI != want {
			t.Errorf("of %s, %s exist, and %s answers", want, names, r.URI)
		}
	}
	for uri, want := range map[string]bool{"x:1": true, "x:{b}": true, "x:2": false,
		"a:{+any}": true} {
		if r := all.Named(uri); (r != nil) != want || r != nil &&
			r.Adopted != strings.HasPrefix(uri, "a:") {
			t.Errorf("%s: %+v", uri, r)
		}
	}
	if r := (&Resources{}).Find("x:1", exists); r != nil {
		t.Error(r)
	}
}

func TestPromptsAndResourcesThatCannotWork(t *testing.T) {
	read := reads(toolset.ResourceText("", nil))
	for want, res := range map[string]toolset.Resource{
		"its URI is malformed":               {URI: "x", Name: "n", Read: read},
		"it has no handler: run go generate": {URI: "x:1", Name: "n"},
		"it has no name":                     {URI: "x:1", Read: read},
		"its URI has the variables":          {URI: "x:{a}", Name: "n", Read: read},
		"its timeout is -1ns: use a":         {URI: "x:1", Name: "n", Read: read, Timeout: -1},
	} {
		if _, err := NewResource(res); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := NewPrompt(toolset.Prompt{Timeout: -1}); err == nil ||
		strings.Count(err.Error(), "\n") != 2 {
		t.Error(err)
	}
	p, err := NewPrompt(toolset.Prompt{Name: "a",
		Get: func(context.Context, toolset.Call) (toolset.PromptResult,
			error) {
			panic("!")
		}, Arguments: []toolset.Argument{{Name: "x", Required: true}}})
	if err != nil || p.Timeout != DefaultTimeout || len(p.Public.Arguments) != 1 ||
		!p.Public.Arguments[0].Required {
		t.Error(p, err)
	}
	rules := func(b access.Rule) access.Table {
		table, err := access.Compose(access.Part{Table: access.Table{Roles: [][]string{{"A", "B"}},
			Resources: []access.Rule{{Resource: "x:{a}", MinRole: []string{"A"}}, b}}})
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	var own Resources
	own.Add(newResource(t, toolset.Resource{URI: "x:{a}", Variables: []toolset.Variable{{Name: "a"}}},
		read))
	own.Add(newResource(t, toolset.Resource{URI: "x:1"}, read))
	if err := own.CheckOverlaps(rules(access.Rule{Resource: "x:1",
		MinRole: []string{"B"}})); err == nil ||
		!strings.Contains(err.Error(), "x:{a} and x:1 match the same URI") {
		t.Error(err)
	}
	if err := own.CheckOverlaps(rules(access.Rule{Resource: "x:1",
		MinRole: []string{"A"}})); err != nil {
		t.Error(err)
	}
}

// Of templates of an adopted server the literal text at both ends counts.
func TestOverlapsWithAdoptedResources(t *testing.T) {
	read := func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText("", nil)
	}
	own := newResource(t, toolset.Resource{URI: "x:{a}/z", Variables: []toolset.Variable{{Name: "a"}}},
		read)
	for uri, overlap := range map[string]bool{"x:1/z": true, "x:1/y": false, "x:{b}/z": true,
		"x:{b}/y": false, "x:{b}": true, "x:{+b}/y/z": true, "y:{b}/z": false, "{b}": true,
		"x:{/b*}": true} {
		var pattern *regexp.Regexp
		if strings.Contains(uri, "{") {
			pattern = regexp.MustCompile("^.*$")
		}
		var all Resources
		all.Add(own)
		all.Add(NewAdoptedResource(uri, pattern))
		table := access.Table{Roles: [][]string{{"A", "B"}}, Resources: []access.Rule{
			{Resource: "x:{a}/z", MinRole: []string{"A"}}, {Resource: uri, MinRole: []string{"B"}}}}
		if err := all.CheckOverlaps(table); (err != nil) != overlap {
			t.Errorf("%s: %v", uri, err)
		}
		if got := all.Shadowed(); len(got) > 0 {
			t.Errorf("%s: a toolset answers in place of %v", uri, got)
		}
		table.Resources[1].MinRole = []string{"A"}
		if err := all.CheckOverlaps(table); err != nil {
			t.Errorf("%s with an equal rule: %v", uri, err)
		}
	}
}

// An adopted server finds what answers a URI: a resource, and then templates in the order of text.
func TestAdoptedResourcesThatOthersShadow(t *testing.T) {
	var all Resources
	any := regexp.MustCompile(`^.*$`)
	for _, uri := range []string{"x:{a}", "x:{b}", "x:{c}/c", "y:{a}/b", "y:{b}/c", "z:1"} {
		all.Add(NewAdoptedResource(uri, any))
	}
	all.Add(NewAdoptedResource("x:1", nil))
	want := "map[x:{a}:[x:1] x:{b}:[x:1 x:{a}] x:{c}/c:[x:1 x:{a} x:{b}]]"
	if got := fmt.Sprint(all.Shadowed()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestCompletions(t *testing.T) {
	r, _ := newRunner(t)
	var many []string
	for i := range maxCompletions + 1 {
		many = append(many, fmt.Sprint("v", i))
	}
	failing := func(context.Context, string) ([]string, error) { return nil, errors.New("no") }
	r.Prompts["t"] = newPrompt(t, "t", prompts(toolset.PromptText("", nil)))
	r.Prompts["t"].Arguments = []toolset.Argument{
		{Name: "role", Values: []string{"Admin", "Member", "adult"}}, {Name: "many",
			Values: many}, {Name: "fails", Complete: failing}, {Name: "free"},
		{Name: "custom",
			Complete: func(_ context.Context, begun string) ([]string, error) {
				return []string{begun + "!"},
					nil
			}},
	}
	r.Prompts["admin"] = newPrompt(t, "admin", r.Prompts["t"].Get)
	read := reads(toolset.ResourceText("", nil))
	r.Resources.Add(newResource(t,
		toolset.Resource{URI: "note:{n}",
			Variables: []toolset.Variable{{Name: "n", Values: []string{"one", "two"}}}}, read))
	r.Resources.Add(newResource(t,
		toolset.Resource{URI: "admin:{n}", Variables: []toolset.Variable{{Name: "n"}}}, read))
	r.Resources.Add(NewAdoptedResource("file:///t", nil))
	for _, test := range []struct {
		ref             mcp.CompleteReference
		argument, begun string
		want            string
		own             bool
		err             string
	}{
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "role", "AD",
			"[Admin adult] 2 false",
			true, ""},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "role", "x", "[] 0 false", true, ""},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "role", "member",
			"[Member] 1 false", true, ""},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "free", "", "[] 0 false", true, ""},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "unknown", "", "[] 0 false", true,
			""},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "custom", "a", "[a!] 1 false", true,
			""},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "many", "",
			fmt.Sprint(many[:maxCompletions], " ", len(many), " true"), true, ""},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "t"}, "fails", "", "", true, "no"},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "admin"}, "role", "", "", true,
			`unknown prompt "admin"`},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "none"}, "role", "", "", true,
			`unknown prompt "none"`},
		{mcp.CompleteReference{Type: "ref/prompt", Name: "adopted"}, "role", "", "", false,
			`unknown prompt "adopted"`},
		{mcp.CompleteReference{Type: "ref/resource", URI: "note:{n}"}, "n", "t", "[two] 1 false",
			true,
			""},
		{mcp.CompleteReference{Type: "ref/resource", URI: "admin:{n}"}, "n", "", "", true,
			"Resource not found"},
		{mcp.CompleteReference{Type: "ref/resource", URI: "note:one"}, "n", "", "", true,
			"Resource not found"},
		{mcp.CompleteReference{Type: "ref/resource", URI: "file:///t"}, "n", "", "", false,
			"Resource not found"},
	} {
		res, own, report, err := r.Complete(t.Context(), message(r, member), &mcp.CompleteParams{
			Ref: &test.ref, Argument: mcp.CompleteParamsArgument{
				Name: test.argument, Value: test.begun},
		})
		got := ""
		if res != nil {
			got = fmt.Sprint(res.Completion.Values, " ", res.Completion.Total, " ",
				res.Completion.HasMore)
		}
		if got != test.want || own != test.own || (err != nil) != (test.err != "") || err != nil &&
			err.Error() != test.err {
			t.Errorf("%+v %s %q: %s, own %t, %+v, %v", test.ref, test.argument, test.begun, got,
				own, report,
				err)
		}
	}
	if slices.ContainsFunc(many, func(v string) bool { return v == "" }) {
		t.Error("the author's values are written to")
	}
}
