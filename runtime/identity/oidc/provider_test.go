package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

const (
	issuerURL = "https://login.example"
	resource  = "https://mcp.example/mcp"
)

// The keys of the tests. Making RSA keys takes long, so all tests share them.
var (
	rsaKey   = sync.OnceValue(func() *rsa.PrivateKey { return made(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSA = sync.OnceValue(func() *rsa.PrivateKey { return made(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey    = sync.OnceValue(func() *ecdsa.PrivateKey { return made(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return made(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521Key  = sync.OnceValue(func() *ecdsa.PrivateKey { return made(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edKey    = sync.OnceValue(func() ed25519.PrivateKey {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return made(private, err)
	})
)

func made[T any](v T, err error) T {
	if err != nil {
		panic(err) // of the machine's random source
	}
	return v
}

var b64 = base64.RawURLEncoding.EncodeToString

// jwk is the public key as RFC 7517 writes it, spelled here and not by the library under test.
func jwk(id string, private any, more ...string) map[string]any {
	k := map[string]any{"kid": id}
	switch private := private.(type) {
	case *rsa.PrivateKey:
		k["kty"], k["n"], k["e"] = "RSA", b64(private.N.Bytes()), "AQAB"
	case *ecdsa.PrivateKey:
		point := made(private.PublicKey.Bytes())[1:]
		k["kty"], k["crv"] = "EC", private.Curve.Params().Name
		k["x"], k["y"] = b64(point[:len(point)/2]), b64(point[len(point)/2:])
	case ed25519.PrivateKey:
		k["kty"], k["crv"], k["x"] = "OKP", "Ed25519", b64(private.Public().(ed25519.PublicKey))
	}
	for i := 0; i+1 < len(more); i += 2 {
		k[more[i]] = more[i+1]
	}
	return k
}

// signWith makes a JWS by RFC 7515 and 7518, with the standard library alone.
func signWith(key any, header, payload string) string {
	input := b64([]byte(header)) + "." + b64([]byte(payload))
	var h struct{ Alg string }
	_ = json.Unmarshal([]byte(header), &h) // a header that is none is signed all the same
	hash := map[string]crypto.Hash{"384": crypto.SHA384, "512": crypto.SHA512}[strings.TrimLeft(h.Alg, "RPSEH")]
	if hash == 0 {
		hash = crypto.SHA256
	}
	digest := hash.New()
	digest.Write([]byte(input))
	sum := digest.Sum(nil)
	var signature []byte
	switch key := key.(type) {
	case *rsa.PrivateKey:
		if strings.HasPrefix(h.Alg, "PS") {
			signature = made(rsa.SignPSS(rand.Reader, key, hash, sum, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}))
		} else {
			signature = made(rsa.SignPKCS1v15(rand.Reader, key, hash, sum))
		}
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, sum)
		size := (key.Curve.Params().BitSize + 7) / 8
		signature = append(made(r, err).FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	case ed25519.PrivateKey:
		signature = ed25519.Sign(key, []byte(input))
	case []byte:
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(input))
		signature = mac.Sum(nil)
	}
	return input + "." + b64(signature)
}

// claims are those of a token that holds now, with changes: name, value; a nil value takes one out.
func claims(changes ...any) map[string]any {
	now := time.Now()
	c := map[string]any{
		"iss": issuerURL, "sub": "ada", "aud": resource, "client_id": "cli",
		"iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix(),
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if changes[i+1] == nil {
			delete(c, changes[i].(string))
		} else {
			c[changes[i].(string)] = changes[i+1]
		}
	}
	return c
}

func encode(v any) string { return string(made(json.Marshal(v))) }

// token is signed by the RSA key, under the id "rsa".
func token(changes ...any) string {
	return signWith(rsaKey(), `{"alg":"RS256","kid":"rsa","typ":"at+jwt"}`, encode(claims(changes...)))
}

// provider is an authorization server in this process. It is a transport, so that no test waits
// for a network and the clock can be a bubble's own.
type provider struct {
	mu       sync.Mutex
	issuer   string
	keys     []map[string]any
	metadata map[string]any
	down     bool
	asked    map[string]int
	answers  map[string]http.HandlerFunc // by path, before the others
	gate     chan struct{}               // where not nil, each answer waits for one item
}

func newProvider() *provider {
	return &provider{
		issuer:   issuerURL,
		keys:     []map[string]any{jwk("rsa", rsaKey()), jwk("ec", ecKey()), jwk("ed", edKey()), jwk("p384", p384Key()), jwk("p521", p521Key())},
		metadata: map[string]any{"issuer": issuerURL, "jwks_uri": issuerURL + "/keys", "introspection_endpoint": issuerURL + "/introspect"},
		asked:    map[string]int{},
		answers:  map[string]http.HandlerFunc{},
	}
}

func (p *provider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *provider) count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[path]
}

func (p *provider) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	p.asked[r.URL.Path]++
	down, gate := p.down, p.gate
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	if down {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	special := p.answers[r.URL.Path]
	keys, metadata := p.keys, maps.Clone(p.metadata)
	p.mu.Unlock()
	switch {
	case special != nil:
		special(w, r)
	case r.URL.Path == "/keys":
		fmt.Fprint(w, encode(map[string]any{"keys": keys}))
	case r.URL.Path == "/.well-known/openid-configuration":
		fmt.Fprint(w, encode(metadata))
	default:
		http.NotFound(w, r)
	}
}

// options are the smallest that work, with the provider as their only network.
func (p *provider) options(change ...func(*oidc.Options)) oidc.Options {
	o := oidc.Options{
		Resource: identity.Resource{URL: resource},
		Issuers:  []oidc.Issuer{{URL: p.issuer}},
		Client:   &http.Client{Transport: p},
		Logger:   slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// source fails the test where the options cannot work.
func (p *provider) source(t testing.TB, change ...func(*oidc.Options)) *oidc.Source {
	t.Helper()
	s := oidc.New(p.options(change...))
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return s
}

func issuer(change func(*oidc.Issuer)) func(*oidc.Options) {
	return func(o *oidc.Options) { change(&o.Issuers[0]) }
}

func isInvalid(err error) bool { return errors.Is(err, identity.ErrInvalidToken) }
