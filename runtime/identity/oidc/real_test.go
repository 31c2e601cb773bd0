package oidc_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// real is npm's oidc-provider in a process of its own; see testdata/provider.mjs.
type real struct {
	t      *testing.T
	issuer string
	in     io.Writer
	out    *bufio.Reader
}

// startProvider starts the provider that make npm installs.
func startProvider(t *testing.T) *real {
	t.Helper()
	testdb.Full(t, "an npm package")
	library, node := testdb.Npm(t, "oidc-provider/lib/index.js")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), node,
		filepath.Join("testdata", "provider.mjs"), library, encode(jwk("signer", ecKey())))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // upon which the provider ends
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the provider: %v\n%s", err, stderr.String())
		}
	})
	p := &real{t: t, in: stdin, out: bufio.NewReader(stdout)}
	p.issuer = p.until("http://")
	return p
}

// until reads what the provider prints, up to a line that begins so.
func (p *real) until(prefix string) string {
	p.t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("the provider does not say %s: %v", prefix, err)
		}
		if strings.HasPrefix(line, prefix) {
			return strings.TrimSpace(line)
		}
	}
}

func (p *real) rotate() {
	p.t.Helper()
	if _, err := io.WriteString(p.in, "rotate\n"); err != nil {
		p.t.Fatal(err)
	}
	p.until("rotated")
}

// post sends a request to the provider as one of its clients, and returns the response.
func (p *real) post(path, client, secret string, form url.Values) map[string]any {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.issuer+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(client, secret)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %d %s, %v", path, response.StatusCode, body, err)
	}
	var answer map[string]any
	if len(body) > 0 {
		if err := json.Unmarshal(body, &answer); err != nil {
			p.t.Fatal(err)
		}
	}
	return answer
}

// token gets a token of client credentials for a resource (RFC 8707).
func (p *real) token(resource string) string {
	p.t.Helper()
	token, _ := p.post("/token", "agent", "agent-secret", url.Values{
		"grant_type": {"client_credentials"}, "resource": {resource}, "scope": {"dns:read devices:write"},
	})["access_token"].(string)
	return token
}

// tokensOf gets what a person's login by the client gives for a resource: the authorization code
// grant with PKCE (RFC 6749, section 4.1; RFC 7636), followed as a browser would.
func (p *real) tokensOf(person, resource string) (accessToken, idToken string) {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	const callback = "https://client.example/cb"
	var code string
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, before []*http.Request) error {
		if len(before) > 10 {
			return errors.New("no end of redirects")
		}
		if strings.HasPrefix(r.URL.String(), callback) {
			code = r.URL.Query().Get("code")
			return http.ErrUseLastResponse
		}
		return nil
	}}
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.issuer+"/auth?"+url.Values{
		"client_id": {"agent"}, "response_type": {"code"}, "redirect_uri": {callback}, "scope": {"openid dns:read devices:write"}, "resource": {resource},
		"login_hint": {person}, "code_challenge": {b64(challenge[:])}, "code_challenge_method": {"S256"}, "nonce": {rand.Text()}, "state": {rand.Text()},
	}.Encode(), nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := browser.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = response.Body.Close() // nothing is read
	if code == "" {
		p.t.Fatalf("%s cannot log in: %d of %s", person, response.StatusCode, response.Request.URL)
	}
	answer := p.post("/token", "agent", "agent-secret", url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}, "resource": {resource},
	})
	accessToken, _ = answer["access_token"].(string)
	idToken, _ = answer["id_token"].(string)
	return accessToken, idToken
}

func (p *real) source(resource string, change func(*oidc.Issuer)) *oidc.Source {
	p.t.Helper()
	i := oidc.Issuer{
		URL: p.issuer, RequireType: true, MaxLifetime: time.Hour,
		Introspection: &oidc.Introspection{ClientID: "server", ClientSecret: "server secret/+", ClientSubject: true},
		Claims: oidc.Claims{
			Roles: []string{"realm.roles"}, RoleNames: map[string]string{"operator": "Member"},
			User: "host_user", Orgs: oidc.Memberships{Claim: "orgs"},
		},
	}
	change(&i)
	s := oidc.New(oidc.Options{Resource: identity.Resource{URL: resource}, Issuers: []oidc.Issuer{i}})
	if err := s.Check(); err != nil {
		p.t.Fatal(err)
	}
	return s
}

