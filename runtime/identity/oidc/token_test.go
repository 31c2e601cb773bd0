package oidc_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

func TestTokensOfEachAlgorithmHold(t *testing.T) {
	source := newProvider().source(t)
	for _, test := range []struct {
		alg, kid string
		key      any
	}{
		{"RS256", "rsa", rsaKey()}, {"RS384", "rsa", rsaKey()}, {"RS512", "rsa", rsaKey()},
		{"PS256", "rsa", rsaKey()}, {"PS384", "rsa", rsaKey()}, {"PS512", "rsa", rsaKey()},
		{"ES256", "ec", ecKey()}, {"ES384", "p384", p384Key()}, {"ES512", "p521", p521Key()},
		{"EdDSA", "ed", edKey()},
	} {
		for _, header := range []string{
			fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"at+jwt"}`, test.alg, test.kid),
			fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"application/AT+JWT"}`, test.alg, test.kid),
			fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, test.alg, test.kid),
			fmt.Sprintf(`{"alg":%q}`, test.alg), // without an id each key is tried
			// A token's claims about its own keys are ignored.
			fmt.Sprintf(`{"alg":%q,"kid":%q,"jku":"https://evil.example/keys","x5u":"https://evil.example/cert"}`, test.alg, test.kid),
		} {
			id, err := source.Verify(t.Context(), signWith(test.key, header, encode(claims())))
			if err != nil || id.Principal.Subject != "ada" || id.Principal.Issuer != issuerURL ||
				id.Principal.Client != "cli" || id.Expires.IsZero() {
				t.Errorf("%s: %+v, %v", header, id, err)
			}
		}
	}
}

