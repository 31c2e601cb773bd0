package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
)

// claims are those of a client's access tokens.
type claims map[string]any

// of are the claims of a token for a user of the host, with a role where it is not empty.
func of(user, role string) claims {
	c := claims{"host_user": user}
	if role != "" {
		c["roles"] = []string{role}
	}
	return c
}

// provider is npm's oidc-provider in a process of its own; see testdata/provider.mjs.
type provider struct {
	*process
	issuer string
}

// newProvider starts the provider that make npm installs.
func newProvider(t testing.TB, clients map[string]claims) *provider {
	t.Helper()
	library, node := testdb.Npm(t, "oidc-provider/lib/index.js")
	text, err := json.Marshal(clients)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{process: start(t, command(t, node, filepath.Join("testdata", "provider.mjs"),
		library, string(text)))}
	// It has words of its own to say about a test's settings.
	for !strings.HasPrefix(p.issuer, "http://") {
		p.issuer = p.line()
	}
	return p
}

// change sets what further tokens are like.
func (p *provider) change(what map[string]any) {
	p.t.Helper()
	for answer := p.ask(what); answer != "done"; answer = p.line() {
	}
}

// token gets an access token of a client for a resource, by its own credentials (RFC 8707).
func (p *provider) token(client, resource string) string {
	p.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}, "resource": {resource}}
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.issuer+"/token",
		strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(client, client+"-secret")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Token == "" {
		p.t.Fatalf("a token for %s: %d %s, %v", client, res.StatusCode, body, err)
	}
	return answer.Token
}
