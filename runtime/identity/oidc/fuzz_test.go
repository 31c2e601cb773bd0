package oidc_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/base64"
	"strings"
	"testing"
)

// Whatever is sent, what holds was signed by a published key: its header and payload are, to the
// byte, those of a token that was made with one, and its signature has no other spelling. The keys
// are the same in every process, since the processes that fuzz take each other's tokens.
func FuzzNoTokenVerifiesThatWasNotSigned(f *testing.F) {
	seed := []byte("a seed of thirty-two characters.")
	ed := ed25519.NewKeyFromSeed(seed)
	ec := made(ecdsa.ParseRawPrivateKey(elliptic.P256(), seed))
	p := newProvider()
	p.keys = []map[string]any{jwk("ed", ed), jwk("ec", ec), jwk("rsa", rsaKey())}
	s := p.source(f)

	const lasting = `{"iss":"https://login.example","sub":"ada","aud":"https://mcp.example/mcp","exp":99999999999}`
	signed := map[string]bool{}
	for _, k := range []struct {
		header string
		key    any
	}{
		{`{"alg":"ES256","kid":"ec","typ":"at+jwt"}`, ec}, {`{"alg":"ES256"}`, ec},
		{`{"alg":"EdDSA","kid":"ed"}`, ed}, {`{"alg":"EdDSA","jku":"https://evil.example"}`, ed},
	} {
		token := signWith(k.key, k.header, lasting)
		signed[token[:strings.LastIndexByte(token, '.')]] = true
		if _, err := s.Verify(context.Background(), token); err != nil {
			f.Fatal(err)
		}
		f.Add(token)
		signature := strings.LastIndexByte(token, '.') + 1
		f.Add(token[:signature] + loosened(token[signature:]))
	}
	f.Add(signWith(otherRSA(), `{"alg":"RS256","kid":"rsa"}`, lasting))
	f.Add(signWith([]byte(ed.Public().(ed25519.PublicKey)), `{"alg":"HS256","kid":"ed"}`, lasting))
	f.Add(b64([]byte(`{"alg":"none"}`)) + "." + b64([]byte(lasting)) + ".")
	f.Add("opaque")
	f.Fuzz(func(t *testing.T, token string) {
		id, err := s.Verify(context.Background(), token)
		if (err == nil) != (id.Principal.Subject != "") {
			t.Fatalf("%+v, %v", id, err)
		}
		if err == nil && !signed[token[:strings.LastIndexByte(token, '.')]] {
			t.Fatalf("%s was signed by nobody", token)
		}
		if signature := token[strings.LastIndexByte(token, '.')+1:]; err == nil {
			if raw, _ := base64.RawURLEncoding.DecodeString(signature); b64(raw) != signature {
				t.Fatalf("%s has a signature with another spelling", token)
			}
		}
		if err != nil && len(token) > 20 && strings.Contains(err.Error(), token) {
			t.Fatalf("the error shows the token: %v", err)
		}
	})
}
