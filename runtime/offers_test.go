package runtime_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// library is a toolset of prompts and resources as mcpgen writes them.
func library() toolset.Toolset {
	get := func(_ context.Context, call toolset.Call) (toolset.PromptResult, error) {
		return toolset.PromptText("secret "+string(call.Arguments), nil)
	}
	read := func(_ context.Context, call toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText("secret "+string(call.Arguments), nil)
	}
	complete := func(_ context.Context, begun string) ([]string, error) {
		return []string{begun + "!"}, nil
	}
	prompt := func(name string) toolset.Prompt {
		return toolset.Prompt{Name: name, Description: name + " asks.", Get: get,
			Arguments: []toolset.Argument{
				{Name: "a", Required: true, Complete: complete},
				{Name: "b", Values: []string{"one", "two"}},
			}}
	}
	resource := func(uri string, variables ...toolset.Variable) toolset.Resource {
		return toolset.Resource{URI: uri, Name: "r", Read: read, Variables: variables}
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/library", Server: toolset.ServerInfo{Name: "library", Version: "1"},
		Table: access.Table{
			Roles: access.DefaultRoles(),
			Prompts: []access.Rule{
				{Prompt: "greet", Public: true}, {Prompt: "hire", MinRole: manager},
				{Prompt: "join", Authenticated: true}, {Prompt: "rule", MinRole: admin},
			},
			Resources: []access.Rule{
				{Resource: "lib://hall", Public: true}, {Resource: "lib://safe", MinRole: admin},
				{Resource: "lib://shelf", MinRole: viewer},
				{Resource: "lib://books/{id}", MinRole: member}, {Resource: "lib://notes/{+path}",
					MinRole: admin}, {Resource: "lib://pages/{n}", Authenticated: true},
			},
		},
		Prompts: []toolset.Prompt{prompt("greet"), prompt("hire"), prompt("join"), prompt("rule")},
		Resources: []toolset.Resource{
			resource("lib://books/{id}", toolset.Variable{Name: "id", Complete: complete}),
			resource("lib://hall"),
			resource("lib://notes/{+path}", toolset.Variable{Name: "path"}),
			resource("lib://pages/{n}", toolset.Variable{Name: "n", Type: toolset.IntegerVariable}),
			resource("lib://safe"), resource("lib://shelf"),
		},
	})
}

// expectedPrompts and expectedResources say by hand who may use what, in the columns of
// callers. read is a URI of the resource.
var expectedPrompts = map[string]string{"greet": "yyyyyy", "hire": "nnnnyy", "join": "nyyyyy",
	"rule": "nnnnny"}

var expectedResources = []struct{ uri, read, who, needs string }{
	{"lib://hall", "lib://hall", "yyyyyy", ""},
	{"lib://safe", "lib://safe", "nnnnny", "role Admin"},
	{"lib://shelf", "lib://shelf", "nnyyyy", "role Viewer"},
	{"lib://books/{id}", "lib://books/a%20b", "nnnyyy", "role Member"},
	{"lib://notes/{+path}", "lib://notes/a/b", "nnnnny", "role Admin"},
	{"lib://pages/{n}", "lib://pages/7", "nyyyyy", "an authenticated caller"},
}

func TestListAndUseAgreeForEveryRolePromptAndResource(t *testing.T) {
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		for _, listAll := range []bool{false, true} {
			s := newServer(t, runtime.Options{Anonymous: true, Denial: denial, ListAll: listAll,
				PageSize: 2}, library())
			if got := len(s.Table().Prompts) +
				len(s.Table().Resources); got != len(expectedPrompts)+len(expectedResources) {
				t.Fatalf("%d rules", got)
			}
			url := serve(t, s)
			for _, era := range eras {
				for column, user := range callers {
					name := fmt.Sprintf("%v/all=%v/%s/%s", denial, listAll, era, user)
					tells := denial == access.Forbid || listAll
					t.Run(name+"/http", func(t *testing.T) {
						checkOffers(t, connectHTTP(t, url, tokens[user], era), column, tells,
							listAll)
					})
					p := principalOf(user)
					if p.Role == "viewer" {
						p.Role = ""
					}
					t.Run(name+"/stdio", func(t *testing.T) {
						checkOffers(t, connectIO(t, s, p, era), column, tells, listAll)
					})
				}
			}
		}
	}
}

