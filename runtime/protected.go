package runtime

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

// PathResourceMetadata is where clients find the authorization servers of an identity source that
// is [identity.Protected] (RFC 9728, section 3.1); the path of the endpoint may follow it.
const PathResourceMetadata = "/.well-known/oauth-protected-resource"

// metadata is what a server publishes of an identity.Protected source. Nil is nothing.
type metadata struct {
	url     string // of the document
	path    string // of url, unescaped
	handler http.Handler
}

// metadataOf checks what a source says of its resource. It is nil for sources that say nothing.
func metadataOf(source identity.Source) (*metadata, error) {
	protected, ok := source.(identity.Protected)
	if !ok || isNil(source) {
		return nil, nil
	}
	r := protected.Resource()
	u, err := url.Parse(r.URL)
	local := err == nil && u.Scheme == "http" && loopback(u.Hostname())
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && !local {
		return nil, fmt.Errorf("Options.Identity: the resource's URL is %q: write the https URL at which clients call this server, without query and fragment, as in https://mcp.example/mcp", r.URL)
	}
	if len(r.AuthorizationServers) == 0 {
		return nil, errors.New("Options.Identity: the resource names no authorization server: name the issuers whose tokens it takes")
	}
	// RFC 9728, section 3.1: between host and path, without a slash at the end. RawPath keeps how the path is escaped.
	document := url.URL{
		Scheme: u.Scheme, Host: u.Host,
		Path:    PathResourceMetadata + strings.TrimSuffix(u.Path, "/"),
		RawPath: PathResourceMetadata + strings.TrimSuffix(u.EscapedPath(), "/"),
	}
	return &metadata{
		url: document.String(), path: document.Path,
		handler: auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
			Resource: r.URL, AuthorizationServers: r.AuthorizationServers, ScopesSupported: r.Scopes,
			BearerMethodsSupported: []string{"header"}, ResourceName: r.Name, ResourceDocumentation: r.Documentation,
		}),
	}, nil
}

// mount publishes the document where it is pointed to, at the root, and below it at the endpoint's path:
// clients try them all.
func (m *metadata) mount(mux *http.ServeMux) {
	if m == nil {
		return
	}
	mux.Handle(PathResourceMetadata, m.handler)
	// Compared, and not made a pattern of the mux: the path is the operator's, and may hold anything.
	mux.HandleFunc(PathResourceMetadata+"/", func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; path != m.path && path != PathResourceMetadata+PathMCP {
			http.NotFound(w, r)
			return
		}
		m.handler.ServeHTTP(w, r)
	})
}

// pointer is the parameter of WWW-Authenticate that says where the metadata is (RFC 9728,
// section 5.1), with its comma.
func (s *Server) pointer() string {
	if s.metadata == nil {
		return ""
	}
	return fmt.Sprintf(", resource_metadata=%q", s.metadata.url)
}
