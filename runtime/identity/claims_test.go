package identity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// verified is what a bearer token becomes whose verifier says id.
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
	for name, held := range map[string]any{
		"a claim":          token,
		"within a text":    "Bearer " + token + ", once",
		"nested":           map[string]any{"a": map[string]any{"b": token}},
		"in a list":        []any{1, []any{token}},
		"a list of texts":  []string{"a", token},
		"the name of one":  map[string]any{"of " + token: true},
		"beside all kinds": []any{token, nil, true, json.Number("7"), "x"},
	} {
		claims := map[string]any{"jti": held, "sub": "ada"}
		before := fmt.Sprint(claims)
		got := verified(t, identity.Identity{Claims: claims}, token).Claims
		text, err := json.Marshal(got)
		if err != nil || strings.Contains(string(text), token) || !strings.Contains(string(text), "(the token)") || got["sub"] != "ada" {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if fmt.Sprint(claims) != before {
			t.Errorf("%s: claims that others may share were changed: %v", name, claims)
		}
		// All else is as it was.
		if got, want := strings.ReplaceAll(string(text), "(the token)", token), encoded(t, claims); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := verified(t, identity.Identity{Claims: map[string]any{token: 1, "sub": "ada"}}, token).Claims; !maps.Equal(got, map[string]any{"(the token)": 1, "sub": "ada"}) {
		t.Errorf("as a name: %v", got)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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