// TestACompletionKnowsTheOtherArguments uses a client of go-sdk's in each era.
func TestACompletionKnowsTheOtherArguments(t *testing.T) {
	resolved := func(ctx context.Context, _ string) ([]string, error) {
		var values []string
		for name, value := range runtime.CompletionArguments(ctx) {
			values = append(values, name+"="+value)
		}
		return values, nil
	}
	trail := &keeper{}
	url := serve(t, newServer(t, runtime.Options{Audit: trail}, toolset.NewToolset(toolset.Generated{
		Package: "example.com/trips", Server: toolset.ServerInfo{Name: "trips", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Prompts:   []access.Rule{{Prompt: "trip", MinRole: viewer}},
			Resources: []access.Rule{{Resource: "trip:{from}/{to}", MinRole: viewer}}},
		Prompts: []toolset.Prompt{{Name: "trip", Arguments: []toolset.Argument{
			{Name: "from", Complete: resolved}, {Name: "to", Complete: resolved}},
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("go", nil)
			}}},
		Resources: []toolset.Resource{{URI: "trip:{from}/{to}", Name: "trip",
			Variables: []toolset.Variable{{Name: "from"}, {Name: "to", Complete: resolved}},
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("go", nil)
			}}},
	})))
	for _, era := range eras {
		session := connectHTTP(t, url, tokens["Member"], era)
		for _, ref := range []*mcp.CompleteReference{{Type: "ref/prompt", Name: "trip"},
			{Type: "ref/resource", URI: "trip:{from}/{to}"}} {
			for _, test := range []struct {
				sent map[string]string
				want []string
			}{
				{nil, []string{}},
				{map[string]string{"from": "Oslo", "to": "Rome", "none": "x"}, []string{"from=Oslo"}},
			} {
				params := &mcp.CompleteParams{Ref: ref,
					Argument: mcp.CompleteParamsArgument{Name: "to", Value: "P"}}
				if test.sent != nil {
					params.Context = &mcp.CompleteContext{Arguments: test.sent}
				}
				res, err := session.Complete(t.Context(), params)
				if err != nil || !slices.Equal(res.Completion.Values, test.want) {
					t.Errorf("%s, %v with %v: %+v, %v", era, ref, test.sent, res, err)
				}
			}
		}
	}
	if got := runtime.CompletionArguments(t.Context()); got != nil {
		t.Errorf("outside of a call there is %v", got)
	}
	named := 0
	for _, e := range trail.taken() {
		named = max(named, len(e.Arguments))
	}
	if named != 3 { // to, from and none
		t.Errorf("the audit has %d arguments of a completion", named)
	}
}

