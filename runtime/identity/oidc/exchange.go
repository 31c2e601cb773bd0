package oidc

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
)

const (
	// exchangeMargin is how long before its end an exchanged token is not used any more.
	exchangeMargin   = 30 * time.Second
	exchangeTimeout  = 10 * time.Second
	maxExchanged     = 4096 // tokens that are kept
	maxExchanges     = 32   // at a time; others wait for exchangeTimeout
	assertionPeriod  = 5 * time.Minute
	typeAccessToken  = "urn:ietf:params:oauth:token-type:access_token"
	typeJWT          = "urn:ietf:params:oauth:token-type:jwt"
	grantExchange    = "urn:ietf:params:oauth:grant-type:token-exchange"
	grantJWTBearer   = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	typeJWTAssertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
)

// ExchangeOptions configure an [Exchange].
type ExchangeOptions struct {
	// TokenURL is the token endpoint: https, or http on a loopback address. Redirects are not
	// followed. Required.
	TokenURL string
	// ClientID is this server's own at the endpoint. Required.
	ClientID string
	// ClientSecret authenticates this server. Empty needs PrivateKey.
	ClientSecret string
	// Method is how the secret is sent. OnBehalfOf uses Post always. Zero is Basic.
	Method Method
	// PrivateKey authenticates this server in place of a secret. Nil needs ClientSecret.
	PrivateKey *PrivateKey
	// OnBehalfOf uses the on-behalf-of grant of Microsoft Entra (jwt-bearer) in place of RFC 8693.
	// It takes Scopes alone.
	OnBehalfOf bool
	// Target is what the tokens are for. Required.
	Target
	// Client calls the endpoint. Nil is a client of this package's own.
	Client *http.Client
	// Logger receives the error codes of the endpoint. Nil is slog.Default().
	Logger *slog.Logger
}

// Target is what an exchanged token is for, in the terms of RFC 8693, section 2.1. One of its lists
// must have an element.
type Target struct {
	// Audiences are logical names of services (audience). Empty sends none.
	Audiences []string
	// Resources are URLs of services (resource; RFC 8707). Empty sends none.
	Resources []string
	// Scopes are the scopes of the exchanged token (scope). Empty sends none.
	Scopes []string
}

// PrivateKey authenticates a client by a signed JWT (private_key_jwt; RFC 7523).
type PrivateKey struct {
	// Key is an *rsa.PrivateKey, *ecdsa.PrivateKey or ed25519.PrivateKey. Required.
	Key crypto.Signer
	// ID is kid of the header. Empty sends none.
	ID string
	// Algorithm is one of those that [Issuer].Algorithms lists. Entra documents PS256. Empty is
	// RS256, EdDSA, or that of the curve.
	Algorithm string
	// Certificate is named in the header (x5t#S256), as Entra needs it. Nil names none.
	Certificate *x509.Certificate
	// Audience is aud of the JWT. Empty is the URL of the token endpoint.
	Audience string
}

// Exchange gets access tokens for other services, which act for the caller of a handler: by RFC
// 8693, or by Entra's on-behalf-of grant. It needs the caller's token (Options.KeepToken, or
// identity.KeepToken).
//
// A token is exchanged when a handler first uses it. Concurrent calls share one exchange. Tokens
// stay in memory until shortly before they or the caller's token expire. Their key is issuer,
// subject, client, digest of the caller's token, and target. It is safe for concurrent use.
type Exchange struct {
	o      ExchangeOptions
	signer jose.Signer // nil with a secret
	web    *http.Client
	cache  *loader.Loader[*exchanged, *oauth2.Token]
}

// ErrNoToken reports that there is no caller's token to exchange: the caller is anonymous, the
// source does not keep tokens, or the call is over.
var ErrNoToken = errors.New("the caller has no token to exchange")

// ExchangeError reports that the token endpoint gave no token. Its text is safe for callers.
type ExchangeError struct {
	Code string // of RFC 6749, section 5.2, such as "invalid_grant"; empty without one
}

// Error returns a text without the code, for callers.
func (e *ExchangeError) Error() string { return "no access to another service for this caller" }

// NewExchange returns an exchange. Its errors name each option that cannot work.
func NewExchange(o ExchangeOptions) (*Exchange, error) {
	p := problems{within: "ExchangeOptions."}
	p.place("TokenURL", checkEndpoint(o.TokenURL))
	if o.ClientID == "" {
		p.add("ClientID is empty: register this server with the issuer")
	}
	if (o.ClientSecret == "") == (o.PrivateKey == nil) {
		p.add("ClientSecret or PrivateKey: set one of them")
	}
	if o.Method != Basic && o.Method != Post {
		p.add("Method is %d: use oidc.Basic or oidc.Post", int(o.Method))
	}
	o.checkTarget(&p)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	x := &Exchange{o: o, web: newFetcher(o.Client).client}
	if o.PrivateKey != nil {
		var err error
		if x.signer, err = o.PrivateKey.signer(); err != nil {
			p.add("PrivateKey %w", err)
		}
	}
	x.cache = loader.New(loader.Config[*exchanged, *oauth2.Token]{
		Key: func(e *exchanged) string { return string(e.key[:]) }, Load: x.load,
		Keep: keepExchanged,
		Size: maxExchanged, Timeout: exchangeTimeout, MaxLoads: maxExchanges, Cancel: true,
	})
	if err := errors.Join(p.all...); err != nil {
		return nil, err
	}
	return x, nil
}