func TestBadTokensAreInvalid(t *testing.T) {
	good := encode(claims())
	public := made(x509.MarshalPKIXPublicKey(&rsaKey().PublicKey))
	rs := func(payload string) string {
		return signWith(rsaKey(), `{"alg":"RS256","kid":"rsa"}`, payload)
	}
	with := func(header string) string { return signWith(rsaKey(), header, good) }
	parts := strings.Split(rs(good), ".")
	for name, token := range map[string]string{
		"alg none": b64([]byte(`{"alg":"none"}`)) + "." +
			b64([]byte(good)) + ".",
		"alg None": b64([]byte(`{"alg":"None"}`)) + "." +
			b64([]byte(good)) + ".",
		"alg none with a signature": with(`{"alg":"none","kid":"rsa"}`),
		"no alg":                    with(`{"kid":"rsa"}`),
		"alg not a string":          with(`{"alg":["RS256"],"kid":"rsa"}`),
		"alg in small letters":      with(`{"alg":"rs256","kid":"rsa"}`),
		"alg under another case":    with(`{"Alg":"RS256","kid":"rsa"}`),
		"alg twice":                 with(`{"alg":"RS256","alg":"none","kid":"rsa"}`),
		"alg twice, escaped":        with(`{"alg":"none","\u0061lg":"RS256","kid":"rsa"}`),
		"HS256 keyed with the public key": signWith(public, `{"alg":"HS256","kid":"rsa"}`,
			good),
		"HS256 keyed with its PEM": signWith(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY",
			Bytes: public}), `{"alg":"HS256","kid":"rsa"}`, good),
		"HS256 keyed with the modulus": signWith(rsaKey().N.Bytes(), `{"alg":"HS256"}`,
			good),
		"RS256 signed by another key": signWith(otherRSA(), `{"alg":"RS256","kid":"rsa"}`,
			good),
		"another key without an id": signWith(otherRSA(), `{"alg":"RS256"}`, good),
		"an id of another type of key": signWith(rsaKey(), `{"alg":"RS256","kid":"ec"}`,
			good),
		"the right key under a wrong id": signWith(rsaKey(), `{"alg":"RS256","kid":"other"}`,
			good),
		"an id that is a number": with(`{"alg":"RS256","kid":1}`),
		"ES256 by a key of P-384": signWith(p384Key(), `{"alg":"ES256","kid":"p384"}`,
			good),
		"ES384 by a key of P-256": signWith(ecKey(), `{"alg":"ES384","kid":"ec"}`,
			good),
		"its own key in the header": signWith(otherRSA(), `{"alg":"RS256","jwk":`+
			encode(jwk("rsa", otherRSA()))+`}`, good),
		"its own key under a known id": signWith(otherRSA(),
			`{"alg":"RS256","kid":"rsa","jwk":`+encode(jwk("rsa", otherRSA()))+`}`, good),
		"its own key by URL": signWith(otherRSA(),
			`{"alg":"RS256","jku":"https://evil.example/keys"}`, good),
		"crit":               with(`{"alg":"RS256","kid":"rsa","crit":["exp"],"exp":1}`),
		"crit that is empty": with(`{"alg":"RS256","kid":"rsa","crit":[]}`),
		"b64":                with(`{"alg":"RS256","kid":"rsa","b64":false,"crit":["b64"]}`),
		"a nested token": signWith(rsaKey(),
			`{"alg":"RS256","kid":"rsa","cty":"JWT"}`, rs(good)),
		"a nested token without cty": rs(rs(good)),
		"an encrypted token": b64([]byte(`{"alg":"RSA-OAEP","enc":"A256GCM"}`)) +
			".a.a.a.a",
		"four parts":   rs(good) + ".a",
		"many parts":   parts[0] + strings.Repeat(".a", 1000),
		"no signature": parts[0] + "." + parts[1] + ".",
		"another payload": parts[0] + "." +
			b64([]byte(encode(claims("sub", "root")))) + "." + parts[2],
		"another header": b64([]byte(`{"alg":"PS256","kid":"rsa"}`)) + "." +
			parts[1] + "." + parts[2],
		"a payload with padding bits":   parts[0] + "." + loosened(parts[1]) + "." + parts[2],
		"a signature with padding bits": parts[0] + "." + parts[1] + "." + loosened(parts[2]),
		"the JSON serialisation": `{"payload":"` + parts[1] + `","protected":"` +
			parts[0] + `","signature":"` + parts[2] + `"}`,
		"white space": parts[0] + "." + parts[1] + "." + parts[2] + "\n",
		"nothing":     "",
		"too long": rs(encode(claims("x",
			strings.Repeat("a", identity.MaxTokenBytes)))),
		"typ of an ID token's kind":         with(`{"alg":"RS256","kid":"rsa","typ":"id+jwt"}`),
		"typ of a logout token":             with(`{"alg":"RS256","kid":"rsa","typ":"logout+jwt"}`),
		"typ of a DPoP proof":               with(`{"alg":"RS256","kid":"rsa","typ":"dpop+jwt"}`),
		"typ not a string":                  with(`{"alg":"RS256","kid":"rsa","typ":{}}`),
		"a header that is a list":           signWith(rsaKey(), `[]`, good),
		"a header that is null":             signWith(rsaKey(), `null`, good),
		"a payload that is a list":          rs(`[]`),
		"a payload that is null":            rs(`null`),
		"a payload that is no JSON":         rs(`{`),
		"a payload with something after it": rs(good + good),
		"a byte order mark":                 rs("\ufeff" + good),
		"sub twice":                         rs(`{"sub":"root",` + good[1:]),
		"aud twice":                         rs(`{"aud":"https://mcp.example/mcp",` + good[1:]),
		"invalid UTF-8": rs(encode(claims("x", "y"))[:1] + "\"\xff\":1," +
			good[1:]),
		"deep claims": rs(`{"x":` + strings.Repeat("[", 500) +
			strings.Repeat("]", 500) + `,` + good[1:]),
		"another issuer":             rs(encode(claims("iss", "https://evil.example"))),
		"the issuer with a slash":    rs(encode(claims("iss", issuerURL+"/"))),
		"no issuer":                  rs(encode(claims("iss", nil))),
		"a list of issuers":          rs(encode(claims("iss", []string{issuerURL}))),
		"another audience":           rs(encode(claims("aud", "https://other.example"))),
		"an audience with a slash":   rs(encode(claims("aud", resource+"/"))),
		"an audience that begins so": rs(encode(claims("aud", "https://mcp.example"))),
		"no audience":                rs(encode(claims("aud", nil))),
		"an empty audience":          rs(encode(claims("aud", ""))),
		"an empty list of audiences": rs(encode(claims("aud", []string{}))),
		"audiences of another type":  rs(encode(claims("aud", []any{resource, 1}))),
		"an audience that is an object": rs(encode(claims("aud",
			map[string]any{resource: true}))),
		"no exp": rs(encode(claims("exp", nil))),
		"exp as a string": rs(encode(claims("exp",
			fmt.Sprint(time.Now().Unix()+600)))),
		"exp null": rs(strings.Replace(good, `"exp":`, `"exp":null,"x":`,
			1)),
		"exp out of range":     rs(encode(claims("exp", json.Number("1e300")))),
		"exp out of any range": rs(encode(claims("exp", json.Number("1e400")))),
		"exp negative":         rs(encode(claims("exp", -1))),
		"exp past": rs(encode(claims("exp",
			time.Now().Add(-time.Hour).Unix()))),
		"nbf ahead": rs(encode(claims("nbf",
			time.Now().Add(time.Hour).Unix()))),
		"nbf as a string": rs(encode(claims("nbf", "0"))),
		"iat ahead": rs(encode(claims("iat",
			time.Now().Add(time.Hour).Unix()))),
		"no sub":                   rs(encode(claims("sub", nil))),
		"an empty sub":             rs(encode(claims("sub", ""))),
		"a sub that is a number":   rs(encode(claims("sub", 7))),
		"a sub under another case": rs(encode(claims("sub", nil, "Sub", "ada"))),
		"bound by DPoP": rs(encode(claims("cnf",
			map[string]any{"jkt": "x"}))),
		"bound by a certificate": rs(encode(claims("cnf",
			map[string]any{"x5t#S256": "x"}))),
		"opaque, and nobody to ask":           "opaque-token",
		"opaque with dots, and nobody to ask": "v4.public.abc",
	} {
		id, err := newProvider().source(t).Verify(t.Context(), token)
		if !errors.Is(err, identity.ErrInvalidToken) || id.Principal.Subject != "" {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
		if err != nil && len(token) > 10 && (strings.Contains(err.Error(), token) ||
			len(err.Error()) > 600) {
			t.Errorf("%s: the error shows the token, or is endless: %v", name, err)
		}
	}
}

