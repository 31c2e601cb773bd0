// Package oidc verifies the access tokens of OAuth 2.0 authorization servers and OpenID providers:
// JWTs by the provider's published keys, and opaque tokens by introspection (RFC 7662).
//
// A [Source] accepts the tokens of its issuers only. A token is valid if it was issued for this
// server (aud, RFC 8707), has not expired, and is signed by a key that its issuer publishes at the
// time, with an accepted algorithm. The keys that a token itself names (jku, jwk, x5u, x5c) are
// never used. Tokens that are bound to a key of the client (cnf, RFC 7800, as with DPoP and mutual
// TLS) are refused, since this package cannot check that binding.
//
//	callers := oidc.New(oidc.Options{
//		Resource: identity.Resource{URL: "https://tools.example/mcp"},
//		Issuers: []oidc.Issuer{{URL: "https://login.example",
//			Claims: oidc.Claims{Roles: []string{"roles"}}}},
//	})
//
// # From a token to a principal
//
// Each field of the principal comes from the claims below. A claim that is missing or of another
// type counts as nothing, and so does each value that is not in a mapping. Of each issuer, a claim
// of another type is logged once.
//
//	Issuer      iss, which is the issuer's URL exactly
//	Subject     sub; a token without one is refused (but see Introspection.ClientSubject)
//	Client      Claims.Client, or else client_id, or azp if that is missing or empty; empty is the
//	            subject
//	User        Claims.User; empty where no claim is configured, or the token has none; a token
//	            whose claim is there and does not count is refused
//	Roles       Claims.Roles; the server removes names that its hierarchy does not have
//	Scopes      Claims.Scopes, or else scope, or scp if that is missing or empty
//	Groups      Claims.Groups; none where no claim is configured
//	Orgs        Claims.Orgs; none where no claim is configured
//	Teams       Claims.Teams; none where no claim is configured
//
// A token is the client's own (Identity.ClientItself) if its subject is the client, as RFC 9068,
// section 2.2 requires it for grants without a resource owner, or if Introspection.ClientSubject
// makes it so. Some authorization servers give their machine clients other subjects (an account,
// the id with a suffix). No standard marks such tokens: they count as those of people.
//
// Each part of a JWT is strict base64url, without padding, line breaks or spare bits that are set.
// The server refuses issuers, subjects and clients with control characters.
//
// Identity.Claims has all claims of a JWT, or all members of the introspection response.
// Identity.Scheme is "JWT" or "introspection". No decision reads them.
//
// An authorization server whose users choose their own names must keep subjects apart from client
// ids (RFC 9068, section 5), or a token would stand for the client of its subject's name.
package oidc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

// DefaultLeeway is the zero value of Options.Leeway.
const DefaultLeeway = 30 * time.Second

// Bounds, and the zero values of the other options.
const (
	maxLeeway          = 5 * time.Minute
	defaultKeyPeriod   = 15 * time.Minute
	defaultStalePeriod = time.Hour
	maxCache           = 5 * time.Minute
	// retryInterval is the least time from a fetch to the next one, which a token needs if the
	// first one failed or brought no key for it. The time doubles with each further fetch, up to
	// refreshInterval, and is retryInterval again after a minute without a fetch. So tokens with
	// unknown keys cause at most 9 fetches in a minute from one provider, however many clients send
	// them. Meanwhile a new key is found within refreshInterval.
	retryInterval   = time.Second
	refreshInterval = 10 * time.Second
)

// Options configure a [Source].
type Options struct {
	// Resource describes this server to clients (RFC 9728). Its URL is the audience of tokens, if
	// an issuer has no other. AuthorizationServers may be empty: they are then the URLs of Issuers.
	// Required.
	Resource identity.Resource
	// Issuers are the authorization servers whose tokens are accepted. Required.
	Issuers []Issuer
	// KeepToken gives the token to handlers, as identity.KeepToken does. [Exchange] needs it.
	KeepToken bool
	// Leeway is the accepted difference between the clocks of an issuer and of this server, at most
	// 5 minutes. Zero is DefaultLeeway.
	Leeway time.Duration
	// Client fetches keys and metadata, and introspects opaque tokens. It does not follow
	// redirects, whatever its settings. Nil is a client of this package's own, which uses the proxy
	// of the environment.
	Client *http.Client
	// Logger receives a line when a provider cannot be reached while its old keys still serve, and
	// one for each claim that no reader takes. Nil is slog.Default().
	Logger *slog.Logger
}

