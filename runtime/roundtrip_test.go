package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// asking is a tool that wants a confirmation before it does its work, and counts its runs.
func asking(runs *atomic.Int32) func(context.Context, toolset.Call) (toolset.Result, error) {
	return func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		runs.Add(1)
		p := toolset.Request[mcp.CallToolRequest](call).Params
		if p.InputResponses["sure"] == nil {
			return toolset.Native(&mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{Message: "Sure?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}},
				RequestState: "state-of-" + string(call.Arguments),
			}, nil, nil)
		}
		answer, _ := p.InputResponses["sure"].(*mcp.ElicitResult)
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: fmt.Sprintf("did it: %s, %s", answer.Action, p.RequestState)}}}, nil, nil)
	}
}

func asker(runs *atomic.Int32) toolset.Toolset {
	return toolsetOf([]toolset.Tool{
		{Name: "drop", SDK: true, Input: `{"type":"object"}`, Call: asking(runs)},
		{Name: "drop_more", SDK: true, Input: `{"type":"object"}`, Call: asking(runs)},
	}, access.Rule{Tool: "drop", MinRole: []string{"Manager"}}, access.Rule{Tool: "drop_more",
		MinRole: []string{"Manager"}})
}

var stateInBody = regexp.MustCompile(`"requestState":"([^"]*)"`)

// wanting is a tool that asks for a form with a number, and counts how often it got one.
func wanting(done *atomic.Int32) toolset.Toolset {
	return oneSDKTool("scale", func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		answer, _ := toolset.Request[mcp.CallToolRequest](call).Params.InputResponses["form"].(*mcp.ElicitResult)
		if answer == nil {
			return toolset.Native(&mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"form": &mcp.ElicitParams{
					Message: "How many?", RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{
					"n":{"type":"integer","minimum":1,"maximum":9},"unit":{"type":"string","enum":["pod","node"],"default":"pod"}},
					"required":["n"]}`)}}}, nil, nil)
		}
		done.Add(1)
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: fmt.Sprintf("%s %v %v", answer.Action, answer.Content["n"],
				answer.Content["unit"])}}}, nil, nil)
	})
}

// late is a client whose person outlives the credential.
func late(t *testing.T, s *runtime.Server) *mcp.ClientSession {
	t.Helper()
	url, client := serve(t, s), mcptest.HTTPClient("x")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"},
		&mcp.ClientOptions{ElicitationHandler: func(context.Context,
			*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-time.After(time.Hour)
			return &mcp.ElicitResult{Action: "accept"}, nil
		}}).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client,
		MaxRetries: -1, DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the credential of its session has ended
	return session
}

// The credential ends while the person is asked: of the two runs of the handler, the second is
// refused.
func TestHandlerInvokedAgainIsDecidedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		s := newServer(t, runtime.Options{Identity: lasting(10 * time.Second)}, asker(&runs))
		res, err := late(t, s).CallTool(t.Context(), &mcp.CallToolParams{Name: "drop"})
		if err == nil || runs.Load() != 1 {
			t.Errorf("%d runs, %v %q", runs.Load(), err, text(res))
		}
	})
}

func TestServerToClientRequestsAreDecidedAgainWhenTheyReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan error, 1)
		s := newServer(t, runtime.Options{Identity: lasting(10 * time.Second)},
			oneSDKTool("ask", func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				_, err := toolset.Request[mcp.CallToolRequest](call).Session.Elicit(ctx,
					&mcp.ElicitParams{Message: "Sure?",
						RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
				got <- err
				return toolset.Done(err)
			}))
		if _, err := late(t, s).CallTool(t.Context(),
			&mcp.CallToolParams{Name: "ask"}); err == nil || !strings.Contains(err.Error(),
			"expired") {
			t.Errorf("the call ends with %v", err)
		}
		if err := <-got; err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("the handler gets %v", err)
		}
	})
}