func checkOffers(t *testing.T, session *mcp.ClientSession, column int, tells, listAll bool) {
	t.Helper()
	ctx := context.Background()
	var prompts, uris, want []string
	for p, err := range session.Prompts(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, p.Name)
	}
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	for r, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URITemplate)
	}
	slices.Sort(uris)
	for _, name := range slices.Sorted(maps.Keys(expectedPrompts)) {
		if listAll || expectedPrompts[name][column] == 'y' {
			want = append(want, name)
		}
	}
	if !slices.Equal(prompts, want) {
		t.Errorf("prompts %v, want %v", prompts, want)
	}
	want = nil
	for _, r := range expectedResources {
		if listAll || r.who[column] == 'y' {
			want = append(want, r.uri)
		}
	}
	slices.Sort(want)
	if !slices.Equal(uris, want) {
		t.Errorf("resources %v, want %v", uris, want)
	}
	// refused holds an answer to what was expected; unknown is the message of what does not exist.
	refused := func(what string, err error, may bool, unknown, needs string) {
		t.Helper()
		var rpc *jsonrpc.Error
		switch {
		case may:
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case tells:
			if !errors.As(err, &rpc) || rpc.Code != -32043 || !strings.Contains(rpc.Message,
				"403 Forbidden") || !strings.Contains(rpc.Message, needs) {
				t.Errorf("%s: %v", what, err)
			}
		case !errors.As(err, &rpc):
			t.Errorf("%s: not refused: %v", what, err)
		case rpc.Code != jsonrpc.CodeInvalidParams || rpc.Message != unknown:
			t.Errorf("%s: %v", what, err)
		}
	}
	for name, who := range expectedPrompts {
		may, unknown := who[column] == 'y', fmt.Sprintf("unknown prompt %q", name)
		res, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name,
			Arguments: map[string]string{"a": "x"}})
		refused("get "+name, err, may, unknown, "needs")
		if err == nil && res.Messages[0].Content.(*mcp.TextContent).Text != `secret {"a":"x"}` {
			t.Errorf("%s: %v", name, res.Messages[0].Content)
		}
		for argument, want := range map[string]string{"a": "t!", "b": "two", "c": ""} {
			res, err := session.Complete(ctx,
				&mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: name},
					Argument: mcp.CompleteParamsArgument{Name: argument, Value: "t"}})
			refused("complete "+name, err, may, unknown, "needs")
			if err == nil && strings.Join(res.Completion.Values, " ") != want {
				t.Errorf("%s %s: %v", name, argument, res.Completion.Values)
			}
		}
	}
	for _, r := range expectedResources {
		may := r.who[column] == 'y'
		res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.read})
		refused("read "+r.uri, err, may, "Resource not found", r.needs)
		if err == nil && (!strings.HasPrefix(res.Contents[0].Text, "secret {") ||
			res.Contents[0].URI != r.read) {
			t.Errorf("%s: %+v", r.uri, res.Contents[0])
		}
		_, err = session.Complete(ctx,
			&mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/resource", URI: r.uri},
				Argument: mcp.CompleteParamsArgument{Name: "id", Value: "t"}})
		refused("complete "+r.uri, err, may, "Resource not found", r.needs)
	}
}

func TestHiddenPromptOrResourceIsByteForByteAnUnknownOne(t *testing.T) {
	s := newServer(t, runtime.Options{Anonymous: true}, library())
	url := serve(t, s)
	compared := 0
	for _, era := range eras {
		for column, user := range callers {
			c := newRaw(t, url, tokens[user], era)
			same := func(method, format, hidden, header string) {
				t.Helper()
				ask := func(name string) reply {
					headers := map[string]string{}
					if era == "2026-07-28" && header != "" {
						headers["Mcp-Name"] = name
					}
					return c.ask(t, method, fmt.Sprintf(format, name), headers)
				}
				unknown := hidden[:len(hidden)-1] + "X"
				got, other := ask(hidden), ask(unknown)
				other.body = strings.ReplaceAll(other.body, unknown, hidden)
				if got.String() != other.String() || !strings.Contains(got.body, "error") ||
					strings.Contains(got.body, "secret") {
					t.Errorf("%s, %q, %s %s:\n%s\nan unknown one:\n%s", era, user, method, hidden,
						got, other)
				}
				compared++
			}
			for name, who := range expectedPrompts {
				if who[column] == 'y' {
					continue
				}
				for _, rest := range []string{``, `,"arguments":{"a":"x"}`,
					`,"arguments":{"secret":"x"}`,
					`,"inputResponses":{"a":{"action":"accept"}},"requestState":"x"`} {
					same("prompts/get", `"name":"%s"`+rest, name, "name")
				}
				same("completion/complete",
					`"ref":{"type":"ref/prompt","name":"%s"},"argument":{"name":"a","value":""}`,
					name, "")
			}
			for _, r := range expectedResources {
				if r.who[column] == 'y' {
					continue
				}
				if !strings.Contains(r.uri, "{") {
					same("resources/read", `"uri":"%s"`, r.read, "uri")
				}
				same("resources/subscribe", `"uri":"%s"`, r.read, "")
				same("completion/complete",
					`"ref":{"type":"ref/resource","uri":"%s"},"argument":{"name":"id","value":""}`,
					r.uri, "")
			}
			// A URI of a hidden template against one of no template.
			if column < 3 {
				for _, uri := range []string{"lib://books/17", "lib://books/%C3%A9",
					"lib://notes/a/b/"} {
					other := strings.Replace(uri, "lib", "bil", 1)
					ask := func(uri string) reply {
						headers := map[string]string{}
						if era == "2026-07-28" {
							headers["Mcp-Name"] = uri
						}
						return c.ask(t, "resources/read", `"uri":"`+uri+`"`, headers)
					}
					hidden, unknown := ask(uri), ask(other)
					unknown.body = strings.ReplaceAll(unknown.body, other, uri)
					if hidden.String() != unknown.String() || !strings.Contains(hidden.body,
						"Resource not found") {
						t.Errorf("%s, %q, %s:\n%s\nan unknown one:\n%s", era, user, uri, hidden,
							unknown)
					}
				}
			}
		}
	}
	if compared < 260 {
		t.Errorf("compared %d pairs only", compared)
	}
}

