package principal

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// PathResourceMetadata is the path of the metadata (RFC 9728, section 3.1), before the endpoint's.
const PathResourceMetadata = "/.well-known/oauth-protected-resource"

// Metadata is what a server publishes of an [identity.ResourceDescriber] source; nil publishes
// nothing. As an http.Handler it answers with the document.
type Metadata struct {
	url      string // of the document
	path     string // of url, unescaped
	scope    string // in challenges with 401; empty for none
	document oauthex.ProtectedResourceMetadata
}

// MetadataOf checks and returns the metadata of a source, nil if it has none. A source without a
// list of scopes publishes those of rules whose refusals name them anyway.
func MetadataOf(source identity.Source, table access.Table) (*Metadata, error) {
	protected, ok := source.(identity.ResourceDescriber)
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
	below := strings.TrimSuffix(u.EscapedPath(), "/")
	return &Metadata{
		url:   u.Scheme + "://" + u.Host + PathResourceMetadata + below,
		path:  PathResourceMetadata + strings.TrimSuffix(u.Path, "/"),
		scope: scopeValue(r.Scopes),
		document: oauthex.ProtectedResourceMetadata{
			Resource: r.URL, AuthorizationServers: r.AuthorizationServers, ScopesSupported: r.Scopes,
			BearerMethodsSupported: []string{"header"},
			ResourceName:           r.Name, ResourceDocumentation: r.Documentation,
		},
	}, nil
}

// challenged returns the scopes of the first alternative of each rule with denial=challenge.
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

// Paths are those of the document: its URL's, the root and the endpoint's. Clients try them all.
func (m *Metadata) Paths(endpoint string) []string {
	if m == nil {
		return nil
	}
	below := PathResourceMetadata + strings.TrimSuffix(endpoint, "/")
	return []string{PathResourceMetadata, m.path, m.path + "/", below, below + "/"}
}

// ServeHTTP answers with the document, for pages of every origin. The resource is the configured
// URL, with the catalogs in the URL of the client, which it has in the query of this request too.
func (m *Metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const methods = "GET, HEAD, OPTIONS"
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions:
		header.Set("Access-Control-Allow-Methods", methods)
		header.Set("Access-Control-Allow-Headers", "Content-Type, Mcp-Protocol-Version")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		header.Set("Allow", methods)
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	header.Set("Content-Type", "application/json")
	document := m.document
	document.Resource += identity.CatalogQuery(r.URL.RawQuery)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(document) // the client may be gone
}
