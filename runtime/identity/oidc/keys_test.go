package oidc_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// other is signed by a key that the provider does not have at first.
func other() string {
	return signWith(otherRSA(), `{"alg":"RS256","kid":"new"}`, encode(claims()))
}

// verified is the result for a token, in one word.
func verified(t *testing.T, s *oidc.Source, token string) string {
	t.Helper()
	_, err := s.Verify(t.Context(), token)
	switch {
	case err == nil:
		return "holds"
	case errors.Is(err, identity.ErrInvalidToken):
		return "invalid"
	}
	return "unavailable"
}

func TestRotatedKeysAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		s := p.source(t)
		if got := verified(t, s, token()) + " " + verified(t, s, other()); got != "holds invalid" {
			t.Fatal(got)
		}
		p.change(func() { p.keys = append(p.keys, jwk("new", otherRSA())) })
		time.Sleep(oidc.RefreshInterval)
		if got := verified(t, s, other()) + " " + verified(t, s, token()); got != "holds holds" {
			t.Fatal(got)
		}
		_, later, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		// A token without a key id causes a fetch of newer keys as well.
		p.change(func() { p.keys = []map[string]any{jwk("later", later)} })
		time.Sleep(oidc.RefreshInterval)
		if got := verified(t, s, signWith(later, `{"alg":"EdDSA"}`,
			encode(claims()))); got != "holds" {
			t.Fatal(got)
		}
		if got := verified(t, s, token()) + " " +
			verified(t, s, other()); got != "invalid invalid" {
			t.Fatalf("keys that the provider has withdrawn: %s", got)
		}
	})
}

func TestWithdrawnKeysEndWithTheKeyPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		s := p.source(t)
		if got := verified(t, s, token()); got != "holds" {
			t.Fatal(got)
		}
		p.change(func() { p.keys = []map[string]any{jwk("ec", ecKey())} })
		time.Sleep(oidc.DefaultKeyPeriod - time.Second)
		if got := verified(t, s, token()); got != "holds" {
			t.Fatal(got)
		}
		time.Sleep(time.Second)
		if got := verified(t, s, token()); got != "invalid" {
			t.Fatal(got)
		}
	})
}

// fetches records when the provider's keys are fetched, in seconds from now.
func (p *provider) fetches() *[]int {
	start, all := time.Now(), new([]int)
	p.answers["/keys"] = func(w http.ResponseWriter, _ *http.Request) {
		*all = append(*all, int(time.Since(start)/time.Second))
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprint(w, encode(map[string]any{"keys": p.keys}))
	}
	return all
}

// A stranger may send any number of tokens: the pauses between fetches grow, and fetches are few in
// each minute.
func TestUnknownKeysDoNotFloodTheProvider(t *testing.T) {
	strangers := make([]string, 8)
	for i := range strangers {
		strangers[i] = signWith(otherRSA(), fmt.Sprintf(`{"alg":"RS256","kid":"%d"}`, i),
			encode(claims()))
	}
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		got := p.fetches()
		s := p.source(t)
		for start := time.Now(); time.Since(start) < 80*time.Second; {
			var wait sync.WaitGroup
			for _, token := range strangers {
				wait.Go(func() { verified(t, s, token) })
			}
			wait.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		if want := []int{0, 1, 3, 7, 15, 25, 35, 45, 55, 65, 75}; !slices.Equal(*got, want) {
			t.Errorf("fetches at %v s, want %v", *got, want)
		}
	})
	// However the stranger spreads them, with pauses in which the interval starts again.
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		got := p.fetches()
		s := p.source(t)
		random := rand.New(rand.NewPCG(1, 2))
		for range 20_000 {
			verified(t, s, strangers[0])
			time.Sleep(time.Duration(random.Int64N(int64(70*time.Second))) >> random.IntN(10))
		}
		for i, at := range *got {
			if i >= 9 && at-(*got)[i-9] < 60 {
				t.Fatalf("10 fetches within a minute: %v", (*got)[i-9:i+1])
			}
		}
	})
}

func TestFailedFetchIsRepeatedAfterASecondAndThenLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		p.down = true
		s := p.source(t, issuer(func(i *oidc.Issuer) { i.KeysURL = issuerURL + "/keys" }))
		var got []int
		start := time.Now()
		for range 400 {
			before := p.count("/keys")
			if got := verified(t, s, token()); got != "unavailable" {
				t.Fatal(got)
			}
			if p.count("/keys") > before {
				got = append(got, int(time.Since(start)/time.Second))
			}
			time.Sleep(100 * time.Millisecond)
		}
		if want := []int{0, 1, 3, 7, 15, 25, 35}; !slices.Equal(got, want) {
			t.Errorf("fetches at %v s, want %v", got, want)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		p.down = true
		s := p.source(t)
		if got := verified(t, s, token()); got != "unavailable" {
			t.Fatal(got)
		}
		p.change(func() { p.down = false })
		time.Sleep(oidc.RetryInterval)
		if got := verified(t, s, token()); got != "holds" {
			t.Errorf("a second after the failure: %s", got)
		}
	})
}

func TestSecondRotationIsFoundAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		s := p.source(t)
		if got := verified(t, s, token()); got != "holds" {
			t.Fatal(got)
		}
		time.Sleep(5 * time.Minute)
		p.change(func() { p.keys = append(p.keys, jwk("new", otherRSA())) })
		if got := verified(t, s, other()); got != "holds" {
			t.Fatal(got)
		}
		later := func() string {
			return signWith(ecKey(), `{"alg":"ES256","kid":"later"}`, encode(claims()))
		}
		p.change(func() { p.keys = append(p.keys, jwk("later", ecKey())) })
		if got := verified(t, s, later()); got != "invalid" {
			t.Fatal(got)
		}
		time.Sleep(oidc.RetryInterval)
		if got := verified(t, s, later()); got != "holds" {
			t.Error(got)
		}
	})
}

func TestOneFetchServesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		p.gate = make(chan struct{})
		s := p.source(t)
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				if got := verified(t, s, token()); got != "holds" {
					t.Error(got)
				}
			})
		}
		synctest.Wait()
		close(p.gate)
		wait.Wait()
		if n := p.count("/keys"); n != 1 {
			t.Errorf("%d fetches", n)
		}
	})
}

func TestOldKeysServeForABoundedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		var log bytes.Buffer
		s := p.source(t, func(o *oidc.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		if got := verified(t, s, token()); got != "holds" {
			t.Fatal(got)
		}
		p.change(func() { p.down = true })
		time.Sleep(oidc.DefaultKeyPeriod + oidc.DefaultStalePeriod - time.Second)
		if got := verified(t, s, token()); got != "holds" || !strings.Contains(log.String(),
			"is unreachable") {
			t.Fatalf("%s, %s", got, log.String())
		}
		if got := verified(t, s, other()); got != "unavailable" {
			t.Fatalf("a key that could not be looked for: %s", got)
		}
		time.Sleep(time.Second)
		if got := verified(t, s, token()); got != "unavailable" {
			t.Fatal(got)
		}
		p.change(func() { p.down = false })
		time.Sleep(oidc.RefreshInterval)
		if got := verified(t, s, token()); got != "holds" {
			t.Fatal(got)
		}
	})
}

// A provider that hangs refuses nobody whose key is held, however short the request's own time is:
// the first to ask wait for a moment, and nobody after them does.
func TestProviderThatHangsStallsNobodyWhileOldKeysServe(t *testing.T) {
	for _, limit := range []time.Duration{500 * time.Millisecond, 5 * time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			p := newProvider()
			s := p.source(t)
			if got := verified(t, s, token()); got != "holds" {
				t.Fatal(got)
			}
			begin := time.Now()
			p.change(func() { p.gate = make(chan struct{}) })
			ask := func(most time.Duration) {
				t.Helper()
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				start := time.Now()
				if _, err := s.Verify(ctx, token()); err != nil || time.Since(start) > most {
					t.Errorf("%s after the keys were fetched, with %s of time: %v after %s",
						start.Sub(begin), limit, err, time.Since(start))
				}
			}
			time.Sleep(oidc.DefaultKeyPeriod)
			ask(min(time.Second, limit/2))
			for range 20 {
				ask(0)
				time.Sleep(3 * time.Second)
			}
			time.Sleep(oidc.DefaultStalePeriod)
			if got := verified(t, s, token()); got != "unavailable" {
				t.Errorf("after the stale period: %s", got)
			}
			// One that answers again is waited for again.
			p.change(func() { p.gate, p.keys = nil, []map[string]any{jwk("ec", ecKey())} })
			time.Sleep(2 * oidc.RefreshInterval)
			if got := verified(t, s, token()); got != "invalid" {
				t.Errorf("a key that is no longer published: %s", got)
			}
		})
	}
}

func TestProviderThatDoesNotAnswerIsUnavailableInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		p.gate = make(chan struct{})
		s := p.source(t)
		start := time.Now()
		if got := verified(t, s, token()); got != "unavailable" ||
			time.Since(start) > 10*time.Second {
			t.Errorf("%s after %s", got, time.Since(start))
		}
		time.Sleep(oidc.RefreshInterval)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Verify(ctx, token()); !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, identity.ErrInvalidToken) {
			t.Errorf("%v", err)
		}
		close(p.gate)
		synctest.Wait()
	})
}

