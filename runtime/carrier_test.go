package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

func TestMessageWithoutACarrierIsRefused(t *testing.T) {
	// In memory go-sdk has no Extra: nil is nobody, whatever the context and the session say.
	var log journal
	s := newServer(t, runtime.Options{Anonymous: true, Logger: log.logger()}, directory(&desk{}))
	near, far := mcp.NewInMemoryTransports()
	if _, err := runtime.MCP(s).Connect(context.Background(), near,
		&mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
			InitializeParams:  &mcp.InitializeParams{ProtocolVersion: "2025-11-25"},
			InitializedParams: &mcp.InitializedParams{},
		}}); err != nil {
		t.Fatal(err)
	}
	_, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"},
		nil).Connect(context.Background(), far,
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err == nil || !strings.Contains(err.Error(), "unauthenticated") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(log.String(), "refused a message without a caller") {
		t.Errorf("the log says nothing:\n%s", log.String())
	}
}

func TestTokenInfoThatSomebodyElseMadeIsNoCarrier(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	guarded := runtime.Guarded(s)
	for name, info := range map[string]*auth.TokenInfo{
		"none":         nil,
		"an empty one": {},
		"another's": {UserID: "admin", Scopes: []string{"*"},
			Extra: map[string]any{"role": "Admin"}},
		"one of our key": {UserID: "admin", Extra: map[string]any{runtime.CarrierKey: "Admin"}},
		"a nil of our type": {UserID: "admin",
			Extra: map[string]any{runtime.CarrierKey: runtime.NilCarrier}},
	} {
		for _, req := range []mcp.Request{
			&mcp.ListToolsRequest{Extra: &mcp.RequestExtra{TokenInfo: info}},
			&mcp.CallToolRequest{Extra: &mcp.RequestExtra{TokenInfo: info},
				Params: &mcp.CallToolParamsRaw{Name: "get_public_info"}},
			&mcp.ListToolsRequest{},
		} {
			for _, method := range []string{"tools/list", "tools/call", "ping"} {
				if res, err := guarded(context.Background(), method, req); err == nil ||
					!strings.Contains(err.Error(), "unauthenticated") {
					t.Errorf("%s, %s: %v, %v", name, method, res, err)
				}
			}
		}
	}
	if _, err := guarded(context.Background(), "tools/list", nil); err == nil {
		t.Error("a nil request is answered")
	}
	if _, err := guarded(context.Background(), "tools/list",
		(*mcp.ListToolsRequest)(nil)); err == nil {
		t.Error("a typed nil request is answered")
	}
}

func TestRequestsThatDoNotFitTheirMethodAreRefused(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	guarded := runtime.Guarded(s)
	extra := runtime.Carrier(principalOf("Admin"))
	for name, req := range map[string]mcp.Request{
		"tools/call":           &mcp.ListToolsRequest{Extra: extra},
		"initialize":           &mcp.ServerRequest[*mcp.InitializeParams]{Extra: extra},
		"subscriptions/listen": &mcp.SubscriptionsListenRequest{Extra: extra},
		"prompts/get":          &mcp.GetPromptRequest{Extra: extra},
		"resources/read":       &mcp.ReadResourceRequest{Extra: extra},
		"tools/list":           &mcp.CallToolRequest{Extra: extra},
		"future/method":        &mcp.ListToolsRequest{Extra: extra},
	} {
		if res, err := guarded(context.Background(), name, req); err == nil ||
			!strings.Contains(err.Error(), "method not found") {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
	if res, err := guarded(context.Background(), "tools/call",
		&mcp.CallToolRequest{Extra: extra}); err == nil || !strings.Contains(err.Error(),
		"missing params") {
		t.Errorf("%v, %v", res, err)
	}
	// Typed nil params end a go-sdk process when middleware asks them for anything.
	if res, err := guarded(context.Background(), "tools/list", &mcp.ListToolsRequest{Extra: extra,
		Params: (*mcp.ListToolsParams)(nil)}); err != nil || res == nil {
		t.Errorf("%v, %v", res, err)
	}
}

func TestDispatchClosureDecidesAgain(t *testing.T) {
	// What stands between the guard and the closure could change the name; the closure is asked
	// about its own tool.
	rename := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if r, ok := req.(*mcp.CallToolRequest); ok {
				r.Params.Name = "promote_to_manager"
				if r.Params.Meta["lose"] == true {
					req = &mcp.CallToolRequest{Session: r.Session, Params: r.Params}
				}
			}
			return next(ctx, method, req)
		}
	}
	s := newServer(t, runtime.Options{Middleware: []mcp.Middleware{rename}}, directory(&desk{}))
	url := serve(t, s)
	for _, era := range eras[:2] {
		for user, allowed := range map[string]bool{"Viewer": false, "Admin": true} {
			c := newRaw(t, url, tokens[user], era)
			got := c.call(t, "get_all", `,"arguments":{"id":"ada"}`, nil)
			if strings.Contains(got.body, "structuredContent") != allowed ||
				strings.Contains(got.body, "unknown tool") == allowed {
				t.Errorf("%s, %s: %s", era, user, got)
			}
			if got := c.call(t, "get_all", `,"arguments":{"id":"ada"},"_meta":{"lose":true}`,
				nil); !strings.Contains(got.body, "unknown tool") {
				t.Errorf("%s, %s, without the carrier: %s", era, user, got)
			}
		}
	}
}

func TestCallerOutsideOfACallIsNobody(t *testing.T) {
	if p, ok := runtime.Caller(context.Background()); ok || !p.IsZero() {
		t.Errorf("%+v, %v", p, ok)
	}
	if got := runtime.CompletionArguments(context.Background()); got != nil {
		t.Errorf("outside of a call there is %v", got)
	}
}
