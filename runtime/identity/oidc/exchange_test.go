package oidc_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	subjectToken = "the-callers.own-token_0123456789"
	tokenURL     = issuerURL + "/token"
)

// endpoint is a token endpoint that keeps the forms of its requests.
type endpoint struct {
	*provider
	mu      sync.Mutex
	forms   []url.Values
	headers []http.Header
	answer  func(n int) (status int, body map[string]any) // nil for a token of one hour
}

func newEndpoint() *endpoint {
	e := &endpoint{provider: newProvider()}
	e.answers["/token"] = func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // what cannot be parsed is missing then
		e.mu.Lock()
		e.forms, e.headers = append(e.forms, r.PostForm), append(e.headers, r.Header)
		n := len(e.forms)
		e.mu.Unlock()
		status, body := 200, given(n)
		if e.answer != nil {
			status, body = e.answer(n)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, encode(body))
	}
	return e
}

// given is the answer to the nth request, with changes as of claims.
func given(n int, changes ...any) map[string]any {
	body := map[string]any{"access_token": fmt.Sprintf("exchanged-%d", n), "token_type": "Bearer",
		"issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "expires_in": 3600}
	for i := 0; i+1 < len(changes); i += 2 {
		if body[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
			delete(body, changes[i].(string))
		}
	}
	return body
}

func (e *endpoint) options() oidc.ExchangeOptions {
	return oidc.ExchangeOptions{TokenURL: tokenURL, ClientID: "mcp server",
		ClientSecret: "s&cret/+",
		Target:       oidc.Target{Audiences: []string{"https://api.example"}},
		Client:       &http.Client{Transport: e}, Logger: slog.New(slog.DiscardHandler)}
}

func (e *endpoint) exchange(t testing.TB, change func(*oidc.ExchangeOptions)) *oidc.Exchange {
	t.Helper()
	o := e.options()
	if change != nil {
		change(&o)
	}
	return made(oidc.NewExchange(o))
}

// call is the context of a handler whose caller has come with a token.
func call(t testing.TB, change func(*identity.Identity)) (context.Context, *credential.Held) {
	t.Helper()
	id := identity.Identity{
		Principal: access.Principal{Issuer: issuerURL, Subject: "ada", Client: "cli"},
		Value:     identity.NewValue(identity.NewToken(subjectToken)),
		Expires:   time.Now().Add(2 * time.Hour)}
	if change != nil {
		change(&id)
	}
	held := credential.Hold(id, "request7")
	return credential.With(t.Context(), held), held
}

func tokenOf(t testing.TB, x *oidc.Exchange, ctx context.Context) string {
	t.Helper()
	got, err := x.TokenSource(ctx).Token()
	if err != nil {
		t.Error(err)
		return ""
	}
	return got.AccessToken
}

const (
	accessType = "urn:ietf:params:oauth:token-type:access_token"
	grantType  = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// The whole request is compared: RFC 8693, section 2.1; RFC 6749, section 2.3.1; and for Entra
// "OAuth 2.0 On-Behalf-Of flow", first case, access token request with a shared secret.
func TestExchangeSendsWhatItsGrantRequires(t *testing.T) {
	rfc := func(more ...string) url.Values {
		form := url.Values{"grant_type": {grantType}, "subject_token": {subjectToken},
			"subject_token_type": {accessType}, "requested_token_type": {accessType},
			"audience": {"https://api.example"}}
		for i := 0; i < len(more); i += 2 {
			form.Add(more[i], more[i+1])
		}
		return form
	}
	for name, test := range map[string]struct {
		change func(*oidc.ExchangeOptions)
		form   url.Values
		basic  bool
	}{
		"basic": {nil, rfc(), true},
		"post": {func(o *oidc.ExchangeOptions) { o.Method = oidc.Post },
			rfc("client_id", "mcp server", "client_secret", "s&cret/+"), false},
		"targets": {func(o *oidc.ExchangeOptions) {
			o.Audiences = append(o.Audiences, "other")
			o.Resources, o.Scopes = []string{"https://r.example"}, []string{"read", "write"}
		}, rfc("audience", "other", "resource", "https://r.example", "scope", "read write"), true},
		"on behalf of": {func(o *oidc.ExchangeOptions) {
			o.OnBehalfOf = true
			o.Target = oidc.Target{Scopes: []string{"https://graph.microsoft.com/user.read"}}
		}, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
			"client_id": {"mcp server"}, "client_secret": {"s&cret/+"}, "assertion": {subjectToken},
			"scope":               {"https://graph.microsoft.com/user.read"},
			"requested_token_use": {"on_behalf_of"}}, false},
	} {
		e := newEndpoint()
		if name == "on behalf of" {
			e.answer = func(n int) (int, map[string]any) {
				return 200,
					given(n, "issued_token_type", nil)
			}
		}
		ctx, held := call(t, nil)
		got, err := e.exchange(t, test.change).TokenSource(ctx).Token()
		if err != nil || got.AccessToken != "exchanged-1" || got.TokenType != "Bearer" {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		if len(e.forms) != 1 || !reflect.DeepEqual(e.forms[0], test.form) {
			t.Errorf("%s: %v", name, e.forms)
		}
		want := ""
		if test.basic {
			want = "Basic " + base64.StdEncoding.EncodeToString([]byte("mcp+server:s%26cret%2F%2B"))
		}
		if h := e.headers[0]; h.Get("Authorization") != want ||
			h.Get("Content-Type") != "application/x-www-form-urlencoded" {
			t.Errorf("%s: %v", name, h)
		}
		if got := held.Mask(redact.Masker{}).Text("with exchanged-1"); strings.Contains(
			got, "ed-1") {
			t.Errorf("%s: the log shows the new token: %s", name, got)
		}
	}
}

func TestExchangeAuthenticatesByAPrivateKey(t *testing.T) {
	certificate := &x509.Certificate{Raw: []byte("certificate")}
	sum := sha256.Sum256(certificate.Raw)
	for _, test := range []struct {
		key       oidc.PrivateKey
		alg, x5t  string
		onBehalf  bool
		public    crypto.PublicKey
		audiences string
	}{
		{oidc.PrivateKey{Key: rsaKey(), ID: "k1"}, "RS256", "", false, rsaKey().Public(), tokenURL},
		{oidc.PrivateKey{Key: rsaKey(), ID: "k1", Algorithm: "PS256", Certificate: certificate},
			"PS256", b64(sum[:]), true, rsaKey().Public(), tokenURL},
		{oidc.PrivateKey{Key: p384Key(), ID: "k1", Audience: issuerURL}, "ES384", "", false,
			p384Key().Public(), issuerURL},
		{oidc.PrivateKey{Key: edKey(), ID: "k1"}, "EdDSA", "", false, edKey().Public(), tokenURL},
	} {
		e := newEndpoint()
		x := e.exchange(t, func(o *oidc.ExchangeOptions) {
			o.ClientSecret, o.PrivateKey = "", &test.key
			if o.OnBehalfOf = test.onBehalf; test.onBehalf {
				o.Target = oidc.Target{Scopes: []string{"read"}}
			}
		})
		ctx, _ := call(t, nil)
		if tokenOf(t, x, ctx) == "" {
			continue
		}
		form := e.forms[0]
		if form.Has("client_secret") || e.headers[0].Get("Authorization") != "" ||
			form.Get("client_id") != "mcp server" ||
			form.Get("client_assertion_type") !=
				"urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
			t.Errorf("%s: %v %v", test.alg, form, e.headers[0])
		}
		signed, err := jose.ParseSignedCompact(form.Get("client_assertion"),
			[]jose.SignatureAlgorithm{jose.SignatureAlgorithm(test.alg)})
		if err != nil {
			t.Error(err)
			continue
		}
		payload, err := signed.Verify(test.public)
		var c map[string]any
		if err = errors.Join(err, json.Unmarshal(payload, &c)); err != nil {
			t.Error(err)
			continue
		}
		header := signed.Signatures[0].Protected
		x5t, _ := header.ExtraHeaders["x5t#S256"].(string)
		life := c["exp"].(float64) - c["iat"].(float64)
		if c["iss"] != "mcp server" || c["sub"] != "mcp server" || c["aud"] != test.audiences ||
			c["jti"] == "" || life <= 0 || life > 300 || header.KeyID != "k1" || x5t != test.x5t {
			t.Errorf("%s: %v, %+v", test.alg, c, header)
		}
	}
}

func TestExchangedTokensAreKeptForTheirCallerTokenAndTarget(t *testing.T) {
	e := newEndpoint()
	x := e.exchange(t, nil)
	ctx, _ := call(t, nil)
	first := tokenOf(t, x, ctx)
	again, _ := call(t, nil)
	if got := tokenOf(t, x, again); got != first || len(e.forms) != 1 {
		t.Errorf("%s after %s, %d requests", got, first, len(e.forms))
	}
	seen := map[string]string{first: "first"}
	other := func(name string, x *oidc.Exchange, change func(*identity.Identity)) {
		t.Helper()
		ctx, _ := call(t, change)
		got := tokenOf(t, x, ctx)
		if before, known := seen[got]; known {
			t.Errorf("%s gets the token of %s", name, before)
		}
		seen[got] = name
		if again := tokenOf(t, x, ctx); again != got {
			t.Errorf("%s: %s, then %s", name, got, again)
		}
	}
	other("another subject", x, func(i *identity.Identity) { i.Principal.Subject = "eve" })
	other("another issuer", x, func(i *identity.Identity) { i.Principal.Issuer = "other" })
	other("another client", x, func(i *identity.Identity) { i.Principal.Client = "other" })
	other("another token", x, func(i *identity.Identity) {
		i.Value = identity.NewValue(identity.NewToken("another"))
	})
	for name, target := range map[string]oidc.Target{
		"another audience": {Audiences: []string{"other"}},
		"a resource":       {Resources: []string{"https://api.example"}},
		"a scope":          {Scopes: []string{"a"}}, "a longer scope": {Scopes: []string{"aa"}},
		"two scopes": {Scopes: []string{"a", "a"}},
	} {
		other(name, made(x.For(target)), nil)
	}
	same := made(x.For(oidc.Target{Audiences: []string{"https://api.example"}}))
	if got := tokenOf(t, same, ctx); got != first {
		t.Errorf("the same target has another token: %s", got)
	}
}

// A handler may change what it gets, and the next one gets what the endpoint gave.
func TestExchangedTokensAreCopies(t *testing.T) {
	x := newEndpoint().exchange(t, nil)
	ctx, _ := call(t, nil)
	got := made(x.TokenSource(ctx).Token())
	got.AccessToken = "changed"
	if again := tokenOf(t, x, ctx); again != "exchanged-1" {
		t.Error(again)
	}
}

func TestExchangedTokensEndBeforeTheyExpire(t *testing.T) {
	for name, test := range map[string]struct {
		expiresIn any
		expires   time.Duration // of the caller's token; 0 never
		kept      time.Duration
	}{
		"as the endpoint says":          {100, time.Hour, 70 * time.Second},
		"with the caller's token":       {3600, 50 * time.Second, 20 * time.Second},
		"the caller's token never ends": {3600, 0, oidc.MaxCache},
		"without a lifetime":            {nil, time.Hour, 0},
		"too short":                     {20, time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newEndpoint()
			e.answer = func(n int) (int, map[string]any) {
				return 200,
					given(n, "expires_in", test.expiresIn)
			}
			x := e.exchange(t, nil)
			ctx, _ := call(t, func(i *identity.Identity) {
				if i.Expires = time.Now().Add(test.expires); test.expires == 0 {
					i.Expires = time.Time{}
				}
			})
			first := made(x.TokenSource(ctx).Token())
			if first.Expiry.After(time.Now().Add(test.expires)) && test.expires > 0 {
				t.Errorf("%s: it ends after the caller's: %s", name, first.Expiry)
			}
			if test.kept > 0 {
				time.Sleep(test.kept - time.Second)
				if got := tokenOf(t, x, ctx); got != first.AccessToken {
					t.Errorf("%s: %s too early", name, got)
				}
				time.Sleep(time.Second)
			}
			if got := tokenOf(t, x, ctx); got != "exchanged-2" {
				t.Errorf("%s: %s too late", name, got)
			}
		})
	}
}

func TestConcurrentCallsShareOneExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint()
		e.gate = make(chan struct{})
		x := e.exchange(t, nil)
		var all sync.WaitGroup
		for range 20 {
			ctx, _ := call(t, nil)
			all.Go(func() {
				if got := tokenOf(t, x, ctx); got != "exchanged-1" {
					t.Error(got)
				}
			})
		}
		gone, cancel := context.WithCancel(t.Context())
		held, _ := call(t, nil)
		all.Go(func() {
			leaving := credential.With(gone, credential.From(held))
			if _, err := x.TokenSource(leaving).Token(); !errors.Is(err, context.Canceled) {
				t.Errorf("who leaves: %v", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		close(e.gate)
		all.Wait()
		if len(e.forms) != 1 {
			t.Errorf("%d requests", len(e.forms))
		}
	})
}

func TestExchangeThatFailsReportsWhyInTheLogAlone(t *testing.T) {
	const secret = "exchanged-secret"
	echo := map[string]any{"error_description": "no: " + subjectToken + " " + secret,
		"error_uri": "https://x/" + subjectToken, "refresh_token": secret}
	with := func(more map[string]any) map[string]any {
		all := maps.Clone(echo)
		maps.Copy(all, more)
		return all
	}
	for name, test := range map[string]struct {
		status int
		body   map[string]any
		code   string
		log    string
	}{
		"refused": {400, with(map[string]any{"error": "invalid_grant"}), "invalid_grant",
			"code=invalid_grant"},
		"of Entra": {400, with(map[string]any{
			"error": "interaction_required", "error_codes": []int{50076}}), "interaction_required",
			"error_codes=[50076]"},
		"with 200": {200, with(map[string]any{"error": "invalid_target"}), "invalid_target",
			"code=invalid_target"},
		"odd code": {400, with(map[string]any{"error": "x " + subjectToken}), "(not shown)",
			"(not shown)"},
		"no code":    {500, echo, "", "status=500"},
		"redirect":   {302, echo, "", "status=302"},
		"no token":   {200, given(1, "access_token", nil), "", "is malformed"},
		"own token":  {200, given(1, "access_token", subjectToken), "", "caller's own"},
		"no type":    {200, given(1, "token_type", nil), "", "token_type"},
		"other type": {200, given(1, "token_type", "N_A"), "", "token_type"},
		"not issued": {200, given(1, "issued_token_type", nil), "", "issued_token_type"},
		"a refresh token": {200, given(1, "issued_token_type",
			"urn:ietf:params:oauth:token-type:refresh_token"), "", "issued_token_type"},
		"an odd token": {200, given(1, "access_token", secret+"\r\nX: y"), "",
			"the token has characters that are not allowed in a header"},
		"expired":      {200, given(1, "expires_in", -5), "", "expires_in"},
		"odd lifetime": {200, given(1, "expires_in", "long "+secret), "", "is malformed"},
		"lists, no map": {200, map[string]any{"access_token": []string{secret}}, "",
			"is malformed"},
	} {
		var log bytes.Buffer
		e := newEndpoint()
		e.answer = func(int) (int, map[string]any) { return test.status, test.body }
		x := e.exchange(t, func(o *oidc.ExchangeOptions) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		ctx, _ := call(t, nil)
		_, err := x.TokenSource(ctx).Token()
		var failed *oidc.ExchangeError
		if !errors.As(err, &failed) || failed.Code != test.code ||
			err.Error() != "no access to another service for this caller" {
			t.Errorf("%s: %v, %+v", name, err, failed)
		}
		line := log.String()
		if !strings.Contains(line, test.log) || !strings.Contains(line, "request_id=request7") ||
			!strings.Contains(line, "principal=ada") || strings.Contains(line, subjectToken) ||
			strings.Contains(line, secret) || strings.Contains(line, "s&cret") {
			t.Errorf("%s: %s", name, line)
		}
		if _, err := x.TokenSource(ctx).Token(); err == nil || len(e.forms) != 2 {
			t.Errorf("%s: a failure is kept: %v, %d", name, err, len(e.forms))
		}
	}
}

func TestExchangeWithoutAnEndpointEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEndpoint()
		e.gate = make(chan struct{})
		var log bytes.Buffer
		x := e.exchange(t, func(o *oidc.ExchangeOptions) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		ctx, _ := call(t, nil)
		if _, err := x.TokenSource(ctx).Token(); !errors.As(err, new(*oidc.ExchangeError)) ||
			!strings.Contains(log.String(), "no response in time") {
			t.Errorf("%v, %s", err, log.String())
		}
	})
}