// The bytes of a token's parts have one spelling: else a copy of a revoked or recorded token passes
// for another one. encoding/base64 skips line breaks, and without Strict ignores spare bits.
func TestTokensHaveOneSpelling(t *testing.T) {
	source := newProvider().source(t)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, key := range []struct {
		header string
		key    any
	}{{`{"alg":"RS256","kid":"rsa"} `, rsaKey()}, {`{"alg":"ES256","kid":"ec"}`, ecKey()},
		{`{"alg":"EdDSA","kid":"ed"} `, edKey()}} {
		payload := encode(claims())
		for len(payload)%3 == 0 { // so that spare bits are left
			payload += " "
		}
		token := signWith(key.key, key.header, payload)
		if _, err := source.Verify(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(token, ".")
		for i, part := range parts {
			spellings := []string{part + "=", part + "==", part + "\n", part[:7] + "\r\n" +
				part[7:], part + "A", part + "."}
			last := strings.IndexByte(alphabet, part[len(part)-1])
			for bits := 1; bits < map[int]int{2: 16, 3: 4}[len(part)%4]; bits++ {
				spellings = append(spellings, part[:len(part)-1]+string(alphabet[last^bits]))
			}
			if standard := strings.NewReplacer("-", "+", "_", "/").Replace(part); standard != part {
				spellings = append(spellings, standard)
			}
			for _, spelling := range spellings {
				other := slices.Clone(parts)
				other[i] = spelling
				if _, err := source.Verify(t.Context(), strings.Join(other, ".")); !errors.Is(err,
					identity.ErrInvalidToken) {
					t.Errorf("%s: part %d is %q as well as %q: %v", key.header, i, spelling, part,
						err)
				}
			}
		}
	}
}

// loosened is another base64url spelling of the same bytes, where the last character has bits to
// spare.
func loosened(part string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, part[len(part)-1])
	return part[:len(part)-1] + string(alphabet[last^1])
}