func (o ExchangeOptions) checkTarget(p *problems) {
	all := slices.Concat(o.Audiences, o.Resources, o.Scopes)
	if len(all) == 0 || slices.Contains(all, "") {
		p.add("Target is empty, or has an empty name: write the target of the tokens")
	}
	for _, scope := range o.Scopes {
		if !isScope(scope) {
			p.add("Scopes has %q: use visible ASCII without quotes and backslashes", scope)
		}
	}
	if o.OnBehalfOf && (len(o.Scopes) == 0 || len(o.Audiences)+len(o.Resources) > 0) {
		p.add("OnBehalfOf takes Scopes, and neither Audiences nor Resources")
	}
}

// For returns an exchange for another target, with the same endpoint, client and kept tokens.
func (x *Exchange) For(t Target) (*Exchange, error) {
	other := *x
	other.o.Target = t
	p := problems{within: "For: "}
	other.o.checkTarget(&p)
	if err := errors.Join(p.all...); err != nil {
		return nil, err
	}
	return &other, nil
}

// Client returns an HTTP client that calls a service for the caller of a handler. ctx is the
// handler's. After its call each request fails. The client does not follow redirects to another
// scheme or host, since these would get the token too.
func (x *Exchange) Client(ctx context.Context) *http.Client {
	return &http.Client{
		Transport: bounded{ctx, &oauth2.Transport{Source: x.TokenSource(ctx)}},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			from := via[0].URL
			if r.URL.Scheme != from.Scheme || r.URL.Host != from.Host || len(via) >= 10 {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
}

// TokenSource returns the tokens for the caller of a handler. ctx is the handler's. The error is
// [ErrNoToken], that of ctx, or an [*ExchangeError].
func (x *Exchange) TokenSource(ctx context.Context) oauth2.TokenSource { return source{x, ctx} }

type source struct {
	x   *Exchange
	ctx context.Context
}

// Token implements oauth2.TokenSource.
func (s source) Token() (*oauth2.Token, error) {
	held := credential.From(s.ctx)
	id, _ := held.Identity(s.ctx)
	subject, _ := id.Value.Content().(identity.Token)
	if subject.Reveal() == "" {
		return nil, ErrNoToken
	}
	got, err := s.x.cache.Get(s.ctx, s.x.input(id, subject.Reveal()))
	if ended := s.ctx.Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, s.x.failed(s.ctx, held.RequestID(), id, err)
	}
	token := *got.Value // another caller of the call may change it
	if !held.Hide(token.AccessToken) {
		return nil, ErrNoToken
	}
	return &token, nil
}

// failed logs why there is no token, without words of the endpoint: they may hold one.
func (x *Exchange) failed(ctx context.Context, requestID string, id identity.Identity,
	err error) error {
	failure := &ExchangeError{}
	attrs := []any{"request_id", requestID, "principal", id.Principal.Subject}
	var refused *oauth2.RetrieveError
	var misfit misfit
	switch {
	case errors.As(err, &refused):
		failure.Code = errorCode(refused.ErrorCode)
		attrs = append(attrs, "status", refused.Response.StatusCode, "code", failure.Code)
		var entra struct {
			Codes []int `json:"error_codes"`
		}
		if json.Unmarshal(refused.Body, &entra) == nil && len(entra.Codes) > 0 {
			attrs = append(attrs, "error_codes", entra.Codes)
		}
	case errors.As(err, &misfit):
		attrs = append(attrs, "error", string(misfit))
	case errors.Is(err, loader.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		attrs = append(attrs, "error", "no response in time")
	default:
		attrs = append(
			attrs, "error", "the endpoint is unreachable, or its response is malformed")
	}
	x.o.Logger.WarnContext(ctx, "a token exchange failed", attrs...)
	return failure
}

// errorCode returns a code of RFC 6749, section 5.2, as far as it looks like one.
func errorCode(code string) string {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
	}
	if len(code) > 64 || strings.ContainsFunc(code, odd) {
		return "(not shown)"
	}
	return code
}

// exchanged is a token to exchange.
type exchanged struct {
	key     [sha256.Size]byte
	subject string // empty once its exchange has begun, so that no kept entry holds it
	expires time.Time
	target  Target
}

func (x *Exchange) input(id identity.Identity, subject string) *exchanged {
	p, digest := id.Principal, sha256.Sum256([]byte(subject))
	// texts
	parts, _ := json.Marshal([]any{p.Issuer, p.Subject, p.ClientID(), digest[:], x.o.Target})
	return &exchanged{sha256.Sum256(parts), subject, id.Expires, x.o.Target}
}

// misfit is why a response is not used, in words of this package.
type misfit string

func (m misfit) Error() string { return string(m) }

// load exchanges a token.
func (x *Exchange) load(ctx context.Context, e *exchanged) (*oauth2.Token, error) {
	subject := e.subject
	e.subject = ""
	form := url.Values{"grant_type": {grantExchange}, "subject_token": {subject},
		"subject_token_type": {typeAccessToken}, "requested_token_type": {typeAccessToken},
		"audience": e.target.Audiences, "resource": e.target.Resources}
	style := oauth2.AuthStyleInHeader
	if x.o.OnBehalfOf {
		form = url.Values{"grant_type": {grantJWTBearer}, "assertion": {subject},
			"requested_token_use": {"on_behalf_of"}}
	}
	if x.o.OnBehalfOf || x.o.Method == Post || x.signer != nil {
		style = oauth2.AuthStyleInParams
	}
	if x.signer != nil {
		assertion, err := x.assertion()
		if err != nil {
			return nil, misfit("cannot sign the client's JWT")
		}
		form.Set("client_assertion_type", typeJWTAssertion)
		form.Set("client_assertion", assertion)
	}
	c := clientcredentials.Config{ClientID: x.o.ClientID, ClientSecret: x.o.ClientSecret,
		TokenURL: x.o.TokenURL, Scopes: e.target.Scopes, EndpointParams: form, AuthStyle: style}
	t, err := c.Token(context.WithValue(ctx, oauth2.HTTPClient, x.web))
	if err != nil {
		return nil, err
	}
	issued, _ := t.Extra("issued_token_type").(string)
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case !strings.EqualFold(t.TokenType, "Bearer"):
		return nil, misfit("the token is not a bearer token (token_type)")
	case !x.o.OnBehalfOf && issued != typeAccessToken && issued != typeJWT:
		return nil, misfit("the token is not an access token (issued_token_type)")
	case strings.ContainsFunc(t.AccessToken, invisible):
		return nil, misfit("the token has characters that are not allowed in a header")
	case t.AccessToken == subject:
		return nil, misfit("the endpoint returned the caller's own token")
	case !t.Expiry.IsZero() && !time.Now().Before(t.Expiry):
		return nil, misfit("the token has expired (expires_in)")
	}
	if !e.expires.IsZero() && e.expires.Before(t.Expiry) {
		t.Expiry = e.expires
	}
	return &oauth2.Token{AccessToken: t.AccessToken, TokenType: "Bearer", Expiry: t.Expiry}, nil
}

