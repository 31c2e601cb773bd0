package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// valued are the users of tokens "ada-…", with the token as their value.
func valued() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		name, _, _ := strings.Cut(token, "-")
		return identity.Identity{Principal: access.Principal{Subject: name, Role: "Admin"}}, nil
	}, identity.KeepToken())
}

// valueIn is what a handler reads.
func valueIn(ctx context.Context) string {
	token, ok := runtime.CallerValue[identity.Token](ctx)
	if text, other := runtime.CallerValue[string](ctx); other {
		return "of another type: " + text
	}
	return fmt.Sprintf("%v <%s>", ok, token.Reveal())
}

// valueToolset returns the caller's value by a tool of each shape, a prompt, a resource and
// completions.
func valueToolset(left chan<- context.Context) toolset.Toolset {
	tell := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		if left != nil {
			left <- ctx
		}
		return toolset.Structured(map[string]string{"value": valueIn(ctx)}, nil)
	}
	complete := func(ctx context.Context, _ string) ([]string, error) {
		return []string{valueIn(ctx)}, nil
	}
	open := access.Rule{Authenticated: true}
	first, second, prompt, resource := open, open, open, open
	first.Tool, second.Tool, prompt.Prompt, resource.Resource = "direct", "sdk", "p", "value://{of}"
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/teller", Server: toolset.ServerInfo{Name: "teller", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{first, second},
			Prompts: []access.Rule{prompt}, Resources: []access.Rule{resource}},
		Tools: []toolset.Tool{
			{Name: "direct", Input: `{"type":"object"}`, Call: tell},
			{Name: "sdk", Input: `{"type":"object"}`, Call: tell, SDK: true}},
		Prompts: []toolset.Prompt{{Name: "p",
			Arguments: []toolset.Argument{{Name: "of", Complete: complete}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText(valueIn(ctx), nil)
			}}},
		Resources: []toolset.Resource{{URI: "value://{of}", Name: "v", MIMEType: "text/plain",
			Variables: []toolset.Variable{{Name: "of"}},
			Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText(valueIn(ctx), nil)
			}}},
	})
}

// tellings are the messages by which handlers tell the value.
var tellings = []struct{ method, name, params string }{
	{"tools/call", "direct", `"name":"direct"`},
	{"tools/call", "sdk", `"name":"sdk"`},
	{"prompts/get", "p", `"name":"p"`},
	{"resources/read", "value://x", `"uri":"value://x"`},
	{"completion/complete", "",
		`"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"of","value":""}`},
}

func TestCallerValueIsThatOfTheMessageAtHand(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{Identity: valued()}, valueToolset(nil))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, "ada-creator", era)
		for i, m := range tellings {
			for _, token := range []string{"ada-second", "ada-creator", "ada-third"} {
				c.token = token
				headers := map[string]string{}
				if era == "2026-07-28" && m.name != "" {
					headers["Mcp-Name"] = m.name
				}
				got := c.ask(t, m.method, m.params, headers)
				text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(got.body)
				if !strings.Contains(text, "true <"+token+">") {
					t.Errorf("%s, %d, %s: %s", era, i, token, got)
				}
			}
		}
	}
}

// keyed takes a key from a header that no list of secret headers has.
type keyed struct{}

const plantedKey = "pl4nted/key+of=caller"

func (keyed) Identify(*http.Request) (identity.Identity, error) {
	return identity.Identity{Principal: access.Principal{Subject: "ada", Role: "Admin"},
		Claims: map[string]any{"tenant": plantedKey},
		Value:  identity.NewValue(plantedKey, plantedKey)}, nil
}