func TestForbiddenPromptsAndResourcesNameWhatIsMissing(t *testing.T) {
	s := newServer(t, runtime.Options{Denial: access.Forbid}, library())
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Viewer"], era)
		for method, test := range map[string]struct{ name, params, want string }{
			"prompts/get": {"hire", `"name":"hire"`, `prompt \"hire\" needs role Manager`},
			"resources/read": {"lib://safe", `"uri":"lib://safe"`,
				`resource \"lib://safe\" needs role Admin`},
			"completion/complete": {"",
				`"ref":{"type":"ref/resource","uri":"lib://books/{id}"},"argument":{"name":"id","value":""}`, `resource \"lib://books/{id}\" needs role Member`},
		} {
			headers := map[string]string{}
			if era == "2026-07-28" && test.name != "" {
				headers["Mcp-Name"] = test.name
			}
			got := c.ask(t, method, test.params, headers)
			if !strings.Contains(got.body, `"code":-32043`) ||
				!strings.Contains(got.body, "403 Forbidden: "+test.want) {
				t.Errorf("%s, %s: %s", era, method, got)
			}
		}
	}
}

// odd is a toolset of one prompt and one resource, open to authenticated callers.
func odd(get func(context.Context, toolset.Call) (toolset.PromptResult, error),
	read func(context.Context, toolset.Call) (toolset.ResourceResult, error)) toolset.Toolset {
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/odd", Server: toolset.ServerInfo{Name: "odd", Version: "1"},
		Table: access.Table{
			Prompts:   []access.Rule{{Prompt: "p", Authenticated: true}},
			Resources: []access.Rule{{Resource: "odd:{x}", Authenticated: true}},
		},
		Prompts: []toolset.Prompt{{Name: "p", Get: get,
			Arguments: []toolset.Argument{{Name: "a"}}}},
		Resources: []toolset.Resource{{URI: "odd:{x}", Name: "r", Read: read,
			Variables: []toolset.Variable{{Name: "x"}}}},
	})
}

type nilError struct{}

func (*nilError) Error() string { panic("hunter2") }

// evil panics when it is marshalled.
type evil struct{}

func (evil) MarshalJSON() ([]byte, error) { panic("hunter2") }

func TestPromptsAndResourcesDoNotKillTheProcess(t *testing.T) {
	for name, test := range map[string]struct {
		prompt   func() (*mcp.GetPromptResult, error)
		resource func() (*mcp.ReadResourceResult, error)
	}{
		"a panic": {func() (*mcp.GetPromptResult, error) {
			panic("hunter2")
		}, func() (*mcp.ReadResourceResult, error) { panic("hunter2") }},
		"a nil result": {func() (*mcp.GetPromptResult, error) {
			return nil, nil
		}, func() (*mcp.ReadResourceResult, error) { return nil, nil }},
		"a typed nil error": {func() (*mcp.GetPromptResult, error) {
			return nil, (*nilError)(nil)
		}, func() (*mcp.ReadResourceResult, error) { return nil, (*nilError)(nil) }},
		"a nil part": {func() (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{nil}}, nil
		}, func() (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{nil}}, nil
		}},
		"a nil content": {func() (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Content: (*mcp.TextContent)(nil)}}}, nil
		}, func() (*mcp.ReadResourceResult, error) { return nil, nil }},
		"a _meta that panics": {func() (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Meta: mcp.Meta{"x": evil{}}}, nil
		}, func() (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Meta: mcp.Meta{"x": evil{}}}, nil
		}},
		"a question": {func() (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{}}, nil
		}, func() (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{InputRequests: mcp.InputRequestMap{}}, nil
		}},
	} {
		sink := &keeper{}
		s := newServer(t, runtime.Options{Audit: sink}, odd(
			func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptNative(test.prompt())
			},
			func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceNative(test.resource())
			}))
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Admin"], era)
			header := func(name string) map[string]string {
				if era != "2026-07-28" {
					return nil
				}
				return map[string]string{"Mcp-Name": name}
			}
			for _, got := range []reply{c.ask(t, "prompts/get", `"name":"p"`, header("p")),
				c.ask(t, "resources/read", `"uri":"odd:x"`, header("odd:x"))} {
				if !strings.Contains(got.body, "internal error") ||
					strings.Contains(got.body, "hunter2") {
					t.Errorf("%s, %s: %s", era, name, got)
				}
			}
			if got := c.ask(t, "tools/list", "", nil); got.status != 200 {
				t.Errorf("%s, %s: the session is gone: %s", era, name, got)
			}
		}
	}
}

