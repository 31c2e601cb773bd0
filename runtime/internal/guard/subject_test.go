package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// served has a prompt p, the resources file:///a and note:{name}, and their:a of an adopted server.
// All need the role Member.
func served(t *testing.T, g *Guard) {
	t.Helper()
	rules := []access.Rule{{Tool: "t"}, {Prompt: "p"}, {Resource: "file:///a"},
		{Resource: "note:{name}"}, {Resource: "their:a"}}
	for i := range rules {
		rules[i].MinRole = []string{"Member"}
	}
	table := access.NewTable(rules...)
	table.Roles = [][]string{{"Member"}}
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
	for _, r := range []toolset.Resource{{URI: "file:///a", Name: "a", Read: read, Subscribe: true},
		{URI: "note:{name}", Name: "n", Read: read, Subscribe: true,
			Variables: []toolset.Variable{{Name: "name"}}}} {
		resource, err := invoke.NewResource(r)
		if err != nil {
			t.Fatal(err)
		}
		g.Resources.Add(resource)
	}
	g.Resources.Add(&invoke.Resource{Resource: toolset.Resource{URI: "their:a", Subscribe: true},
		Exact: true, Adopted: true})
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
			call.Arguments, m.Principal.Roles = []byte(test.arguments), []string{test.role}
		}, answering(handled("")))
		got := s.event.Arguments
		if len(got) != test.count || test.count > 0 && (got[0].Name != test.first ||
			got[0].Bytes != test.bytes || got[0].Digest == audit.Digest{}) {
			t.Errorf("%.40s for %q: %d: %+v", test.arguments, test.role, len(got), got)
		}
	}
}

// Of a name the event has at most 128 bytes, and of a resource 256. A refused name is masked: it
// may be a misplaced secret. An allowed name and a resource are those of the server.
func TestEventShortensAndMasksNames(t *testing.T) {
	secret, long := "password=hunter22", strings.Repeat("n", 300)
	for _, test := range []struct {
		name, role string
		resource   bool
		want       string
	}{
		{secret, "Member", false, secret}, {secret, "", false, "password=" + redact.Mask},
		{"file:///" + secret, "Member", true, "file:///" + secret},
		{"file:///" + secret, "", true, "file:///" + secret},
		{long, "Member", false, redact.Shorten(long, 128)}, {long, "", false, redact.Shorten(long, 128)},
		{"file:///" + long, "Member", true, redact.Shorten("file:///"+long, 256)},
		{"file:///" + long, "", true, redact.Shorten("file:///"+long, 256)},
	} {
		s := send(t, func(g *Guard, m *Message, _ *mcp.CallToolParamsRaw) {
			rule := access.Rule{Prompt: test.name, MinRole: []string{"Member"}}
			m.Method, m.Params = "prompts/get", mcp.Params(&mcp.GetPromptParams{Name: test.name})
			if test.resource {
				rule.Prompt, rule.Resource = "", test.name
				m.Method, m.Params = "resources/read", &mcp.ReadResourceParams{URI: test.name}
				g.Resources.Add(&invoke.Resource{
					Resource: toolset.Resource{URI: test.name}, Exact: true})
			}
			table := access.NewTable(rule)
			table.Roles = [][]string{{"Member"}}
			g.Policy.Table, m.Principal.Roles = table, []string{test.role}
		}, answering(Answer{Result: &mcp.GetPromptResult{}}))
		if got := s.event.Prompt + s.event.Resource; got != test.want {
			t.Errorf("%.20s for %q: %q, want %q", test.name, test.role, got, test.want)
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
		{"x", "Member", "does not exist", true}, {"t", "", "needs role Member", true},
		{"t", "", "needs role Member", false},
	} {
		s := send(t, func(_ *Guard, m *Message, call *mcp.CallToolParamsRaw) {
			m.Catalog = request.CatalogQuery{ReadOnly: test.readOnly}
			call.Name, m.Principal.Roles = test.tool, []string{test.role}
		}, nil)
		if s.outcome != "denied" || s.event.Missing != test.want {
			t.Errorf("%+v: %s, %q", test, s.outcome, s.event.Missing)
		}
	}
}

// An unknown resource has a line as a hidden one. A line about arguments has no word of them, and
// one about another failure has its words.
func TestLinesOfRefusedAndFailedCalls(t *testing.T) {
	read := &mcp.ReadResourceParams{URI: "file:///b?token=of-somebody"}
	full, ids := errors.New("the disk is full"), regexp.MustCompile(` request_id=\w+`)
	for name, test := range map[string]struct {
		params mcp.Params
		answer Answer
		err    error
		want   string // in the line; empty for no line
	}{
		"an unknown resource": {params: read, want: `level=INFO msg="request refused" ` +
			`event_type=resource_read prompt="" resource="" principal=mel roles=[Member] ` +
			`axis=unknown missing="does not exist"`},
		"a forged state": {params: &mcp.CallToolParamsRaw{Name: "t", RequestState: "of-somebody"},
			want: `level=DEBUG msg="call failed" event_type=tool_called tool=t principal=mel ` +
				`failure=invalid error="the arguments do not match the schema"`},
		"a result with an error": {answer: Answer{Result: &mcp.CallToolResult{},
			Report: &invoke.Report{Failure: audit.Errored, Err: full}},
			want: `level=INFO msg="call failed" event_type=tool_called tool=t principal=mel ` +
				`failure=error error="the disk is full"`},
		"arguments that do not fit": {answer: Answer{Result: &mcp.CallToolResult{},
			Report: &invoke.Report{Failure: audit.Errored,
				Err: decode.NewError([]decode.Problem{{Pointer: "/a", Message: "of-somebody"}})}},
			want: `level=DEBUG msg="call failed" event_type=tool_called tool=t principal=mel ` +
				`failure=error error="the arguments do not match the schema"`},
		"an error of the protocol": {err: wire.InvalidParams("no such page"),
			want: `level=INFO msg="call failed" event_type=tool_called tool=t principal=mel ` +
				`failure=error error="no such page"`},
		"an error that is logged where it leaves": {err: full, want: ""},
		"a success": {answer: handled(""), want: ""},
		"a credential that ends": {answer: handled(""), want: `level=INFO msg="call failed" ` +
			`event_type=tool_called tool=t principal=mel failure=error ` +
			`error="the credential expired during the call"`},
	} {
		var log bytes.Buffer
		s := send(t, func(g *Guard, m *Message, _ *mcp.CallToolParamsRaw) {
			served(t, g)
			g.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			if test.params != nil {
				m.Params = test.params
			}
			if test.params == read {
				m.Method = "resources/read"
			}
		}, func(_ context.Context, m *Message) (Answer, error) {
			if name == "a credential that ends" {
				m.Expires = time.Now()
			}
			return test.answer, test.err
		})
		var lines []string
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "call failed") || strings.Contains(line, " refused") {
				lines = append(lines, ids.ReplaceAllString(line, ""))
			}
		}
		if got := strings.Join(lines, ""); !strings.Contains(got, test.want) ||
			(got == "") != (test.want == "") || strings.Contains(got, "of-somebody") {
			t.Errorf("%s: %s: %s%v", name, s.outcome, got, s.err)
		}
	}
}