func unchanged(*oidc.Issuer) {}

// agent is who the provider's client is, whatever its token looks like.
func agent(issuer string) access.Principal {
	return access.Principal{
		Issuer: issuer, Subject: "agent", Client: "agent", User: "agent7",
		Roles: []string{"Member"}, Scopes: []string{"dns:read", "devices:write"},
		Orgs: []access.Membership{{Name: "acme", Standing: access.Lead}},
	}
}

func TestTokensOfARealProviderHold(t *testing.T) {
	p := startProvider(t)
	for _, kind := range []string{"RS256", "PS256", "ES256", "EdDSA", "opaque"} {
		resource := "https://mcp.example/" + kind
		s := p.source(resource, unchanged)
		if err := s.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked := time.Now()
		token := p.token(resource)
		if strings.Contains(token, ".") == (kind == "opaque") {
			t.Fatalf("%s: a token of another kind: %s", kind, token)
		}
		id, err := s.Verify(t.Context(), token)
		if err != nil || !reflect.DeepEqual(id.Principal, agent(p.issuer)) {
			t.Errorf("%s: %+v, %v", kind, id, err)
		}
		// The provider issued it between the two times, for ten minutes, in whole seconds. The
		// leeway is added.
		issued, verified := id.Expires.Add(-10*time.Minute-oidc.DefaultLeeway), time.Now()
		if issued.Before(asked.Truncate(time.Second)) || issued.After(verified) {
			t.Errorf("%s: it ends at %s, verified at %s", kind, id.Expires, verified)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if id, err := s.Identify(r); err != nil || id.Principal.Subject != "agent" {
			t.Errorf("%s: by its header: %+v, %v", kind, id, err)
		}

		// Not for this server, altered, and of a server that is not trusted.
		if _, err := p.source("https://other.example", unchanged).Verify(t.Context(), token); !isInvalid(err) {
			t.Errorf("%s for another resource: %v", kind, err)
		}
		if _, err := s.Verify(t.Context(), token[:10]+flipped(token[10])+token[11:]); !isInvalid(err) {
			t.Errorf("%s altered: %v", kind, err)
		}
		elsewhere := newProvider().source(t, func(o *oidc.Options) { o.Resource.URL = resource })
		if _, err := elsewhere.Verify(t.Context(), token); !isInvalid(err) {
			t.Errorf("%s at another's server: %v", kind, err)
		}
	}
}

func TestPeopleOfARealProviderAreNotTheClientTheyComeBy(t *testing.T) {
	p := startProvider(t)
	for _, kind := range []string{"ES256", "opaque"} {
		resource := "https://mcp.example/" + kind
		named := p.source(resource, func(i *oidc.Issuer) { i.Claims.User = "email" })
		unnamed := p.source(resource, unchanged)
		own := p.token(resource)
		for _, s := range []*oidc.Source{named, unnamed} {
			if id, err := s.Verify(t.Context(), own); err != nil || !id.ClientItself || id.Principal.Client != "agent" {
				t.Errorf("%s: the client's own: %+v, %v", kind, id, err)
			}
		}
		of, _ := p.tokensOf("ada", resource)
		if id, err := named.Verify(t.Context(), of); err != nil || id.ClientItself || id.Principal.Subject != "ada" || id.Principal.User != "ada@corp.example" || id.Principal.Client != "agent" {
			t.Errorf("%s: ada's: %+v, %v", kind, id, err)
		}
		if id, err := unnamed.Verify(t.Context(), of); err != nil || id.ClientItself || id.Principal.Subject != "ada" || id.Principal.User != "" {
			t.Errorf("%s: ada's, without the claim of users: %+v, %v", kind, id, err)
		}
		of, _ = p.tokensOf("eve", resource)
		if id, err := named.Verify(t.Context(), of); !isInvalid(err) || id.ClientItself {
			t.Errorf("%s: eve's, whose address is not verified: %+v, %v", kind, id, err)
		}
	}
}

func TestIDTokensOfARealProviderAreRefused(t *testing.T) {
	p := startProvider(t)
	const resource = "https://mcp.example/RS256"
	s := p.source(resource, func(i *oidc.Issuer) { i.Audiences, i.RequireType = []string{"agent", resource}, false })
	of, id := p.tokensOf("ada", resource)
	if _, err := s.Verify(t.Context(), of); err != nil {
		t.Errorf("the access token: %v", err)
	}
	if _, err := s.Verify(t.Context(), id); !isInvalid(err) || !strings.Contains(err.Error(), "ID token") {
		t.Errorf("the ID token: %v", err)
	}
}

// The provider checks the client's credential, and knows whose the exchanged token is.
func TestARealProviderExchangesTokens(t *testing.T) {
	p := startProvider(t)
	const resource = "https://mcp.example/opaque"
	subject, _ := p.tokensOf("ada", resource)
	for _, test := range []struct {
		client, secret string
		key            *oidc.PrivateKey
		code           string
	}{
		{"exchanger", "exchanger secret/+", nil, ""},
		{"signer", "", &oidc.PrivateKey{Key: ecKey(), ID: "signer"}, ""},
		{"exchanger", "wrong", nil, "invalid_client"},
		{"signer", "", &oidc.PrivateKey{Key: rsaKey(), ID: "signer"}, "invalid_client"},
	} {
		x, err := oidc.NewExchange(oidc.ExchangeOptions{TokenURL: p.issuer + "/token",
			ClientID: test.client, ClientSecret: test.secret, PrivateKey: test.key,
			Target: oidc.Target{Audiences: []string{"https://api.example"},
				Scopes: []string{"openid"}},
			Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, _ := call(t, func(i *identity.Identity) {
			i.Value = identity.NewValue(identity.NewToken(subject))
		})
		got, err := x.TokenSource(ctx).Token()
		var failed *oidc.ExchangeError
		if test.code != "" {
			if !errors.As(err, &failed) || failed.Code != test.code {
				t.Errorf("%s: %v, %+v", test.client, err, failed)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v, %+v", test.client, err, errors.As(err, &failed))
			continue
		}
		about := p.post("/token/introspection", "server", "server+secret%2F%2B",
			url.Values{"token": {got.AccessToken}})
		if about["active"] != true || about["sub"] != "ada" || about["client_id"] != test.client ||
			got.AccessToken == subject {
			t.Errorf("%s: %v", test.client, about)
		}
		ctx, _ = call(t, nil) // with a token that the provider has not issued
		if _, err := x.TokenSource(ctx).Token(); !errors.As(err, &failed) ||
			failed.Code != "invalid_grant" {
			t.Errorf("%s: of nobody: %v", test.client, err)
		}
	}
}

func flipped(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

func TestRevokedTokensOfARealProviderEnd(t *testing.T) {
	p := startProvider(t)
	const resource = "https://mcp.example/opaque"
	posting := p.source(resource, func(i *oidc.Issuer) {
		i.Introspection = &oidc.Introspection{ClientID: "poster", ClientSecret: "poster-secret", Method: oidc.Post, ClientSubject: true}
	})
	token := p.token(resource)
	if _, err := posting.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	p.post("/token/revocation", "agent", "agent-secret", url.Values{"token": {token}})
	if _, err := posting.Verify(t.Context(), token); !isInvalid(err) {
		t.Errorf("a revoked token: %v", err)
	}
	wrong := p.source(resource, func(i *oidc.Issuer) { i.Introspection.ClientSecret = "wrong-secret-of-ours" })
	if _, err := wrong.Verify(t.Context(), token); err == nil || isInvalid(err) || !strings.Contains(err.Error(), "ClientSecret") || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("a wrong secret: %v", err)
	}
}

func TestRotatedKeysOfARealProviderAreFound(t *testing.T) {
	p := startProvider(t)
	const resource = "https://mcp.example/ES256"
	s := p.source(resource, unchanged)
	s.SetRefreshInterval(0)
	before := p.token(resource)
	if _, err := s.Verify(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	p.rotate()
	after := p.token(resource)
	fresh := p.source(resource, unchanged)
	if _, err := fresh.Verify(t.Context(), after); err != nil {
		t.Errorf("a token of the new keys: %v", err)
	}
	if _, err := fresh.Verify(t.Context(), before); !isInvalid(err) {
		t.Errorf("a token of the keys of before: %v", err)
	}
	if _, err := s.Verify(t.Context(), after); err != nil {
		t.Errorf("a token of the new keys, where the old ones are held: %v", err)
	}
	if _, err := s.Verify(t.Context(), before); !isInvalid(err) {
		t.Errorf("a token of the keys of before, once the new ones are held: %v", err)
	}
}
