package principal

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// PathResourceMetadata is the path of the metadata (RFC 9728, section 3.1), before the endpoint's.
const PathResourceMetadata = "/.well-known/oauth-protected-resource"

// Metadata is what a server publishes of an [identity.Protected] source; nil publishes nothing.
type Metadata struct {
	url     string // of the document
	path    string // of url, unescaped
	handler http.Handler
}

// MetadataOf checks and returns the metadata of a source, nil if it has none. A source without a
// list of scopes publishes those of rules whose refusals name them anyway.
func MetadataOf(source identity.Source, table access.Table) (*Metadata, error) {
	protected, ok := source.(identity.Protected)
	if !ok || request.IsNil(source) {
		return nil, nil
	}
	r := protected.Resource()
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil ||
		u.Scheme != "https" && (u.Scheme != "http" || !request.IsLoopback(u.Hostname())) {
		return nil, fmt.Errorf("Options.Identity: the resource's URL is %q: write the https URL at "+
			"which clients call this server, without query and fragment, for example "+
			"https://mcp.example/mcp", r.URL)
	}
	if len(r.AuthorizationServers) == 0 {
		return nil, errors.New("Options.Identity: the resource has no authorization server: add the " +
			"issuers whose tokens it accepts")
	}
	if r.Scopes == nil {
		r.Scopes = challenged(table)
	}
	// RFC 9728, section 3.1: between host and path, without a slash at the end.
	return &Metadata{
		url:  u.Scheme + "://" + u.Host + PathResourceMetadata + strings.TrimSuffix(u.EscapedPath(), "/"),
		path: PathResourceMetadata + strings.TrimSuffix(u.Path, "/"),
		handler: auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: r.URL, AuthorizationServers: r.AuthorizationServers, ScopesSupported: r.Scopes,
			BearerMethodsSupported: []string{"header"},
			ResourceName:           r.Name, ResourceDocumentation: r.Documentation,
		}),
	}, nil
}

// challenged returns the scopes of the rules with denial=challenge.
func challenged(table access.Table) (scopes []string) {
	for _, k := range request.Kinds {
		for _, rule := range table.Of(k).Rules {
			if rule.Denial == access.Challenge {
				scopes = append(scopes, rule.Scopes...)
			}
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// Mount publishes the document at its URL, the root and the endpoint's path: clients try them all.
func (m *Metadata) Mount(mux *http.ServeMux, endpoint string) {
	if m == nil {
		return
	}
	mux.Handle(PathResourceMetadata, m.handler)
	// The operator's path can contain any character, so it cannot be a pattern of the mux.
	mux.HandleFunc(PathResourceMetadata+"/", func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; path != m.path && path != PathResourceMetadata+endpoint {
			http.NotFound(w, r)
			return
		}
		m.handler.ServeHTTP(w, r)
	})
}
