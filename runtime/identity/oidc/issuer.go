package oidc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

// issuer is an authorization server and what is known of it.
type issuer struct {
	settings     Issuer // with the defaults filled in
	resource     identity.Resource
	log          *slog.Logger
	unread       sync.Map // the paths of claims that were logged
	unmapped     unmapped
	registration registration
	web          fetcher
	metadata     *cached[metadata]
	keys         *cached[[]key]
	unknown      chan struct{} // holds one item for each request that waits for newer keys
	introspector *introspector // nil where opaque tokens are refused
}

func newIssuer(s Issuer, o Options, web fetcher) *issuer {
	s.Audiences, s.Algorithms = slices.Clone(s.Audiences), slices.Clone(s.Algorithms)
	if len(s.Audiences) == 0 {
		s.Audiences = []string{o.Resource.URL}
	}
	if len(s.Algorithms) == 0 {
		s.Algorithms = acceptable()
	}
	s.KeyPeriod = cmp.Or(s.KeyPeriod, defaultKeyPeriod)
	s.StalePeriod = cmp.Or(s.StalePeriod, defaultStalePeriod)
	i := &issuer{settings: s, resource: o.Resource, log: o.Logger, web: web,
		unknown: make(chan struct{}, maxUnknown)}
	i.metadata = newCached(i, "the metadata of ", i.discover)
	i.keys = newCached(i, "the keys of ", i.fetchKeys)
	if s.Introspection != nil {
		i.introspector = newIntrospector(*s.Introspection, i, o.Leeway)
	}
	return i
}

// metadata has the endpoints in an issuer's metadata.
type metadata struct{ keys, introspection string }

// discover reads an issuer's metadata: as an OpenID provider publishes it (OpenID Connect Discovery
// 1.0, section 4), or else as an authorization server does (RFC 8414, section 3).
func (i *issuer) discover(ctx context.Context) (metadata, error) {
	base, err := url.Parse(i.settings.URL)
	if err != nil {
		return metadata{}, err
	}
	openid := strings.TrimSuffix(i.settings.URL, "/") + "/.well-known/openid-configuration"
	oauth := base.Scheme + "://" + base.Host + "/.well-known/oauth-authorization-server" +
		strings.TrimSuffix(base.EscapedPath(), "/")
	o, _, err := i.web.get(ctx, openid)
	from := openid
	if s := status(0); errors.As(err, &s) &&
		s != http.StatusTooManyRequests && s < http.StatusInternalServerError {
		o, _, err = i.web.get(ctx, oauth)
		from = oauth
	}
	if err != nil {
		return metadata{}, fmt.Errorf("%s: %w", from, err)
	}
	// RFC 8414, section 3.3: otherwise a writer there could impersonate another issuer.
	if named, _ := o["issuer"].(string); named != i.settings.URL {
		return metadata{}, fmt.Errorf("%s is the metadata of %s: write that URL as the issuer's, or "+
			"find out which server responds there", from, quoted(named))
	}
	if !blank(o["registration_endpoint"]) {
		i.registration.found(i.settings.URL, "registration_endpoint")
	}
	if o["client_id_metadata_document_supported"] == true {
		i.registration.found(i.settings.URL, "client_id_metadata_document_supported")
	}
	var m metadata
	for _, field := range []struct {
		name string
		to   *string
	}{{"jwks_uri", &m.keys}, {"introspection_endpoint", &m.introspection}} {
		v, present := o[field.name]
		if !present {
			continue
		}
		*field.to, _ = v.(string)
		if err := checkEndpoint(*field.to); err != nil {
			return metadata{}, fmt.Errorf("%s: its %s %w", from, field.name, err)
		}
	}
	return m, nil
}

// registration is the first field of an issuer's metadata by which clients can register, and the
// funcs to call about it.
type registration struct {
	mu     sync.Mutex
	field  string // "" while no metadata has one
	report []func(issuer, field string)
}

func (r *registration) found(issuer, field string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.field != "" {
		return
	}
	r.field = field
	for _, report := range r.report {
		report(issuer, field)
	}
}

func (r *registration) watch(issuer string, report func(issuer, field string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.field != "" {
		report(issuer, r.field)
	}
	r.report = append(r.report, report)
}
