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
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Method is how this server names itself to an issuer (RFC 6749, section 2.3.1).
type Method int

// The methods.
const (
	Basic Method = iota // client_secret_basic: by the Authorization header
	Post                // client_secret_post: by the form
)

// errTooManyQuestions is the error for a token that could not be asked about, since others are.
var errTooManyQuestions = errors.New("too many questions about tokens wait for it: find out why it is slow, or who sends so many tokens")

const (
	// maxCached bounds the answers that are remembered.
	maxCached = 4096
	// endless is when streams that came with a token without an end have to show it again.
	endless = time.Hour
)

// Introspection asks an issuer about opaque tokens (RFC 7662).
type Introspection struct {
	// URL is the endpoint. Empty is what the issuer's metadata says.
	URL string
	// ClientID and ClientSecret are this server's own at the issuer.
	ClientID, ClientSecret string
	// Method is how they are sent. The zero value is Basic.
	Method Method
	// AllowMissingAudience takes answers that do not say whom the token is for, from issuers
	// that answer active to none but the servers that a token is for. A wrong audience is refused
	// all the same, and so is an answer that does not say either that the token is an access token
	// (token_type): issuers answer active about refresh tokens as well.
	AllowMissingAudience bool
	// ClientSubject lets a token without sub stand for its client, as issuers mean it that name no subject
	// for client credentials: client_id is then the subject. Set it only where no user can have the
	// name of a client. Without it such a token is refused.
	ClientSubject bool
	// Cache is how long an answer about a token that holds is remembered, and so for how long a revoked
	// token is taken. At most MaxCache. Zero asks for each request.
	Cache time.Duration
}

// introspector asks one issuer.
type introspector struct {
	Introspection
	issuer    *issuer
	questions *questions

	mu      sync.Mutex
	answers map[[sha256.Size]byte]answer
}

// answer is what a token's claims were, for a time.
type answer struct {
	claims map[string]any
	until  time.Time
}

func newIntrospector(n Introspection, i *issuer) *introspector {
	asking := &introspector{Introspection: n, issuer: i, answers: map[[sha256.Size]byte]answer{}}
	asking.questions = newQuestions(asking.ask)
	return asking
}

// introspect tells whose an opaque token is.
func (s *Source) introspect(ctx context.Context, token string) (identity.Identity, error) {
	for _, i := range s.issuers {
		if i.introspector == nil {
			continue
		}
		claims, err := i.introspector.claims(ctx, token)
		if err != nil {
			return identity.Identity{}, err
		}
		expires, err := i.introspector.check(claims, s.leeway)
		if err != nil {
			return identity.Identity{}, err
		}
		i.introspector.remember(token, claims, expires)
		if client, _ := claims["client_id"].(string); i.introspector.ClientSubject && claims["sub"] == nil {
			claims = maps.Clone(claims)
			claims["sub"] = client
		}
		return i.identity(claims, expires, "introspection")
	}
	return identity.Identity{}, refuse("it is no JWT, and there is no introspection that could be asked about it")
}

// claims are what the issuer says about a token, now or a while ago.
func (n *introspector) claims(ctx context.Context, token string) (map[string]any, error) {
	hash := sha256.Sum256([]byte(token))
	if claims := n.remembered(hash); claims != nil {
		return claims, nil
	}
	claims, err := n.questions.about(ctx, hash, token)
	if err != nil && !errors.Is(err, identity.ErrInvalidToken) {
		err = fmt.Errorf("asking %s about a token: %w", n.issuer.settings.URL, err)
	}
	return claims, err
}

// ask asks the issuer about a token.
func (n *introspector) ask(ctx context.Context, token string) (map[string]any, error) {
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
	if s := status(0); errors.As(err, &s) && (s == http.StatusUnauthorized || s == http.StatusForbidden) {
		return nil, fmt.Errorf("%s: %w: it does not take this server's ClientID and ClientSecret", to, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", to, err)
	}
	active, ok := claims["active"].(bool)
	if !ok {
		return nil, fmt.Errorf("%s: did not say whether the token is active", to)
	}
	if !active {
		return nil, refuse("%s says that it is not active", n.issuer.settings.URL)
	}
	return claims, nil
}

// endpoint is where to ask.
func (n *introspector) endpoint(ctx context.Context) (string, error) {
	if n.URL != "" {
		return n.URL, nil
	}
	m, err := n.issuer.metadata.get(ctx)
	if err != nil {
		return "", err
	}
	if m.value.introspection == "" {
		return "", fmt.Errorf("the metadata of %s names no introspection_endpoint: set Introspection.URL", n.issuer.settings.URL)
	}
	return m.value.introspection, nil
}

// check checks what the issuer says about an active token (RFC 7662, section 2.2) and returns when it ends.
func (n *introspector) check(c map[string]any, leeway time.Duration) (time.Time, error) {
	if iss, said := c["iss"]; said && iss != any(n.issuer.settings.URL) {
		return time.Time{}, refuse("%s says that another has issued it", n.issuer.settings.URL)
	}
	kind, typed := c["token_type"]
	if typed {
		// Some say what the token is for, access_token, where the way in which it is shown belongs.
		if s, _ := kind.(string); !strings.EqualFold(s, "Bearer") && s != "access_token" {
			return time.Time{}, refuse("it came as a bearer token and is of another type")
		}
	}
	if _, said := c["aud"]; said || !n.AllowMissingAudience {
		if err := n.issuer.checkAudience(c); err != nil {
			return time.Time{}, err
		}
	} else if !typed {
		return time.Time{}, refuse("%s says neither whom it is for (aud) nor that it is an access token (token_type)", n.issuer.settings.URL)
	}
	expires, err := n.issuer.checkTimes(c, leeway)
	if err == nil && expires.IsZero() {
		expires = time.Now().Add(endless)
	}
	return expires, err
}

func (n *introspector) remembered(hash [sha256.Size]byte) map[string]any {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.answers[hash]; ok && time.Now().Before(a.until) {
		return a.claims
	}
	return nil
}

// remember keeps an answer, under a hash so that memory holds no tokens.
func (n *introspector) remember(token string, claims map[string]any, expires time.Time) {
	if n.Cache == 0 {
		return
	}
	hash := sha256.Sum256([]byte(token))
	now := time.Now()
	until := now.Add(n.Cache)
	if expires.Before(until) {
		until = expires
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.answers[hash]; ok && now.Before(a.until) {
		return // or a token in use would never be asked about again
	}
	if len(n.answers) >= maxCached {
		for h, a := range n.answers {
			if !now.Before(a.until) {
				delete(n.answers, h)
			}
		}
		for h := range n.answers {
			if len(n.answers) < maxCached {
				break
			}
			delete(n.answers, h)
		}
	}
	n.answers[hash] = answer{claims, until}
}
