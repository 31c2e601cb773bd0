package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// sent is what became of a message: the answer, the error, and the outcome in the event.
type sent struct {
	Answer
	err     error
	outcome string
	event   audit.Event
}

// text is the answer as the caller gets it.
func (s sent) text() string {
	if s.Encoded == nil {
		return fmt.Sprint(s.err)
	}
	return string(s.Encoded.Append(nil))
}

func (s sent) code() (code int64) {
	if rpc, ok := errors.AsType[*jsonrpc.Error](s.err); ok {
		code = rpc.Code
	}
	return code
}

// send sends a call of a tool over HTTP as a member, in a version without sessions unless prepare
// changes that.
func send(t *testing.T, prepare func(*Guard, *Message, *mcp.CallToolParamsRaw),
	b backend) (s sent) {
	t.Helper()
	g := newGuard(audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		s.outcome, s.event = outcomeOf(e), e
		return nil
	}))
	defer g.Pool.Close()
	info := request.NewHTTP(httptest.NewRequest("POST", "/mcp", nil), identity.Identity{
		Principal: access.Principal{Subject: "mel", Roles: []string{"Member"}}})
	info.Conn, info.Version = &conn{}, request.Stateless
	info.Server = &request.Server{Log: g.Log}
	call := &mcp.CallToolParamsRaw{Name: "t", Arguments: []byte(`{"region":"north"}`)}
	m := &Message{Info: info, Method: "tools/call", Params: call}
	prepare(g, m, call)
	s.Answer, s.err = g.Chain(b)(t.Context(), m)
	return s
}

// adopted makes the tool one of an adopted server.
func adopted(g *Guard, _ *Message, _ *mcp.CallToolParamsRaw) { delete(g.Tools, "t") }

func answering(a Answer) backend {
	return func(context.Context, *Message) (Answer, error) { return a, nil }
}

