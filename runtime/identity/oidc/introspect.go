package oidc

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Method is how this server names itself to an issuer (RFC 6749, section 2.3.1).
type Method int

// The methods.
const (
	Basic Method = iota // client_secret_basic: by the Authorization header
	Post                // client_secret_post: by the form
)

// errTooManyQuestions is the error for a token that had to wait too long for others.
var errTooManyQuestions = errors.New("too many introspection requests are waiting: find out " +
	"why the server is slow, or which client sends so many tokens")

const (
	// maxCached bounds the responses that are kept.
	maxCached = 4096
	// maxQueries bounds the concurrent queries: anybody can send what looks like a token.
	maxQueries = 32
	// maxWaiting bounds the queries that run or wait for their turn. One more fails at once: it
	// would hardly have its turn in time.
	maxWaiting = 8 * maxQueries
	// endless is when streams that came with a token without an end have to show it again.
	endless = time.Hour
)

// Introspection configures the introspection of opaque tokens (RFC 7662).
type Introspection struct {
	// URL is the introspection endpoint. Empty is the one of the issuer's metadata.
	URL string
	// ClientID is this server's own at the issuer. Required.
	ClientID string
	// ClientSecret authenticates this server at the issuer. Required.
	ClientSecret string
	// Method is how both are sent. Zero is Basic.
	Method Method
	// AllowMissingAudience accepts responses without an audience, from issuers that report a token
	// as active only to the servers that it is for. A wrong audience is refused all the same. So is
	// a response that does not report an access token either (token_type): issuers report refresh
	// tokens as active as well.
	AllowMissingAudience bool
	// ClientSubject makes client_id the subject of a token without sub, for issuers that name no
	// subject for client credentials. Set it only if no user can have the name of a client. Without
	// it such a token is refused.
	ClientSubject bool
	// Cache is how long a response about a valid token is kept, and so for how long a revoked token
	// is accepted, at most 5 minutes. Zero introspects for each request.
	Cache time.Duration
}

// introspector queries one issuer: once at a time for each token, for all requests with it, and no
// longer than one of them waits.
type introspector struct {
	Introspection
	issuer *issuer
	leeway time.Duration
	turns  chan struct{} // holds one item for each running query
	cache  *loader.Loader[*opaque, map[string]any]
}

// opaque is a token to introspect.
type opaque struct {
	hash  [sha256.Size]byte
	token string // empty once its query has begun, so that no kept response holds it
}

func newIntrospector(settings Introspection, i *issuer, leeway time.Duration) *introspector {
	n := &introspector{
		Introspection: settings, issuer: i, leeway: leeway, turns: make(chan struct{}, maxQueries),
	}
	n.cache = loader.New(loader.Config[*opaque, map[string]any]{
		Key:  func(o *opaque) string { return string(o.hash[:]) },
		Load: n.load, Keep: n.keep, Size: maxCached, MaxLoads: maxWaiting, Cancel: true,
	})
	return n
}

// introspect identifies the caller of an opaque token.
func (s *Source) introspect(ctx context.Context, token string) (identity.Identity, error) {
	for _, i := range s.issuers {
		if i.introspector == nil {
			continue
		}
		claims, err := i.introspector.claims(ctx, token)
		if err != nil {
			return identity.Identity{}, err
		}
		expires, err := i.introspector.check(claims)
		if err != nil {
			return identity.Identity{}, err
		}
		client, _ := claims["client_id"].(string)
		if i.introspector.ClientSubject && claims["sub"] == nil {
			claims = maps.Clone(claims)
			claims["sub"] = client
		}
		return i.identity(claims, expires, "introspection")
	}
	return identity.Identity{}, refuse("it is not a JWT, and no issuer has Introspection")
}

// claims returns the issuer's claims about a token, from now or a while ago.
func (n *introspector) claims(ctx context.Context, token string) (map[string]any, error) {
	e, err := n.cache.Get(ctx, &opaque{sha256.Sum256([]byte(token)), token})
	switch {
	case err == nil:
		return e.Value, nil
	case errors.Is(err, identity.ErrInvalidToken):
		return nil, err
	case errors.Is(err, loader.ErrBusy):
		err = errTooManyQuestions
	}
	return nil, fmt.Errorf("introspecting a token at %s: %w", n.issuer.settings.URL, err)
}

// load queries the issuer when it is the token's turn.
func (n *introspector) load(ctx context.Context, o *opaque) (map[string]any, error) {
	token := o.token
	o.token = ""
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	select {
	case n.turns <- struct{}{}:
		defer func() { <-n.turns }()
		return n.request(ctx, token)
	case <-ctx.Done():
		return nil, errTooManyQuestions
	}
}

// keep returns how long a response counts.
func (n *introspector) keep(_ *opaque, claims map[string]any, err error) time.Duration {
	if err != nil {
		return 0
	}
	expires, err := n.check(claims)
	if err != nil {
		return 0
	}
	return min(n.Cache, time.Until(expires))
}

// request sends an introspection request about a token.
func (n *introspector) request(ctx context.Context, token string) (map[string]any, error) {
	to, err := n.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	id, secret := n.ClientID, n.ClientSecret
	if n.Method == Post {
		form.Set("client_id", id)
		form.Set("client_secret", secret)
		id, secret = "", ""
	}
	claims, err := n.issuer.web.post(ctx, to, form, id, secret)
	if s := status(0); errors.As(err, &s) &&
		(s == http.StatusUnauthorized || s == http.StatusForbidden) {
		return nil, fmt.Errorf("%s: %w: it rejects this server's ClientID and ClientSecret", to, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", to, err)
	}
	active, ok := claims["active"].(bool)
	if !ok {
		return nil, fmt.Errorf("%s: the response does not contain active", to)
	}
	if !active {
		return nil, refuse("%s reports it as not active", n.issuer.settings.URL)
	}
	return claims, nil
}

// endpoint is the introspection endpoint.
func (n *introspector) endpoint(ctx context.Context) (string, error) {
	if n.URL != "" {
		return n.URL, nil
	}
	m, err := n.issuer.metadata.get(ctx)
	if err != nil {
		return "", err
	}
	if m.value.introspection == "" {
		return "", fmt.Errorf("the metadata of %s has no introspection_endpoint: set Introspection.URL",
			n.issuer.settings.URL)
	}
	return m.value.introspection, nil
}

// check checks the issuer's response about an active token (RFC 7662, section 2.2) and returns when
// the token ends.
func (n *introspector) check(c map[string]any) (time.Time, error) {
	if iss, present := c["iss"]; present && iss != any(n.issuer.settings.URL) {
		return time.Time{}, refuse("%s reports another issuer", n.issuer.settings.URL)
	}
	kind, typed := c["token_type"]
	if typed {
		// Some write the kind of token, access_token, in place of its type.
		if s, _ := kind.(string); !strings.EqualFold(s, "Bearer") && s != "access_token" {
			return time.Time{}, refuse("it was sent as a bearer token, but has another type")
		}
	}
	if _, present := c["aud"]; present || !n.AllowMissingAudience {
		if err := n.issuer.checkAudience(c); err != nil {
			return time.Time{}, err
		}
	} else if !typed {
		return time.Time{}, refuse("%s reports neither an audience (aud) nor that it is an access "+
			"token (token_type)", n.issuer.settings.URL)
	}
	expires, err := n.issuer.checkTimes(c, n.leeway)
	if err == nil && expires.IsZero() {
		expires = time.Now().Add(endless)
	}
	return expires, err
}
