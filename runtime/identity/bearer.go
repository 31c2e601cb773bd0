package identity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// MaxTokenBytes bounds a bearer token. A longer token is invalid, and no verifier gets it.
const MaxTokenBytes = 16 << 10

// Verifier checks a bearer token and returns its identity. For an invalid token it returns an error
// that wraps [ErrInvalidToken], and any other error if it could not check the token. It is called
// from many goroutines at once.
//
// The verifier fills all fields of the identity, Identity.ClientItself included. [Bearer] changes
// only two: an empty Scheme becomes "Bearer", and Claims that contain the token are copied without
// it.
type Verifier func(ctx context.Context, token string) (Identity, error)

// Bearer is a source that reads the token of the Authorization header (RFC 6750, section 2.1) and
// calls verify with it. A request without this header has no credential. A header that is repeated,
// malformed or of another scheme is an invalid token, so that no such caller counts as anonymous.
// Tokens in the query or the body are ignored.
func Bearer(verify Verifier, options ...BearerOption) Source {
	b := bearer{verify: verify}
	for _, option := range options {
		if option != nil {
			option(&b)
		}
	}
	return b
}

type bearer struct {
	verify Verifier
	users  bool
	keep   bool
}

// BearerOption is a setting of [Bearer].
type BearerOption func(*bearer)

// NamesUsers declares that the verifier fills access.Principal.User with the user of the host that
// a token acts for. A server with runtime.Options.Host.Source needs it, or a mapping of clients
// to users (runtime.Options.Host.ServiceUsers): without either it does not start.
func NamesUsers() BearerOption { return func(b *bearer) { b.users = true } }

// KeepToken gives the token to handlers as a [Token], if the verifier sets no Identity.Value:
// runtime.CallerValue[identity.Token]. MCP forbids a server to pass the received token on to
// another service; oidc.Exchange gets another token for it.
func KeepToken() BearerOption { return func(b *bearer) { b.keep = true } }

// NamesUsers implements [UserNamer].
func (b bearer) NamesUsers() bool { return b.users }

func (b bearer) Check() error {
	if b.verify == nil {
		return errors.New("identity.Bearer has no verifier: pass the function that checks a token")
	}
	return nil
}

func (b bearer) Identify(r *http.Request) (Identity, error) {
	token, err := bearerToken(r)
	if err != nil {
		return Identity{}, err
	}
	id, err := b.verify(r.Context(), token)
	if err != nil {
		return id, err
	}
	if id.Scheme == "" {
		id.Scheme = "Bearer"
	}
	id.Claims = withoutToken(id.Claims, token)
	if b.keep && id.Value.IsZero() {
		id.Value = NewValue(NewToken(token))
	}
	return id, nil
}

// bearerToken returns the one well-formed bearer token of a request.
func bearerToken(r *http.Request) (string, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return "", ErrNoCredentials
	}
	if len(values) > 1 {
		return "", fmt.Errorf("%w: more than one Authorization header", ErrInvalidToken)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", fmt.Errorf("%w: the Authorization header is not a bearer token", ErrInvalidToken)
	}
	token = strings.TrimLeft(token, " ")
	if len(token) > MaxTokenBytes {
		return "", fmt.Errorf("%w: longer than %d bytes", ErrInvalidToken, MaxTokenBytes)
	}
	if !wellFormed(token) {
		return "", fmt.Errorf("%w: malformed", ErrInvalidToken)
	}
	return token, nil
}

// wellFormed reports whether s is a b64token of RFC 6750, section 2.1.
func wellFormed(s string) bool {
	s = strings.TrimRight(s, "=")
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("-._~+/", c) >= 0:
		default:
			return false
		}
	}
	return true
}
