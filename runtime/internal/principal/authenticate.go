// Package principal authenticates requests and finds the permissions of principals in the host.
package principal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	maxLogged     = 256 // bytes of a client's text in a log line
	retryIdentity = 5   // Retry-After in seconds while the identity source cannot decide
)

// Authenticator verifies the credentials of HTTP requests.
type Authenticator struct {
	Config
	hierarchy   []string
	failures    *failures
	missing     *failures // requests without a credential, which are logged only
	unavailable *failures // requests that the identity source could not decide, logged only
}

// Config is what an [Authenticator] needs.
type Config struct {
	Identity identity.Source // nil for none
	Timeout  time.Duration   // of Identity
	Table    access.Table
	Realm    string    // in challenges: the name of the server
	Metadata *Metadata // nil for none
	Pool     *worker.Pool
	Log      *slog.Logger
	Masker   redact.Masker

	TrustedProxies []netip.Prefix
	Audit          audit.Sink    // of failures; nil for none
	AuditTimeout   time.Duration // of a record
	Active         *worker.Group // which a shutdown waits for, records included
}

// NewAuthenticator returns an authenticator.
func NewAuthenticator(c Config) *Authenticator {
	logged := c
	logged.Audit = nil
	return &Authenticator{c, c.Table.Hierarchy(), newFailures(c, wrong), newFailures(logged, missing),
		newFailures(logged, undecided)}
}

// ReportFailures reports the failures that would wait for their turn. A shutdown calls it.
func (a *Authenticator) ReportFailures() {
	a.failures.reportAll(0)
	a.missing.reportAll(0)
	a.unavailable.reportAll(0)
}

// Refusal describes in HTTP's terms why a request is refused.
type Refusal struct {
	Status     int    // 401, 403, 429 or 503
	Challenge  string // WWW-Authenticate, with 401 and 429
	RetryAfter int    // Retry-After in seconds, with 429 and 503
	Reason     string // for the client
}

// Authenticate returns the verified caller, or [identity.ErrNoCredentials] without a credential.
func (a *Authenticator) Authenticate(r *http.Request) (none identity.Identity, err error) {
	if a.Identity == nil {
		if len(r.Header.Values("Authorization")) == 0 {
			return none, identity.ErrNoCredentials
		}
		return none, fmt.Errorf("%w: no identity source can verify it",
			identity.ErrInvalidToken)
	}
	id, err := a.identify(r)
	switch {
	case err != nil:
		return none, err
	case id.Principal.Anonymous():
		return none, errors.New("the identity source returned a principal without a Subject")
	case !id.Expires.IsZero() && !time.Now().Before(id.Expires):
		return none, fmt.Errorf("%w: it has expired", identity.ErrInvalidToken)
	}
	if err := CheckNames(id.Principal); err != nil {
		return none, fmt.Errorf("%w: %w", identity.ErrInvalidToken, err)
	}
	id.Principal.Bounds = nil // that of an identity source does not count
	id.Principal.Roles = a.known(id.Principal.Roles)
	id.Principal = a.Table.Resolve(id.Principal)
	if report, ok := r.Context().Value(authenticatedKey{}).(func()); ok {
		report()
	}
	return id, nil
}

// known returns the roles that the hierarchy has, each once and in its order.
func (a *Authenticator) known(roles []string) (known []string) {
	for _, role := range a.hierarchy {
		if slices.Contains(roles, role) {
			known = append(known, role)
		}
	}
	return known
}

type authenticatedKey struct{}

// OnAuthenticated returns a context with a func that is called for each authenticated request with
// that context.
func OnAuthenticated(ctx context.Context, report func()) context.Context {
	return context.WithValue(ctx, authenticatedKey{}, report)
}

func (a *Authenticator) identify(r *http.Request) (identity.Identity, error) {
	if _, immediate := a.Identity.(identity.MemoryReader); immediate {
		return a.Identity.Identify(r)
	}
	// The source gets its own request, without the body, which others read.
	own := r.Clone(r.Context())
	own.Body = http.NoBody
	identify := func(ctx context.Context) (res result[identity.Identity]) {
		res.value, res.err = a.Identity.Identify(own.WithContext(ctx))
		return res
	}
	out := worker.Run(a.Pool, worker.Job[result[identity.Identity]]{
		Context: r.Context(), Timeout: a.Timeout, Do: identify})
	return out.Value.value, cmp.Or(out.Err(), out.Value.err)
}