// keepExchanged returns how long a token is used for further calls.
func keepExchanged(e *exchanged, t *oauth2.Token, err error) time.Duration {
	if err != nil || t.Expiry.IsZero() {
		return 0
	}
	keep := time.Until(t.Expiry) - exchangeMargin
	if e.expires.IsZero() { // it may be revoked at any time
		keep = min(keep, maxCache)
	}
	return keep
}

// signer returns what signs with the key.
func (k *PrivateKey) signer() (jose.Signer, error) {
	alg := k.Algorithm
	if alg == "" {
		switch key := k.Key.(type) {
		case *ecdsa.PrivateKey:
			alg = map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[key.Params().BitSize]
		case ed25519.PrivateKey:
			alg = "EdDSA"
		default:
			alg = "RS256"
		}
	}
	if !slices.Contains(acceptable(), alg) {
		return nil, fmt.Errorf("has the Algorithm %q: use some of %s", alg,
			strings.Join(acceptable(), ", "))
	}
	options := (&jose.SignerOptions{}).WithType("JWT")
	if k.Certificate != nil {
		sum := sha256.Sum256(k.Certificate.Raw)
		options.WithHeader("x5t#S256", base64.RawURLEncoding.EncodeToString(sum[:]))
	}
	return jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(alg),
		Key: jose.JSONWebKey{Key: k.Key, KeyID: k.ID}}, options)
}

// assertion returns a JWT that authenticates the client (RFC 7523, section 3).
func (x *Exchange) assertion() (string, error) {
	now := time.Now()
	claims, err := json.Marshal(map[string]any{"iss": x.o.ClientID, "sub": x.o.ClientID,
		"aud": cmp.Or(x.o.PrivateKey.Audience, x.o.TokenURL), "jti": rand.Text(), "iat": now.Unix(),
		"nbf": now.Unix(),
		"exp": now.Add(assertionPeriod).Unix()})
	if err != nil {
		return "", err
	}
	signed, err := x.signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// bounded ends requests, with the bodies of their responses, when a context ends.
type bounded struct {
	ctx  context.Context
	next http.RoundTripper
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	res, err := b.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		stop()
		cancel(nil)
		return nil, err
	}
	res.Body = ending{res.Body, func() { stop(); cancel(nil) }}
	return res, nil
}

type ending struct {
	io.ReadCloser
	end func()
}

func (e ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}