func TestLeewayIsHeldToTheSecond(t *testing.T) {
	for name, test := range map[string]struct {
		claim  string
		offset time.Duration // from now
		holds  bool
	}{
		"expired within":      {"exp", -29 * time.Second, true},
		"expired at the edge": {"exp", -30 * time.Second, false},
		"expired":             {"exp", -31 * time.Second, false},
		"not before, within":  {"nbf", 29 * time.Second, true},
		"not before, edge":    {"nbf", 30 * time.Second, true},
		"not before":          {"nbf", 31 * time.Second, false},
		"issued, within":      {"iat", 30 * time.Second, true},
		"issued":              {"iat", 31 * time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			id, err := newProvider().source(t).Verify(t.Context(),
				token(test.claim, time.Now().Add(test.offset).Unix()))
			if test.holds != (err == nil) || err != nil &&
				!errors.Is(err, identity.ErrInvalidToken) {
				t.Errorf("%s: %v", name, err)
			}
			if test.holds && test.claim == "exp" && !id.Expires.Equal(time.Now().Add(time.Second)) {
				t.Errorf("%s: the server would refuse what the leeway admits: it ends at %s", name,
					id.Expires)
			}
		})
	}
}

func TestFractionsOfASecondAreDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		id, err := newProvider().source(t).Verify(t.Context(),
			token("exp", float64(time.Now().Unix())+1.5))
		if err != nil || !id.Expires.Equal(time.Now().Add(31500*time.Millisecond)) {
			t.Errorf("%s, %v", id.Expires, err)
		}
	})
}