// Issuer is one authorization server.
type Issuer struct {
	// URL is the issuer identifier, exactly as in the iss claim: https, or http on a loopback
	// address. Required.
	URL string
	// Audiences are accepted values of aud; a token needs one of them. Resource.URL includes itself
	// with the parameters catalog and readonly, which clients have in their URLs
	// (identity.Resource.Audience). The id of a client is an audience of that client's ID tokens as
	// well: set RequireType beside one. Empty is Resource.URL alone.
	Audiences []string
	// KeysURL is where the issuer publishes its keys (RFC 7517). Empty is the URL of the issuer's
	// metadata (OpenID Connect Discovery 1.0, or else RFC 8414).
	KeysURL string
	// Algorithms are the accepted signatures, all of them among RS256, RS384, RS512, PS256,
	// PS384, PS512, ES256, ES384, ES512 and EdDSA. Empty is all of these.
	Algorithms []string
	// RequireType requires the media type "at+jwt" in a JWT's typ header (RFC 9068), which
	// distinguishes access tokens from all others. Without it a JWT may have no type or "JWT" as
	// well, unless it has a claim of ID tokens, logout tokens or security events: nonce, at_hash,
	// c_hash or events.
	RequireType bool
	// MaxLifetime bounds the time from iat to exp, and refuses a token without iat. Zero is no
	// bound.
	MaxLifetime time.Duration
	// KeyPeriod is the time after which keys are fetched again. An unknown key is fetched at once,
	// if no fetch happened in the last second: repeated fetches are up to 10 seconds apart. Zero is
	// 15 minutes.
	KeyPeriod time.Duration
	// StalePeriod is how much longer old keys serve while the provider cannot be reached. After
	// that no token is accepted. Zero is one hour.
	StalePeriod time.Duration
	// Introspection queries the issuer about tokens that are no JWTs. At most one issuer has it: an
	// opaque token does not name its issuer, and is sent to no other server. Nil refuses such
	// tokens.
	Introspection *Introspection
	// Claims configures what the claims of a token mean. Zero reads the standard claims of scopes
	// and client.
	Claims Claims
}

// Source is an [identity.Source] for the bearer tokens of some issuers. It is safe for
// concurrent use, and starts nothing: keys are fetched when the first token comes.
type Source struct {
	identity.Source
	resource identity.Resource
	issuers  []*issuer
	leeway   time.Duration
	broken   error // of Check
}

var (
	_ identity.Checker           = (*Source)(nil)
	_ identity.ReadySource       = (*Source)(nil)
	_ identity.UserNamer         = (*Source)(nil)
	_ identity.ResourceDescriber = (*Source)(nil)
	_ identity.IssuerLister      = (*Source)(nil)
)

// New returns a source. [Source.Check] returns the errors of its options, and runtime.New calls it.
// A source with errors accepts no token.
func New(o Options) *Source {
	o.Leeway, o.Logger = cmp.Or(o.Leeway, DefaultLeeway), cmp.Or(o.Logger, slog.Default())
	s := &Source{resource: o.Resource, leeway: o.Leeway, broken: o.check()}
	s.resource.Scopes = slices.Clone(o.Resource.Scopes)
	s.resource.AuthorizationServers = slices.Clone(o.Resource.AuthorizationServers)
	if s.Source = identity.Bearer(s.Verify); o.KeepToken {
		s.Source = identity.Bearer(s.Verify, identity.KeepToken())
	}
	if s.broken != nil {
		return s
	}
	web := newFetcher(o.Client)
	for _, settings := range o.Issuers {
		s.issuers = append(s.issuers, newIssuer(settings, o, web))
		if len(o.Resource.AuthorizationServers) == 0 {
			s.resource.AuthorizationServers = append(s.resource.AuthorizationServers, settings.URL)
		}
	}
	return s
}