func TestControlCharactersInAURIAreAnUnknownResource(t *testing.T) {
	s := newServer(t, runtime.Options{}, library())
	for _, era := range eras {
		session := connectIO(t, s, principalOf("Admin"), era)
		for _, uri := range []string{"lib://books/\x01", "lib://books/\x7f", "lib://books/%00",
			"lib://books/é", "lib://books/\u202e", "\x00", ""} {
			if _, err := session.ReadResource(context.Background(),
				&mcp.ReadResourceParams{URI: uri}); err == nil || !strings.Contains(err.Error(),
				"Resource not found") {
				t.Errorf("%s, %q: %v", era, uri, err)
			}
		}
		if _, err := session.ReadResource(context.Background(),
			&mcp.ReadResourceParams{URI: "io.github.mcpgen:read"}); err == nil {
			t.Errorf("%s: the resource behind all others can be read", era)
		}
		if res, err := session.ReadResource(context.Background(),
			&mcp.ReadResourceParams{URI: "lib://books/a%2Fb"}); err != nil ||
			res.Contents[0].Text != `secret {"id":"a/b"}` {
			t.Errorf("%s: %v %v", era, res, err)
		}
	}
}

func TestAuditOfPromptsAndResourcesHoldsNoValue(t *testing.T) {
	sink := &keeper{}
	s := newServer(t, runtime.Options{Audit: sink}, library())
	session := connectIO(t, s, principalOf("Member"), "2025-11-25")
	ctx := context.Background()
	_, _ = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "join",
		Arguments: map[string]string{"a": "hunter2"}})
	_, _ = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "rule"})
	_, _ = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "lib://books/hunter2"})
	_, _ = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "lib://hunter2"})
	_, _ = session.ListPrompts(ctx, nil)
	_, _ = session.ListResources(ctx, nil)
	_, _ = session.ListResourceTemplates(ctx, nil)
	_, _ = session.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt",
		Name: "join"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "hunter2"}})
	var got []string
	for _, e := range sink.taken() {
		names := ""
		for _, a := range e.Arguments {
			names += " " + cmp.Or(a.Name, fmt.Sprintf("(%d bytes)", a.Bytes))
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s%s %s%s %d/%d %s", e.Type, e.Prompt,
			e.Resource, cmp.Or(string(e.Failure), string(e.Status)), names,
			e.Visible, e.Total, e.Axis)))
		if text, _ := json.Marshal(e); strings.Contains(string(text), "hunter2") {
			t.Errorf("a value in the audit: %s", text)
		}
	}
	want := []string{
		"prompt_get join success a 0/0 authentication",
		"prompt_get rule denied 0/0 role",
		"resource_read lib://books/{id} success id 0/0 role",
		"resource_read  denied (15 bytes) 0/0 unknown",
		"prompt_list  success 2/4",
		"resource_list  success 2/3",
		"resource_template_list  success 2/3",
		"completion join success a 0/0 authentication",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPromptOrResourceWithoutItsRecordIsRefused(t *testing.T) {
	for _, kind := range []audit.Type{audit.PromptGet, audit.ResourceRead, audit.Completion,
		audit.PromptList, audit.ResourceList, audit.TemplateList} {
		sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
			if e.Type == kind {
				return errors.New("full")
			}
			return nil
		})
		s := newServer(t, runtime.Options{Audit: sink}, library())
		c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
		refused := 0
		for method, params := range map[string]string{
			"prompts/get": `"name":"join"`, "resources/read": `"uri":"lib://safe"`,
			"prompts/list": "", "resources/list": "", "resources/templates/list": "",
			"completion/complete": `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"a","value":""}`,
		} {
			if got := c.ask(t, method, params, nil); strings.Contains(got.body, "internal error") {
				refused++
			} else if !strings.Contains(got.body, `"result"`) {
				t.Errorf("%s: %s", method, got)
			}
		}
		if refused != 1 {
			t.Errorf("%s: %d requests refused", kind, refused)
		}
	}
}

