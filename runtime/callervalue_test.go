package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

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
		return identity.Identity{Principal: access.Principal{Subject: name,
			Roles: []string{"Admin"}}}, nil
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

// keyed takes a key from a header that no list of secret headers has.
type keyed struct{}

const plantedKey = "pl4nted/key+of=caller"

func (keyed) Identify(*http.Request) (identity.Identity, error) {
	return identity.Identity{Principal: access.Principal{Subject: "ada", Roles: []string{"Admin"}},
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
	if _, ok := runtime.CallerValue[any](t.Context()); ok {
		t.Error("outside of a call there is a value")
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
