package runtime_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

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