func TestCursorsOfOneListAreNoneOfAnother(t *testing.T) {
	s := newServer(t, runtime.Options{PageSize: 1}, library())
	c := newRaw(t, serve(t, s), tokens["Admin"], "2025-11-25")
	cursor := func(method string) string {
		_, rest, _ := strings.Cut(c.ask(t, method, "", nil).body, `"nextCursor":"`)
		found, _, _ := strings.Cut(rest, `"`)
		return found
	}
	methods := []string{"prompts/list", "resources/list", "resources/templates/list"}
	for _, from := range methods {
		for _, to := range methods {
			got := c.ask(t, to, `"cursor":"`+cursor(from)+`"`, nil)
			if ok := strings.Contains(got.body, `"result"`); ok != (from == to) {
				t.Errorf("%s with a cursor of %s: %s", to, from, got)
			}
		}
	}
}

func TestMiddlewareCannotReachWhatIsHidden(t *testing.T) {
	swap := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch r := req.(type) {
			case *mcp.GetPromptRequest:
				r.Params.Name = "rule"
			case *mcp.ReadResourceRequest:
				r.Params.URI = "lib://safe"
			case *mcp.CompleteRequest:
				r.Params.Ref.Name = "rule"
			}
			return next(ctx, method, req)
		}
	}
	s := newServer(t, runtime.Options{Middleware: []mcp.Middleware{swap}}, library())
	c := newRaw(t, serve(t, s), tokens["Viewer"], "2025-11-25")
	for method, params := range map[string]string{
		"prompts/get": `"name":"join"`, "resources/read": `"uri":"lib://shelf"`,
		"completion/complete": `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"a","value":""}`,
	} {
		if got := c.ask(t, method, params, nil); strings.Contains(got.body, `"result"`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

func TestAdoptedPromptsAndResourcesGoByTheirRules(t *testing.T) {
	server := existing("ruled")
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "t",
		URITemplate: "file:///{dir}/{name}"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "a file"}}}, nil
		})
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "u", URITemplate: "file:///{name}"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{Text: "anything"}}},
				nil
		})
	s := adopt(t, server, runtime.Options{}, map[string]access.Rule{
		"p": {Prompt: "p", MinRole: manager}, "r": {Resource: "file:///r", MinRole: manager},
		"t": {Resource: "file:///{dir}/{name}", MinRole: admin},
	}, library())
	url := serve(t, s)
	for _, era := range eras {
		for column, user := range callers[1:] {
			column++
			session := connectHTTP(t, url, tokens[user], era)
			ctx := context.Background()
			_, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "p"})
			if (err == nil) != (column >= 4) {
				t.Errorf("%s, %s: prompt: %v", era, user, err)
			}
			for uri, from := range map[string]int{"file:///r": 4, "file:///a/b": 5, "file:///a": 9,
				"file:///a/b/c": 9, "lib://safe": 5, "lib://hall": 0} {
				if _, err := session.ReadResource(ctx,
					&mcp.ReadResourceParams{URI: uri}); (err == nil) != (column >= from) {
					t.Errorf("%s, %s: %s: %v", era, user, uri, err)
				}
			}
			list, err := session.ListPrompts(ctx, nil)
			if err != nil || slices.ContainsFunc(list.Prompts, func(p *mcp.Prompt) bool {
				return p.Name == "p"
			}) != (column >= 4) {
				t.Errorf("%s, %s: %v %v", era, user, list, err)
			}
		}
	}
}