// Check returns an error that names each setting that cannot work. It makes no request: see
// [Source.Fetch].
func (s *Source) Check() error { return s.broken }

// NamesUsers reports whether any issuer's tokens name users of the host.
func (s *Source) NamesUsers() bool {
	return slices.ContainsFunc(s.issuers, func(i *issuer) bool {
		return i.settings.Claims.User != ""
	})
}

// Issuers are the URLs of the issuers, in the order of the options.
func (s *Source) Issuers() []string {
	var urls []string
	for _, i := range s.issuers {
		urls = append(urls, i.settings.URL)
	}
	return urls
}

// OnRegistration calls report once for each issuer whose metadata offers the registration of
// clients, with the name of the field: registration_endpoint (RFC 7591) or
// client_id_metadata_document_supported. It calls it when the metadata has been fetched, with the
// first token. The metadata of an issuer with KeysURL is not fetched for that.
func (s *Source) OnRegistration(report func(issuer, field string)) {
	for _, i := range s.issuers {
		i.registration.watch(i.settings.URL, report)
	}
}

// MappedRoles are the roles that RoleNames of any issuer leads to, sorted.
func (s *Source) MappedRoles() []string {
	var roles []string
	for _, i := range s.issuers {
		roles = slices.AppendSeq(roles, maps.Values(i.settings.Claims.RoleNames))
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// Resource describes the server to clients. The slices are the source's own.
func (s *Source) Resource() identity.Resource { return s.resource }

// Fetch fetches the metadata and the keys of every issuer, so that a program may report at its
// start that one cannot be reached. Nothing depends on it. It repeats no fetch within a second, and
// within up to 10 seconds after several.
func (s *Source) Fetch(ctx context.Context) error {
	if s.broken != nil {
		return s.broken
	}
	var errs []error
	for _, i := range s.issuers {
		_, err := i.keys.get(ctx)
		errs = append(errs, err)
		if i.introspector != nil {
			_, err = i.introspector.endpoint(ctx)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Ready returns nil if the source can verify tokens of at least one issuer: it has the keys, which
// serve while the provider is down, for KeyPeriod and StalePeriod; or it can introspect. Without
// keys it fetches them, with the pauses of [Source.Fetch].
func (s *Source) Ready(ctx context.Context) error {
	if s.broken != nil {
		return s.broken
	}
	if slices.ContainsFunc(s.issuers, func(i *issuer) bool {
		return i.keys.serves(i.keys.state())
	}) {
		return nil
	}
	errs := make([]error, len(s.issuers))
	var all sync.WaitGroup
	for n, i := range s.issuers { // at the same time, since one may hang
		all.Go(func() {
			_, errs[n] = i.keys.get(ctx)
			if errs[n] != nil && i.introspector != nil {
				_, errs[n] = i.introspector.endpoint(ctx)
			}
		})
	}
	all.Wait()
	if slices.Contains(errs, nil) {
		return nil
	}
	return errors.Join(errs...)
}

// Verify returns the identity of a token. It is an [identity.Verifier]: its error wraps
// [identity.ErrInvalidToken] for an invalid token, and is any other error if the token could not be
// checked. No error contains the token.
func (s *Source) Verify(ctx context.Context, token string) (identity.Identity, error) {
	if s.broken != nil {
		return identity.Identity{}, fmt.Errorf("the identity source is not configured:  %w", s.broken)
	}
	if len(token) > identity.MaxTokenBytes {
		return identity.Identity{}, refuse("longer than %d bytes", identity.MaxTokenBytes)
	}
	parts, jose := split(token)
	if !jose {
		return s.introspect(ctx, token)
	}
	return s.verifyJWT(ctx, token, parts)
}

// refuse is the error for a token that does not hold. What it quotes is cut by quoted.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %w", identity.ErrInvalidToken, fmt.Errorf(format, args...))
}

// quoted shows what a stranger has sent, short enough for a log.
func quoted(s string) string {
	const most = 100
	if len(s) > most {
		return fmt.Sprintf("%.100q and %d bytes more", s[:most], len(s)-most)
	}
	return fmt.Sprintf("%q", s)
}