func TestMaxLifetimeBoundsWhatAnIssuerGives(t *testing.T) {
	source := newProvider().source(t, issuer(func(i *oidc.Issuer) { i.MaxLifetime = time.Hour }))
	now := time.Now().Unix()
	for name, test := range map[string]struct {
		token string
		holds bool
	}{
		"an hour":     {token("iat", now-10, "exp", now+3590), true},
		"longer":      {token("iat", now-10, "exp", now+3591), false},
		"without iat": {token("iat", nil), false},
	} {
		if _, err := source.Verify(t.Context(), test.token); test.holds != (err == nil) ||
			err != nil && !errors.Is(err, identity.ErrInvalidToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTypeCanBeRequired(t *testing.T) {
	source := newProvider().source(t, issuer(func(i *oidc.Issuer) { i.RequireType = true }))
	for typ, holds := range map[string]bool{`,"typ":"at+jwt"`: true,
		`,"typ":"application/at+jwt"`: true, `,"typ":"JWT"`: false, "": false} {
		_, err := source.Verify(t.Context(), signWith(rsaKey(), `{"alg":"RS256"`+typ+`}`,
			encode(claims())))
		if holds != (err == nil) || err != nil && !errors.Is(err, identity.ErrInvalidToken) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// An issuer signs its ID tokens for a client, and its logout tokens and security events, with the
// same keys.
func TestOtherTokensOfAnIssuerAreNoAccessTokens(t *testing.T) {
	source := newProvider().source(t, issuer(func(i *oidc.Issuer) {
		i.Audiences = []string{"cli"}
	}))
	for _, typ := range []string{"", `,"typ":"JWT"`, `,"typ":"at+jwt"`} {
		for claim, value := range map[string]any{
			"nonce": "n", "at_hash": "x", "c_hash": "x",
			"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}, "sid": "an access token's as well",
		} {
			_, err := source.Verify(t.Context(), signWith(rsaKey(), `{"alg":"RS256","kid":"rsa"`+
				typ+`}`, encode(claims("aud", "cli", claim, value))))
			if holds := claim == "sid" || strings.Contains(typ, "at+"); holds != (err == nil) ||
				err != nil && !isInvalid(err) {
				t.Errorf("%s with %s: %v", typ, claim, err)
			}
		}
	}
}

func TestAlgorithmsCanBeNarrowed(t *testing.T) {
	source := newProvider().source(t, issuer(func(i *oidc.Issuer) {
		i.Algorithms = []string{"ES256"}
	}))
	if _, err := source.Verify(t.Context(), token()); !errors.Is(err, identity.ErrInvalidToken) {
		t.Errorf("%v", err)
	}
	if _, err := source.Verify(t.Context(), signWith(ecKey(), `{"alg":"ES256","kid":"ec"}`,
		encode(claims()))); err != nil {
		t.Errorf("%v", err)
	}
}

func TestOneOfSeveralAudiencesIsEnough(t *testing.T) {
	source := newProvider().source(t, issuer(func(i *oidc.Issuer) {
		i.Audiences = []string{"api", "other"}
	}))
	for _, aud := range []any{"api", "other", []string{"x", "api"}} {
		if _, err := source.Verify(t.Context(), token("aud", aud)); err != nil {
			t.Errorf("%v: %v", aud, err)
		}
	}
	if _, err := source.Verify(t.Context(), token()); !errors.Is(err, identity.ErrInvalidToken) {
		t.Errorf("the resource's URL is no audience where others are configured: %v", err)
	}
}

// A client whose URL has catalogs requests a token for this URL. The token of another resource is
// not accepted for such parameters.
func TestAudienceMayHaveTheCatalogsOfAClient(t *testing.T) {
	plain, other := newProvider().source(t), newProvider().source(t, issuer(func(i *oidc.Issuer) {
		i.Audiences = []string{"api", resource + "?catalog=mine"}
	}))
	for _, test := range []struct {
		aud          any
		plain, other bool
	}{
		{resource, true, false},
		{resource + "?catalog=ops", true, false},
		{resource + "?catalog=mine", true, true},
		{resource + "?readonly=true&catalog=night%20shift,a&catalog=b", true, false},
		{[]string{"x", resource + "?readonly"}, true, false},
		{resource + "?", false, false},
		{resource + "?catalog=ops&", false, false},
		{resource + "?tenant=x", false, false},
		{resource + "?catalog=ops&tenant=x", false, false},
		{resource + "?catalog_id=1", false, false},
		{resource + "?Catalog=ops", false, false},
		{resource + "?catalog=ops#x", false, false},
		{resource + "?catalog=%zz", false, false},
		{resource + "?catalog=" + strings.Repeat("a", 2000), false, false},
		{resource + "/?catalog=ops", false, false},
		{resource + "/x?catalog=ops", false, false},
		{"https://other.example/mcp?catalog=ops", false, false},
		{"https://other.example/?resource=" + resource + "?catalog=ops", false, false},
		{"api?catalog=ops", false, false},
		{"api", false, true},
	} {
		for source, holds := range map[*oidc.Source]bool{plain: test.plain, other: test.other} {
			if _, err := source.Verify(t.Context(), token("aud", test.aud)); (err == nil) != holds ||
				err != nil && !isInvalid(err) {
				t.Errorf("%v: %v, want %v", test.aud, err, holds)
			}
		}
	}
}