func TestNothingIsExchangedWithoutATokenOrAfterTheCall(t *testing.T) {
	e := newEndpoint()
	x := e.exchange(t, nil)
	fails := func(name string, ctx context.Context) {
		t.Helper()
		if got, err := x.TokenSource(ctx).Token(); !errors.Is(err, oidc.ErrNoToken) || got != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if _, err := x.Client(ctx).Get("http://127.0.0.1:1/"); !errors.Is(err, oidc.ErrNoToken) {
			t.Errorf("%s: a request: %v", name, err)
		}
	}
	fails("outside of a call", t.Context())
	ctx, _ := call(t, func(i *identity.Identity) { i.Value = identity.Value{} })
	fails("without a value", ctx)
	ctx, _ = call(t, func(i *identity.Identity) { i.Value = identity.NewValue(7) })
	fails("a value of another type", ctx)
	if len(e.forms) != 0 {
		t.Errorf("%d requests", len(e.forms))
	}
	ctx, held := call(t, nil)
	if tokenOf(t, x, ctx) == "" {
		return
	}
	held.End()
	fails("after the call", ctx)
}

// A request of the client ends with the handler's context, even if the caller gives it no context.
func TestRequestsOfTheClientEndWithTheCall(t *testing.T) {
	arrived := make(chan struct{}, 2)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(200)
			_ = http.NewResponseController(w).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
	}))
	defer api.Close()
	for _, path := range []string{"/headers", "/body"} {
		ctx, _ := call(t, nil)
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		client := newEndpoint().exchange(t, nil).Client(ctx)
		go func() {
			res, err := client.Get(api.URL + path)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			done <- err
		}()
		<-arrived
		cancel()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the request goes on", path)
		}
	}
}

