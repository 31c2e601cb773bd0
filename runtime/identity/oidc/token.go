package oidc

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// acceptable are the signatures that can be verified with published keys (RFC 7518, section 3.1,
// and RFC 8037). "none" and the HMACs, whose key a public one could be taken for, are no choice.
func acceptable() []string {
	return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512",
		"EdDSA"}
}

// strict refuses a second spelling of the same bytes.
var strict = base64.RawURLEncoding.Strict()

// limits bound what a token's header or payload, or a provider's answer, may hold.
var limits = decode.Limits{Bytes: maxResponseBytes, Depth: 16, Values: 20_000}

// object reads a JSON object in the one way in which everybody reads it: nothing twice, names
// by their exact case, numbers as they are written.
func object(doc []byte) (map[string]any, error) {
	if err := decode.Scan(doc, limits); err != nil {
		// its text may quote the document
		return nil, errors.New("not JSON, or ambiguous JSON")
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var o map[string]any
	if err := d.Decode(&o); err != nil || o == nil {
		return nil, errors.New("not a JSON object")
	}
	return o, nil
}

// split cuts a token in its parts and reports whether it is one of JOSE: two dots or more, and a
// JSON object in front. All others are opaque. A token of JOSE is never taken for an opaque one,
// so that one that does not hold has no second chance.
func split(token string) ([]string, bool) {
	parts := strings.SplitN(token, ".", 6)
	if len(parts) < 3 {
		return nil, false
	}
	header, err := base64.RawURLEncoding.DecodeString(parts[0])
	return parts, err == nil && bytes.HasPrefix(bytes.TrimLeft(header, " \t\r\n"), []byte("{"))
}

// header is what counts of a JWS header.
type header struct {
	alg, kid, typ string
}

// readHeader reads a JWT's header and refuses critical extensions.
func readHeader(part string) (header, error) {
	doc, err := strict.DecodeString(part)
	if err != nil {
		return header{}, refuse("its header is not base64url")
	}
	o, err := object(doc)
	if err != nil {
		return header{}, refuse("its header is %w", err)
	}
	for _, name := range []string{"crit", "b64"} { // RFC 7515, section 4.1.11; RFC 7797, section 7
		if _, ok := o[name]; ok {
			return header{}, refuse("its header has %s, but no extension is supported", name)
		}
	}
	if _, ok := o["cty"]; ok { // RFC 7519, section 5.2: what is nested
		return header{}, refuse("its content is not a set of claims (cty)")
	}
	var h header
	for _, field := range []struct {
		name string
		to   *string
	}{{"alg", &h.alg}, {"kid", &h.kid}, {"typ", &h.typ}} {
		if v, ok := o[field.name]; ok {
			if *field.to, ok = v.(string); !ok {
				return header{}, refuse("the %s of its header is not a string", field.name)
			}
		}
	}
	return h, nil
}

// mediaType is the type of the token, whose "application/" may be left out, without regard to case
// (RFC 7515, section 4.1.9).
func (h header) mediaType() string {
	return strings.TrimPrefix(strings.ToLower(h.typ), "application/")
}

// typed reports whether the header's type is that of an access token (RFC 9068, section 2.1).
func (h header) typed() bool { return h.mediaType() == "at+jwt" }

// check checks the header by an issuer's settings.
func (h header) check(s Issuer) error {
	if !slices.Contains(s.Algorithms, h.alg) {
		return refuse("it is signed with %s, which is not an accepted algorithm",
			quoted(h.alg))
	}
	switch typ := h.mediaType(); {
	case h.typed():
	case s.RequireType:
		return refuse("its type is %s and not at+jwt", quoted(h.typ))
	case typ != "" && typ != "jwt":
		return refuse("its type is %s, which is not the type of an access token", quoted(h.typ))
	}
	return nil
}

// foreign are claims that other tokens of the same issuer and key have, and access tokens do not:
// ID tokens (OpenID Connect Core 1.0, sections 2 and 3.3.2.11), logout tokens and security events
// (RFC 8417, section 2.2).
var foreign = [...]string{"nonce", "at_hash", "c_hash", "events"}

// checkKind refuses what its claims show to be no access token, where its header leaves open what
// it is.
func (h header) checkKind(c map[string]any) error {
	if h.typed() {
		return nil
	}
	for _, name := range foreign {
		if _, present := c[name]; present {
			return refuse("it has the claim %s without the type at+jwt, so it is an ID token or another "+
				"token that is not an access token", name)
		}
	}
	return nil
}

// verifyJWT verifies a token that claims to be a signed one.
func (s *Source) verifyJWT(ctx context.Context, token string,
	parts []string) (identity.Identity, error) {
	if len(parts) != 3 {
		return identity.Identity{},
			refuse("it has other parts than header, payload and signature; encrypted tokens are not " +
				"supported")
	}
	if strings.ContainsAny(token, "\r\n") { // which encoding/base64 skips
		return identity.Identity{}, refuse("it has line breaks")
	}
	h, err := readHeader(parts[0])
	if err != nil {
		return identity.Identity{}, err
	}
	payload, err := strict.DecodeString(parts[1])
	if err != nil {
		return identity.Identity{}, refuse("its payload is not base64url")
	}
	if _, err := strict.DecodeString(parts[2]); err != nil {
		return identity.Identity{}, refuse("its signature is not base64url")
	}
	c, err := object(payload)
	if err != nil {
		return identity.Identity{}, refuse("its payload is %w", err)
	}
	// Until the signature is checked, iss does no more than choose whose keys to check it with.
	iss, _ := c["iss"].(string)
	i := s.issuer(iss)
	if i == nil {
		return identity.Identity{}, refuse("its issuer %s is not configured",
			quoted(iss))
	}
	if err := h.check(i.settings); err != nil {
		return identity.Identity{}, err
	}
	signed, err := jose.ParseSignedCompact(token,
		[]jose.SignatureAlgorithm{jose.SignatureAlgorithm(h.alg)})
	if err != nil {
		return identity.Identity{}, refuse("it is not a signed token")
	}
	issued, dated, err := date(c, "iat")
	if err != nil {
		return identity.Identity{}, err
	}
	if issued = issued.Add(s.leeway); !dated {
		issued = time.Now()
	}
	verified, err := i.verify(ctx, signed, h, issued)
	if err != nil {
		return identity.Identity{}, err
	}
	if !bytes.Equal(verified, payload) {
		return identity.Identity{}, refuse("its payload is ambiguous")
	}
	if err := h.checkKind(c); err != nil {
		return identity.Identity{}, err
	}
	expires, err := i.checkJWT(c, s.leeway)
	if err != nil {
		return identity.Identity{}, err
	}
	return i.identity(c, expires, "JWT")
}

// issuer returns the configured issuer of a name, or nil.
func (s *Source) issuer(url string) *issuer {
	for _, i := range s.issuers {
		if i.settings.URL == url {
			return i
		}
	}
	return nil
}

// verify returns the payload of a token that one of the issuer's keys has signed. issued is the
// latest time at which the token may have been issued. A key that is not known may be a new one.
// So a token is refused only if the keys were fetched after the request arrived. In the pause
// between two fetches it is also refused if they were fetched after the token was issued.
func (i *issuer) verify(ctx context.Context, signed *jose.JSONWebSignature, h header,
	issued time.Time) ([]byte, error) {
	arrived := time.Now()
	held, err := i.keys.get(ctx)
	for ; err == nil; held, err = i.newer(ctx, held) {
		known := false
		for _, k := range held.value {
			if !k.suits(h) {
				continue
			}
			known = true
			if payload, err := signed.Verify(k.public); err == nil {
				return payload, nil
			}
		}
		if known && h.kid != "" || !held.began.Before(arrived) ||
			issued.Before(held.began) && i.keys.resting(i.keys.state()) {
			return nil, refuse("no key of %s with the id %s and the algorithm %s verifies its signature",
				i.settings.URL, quoted(h.kid), h.alg)
		}
	}
	return nil, err
}

// newer returns keys that were fetched after those that are held. It waits for the end of a pause
// if that is near, since many clients do not try again. The error is not about the token.
func (i *issuer) newer(ctx context.Context, held held[[]key]) (newer held[[]key], err error) {
	select {
	case i.unknown <- struct{}{}:
		defer func() { <-i.unknown }()
	default:
		return held, errors.New("the key of a token is unknown, and too many such tokens are waiting")
	}
	rest := i.keys.state().rest()
	if rest <= patience {
		select {
		case <-time.After(rest):
		case <-ctx.Done():
		}
		newer, err = i.keys.renew(ctx, held)
	}
	switch {
	case err != nil:
		return held, err
	case newer.loaded.After(held.loaded):
		return newer, nil
	case i.keys.state().failure != nil:
		return held, fmt.Errorf("the key of a token is unknown, and fetching the keys failed: %w",
			i.keys.state().failure)
	}
	return held, fmt.Errorf("the key of a token is unknown, and the keys are fetched again only in %s",
		rest.Round(time.Second))
}