// A listen request is for the resources that its caller may read. They are recorded before it is
// acknowledged; a request for lists alone has no event.
func TestListenRequestIsRecordedForItsResources(t *testing.T) {
	longest := "note:" + strings.Repeat("x", uritemplate.MaxLength-len("note:"))
	all := []string{"file:///a", "file:///b", "their:a", longest, longest + "x", "file:///a"}
	for name, test := range map[string]struct {
		sent  mcp.NotificationSubscriptions
		fails bool
		want  string // the URIs, those for the adopted server, and the event
	}{
		"resources": {mcp.NotificationSubscriptions{ResourceSubscriptions: all}, false,
			fmt.Sprint([]string{"file:///a", "their:a", longest}, []string{"their:a"}, "success 3 of 6")},
		"lists": {mcp.NotificationSubscriptions{ToolsListChanged: true}, false,
			fmt.Sprint([]string(nil), []string(nil), " 0 of 0")},
		"resources without a record": {mcp.NotificationSubscriptions{ResourceSubscriptions: all}, true,
			"internal error"},
	} {
		got := ""
		s := send(t, func(g *Guard, m *Message, _ *mcp.CallToolParamsRaw) {
			served(t, g)
			if test.fails {
				g.Audit = audit.SinkFunc(func(context.Context, audit.Event) error {
					return errors.New("full")
				})
			}
			g.Updates = discovery.NewUpdates(discovery.UpdatesConfig{MayFollow: g.MayFollow, Log: g.Log})
			m.Method, m.Params = "subscriptions/listen", &mcp.SubscriptionsListenParams{
				Notifications: &test.sent}
		}, func(_ context.Context, m *Message) (Answer, error) {
			var uris []string
			if m.Resources != nil {
				uris = m.Resources.URIs()
			}
			sent := m.Params.(*mcp.SubscriptionsListenParams).Notifications
			got = fmt.Sprint(uris, sent.ResourceSubscriptions)
			return Answer{Result: &wire.Empty{}}, nil
		})
		if got += fmt.Sprintf("%s %d of %d", s.outcome, s.event.Visible, s.event.Total); s.err != nil {
			got = s.err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %.200s, want %.200s", name, got, test.want)
		}
	}
}