func TestWhatProvidersMayNotAnswer(t *testing.T) {
	set := func(keys ...map[string]any) string { return encode(map[string]any{"keys": keys}) }
	many := make([]map[string]any, 65)
	for i := range many {
		many[i] = jwk(fmt.Sprint(i), edKey())
	}
	answer := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
	}
	private := jwk("rsa", rsaKey(), "d", b64(rsaKey().D.Bytes()), "p",
		b64(rsaKey().Primes[0].Bytes()), "q", b64(rsaKey().Primes[1].Bytes()))
	for name, test := range map[string]struct {
		path, want string
		handler    http.HandlerFunc
	}{
		"keys: an error": {"/keys", "answered 500", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
		}},
		"keys: a redirect": {"/keys", "answered 302", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusFound)
		}},
		"keys: no JSON":         {"/keys", "not JSON", answer("<html>")},
		"keys: a list":          {"/keys", "not a JSON object", answer("[]")},
		"keys: without any":     {"/keys", "no key set", answer("{}")},
		"keys: of another type": {"/keys", "no key set", answer(`{"keys":{}}`)},
		"keys: none":            {"/keys", "has no key for verifying a token", answer(`{"keys":[]}`)},
		"keys: twice":           {"/keys", "not JSON", answer(`{"keys":[],"keys":[]}`)},
		"keys: too many": {"/keys", "65 keys",
			answer(encode(map[string]any{"keys": many}))},
		"keys: too large": {"/keys", "more than",
			answer(`{"keys":[],"x":"` + strings.Repeat("a", 600<<10) + `"}`)},
		"keys: a shared one": {"/keys", "has no key for verifying a token",
			answer(set(map[string]any{"kty": "oct", "kid": "rsa", "k": "c2VjcmV0"}))},
		"keys: a private one": {"/keys", "has no key for verifying a token", answer(set(private))},
		"keys: for encryption": {"/keys", "has no key for verifying a token",
			answer(set(jwk("rsa", rsaKey(), "use", "enc")))},
		"keys: of an unknown type": {"/keys", "has no key for verifying a token",
			answer(set(map[string]any{"kty": "X", "kid": "rsa"}))},
		"keys: with other key_ops": {"/keys", "has no key for verifying a token",
			answer(set(map[string]any{"kty": "RSA", "n": jwk("", rsaKey())["n"], "e": "AQAB",
				"key_ops": []string{"encrypt"}}))},
		"keys: too short": {"/keys", "has no key for verifying a token",
			answer(set(map[string]any{"kty": "RSA", "n": b64(rsaKey().N.Bytes()[:128]),
				"e": "AQAB"}))},
		"metadata: another's": {"/.well-known/openid-configuration", "is the metadata of",
			answer(`{"issuer":"https://evil.example","jwks_uri":"https://evil.example/keys"}`)},
		"metadata: nobody's": {"/.well-known/openid-configuration", "is the metadata of",
			answer(`{"jwks_uri":"https://login.example/keys"}`)},
		"metadata: without keys": {"/.well-known/openid-configuration",
			"its metadata has no keys (jwks_uri): set KeysURL",
			answer(`{"issuer":"https://login.example"}`)},
		"metadata: keys over http": {"/.well-known/openid-configuration", "use https",
			answer(`{"issuer":"https://login.example","jwks_uri":"http://login.example/keys"}`)},
		"metadata: keys of a file": {"/.well-known/openid-configuration", "whole URL",
			answer(`{"issuer":"https://login.example","jwks_uri":"file:///etc/passwd"}`)},
		"metadata: keys: a number": {"/.well-known/openid-configuration", "jwks_uri",
			answer(`{"issuer":"https://login.example","jwks_uri":1}`)},
		"metadata: not found": {"/.well-known/openid-configuration", "answered 404",
			http.NotFound},
		"metadata: not available": {"/.well-known/openid-configuration", "answered 503",
			func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(503)
			}},
		"metadata: a panic of ours": {"/.well-known/openid-configuration", "panicked",
			func(http.ResponseWriter, *http.Request) {
				panic("x")
			}},
	} {
		p := newProvider()
		p.answers[test.path] = test.handler
		s := p.source(t)
		_, err := s.Verify(t.Context(), token())
		if err == nil || errors.Is(err, identity.ErrInvalidToken) || !strings.Contains(err.Error(),
			test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if again := s.Fetch(t.Context()); again == nil {
			t.Errorf("%s: Fetch says nothing", name)
		}
		if p.count("/other") != 0 {
			t.Errorf("%s: a redirect was followed", name)
		}
	}
}

