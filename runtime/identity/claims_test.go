package identity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// verified is the identity of a bearer token whose verifier returns id.
func verified(t testing.TB, id identity.Identity, token string) identity.Identity {
	t.Helper()
	id.Principal = access.Principal{Subject: "ada"}
	source := identity.Bearer(func(context.Context, string) (identity.Identity, error) { return id, nil })
	got, err := source.Identify(request("Bearer " + token))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestIdentitiesSayHowTheyWereVerified(t *testing.T) {
	for said, want := range map[string]string{"": "Bearer", "JWT": "JWT"} {
		if id := verified(t, identity.Identity{Scheme: said}, "abc"); id.Scheme != want {
			t.Errorf("a verifier that says %q: %q", said, id.Scheme)
		}
	}
	id, err := identity.Static(map[string]access.Principal{identity.HashToken("abc"): {Subject: "ada"}}).Identify(request("Bearer abc"))
	if err != nil || id.Scheme != "Bearer" || id.Claims != nil {
		t.Errorf("%+v, %v", id, err)
	}
}

func TestClaimsArePassedOnWithoutACopy(t *testing.T) {
	claims := map[string]any{"sub": "ada", "n": json.Number("7"), "long": strings.Repeat("x", 100), "list": []any{"a", nil, []string{"b"}}}
	got := verified(t, identity.Identity{Claims: claims}, "abc").Claims
	if reflect.ValueOf(got).Pointer() != reflect.ValueOf(claims).Pointer() {
		t.Error("they were copied for each request")
	}
	if got := verified(t, identity.Identity{}, "abc").Claims; got != nil {
		t.Errorf("%v out of none", got)
	}
}

func TestClaimsNeverHoldTheToken(t *testing.T) {
	const token = "opaque.of-a_visitor"
	const gone = "(the token)"
	for name, test := range map[string]struct{ held, want any }{
		"a claim":         {token, gone},
		"within a text":   {"Bearer " + token + ", once", gone},
		"nested":          {map[string]any{"a": map[string]any{"b": token, "c": "d"}}, map[string]any{"a": map[string]any{"b": gone, "c": "d"}}},
		"in a list":       {[]any{1, []any{token}, nil, true, json.Number("7"), "x"}, []any{1, []any{gone}, nil, true, json.Number("7"), "x"}},
		"a list of texts": {[]string{"a", token}, []string{"a", gone}},
		"a name":          {map[string]any{"of " + token: true}, map[string]any{gone: true}},
	} {
		claims := map[string]any{"jti": test.held, "sub": "ada"}
		before := fmt.Sprint(claims)
		if got := verified(t, identity.Identity{Claims: claims}, token).Claims; !reflect.DeepEqual(got, map[string]any{"jti": test.want, "sub": "ada"}) {
			t.Errorf("%s: %v", name, got)
		}
		if fmt.Sprint(claims) != before {
			t.Errorf("%s: claims that others may share were changed: %v", name, claims)
		}
	}
}

// BenchmarkBearerWithClaims measures what passing claims on costs a request.
func BenchmarkBearerWithClaims(b *testing.B) {
	claims := map[string]any{"iss": "https://login.example", "sub": "ada", "aud": []any{"https://mcp.example/mcp"}, "client_id": "cli",
		"scope": "read write", "realm_access": map[string]any{"roles": []any{"Admin", "Viewer"}}, "iat": json.Number("1"), "exp": json.Number("2")}
	source := identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Claims: claims}, nil
	})
	r := request("Bearer " + strings.Repeat("a", 800))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := source.Identify(r); err != nil {
			b.Fatal(err)
		}
	}
}
