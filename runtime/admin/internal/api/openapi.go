package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/internal/escape"
	"github.com/mcpgen/mcpgen/runtime"
)

// Paths of the API's OpenAPI 3.1 document, as JSON and as YAML.
const (
	PathOpenAPI     = runtime.PathAPI + "openapi.json"
	PathOpenAPIYAML = runtime.PathAPI + "openapi.yaml"
)

// Version is the version of the API in its document.
const Version = "1.0.0"

const security = "bearer"

// config is huma's, without its additions: pages that load scripts from elsewhere, links to schemas
// in responses, and formats that others have registered.
func (a *API) config() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "MCP server administration", Version: Version,
				Description: "Tool catalogs and their entries, organizations, teams and their members, " +
					"switches of tools, grants on resources and requests for them, boundaries and " +
					"workspaces of clients, and the audit trail.",
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					security: {Type: "http", Scheme: "bearer",
						Description: "The token for the MCP endpoint. The API ignores cookies."},
				},
			},
		},
		Formats:                      map[string]huma.Format{"application/json": escaped, "json": escaped},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true, // a misspelt filter would be none
		Transformers:                 []huma.Transformer{a.finish},
	}
}

// escaped is JSON whose strings have escapes for characters that hide or reorder text.
var escaped = huma.Format{Unmarshal: huma.DefaultJSONFormat.Unmarshal,
	Marshal: func(w io.Writer, v any) error {
		var b bytes.Buffer
		if err := huma.DefaultJSONFormat.Marshal(&b, v); err != nil {
			return err
		}
		_, err := io.WriteString(w, escape.JSON(b.String()))
		return err
	}}

// document writes the document of the registered routes.
func (a *API) document() error {
	doc := a.huma.OpenAPI()
	// Values of a request are not repeated in its response; see finish.
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

// share writes each kind of problem once, for all operations that can respond with it.
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