// The headers, the query and the claims of a request do not show what the caller's value declares
// as secret.
func TestDebugToolsMaskTheCallerValue(t *testing.T) {
	t.Parallel()
	server := newServer(t, runtime.Options{Identity: keyed{}},
		debugtools.Toolset(debugtools.New(debugtools.Options{})))
	c := newRaw(t, serve(t, server)+"?zone="+url.QueryEscape(plantedKey), "", "2026-07-28")
	for _, tool := range []string{"debug_get_http_headers", "debug_get_user_claims"} {
		got := c.call(t, tool, `,"arguments":{}`, map[string]string{"X-Zone": plantedKey})
		if strings.Contains(got.body, "pl4nted") || !strings.Contains(got.body, "***MASKED***") {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

func TestCallerValueOnStdio(t *testing.T) {
	t.Parallel()
	number, fails := 0, false
	var log journal
	value := func(ctx context.Context) (identity.Value, error) {
		if p, ok := runtime.Caller(ctx); !ok || p.Subject == "" {
			t.Error("not with the handler's context")
		}
		if fails {
			return identity.Value{}, errors.New("the vault is shut")
		}
		number++
		return identity.NewValue(identity.NewToken(fmt.Sprintf("stdio-%d", number))), nil
	}
	s := newServer(t, runtime.Options{Protocol: runtime.ProtocolOptions{StdioValue: value},
		Logger: log.logger()}, valueToolset(nil))
	talk := stdioTalk(t, s, principalOf("Admin"))
	ask := func(i int) string {
		m := tellings[i]
		text := talk(`{"jsonrpc":"2.0","id":7,"method":"` + m.method + `","params":{` +
			m.params + `}}`)
		return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text)
	}
	if talk(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`); number != 0 {
		t.Error("a list loads the value")
	}
	for i := range tellings {
		if got := ask(i); !strings.Contains(got, fmt.Sprintf("true <stdio-%d>", i+1)) {
			t.Errorf("%d: %s", i, got)
		}
	}
	fails = true
	if got := ask(0); !strings.Contains(got, "false <>") ||
		!strings.Contains(log.String(), "the vault is shut") {
		t.Errorf("a value that fails: %s\n%s", got, log.String())
	}
}

// CallerValue returns nothing outside of a call, and nothing of another type.
func TestCallerValueIsOfItsTypeAndOfACall(t *testing.T) {
	t.Parallel()
	if _, ok := runtime.CallerValue[any](t.Context()); ok {
		t.Error("outside of a call")
	}
	none := newServer(t, runtime.Options{}, valueToolset(nil))
	got := newRaw(t, serve(t, none), tokens["Admin"], "2026-07-28").call(t, "direct", "", nil)
	if !strings.Contains(got.body, "false") {
		t.Errorf("of a source without one: %s", got)
	}
	other := identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", Role: "Admin"},
			Value: identity.NewValue("text")}, nil
	})
	s := newServer(t, runtime.Options{Identity: other}, valueToolset(nil))
	got = newRaw(t, serve(t, s), "x", "2026-07-28").call(t, "direct", "", nil)
	if !strings.Contains(got.body, "of another type: text") {
		t.Errorf("of another type: %s", got)
	}
}

func TestCallerValueIsGoneAfterItsCall(t *testing.T) {
	t.Parallel()
	left := make(chan context.Context, 1)
	gone := func(where string) {
		t.Helper()
		select {
		case ctx := <-left:
			if got := valueIn(ctx); got != "false <>" {
				t.Errorf("%s: %s", where, got)
			}
			if p, ok := runtime.Caller(ctx); !ok || p.Subject == "" {
				t.Errorf("%s: the test has another context", where)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the handler did not run", where)
		}
	}
	s := newServer(t, runtime.Options{Identity: valued(),
		Protocol: runtime.ProtocolOptions{
			StdioValue: func(context.Context) (identity.Value, error) {
				return identity.NewValue(identity.NewToken("late")), nil
			}}}, valueToolset(left))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, "ada-one", era)
		c.call(t, "direct", "", nil)
		gone(era)
		c.call(t, "sdk", "", nil)
		gone(era + ", in go-sdk's shape")
	}
	talk := stdioTalk(t, s, principalOf("Admin"))
	talk(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"direct"}}`)
	gone("stdio")
}

// A handler that runs on after its time limit reads the value no longer.
func TestAbandonedHandlerHasNoCallerValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answered, seen := make(chan struct{}), make(chan string, 1)
		set := toolsetOf([]toolset.Tool{{Name: "hangs", Input: `{"type":"object"}`,
			Timeout: time.Second,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				before := valueIn(ctx)
				<-answered
				seen <- before + ", then " + valueIn(ctx)
				return toolset.Done(nil)
			}}})
		s := newServer(t, runtime.Options{Identity: valued()}, set)
		newRaw(t, serve(t, s), "ada-one", "2026-07-28").call(t, "hangs", "", nil)
		close(answered)
		if got := <-seen; got != "true <ada-one>, then false <>" {
			t.Error(got)
		}
	})
}

func TestAdoptedHandlersReadTheCallerValue(t *testing.T) {
	t.Parallel()
	server := existing()
	mcp.AddTool(server, &mcp.Tool{Name: "tell"}, func(ctx context.Context, _ *mcp.CallToolRequest,
		_ struct{}) (*mcp.CallToolResult, any, error) {
		return nil, map[string]string{"value": valueIn(ctx)}, nil
	})
	s, err := runtime.Adopt(server, runtime.Options{Identity: valued(), Logger: quiet()},
		map[string]access.Rule{"tell": {Authenticated: true}})
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, "ada-creator", era)
		c.token = "ada-second"
		if got := c.call(t, "tell", `,"arguments":{}`, nil); !strings.Contains(got.body,
			`ada-second`) {
			t.Errorf("%s: %s", era, got)
		}
	}
}