func TestGoodKeysAreFoundAmongOthers(t *testing.T) {
	p := newProvider()
	p.keys = append([]map[string]any{
		{"kty": "X"}, {}, {"kty": "RSA", "n": 1}, {"kty": "oct", "k": "AAAA", "kid": "rsa"},
		{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
		jwk("rsa", otherRSA()), // of the same id
		jwk("rsa", rsaKey(), "use", "sig", "alg", "RS256"),
	}, p.keys[1:]...)
	s := p.source(t)
	if err := s.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := verified(t, s, token()); got != "holds" {
		t.Error(got)
	}
	if got := verified(t, s, signWith(rsaKey(), `{"alg":"PS256","kid":"rsa"}`,
		encode(claims()))); got != "invalid" {
		t.Errorf("a key that its issuer publishes for another algorithm: %s", got)
	}
}

func TestMetadataIsFoundWhereTheRFCsSay(t *testing.T) {
	for issuer, path := range map[string]string{
		"https://login.example/tenant":  "/.well-known/oauth-authorization-server/tenant",
		"https://login.example/tenant/": "/.well-known/oauth-authorization-server/tenant",
		"https://login.example":         "/.well-known/oauth-authorization-server",
		"https://login.example/a/b":     "/a/b/.well-known/openid-configuration",
		"http://127.0.0.1:8080/x":       "/x/.well-known/openid-configuration",
	} {
		p := newProvider()
		p.issuer = issuer
		p.answers["/.well-known/openid-configuration"] = http.NotFound
		p.answers[path] = func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, encode(map[string]any{"issuer": issuer, "jwks_uri": issuerURL + "/keys"}))
		}
		if got := verified(t, p.source(t), token("iss", issuer)); got != "holds" {
			t.Errorf("%s: %s, asked %v", issuer, got, p.asked)
		}
	}
}

// Metadata that offers the registration of clients is reported once to each func, whether it is
// fetched before or after.
func TestRegistrationOfClientsIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		field string
		value any
		want  bool
	}{
		"an endpoint":           {"registration_endpoint", issuerURL + "/register", true},
		"an odd endpoint":       {"registration_endpoint", 1, true},
		"an empty endpoint":     {"registration_endpoint", "", false},
		"no endpoint":           {"registration_endpoint", nil, false},
		"documents":             {"client_id_metadata_document_supported", true, true},
		"no documents":          {"client_id_metadata_document_supported", false, false},
		"documents as a string": {"client_id_metadata_document_supported", "false", false},
		"another field":         {"revocation_endpoint", issuerURL, false},
	} {
		p := newProvider()
		p.metadata[test.field] = test.value
		s, want := p.source(t), []string{}
		if test.want {
			want = []string{issuerURL + " " + test.field}
		}
		for range 2 {
			got := []string{}
			s.OnRegistration(func(issuer, field string) { got = append(got, issuer+" "+field) })
			for range 2 {
				if err := s.Fetch(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}

func TestKeysURLNeedsNoMetadata(t *testing.T) {
	p := newProvider()
	s := p.source(t, issuer(func(i *oidc.Issuer) { i.KeysURL = issuerURL + "/keys" }))
	if got := verified(t, s, token()); got != "holds" ||
		p.count("/.well-known/openid-configuration") != 0 {
		t.Error(got)
	}
}

func TestEachIssuerVouchesWithItsOwnKeys(t *testing.T) {
	p := newProvider()
	const second = "https://second.example"
	s := p.source(t, func(o *oidc.Options) {
		o.Issuers[0].KeysURL = issuerURL + "/keys"
		o.Issuers = append(o.Issuers, oidc.Issuer{URL: second, KeysURL: second + "/others"})
	})
	p.answers["/others"] = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, encode(map[string]any{"keys": []any{jwk("rsa", otherRSA())}}))
	}
	by := func(key any, iss string) string {
		return signWith(key, `{"alg":"RS256","kid":"rsa"}`, encode(claims("iss", iss)))
	}
	if got := verified(t, s, by(rsaKey(), issuerURL)) +
		verified(t, s, by(otherRSA(), second)); got != "holdsholds" {
		t.Error(got)
	}
	if got := verified(t, s, by(rsaKey(), second)) +
		verified(t, s, by(otherRSA(), issuerURL)); got != "invalidinvalid" {
		t.Errorf("one issuer speaks for another: %s", got)
	}
	if servers := s.Resource().AuthorizationServers; len(servers) != 2 || servers[0] != issuerURL ||
		servers[1] != second {
		t.Errorf("%v", servers)
	}
}
