// Package api provides the HTTP API of administrators: tool catalogs and their entries,
// organisations, teams and their members, switched off tools, grants, and the audit trail. Its
// OpenAPI document is generated from the handlers and served at [PathOpenAPI].
//
// Package authority decides on each request before the API reads the rest of it. If the caller
// does not belong to an organisation or a team, the API responds as if it did not exist.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Paths of the API's OpenAPI 3.1 document, as JSON and as YAML.
const (
	PathOpenAPI     = runtime.PathAPI + "openapi.json"
	PathOpenAPIYAML = runtime.PathAPI + "openapi.yaml"
)

// Version is the version of the API in its document.
const Version = "1.0.0"

// Server is the part of a server that the API uses. *runtime.Server implements it.
type Server interface {
	// Masker returns the server's masker of secrets.
	Masker() redact.Masker
	// Identify authenticates a request. runtime.Caller finds the caller in the returned context. The
	// error is a *runtime.Refusal.
	Identify(r *http.Request) (context.Context, error)
	// ListTools lists tools for a caller from Identify.
	ListTools(ctx context.Context, ask catalog.Ask) (runtime.Listing, error)
	// DeclaredCatalogs returns the catalogs of the source code.
	DeclaredCatalogs() []catalog.Found
	// Table returns the table with a rule for each tool.
	Table() access.Table
	// GrantDefaults returns the grants that every client has.
	GrantDefaults() []grant.Grant
	// Roots returns the names of the roots of file permissions, or none if they are unknown.
	Roots() []string
	// Workspaces returns the workspaces of clients, or nil if the server keeps none.
	Workspaces() isolate.Workspaces
	// ReloadSwitches applies changed switches at once.
	ReloadSwitches(ctx context.Context) error
}

// Options configure the API. The zero value works.
type Options struct {
	// Audit receives an event for each refused request, and for each request that reads the audit
	// trail. The store records changes itself, except those of grants that are kept elsewhere: these
	// are recorded here. Nil records nothing.
	Audit audit.Sink
	// Grants keeps the grants and the requests for them. Nil leaves their operations out.
	Grants grant.Registry
	// Exports counts the running exports of the audit trail. Give the console the same value, so
	// that one limit holds for both. Nil is the API's own.
	Exports *front.Exports
	// Logger receives internal errors. Nil is slog.Default().
	Logger *slog.Logger
}

// API serves the requests under [runtime.PathAPI]. It is safe for concurrent use.
type API struct {
	server    Server
	store     *store.Store
	authority *authority.Authority
	audit     audit.Sink
	grants    grant.Registry // nil without grants
	exports   *front.Exports
	log       *slog.Logger
	patience  time.Duration // for a body

	mux        *http.ServeMux
	huma       huma.API
	json, yaml []byte // the document
}

// New returns the API of a server over a store.
func New(server Server, s *store.Store, a *authority.Authority, o Options) (*API, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	api := &API{
		server: server, store: s, authority: a, audit: o.Audit, grants: o.Grants,
		exports:  cmp.Or(o.Exports, front.NewExports()),
		log:      slog.New(server.Masker().Handler(o.Logger.Handler())),
		patience: front.Patience, mux: http.NewServeMux(),
	}
	api.huma = humago.New(api.mux, api.config())
	api.routes()
	return api, api.document()
}

// routes registers every operation there is.
func (a *API) routes() {
	a.whoami()
	a.tools()
	a.askable()
	for _, in := range []home{everywhere, organization, team} {
		a.catalogs(in)
		a.entries(in)
	}
	a.orgs()
	a.teams()
	a.members()
	a.switches()
	if a.grants != nil {
		a.ownGrants()
		a.ownRequests()
		a.grantsOfAll()
		a.requestsOfAll()
	}
	if spaces := a.server.Workspaces(); spaces != nil {
		a.workspaces(spaces)
	}
	a.trail()
	a.documents()
}

const security = "bearer"

// config is huma's, without what it would add by itself: pages that load scripts from elsewhere,
// links to schemas in answers, and formats that others have registered.
func (a *API) config() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "MCP server administration", Version: Version,
				Description: "Tool catalogs and their entries, organizations, teams and their members, switches of tools, grants on resources and requests for them, workspaces of clients, and the audit trail.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					security: {Type: "http", Scheme: "bearer",
						Description: "The token for the MCP endpoint. The API ignores cookies."},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true, // a misspelt filter would be none
		Transformers:                 []huma.Transformer{a.tell},
	}
}

// document writes down what the routes have registered.
func (a *API) document() error {
	doc := a.huma.OpenAPI()
	// What a request held is not repeated to its sender; see tell.
	delete(doc.Components.Schemas.Map()["ErrorDetail"].Properties, "value")
	doc.Components.Schemas.Map()["ErrorModel"].Properties["request_id"] = &huma.Schema{
		Type: huma.TypeString,
		Description: "The id of the request in the server's log and audit trail. Absent if the " +
			"caller is unknown.",
	}
	share(doc)
	var err error
	if a.json, err = json.MarshalIndent(doc, "", "  "); err != nil {
		return fmt.Errorf("admin API: describe it: %w", err)
	}
	if a.yaml, err = doc.YAML(); err != nil {
		return fmt.Errorf("admin API: describe it: %w", err)
	}
	return nil
}

// share writes each kind of problem down once, for all operations that can answer with it.
func share(doc *huma.OpenAPI) {
	doc.Components.Responses = map[string]*huma.Response{}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch,
			path.Delete} {
			if op == nil {
				continue
			}
			for status, response := range op.Responses {
				if status == "503" {
					response.Headers = map[string]*huma.Param{"Retry-After": {
						Description: "The number of seconds to wait before a retry",
						Schema:      &huma.Schema{Type: huma.TypeInteger},
					}}
				}
				if status >= "400" {
					doc.Components.Responses[status] = response
					op.Responses[status] = &huma.Response{Ref: "#/components/responses/" + status}
				}
			}
		}
	}
}

// documents registers the document itself, which is for callers who may call any operation.
func (a *API) documents() {
	for _, d := range []struct {
		id, path, media string
		text            *[]byte
	}{
		{"get-openapi-json", PathOpenAPI, "application/openapi+json", &a.json},
		{"get-openapi-yaml", PathOpenAPIYAML, "application/openapi+yaml", &a.yaml},
	} {
		type output struct {
			ContentType string `header:"Content-Type"`
			Body        []byte
		}
		op := huma.Operation{
			OperationID: d.id, Method: http.MethodGet, Path: d.path, Summary: "This document",
			Tags: []string{"description"},
			Responses: map[string]*huma.Response{"200": {Description: "The document",
				Content: map[string]*huma.MediaType{d.media: {}}}},
		}
		register(a, op, anybody, func(context.Context, *request, *struct{}) (*output, error) {
			return &output{ContentType: d.media, Body: *d.text}, nil
		})
	}
}