// The client adds the token to each request, so a redirect must not lead it elsewhere.
func TestClientKeepsTheTokenToTheServiceItCalls(t *testing.T) {
	var stray []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		stray = append(stray, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	var got []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusTemporaryRedirect)
		}
	}))
	defer api.Close()
	ctx, _ := call(t, nil)
	client := newEndpoint().exchange(t, nil).Client(ctx)
	for path, status := range map[string]int{"/moved": 200, "/away": 307} {
		res, err := client.Get(api.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
	if len(stray) != 0 || len(got) != 3 || !strings.HasSuffix(got[0], "Bearer exchanged-1") {
		t.Errorf("%v, elsewhere %v", got, stray)
	}
}

func TestExchangeOptionsThatCannotWorkAreNamed(t *testing.T) {
	for want, change := range map[string]func(*oidc.ExchangeOptions){
		"TokenURL is empty": func(o *oidc.ExchangeOptions) { o.TokenURL = "" },
		"use https": func(o *oidc.ExchangeOptions) {
			o.TokenURL = "http://login.example/token"
		},
		"ClientID is empty":          func(o *oidc.ExchangeOptions) { o.ClientID = "" },
		"ClientSecret or PrivateKey": func(o *oidc.ExchangeOptions) { o.ClientSecret = "" },
		"set one of them": func(o *oidc.ExchangeOptions) {
			o.PrivateKey = &oidc.PrivateKey{Key: edKey()}
		},
		"Method is 7":     func(o *oidc.ExchangeOptions) { o.Method = 7 },
		"Target is empty": func(o *oidc.ExchangeOptions) { o.Target = oidc.Target{} },
		"an empty name":   func(o *oidc.ExchangeOptions) { o.Resources = []string{""} },
		"Scopes has": func(o *oidc.ExchangeOptions) {
			o.Scopes = []string{"two words"}
		},
		"OnBehalfOf takes Scopes": func(o *oidc.ExchangeOptions) { o.OnBehalfOf = true },
		"Algorithm \"HS256\"": func(o *oidc.ExchangeOptions) {
			o.ClientSecret, o.PrivateKey = "", &oidc.PrivateKey{Key: edKey(), Algorithm: "HS256"}
		},
		"PrivateKey": func(o *oidc.ExchangeOptions) {
			o.ClientSecret, o.PrivateKey = "", &oidc.PrivateKey{}
		},
	} {
		o := newEndpoint().options()
		change(&o)
		x, err := oidc.NewExchange(o)
		if err == nil || x != nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "s&cret") {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := newEndpoint().exchange(t, nil).For(oidc.Target{}); err == nil {
		t.Error("an exchange for nothing")
	}
}

func TestSourceKeepsTheTokenIfConfigured(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s := newProvider().source(t, func(o *oidc.Options) { o.KeepToken = keep })
		sent := token()
		r := httptest.NewRequest(http.MethodPost, resource, nil)
		r.Header.Set("Authorization", "Bearer "+sent)
		id, err := s.Identify(r)
		kept, _ := id.Value.Content().(identity.Token)
		if err != nil || (kept.Reveal() == sent) != keep {
			t.Errorf("KeepToken %v: %v", keep, err)
		}
	}
}