// Whatever the denial mode of the server, an unknown tool has the answer of a concealed one.
func TestUnknownToolIsAnsweredAlikeInEachDenialMode(t *testing.T) {
	for denial, hidden := range map[access.Denial]string{
		access.Conceal: `unknown tool \"t\"`, access.Forbid: `403 Forbidden: tool \"t\" needs role`,
		access.Challenge: `unknown tool \"t\"`,
	} {
		for tool, want := range map[string]string{"t": hidden, "x": `unknown tool \"x\"`} {
			s := send(t, func(g *Guard, m *Message, call *mcp.CallToolParamsRaw) {
				g.Policy.Denial, m.Principal.Roles, call.Name = denial, nil, tool
			}, nil)
			if got := strings.ReplaceAll(s.text(), `"`+tool+`"`, `\"`+tool+`\"`); !strings.Contains(
				strings.ReplaceAll(got, `\\`, `\`), want) || s.outcome != "denied" {
				t.Errorf("%v, %s: %s: %s", denial, tool, s.outcome, got)
			}
		}
	}
}

func TestAliasCallsItsTool(t *testing.T) {
	var got string
	s := send(t, func(g *Guard, _ *Message, call *mcp.CallToolParamsRaw) {
		g.Aliases, call.Name = map[string]string{"old": "t"}, "old"
	}, func(_ context.Context, m *Message) (Answer, error) {
		got = m.Params.(*mcp.CallToolParamsRaw).Name + " as " + m.Target.Alias
		return handled(""), nil
	})
	if got != "t as old" || s.err != nil || s.event.Tool != "t" {
		t.Errorf("%s, %v, %+v", got, s.err, s.event)
	}
}

// The result of a tool of an adopted server has no report. Its error is masked.
func TestResultsOfAnAdoptedServerAreClassified(t *testing.T) {
	for name, test := range map[string]struct {
		result         mcp.Result
		outcome, text  string
		structured     any
		isError, fails bool
	}{
		"a result":       {outcome: "success", text: "token=abcdefghijklmnop"},
		"an error":       {outcome: "error", isError: true, text: "***MASKED***"},
		"without a JSON": {outcome: "crashed", isError: true, structured: math.NaN(), fails: true},
	} {
		r := &mcp.CallToolResult{IsError: test.isError, StructuredContent: test.structured,
			Content: []mcp.Content{&mcp.TextContent{Text: "token=abcdefghijklmnop"}}}
		s := send(t, adopted, answering(Answer{Result: r}))
		if s.outcome != test.outcome || (s.err != nil) != test.fails ||
			!test.fails && !strings.Contains(s.text(), test.text) {
			t.Errorf("%s: %s, %s", name, s.outcome, s.text())
		}
	}
}

// Headers are compared with the arguments of an allowed call, and of no other.
func TestBoundHeadersAreCheckedAfterTheDecision(t *testing.T) {
	handle := func(context.Context, *decode.Reader) (any, error) { return nil, nil }
	tool, err := invoke.NewTool(toolset.Tool{Name: "t", Handle: handle, Input: `{"type":"object",` +
		`"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`}, invoke.Schemas{})
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]int64{"Member": mcp.CodeHeaderMismatch,
		"": jsonrpc.CodeInvalidParams} {
		s := send(t, func(g *Guard, m *Message, _ *mcp.CallToolParamsRaw) {
			g.Tools["t"], m.Principal.Roles = tool, []string{role}
		}, nil)
		if s.code() != want {
			t.Errorf("%q: %v", role, s.err)
		}
	}
}

// Answers that come with the first call are for tools in go-sdk's shape, in versions without
// sessions.
func TestUnsolicitedAnswersAreForToolsInSDKShape(t *testing.T) {
	for _, takes := range []bool{false, true} {
		for _, version := range []string{request.Stateless, request.NewestWithSessions} {
			var got mcp.InputResponseMap
			s := send(t, func(g *Guard, m *Message, call *mcp.CallToolParamsRaw) {
				g.Tools["t"].SDK, m.Version = takes, version
				call.InputResponses = mcp.InputResponseMap{"q": &mcp.ElicitResult{Action: "accept"}}
			}, func(_ context.Context, m *Message) (Answer, error) {
				got = m.Unsolicited
				if m.Params.(*mcp.CallToolParamsRaw).InputResponses != nil {
					t.Error("the handler gets answers to no question")
				}
				return handled(""), nil
			})
			if (got != nil) != (takes && version == request.Stateless) || s.err != nil {
				t.Errorf("%t, %s: %v, %v", takes, version, got, s.err)
			}
		}
	}
}

// A forged state gains nothing, and a state counts for its own call alone.
func TestStateOfAnotherCallIsRefused(t *testing.T) {
	asks := func() *mcp.CallToolResult {
		//lint:ignore SA1019 a question of a client that still has roots
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": &mcp.ListRootsParams{}}}
	}
	hasRoots := func(g *Guard, m *Message, call *mcp.CallToolParamsRaw) {
		adopted(g, m, call)
		m.Inputs.Roots = true
	}
	for name, test := range map[string]struct {
		prepare func(*Guard, *Message, *mcp.CallToolParamsRaw)
		result  *mcp.CallToolResult
		code    int64
		outcome string
		text    string
	}{
		"a forged state": {func(_ *Guard, _ *Message, call *mcp.CallToolParamsRaw) {
			call.RequestState = "forged"
		}, asks(), jsonrpc.CodeInvalidParams, "invalid", ""},
		"a question": {hasRoots, asks(), 0, "success", `"requestState":"`},
		"a question that the client does not support": {adopted, asks(),
			mcp.CodeMissingRequiredClientCapabilities, "error", ""},
		"a question that is none": {hasRoots, &mcp.CallToolResult{
			InputRequests: mcp.InputRequestMap{"q": nil}}, jsonrpc.CodeInternalError, "crashed",
			""},
		"a question in a session": {func(g *Guard, m *Message, call *mcp.CallToolParamsRaw) {
			hasRoots(g, m, call)
			m.Version = request.NewestWithSessions
		}, asks(), jsonrpc.CodeInternalError, "crashed", ""},
	} {
		s := send(t, test.prepare, answering(Answer{Result: test.result}))
		if s.code() != test.code || s.outcome != test.outcome ||
			(s.err == nil) != (test.text != "") || !strings.Contains(s.text(), test.text) {
			t.Errorf("%s: %s, %s", name, s.outcome, s.text())
		}
	}
}

// A method of the other versions is unknown, whatever the server offers.
func TestMethodsOfOtherVersionsAreUnknown(t *testing.T) {
	older := []string{"ping", "initialize", "logging/setLevel", "resources/subscribe",
		"resources/unsubscribe"}
	newer := []string{"server/discover", "subscriptions/listen"}
	for method, is := range methods {
		if is.tasks {
			continue // with a capability of the client
		}
		for _, version := range []string{request.Stateless, request.NewestWithSessions} {
			s := send(t, func(g *Guard, m *Message, _ *mcp.CallToolParamsRaw) {
				served(t, g)
				//lint:ignore SA1019 clients of the versions with sessions set levels
				g.Capabilities.Logging = &mcp.LoggingCapabilities{}
				g.Updates = discovery.NewUpdates(discovery.UpdatesConfig{MayFollow: g.MayFollow})
				m.Method, m.Params, m.Version = method, nil, version
			}, answering(Answer{Result: &wire.Empty{}}))
			others := older
			if version == request.NewestWithSessions {
				others = newer
			}
			unknown := s.code() == jsonrpc.CodeMethodNotFound
			if unknown != slices.Contains(others, method) {
				t.Errorf("%s in %s: %v", method, version, s.err)
			}
		}
	}
}