// Refusal counts and logs why Authenticate failed, and returns the response for the client. It does
// not wait. An unknown user and a wrong token have the same response. Clients send a first request
// without a token to find the authorization server, so it is never answered with 429. query is that
// of the MCP endpoint, empty for a request of another one.
func (a *Authenticator) Refusal(r *http.Request, query string, err error) *Refusal {
	address, remote := clientAddress(r, a.TrustedProxies), r.RemoteAddr
	if address.IsValid() { // otherwise it is of another network, or set by the program
		remote = address.String()
	}
	from := func() []any {
		return []any{"remote", a.Masker.TextWithin(remote, maxLogged),
			"path", a.Masker.TextWithin(r.URL.Path, maxLogged)}
	}
	count := func(in *failures, attrs ...any) (wait time.Duration) {
		wait, report := in.add(countedAs(address))
		if report != nil {
			a.Log.Log(r.Context(), in.lines.level, in.lines.one, append(append(from(), attrs...),
				in.lines.number, report.failures, "request_id", report.id)...)
		}
		return wait
	}
	if errors.Is(err, identity.ErrNoCredentials) {
		count(a.missing)
		// RFC 6750, section 3.1: no error code for a request without a credential.
		return &Refusal{Status: http.StatusUnauthorized, Challenge: a.unauthorized("", query),
			Reason: "authentication required"}
	}
	if !errors.Is(err, identity.ErrInvalidToken) {
		count(a.unavailable, "error", err)
		return &Refusal{Status: http.StatusServiceUnavailable, RetryAfter: retryIdentity,
			Reason: "identity is not available"}
	}
	wait := count(a.failures, "reason", err)
	refused := &Refusal{Status: http.StatusUnauthorized,
		Challenge: a.unauthorized(`, error="invalid_token"`, query),
		Reason:    "the credential is not valid: it has expired, or it is not for this server"}
	if wait > 0 { // with the challenge, because another credential would be accepted at once
		refused.Status = http.StatusTooManyRequests
		refused.RetryAfter = int((wait + time.Second - 1) / time.Second)
		refused.Reason = "too many invalid credentials from this address: try again later"
	}
	return refused
}

// unauthorized returns the challenge of a 401 response. Its scopes are those of the configuration:
// those of what a message names would show rules to a caller who is not known.
func (a *Authenticator) unauthorized(parameters, query string) string {
	if a.Metadata != nil && a.Metadata.scope != "" {
		parameters += fmt.Sprintf(", scope=%q", a.Metadata.scope)
	}
	return a.challenge(parameters, query)
}

// challenge returns a WWW-Authenticate header (RFC 6750, section 3) with further parameters, for a
// request of the MCP endpoint with a query.
func (a *Authenticator) challenge(parameters, query string) string {
	value := fmt.Sprintf("Bearer realm=%q", quotable(a.Realm)) + parameters
	if a.Metadata != nil { // RFC 9728, section 5.1
		value += fmt.Sprintf(", resource_metadata=%q", a.Metadata.url+identity.CatalogQuery(query))
	}
	return value
}

// InsufficientScope returns the challenge of RFC 6750, section 3.1, with the scopes of the nearest
// alternative of the rule. With held, for versions with sessions, it has all scopes of the caller
// too (specification 2025-11-25, basic/authorization). query is that of the request.
func (a *Authenticator) InsufficientScope(d access.Decision, held bool, query string) string {
	scope := scopeValue(d.ScopesThatWouldDo(held))
	return a.challenge(fmt.Sprintf(`, error="insufficient_scope", scope=%q`, scope), query)
}

// scopeValue joins scopes for a challenge, without those that are none (RFC 6749, section 3.3).
func scopeValue(scopes []string) string {
	invalid := func(scope string) bool {
		return scope == "" || scope != quotable(scope) || strings.Contains(scope, " ")
	}
	return strings.Join(slices.DeleteFunc(slices.Clone(scopes), invalid), " ")
}

// quotable keeps what a quoted string of RFC 9110 can hold without escapes.
func quotable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, text)
}
