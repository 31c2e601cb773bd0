package identity_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

func request(values ...string) *http.Request {
	r, err := http.NewRequest(http.MethodPost, "http://localhost/mcp", nil)
	if err != nil {
		panic(err) // of constants
	}
	for _, v := range values {
		r.Header.Add("Authorization", v)
	}
	return r
}

func TestBearerReadsOneWellFormedToken(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []string
		token  string
		err    error
	}{
		{"no header", nil, "", identity.ErrNoCredentials},
		{"a token", []string{"Bearer abc"}, "abc", nil},
		{"a scheme of another case", []string{"bEARER abc"}, "abc", nil},
		{"more spaces", []string{"Bearer   abc"}, "abc", nil},
		{"every character", []string{"Bearer aZ09-._~+/=="}, "aZ09-._~+/==", nil},
		{"an empty header", []string{""}, "", identity.ErrInvalidToken},
		{"no token", []string{"Bearer"}, "", identity.ErrInvalidToken},
		{"an empty token", []string{"Bearer "}, "", identity.ErrInvalidToken},
		{"padding alone", []string{"Bearer =="}, "", identity.ErrInvalidToken},
		{"padding inside", []string{"Bearer a=b"}, "", identity.ErrInvalidToken},
		{"two tokens", []string{"Bearer a b"}, "", identity.ErrInvalidToken},
		{"a comma", []string{"Bearer a,b"}, "", identity.ErrInvalidToken},
		{"two headers", []string{"Bearer a", "Bearer a"}, "", identity.ErrInvalidToken},
		{"another scheme", []string{"Basic YTpi"}, "", identity.ErrInvalidToken},
		{"a token without a scheme", []string{"abc"}, "", identity.ErrInvalidToken},
		{"a tab", []string{"Bearer\tabc"}, "", identity.ErrInvalidToken},
		{"control characters", []string{"Bearer a\x00b"}, "", identity.ErrInvalidToken},
		{"not ASCII", []string{"Bearer é"}, "", identity.ErrInvalidToken},
		{"the longest", []string{"Bearer " + strings.Repeat("a", identity.MaxTokenBytes)}, strings.Repeat("a", identity.MaxTokenBytes), nil},
		{"too long", []string{"Bearer " + strings.Repeat("a", identity.MaxTokenBytes+1)}, "", identity.ErrInvalidToken},
	} {
		asked := ""
		source := identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			asked = token
			return identity.Identity{Principal: access.Principal{Subject: "ada"}}, nil
		})
		id, err := source.Identify(request(test.values...))
		if !errors.Is(err, test.err) || asked != test.token || (err == nil) != (id.Principal.Subject == "ada") {
			t.Errorf("%s: asked for %q, %+v, %v", test.name, asked, id, err)
		}
	}
}

func TestBearerPassesTheRequestsContextAndTheVerifiersError(t *testing.T) {
	type key struct{}
	fail := errors.New("backend down")
	source := identity.Bearer(func(ctx context.Context, _ string) (identity.Identity, error) {
		if ctx.Value(key{}) != "here" {
			t.Error("another context")
		}
		return identity.Identity{}, fail
	})
	r := request("Bearer abc")
	if _, err := source.Identify(r.WithContext(context.WithValue(r.Context(), key{}, "here"))); err != fail {
		t.Errorf("%v", err)
	}
}

func TestStaticKnowsTokensByTheirHashes(t *testing.T) {
	source := identity.Static(map[string]access.Principal{
		identity.HashToken("one"): {Subject: "ada", Roles: []string{"Admin"}, Scopes: []string{"s"}},
		identity.HashToken("two"): {Subject: "bob"},
	})
	for _, test := range []struct {
		header  string
		subject string
		err     error
	}{
		{"Bearer one", "ada", nil},
		{"Bearer two", "bob", nil},
		{"Bearer One", "", identity.ErrInvalidToken},
		{"Bearer three", "", identity.ErrInvalidToken},
		{"Bearer " + strings.TrimPrefix(identity.HashToken("one"), "sha256:"), "", identity.ErrInvalidToken},
		{"Bearer " + identity.HashToken("one"), "", identity.ErrInvalidToken},
	} {
		id, err := source.Identify(request(test.header))
		if !errors.Is(err, test.err) || id.Principal.Subject != test.subject || !id.Expires.IsZero() {
			t.Errorf("%s: %+v, %v", test.header, id, err)
		}
	}
	if _, err := source.Identify(request()); !errors.Is(err, identity.ErrNoCredentials) {
		t.Errorf("%v", err)
	}
}

func TestStaticClientsAreThoseWhoseSubjectIsTheirClient(t *testing.T) {
	for p, want := range map[*access.Principal]bool{
		{Subject: "ci", Client: "ci"}: true, {Subject: "ada", Client: "ci"}: false, {Subject: "ci"}: false, {Subject: "ci", Client: "CI"}: false,
	} {
		id, err := identity.Static(map[string]access.Principal{identity.HashToken("one"): *p}).Identify(request("Bearer one"))
		if err != nil || id.ClientItself != want {
			t.Errorf("%+v: %v, %v", *p, id.ClientItself, err)
		}
	}
}

func TestStaticDoesNotShareItsMap(t *testing.T) {
	known := map[string]access.Principal{}
	source := identity.Static(known)
	known[identity.HashToken("one")] = access.Principal{Subject: "ada"}
	if _, err := source.Identify(request("Bearer one")); !errors.Is(err, identity.ErrInvalidToken) {
		t.Errorf("%v", err)
	}
}

func TestHashTokenIsSHA256(t *testing.T) {
	// FIPS 180-2, appendix B.1.
	if got := identity.HashToken("abc"); got != "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("%s", got)
	}
}

func TestSourcesThatCannotWorkSayWhy(t *testing.T) {
	hash := identity.HashToken("abc")
	for name, test := range map[string]struct {
		source identity.Source
		want   string
	}{
		"a verifier that is nil": {identity.Bearer(nil), "no verifier"},
		"a token for a hash": {identity.Static(map[string]access.Principal{
			"abc": {Subject: "ada"}}), `the key of principal "ada" is not a token hash`},
		"a hash without its prefix": {identity.Static(map[string]access.Principal{hash[7:]: {
			Subject: "ada"}}), "not a token hash"},
		"a hash cut short": {identity.Static(map[string]access.Principal{hash[:20]: {
			Subject: "ada"}}), "not a token hash"},
		"a hash in capitals": {identity.Static(map[string]access.Principal{"sha256:" +
			strings.ToUpper(hash[7:]): {Subject: "ada"}}), "not a token hash"},
		"a principal without a name": {identity.Static(map[string]access.Principal{
			hash: {Roles: []string{"Admin"}}}), "has no Subject"},
		"a good map":   {identity.Static(map[string]access.Principal{hash: {Subject: "ada"}}), ""},
		"an empty map": {identity.Static(nil), ""},
		"a verifier": {identity.Bearer(func(context.Context, string) (identity.Identity,
			error) {
			return identity.Identity{}, nil
		}), ""},
	} {
		err := test.source.(identity.Checker).Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "abc") {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
}