// Neither the sink nor the process of an isolated handler gets the value.
func TestCallerValueStaysWithTheHandler(t *testing.T) {
	t.Parallel()
	var sent, inside string
	b := &box{isolate: func(_ context.Context, call isolate.Call) (json.RawMessage, error) {
		sent = fmt.Sprintf("%s %s %v", call.Caller, call.Arguments, call.Files)
		ctx, err := invoke.ChildContext(context.Background(), call.Caller, nil)
		inside = valueIn(ctx)
		return json.RawMessage(`{}`), err
	}}
	recorded := 0
	sink := audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		if recorded++; valueIn(ctx) != "false <>" {
			t.Errorf("the sink reads the value of %s %s", e.Type, e.Status)
		}
		return nil
	})
	s := newServer(t, runtime.Options{Identity: valued(), Sandbox: b,
		Audit: runtime.AuditOptions{Sink: sink}},
		apart(toolset.Tool{Name: "away"}))
	c := newRaw(t, serve(t, s), "ada-token-of-hers", "2026-07-28")
	got := c.call(t, "away", `,"arguments":{}`, nil)
	if strings.Contains(got.body, `"isError":true`) || inside != "false <>" || recorded < 2 {
		t.Errorf("%q, %d records: %s", inside, recorded, got)
	}
	if !strings.Contains(sent, `"ada"`) || strings.Contains(sent, "of-hers") {
		t.Errorf("what the process gets: %s", sent)
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

// A handler may know of its request what is no secret.
func TestHandlerGetsItsRequestWithoutSecrets(t *testing.T) {
	t.Parallel()
	var got runtime.RequestInfo
	claims := map[string]any{"sub": "user-Member", "client_secret": "t0psecret",
		"seen": []any{"PIN-1234", "x"}}
	s := newServer(t, runtime.Options{
		Observe:   runtime.ObserveOptions{Masker: redact.Masker{Names: []string{"PIN"}}},
		Anonymous: true,
		Identity: identityFunc(func(r *http.Request) (identity.Identity, error) {
			id, err := users().Identify(r)
			id.Scheme, id.Claims = "JWT", claims
			return id, err
		}),
	}, toolsetOf([]toolset.Tool{{Name: "work", Input: `{"type":"object"}`,
		Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			var ok bool
			if got, ok = runtime.RequestOf(ctx); !ok {
				t.Error("there is no request")
			}
			return toolset.Done(nil)
		}}}, access.Rule{Tool: "work", Public: true}))
	url := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, url, tokens["Member"], era)
		c.url += "?catalog=a&token=t0psecret&pin=1234"
		if res := c.call(t, "work", "", map[string]string{"X-Api-Key": "t0psecret",
			"Cookie": "a=t0psecret", "X-Pin": "1234", "X-Plain": "plain"}); res.status != 200 {
			t.Fatal(res)
		}
		h := got.HTTP
		if h == nil || got.ID == "" || got.Transport != "http" || got.Server.Name != "odd" ||
			len(got.Masker.Names) != 1 {
			t.Fatalf("%s: %+v", era, got)
		}
		if h.Method != "POST" || h.Path != "/mcp" ||
			h.Query != "catalog=a&token=***MASKED***&pin=***MASKED***" || !h.Authenticated ||
			h.Scheme != "JWT" {
			t.Errorf("%s: %+v", era, h)
		}
		for name, want := range map[string]string{"Authorization": redact.Mask,
			"X-Api-Key": redact.Mask, "Cookie": redact.Mask, "X-Pin": redact.Mask,
			"X-Plain": "plain"} {
			if !reflect.DeepEqual(h.Header.Values(name), []string{want}) {
				t.Errorf("%s: %s is %q", era, name, h.Header.Values(name))
			}
		}
		if _, sent := h.Header["X-Auth-Token"]; sent {
			t.Errorf("%s: a header that was not sent is shown", era)
		}
		if want := map[string]any{"sub": "user-Member", "client_secret": redact.Mask,
			"seen": []any{"PIN-1234", "x"}}; !reflect.DeepEqual(h.Claims, want) ||
			claims["client_secret"] != "t0psecret" {
			t.Errorf("%s: claims %v", era, h.Claims)
		}
		h.Header.Set("X-Plain", "written to")
		h.Claims["sub"] = "written to"

		newRaw(t, url, "", era).call(t, "work", "", nil)
		if h := got.HTTP; h == nil || h.Authenticated || h.Scheme != "" || h.Claims != nil ||
			h.Query != "" || strings.Contains(strings.Join(h.Header["Authorization"], ""), "M") {
			t.Errorf("%s, an anonymous caller: %+v", era, h)
		}
		overPipe(t, s, principalOf("Member"), era).call(t, "work", `{}`)
		if got.HTTP != nil || got.Transport != "stdio" || got.ID == "" {
			t.Errorf("%s over stdio: %+v", era, got)
		}
	}
}