func TestOffersThatCannotWorkDoNotStart(t *testing.T) {
	get := func(context.Context, toolset.Call) (toolset.PromptResult, error) {
		return toolset.PromptText("", nil)
	}
	read := func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText("", nil)
	}
	base := func(change func(*toolset.Generated)) toolset.Toolset {
		g := toolset.Generated{
			Package: "example.com/x", Server: toolset.ServerInfo{Name: "x"},
			Table: access.Table{
				Roles:     access.DefaultRoles(),
				Prompts:   []access.Rule{{Prompt: "p", Authenticated: true}},
				Resources: []access.Rule{{Resource: "x:{a}", Authenticated: true}},
			},
			Prompts: []toolset.Prompt{{Name: "p", Get: get}},
			Resources: []toolset.Resource{{URI: "x:{a}", Name: "r", Read: read,
				Variables: []toolset.Variable{{Name: "a"}}}},
		}
		change(&g)
		return toolset.NewToolset(g)
	}
	for want, change := range map[string]func(*toolset.Generated){
		`prompt "p" has no rule in`:     func(g *toolset.Generated) { g.Table.Prompts = nil },
		`the rule of "p" has no prompt`: func(g *toolset.Generated) { g.Prompts = nil },
		`resource "x:{a}" has no rule in`: func(g *toolset.Generated) {
			g.Table.Resources = nil
		},
		`the rule of "x:{a}" has no resource`: func(g *toolset.Generated) { g.Resources = nil },
		`it has no handler: run go generate`: func(g *toolset.Generated) {
			g.Prompts[0].Get = nil
		},
		`its timeout is -1ns`: func(g *toolset.Generated) {
			g.Resources[0].Timeout = -1
		},
		`its URI is malformed`: func(g *toolset.Generated) {
			g.Resources[0].URI = "x"
		},
		`its parameters are []`: func(g *toolset.Generated) {
			g.Resources[0].Variables = nil
		},
		`it has no name`: func(g *toolset.Generated) {
			g.Resources[0].Name = ""
		},
		`a rule of another kind among those of`: func(g *toolset.Generated) {
			g.Table.Prompts[0] = access.Rule{Tool: "p", Authenticated: true}
		},
		`prompt "p" has only the rule x.y`: func(g *toolset.Generated) {
			g.Table.Prompts[0] = access.Rule{Prompt: "p", Permission: access.Permission{App: "x",
				Action: "y"}}
		},
		`prompt "p": has role number 9`: func(g *toolset.Generated) {
			g.Table.Prompts[0].MinRole = 9
		},
		`x:{a} and x:all`: func(g *toolset.Generated) {
			g.Table.Resources = append(g.Table.Resources, access.Rule{Resource: "x:all",
				MinRole: admin})
			g.Resources = append(g.Resources, toolset.Resource{URI: "x:all", Name: "all",
				Read: read})
		},
	} {
		if _, err := runtime.New(runtime.Options{Logger: quiet()}, base(change)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	if _, err := runtime.New(runtime.Options{Logger: quiet()},
		base(func(*toolset.Generated) {})); err != nil {
		t.Error(err)
	}
}

func TestResourceHandlerReportsNotFoundAsAnUnknownURIDoes(t *testing.T) {
	answer := errors.New("no shelf 7")
	s := newServer(t, runtime.Options{}, odd(
		func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText("", nil)
		},
		func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText("", answer)
		}))
	for _, era := range eras {
		c := newRaw(t, serve(t, s), tokens["Viewer"], era)
		read := func(uri string) string {
			got := c.ask(t, "resources/read", `"uri":"`+uri+`"`,
				map[string]string{"Mcp-Name": uri}).body
			return strings.ReplaceAll(got[strings.IndexByte(got, '{'):], uri, "URI")
		}
		answer = errors.New("no shelf 7")
		if got := read("odd:7"); !strings.Contains(got,
			`"error":{"code":-32603,"message":"no shelf 7"}`) {
			t.Errorf("%s: %s", era, got)
		}
		answer = fmt.Errorf("looking: %w", mcp.ResourceNotFoundError("odd:7"))
		if got := read("odd:7"); !strings.Contains(got,
			`"code":-32602,"message":"looking: Resource not found"`) {
			t.Errorf("%s: %s", era, got)
		}
		answer = mcp.ResourceNotFoundError("odd:7")
		if got, want := strings.TrimSpace(read("odd:7")),
			strings.TrimSpace(read("even:7")); got != want {
			t.Errorf("%s: %s, of an unknown one %s", era, got, want)
		}
	}
}
