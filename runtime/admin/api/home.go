package api

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// home is where catalogs are managed: the same operations, by those who may.
type home struct {
	path string // of all below it
	part string // the parameter of the path that says which, or empty
	name string // in the names of its operations
	tag  string
	gate gate
}

var (
	everywhere   = home{runtime.PathAPI + "admin", "", "admin", "admin", adminsOnly}
	organization = home{runtime.PathAPI + "orgs/{org_id}", "org_id", "org", "organizations", managersOf("org_id", store.InOrg)}
	team         = home{runtime.PathAPI + "teams/{team_id}", "team_id", "team", "teams", managersOf("team_id", store.InTeam)}
)

// operation is one below the home. id has the home's name in the place of "*".
func (h home) operation(method, id, path, summary string, errors ...int) huma.Operation {
	op := huma.Operation{
		OperationID: strings.Replace(id, "*", h.name, 1), Method: method, Path: h.path + path, Summary: summary, Tags: []string{h.tag}, Errors: errors,
	}
	if method == http.MethodPost {
		op.DefaultStatus = http.StatusCreated
	}
	if h.part != "" {
		op.Parameters = []*huma.Param{{Name: h.part, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}}
		op.Errors = append(op.Errors, http.StatusNotFound)
	}
	return op
}

// ID selects an item by its id, which is opaque.
type ID struct {
	ID string `path:"id"`
}

type nothing struct{}

// one is an answer with one thing. It has an ETag if it has versions.
type one[T any] struct {
	ETag string `header:"ETag" doc:"Its version; send it as If-Match with a change"`
	Body T
}

// made is an answer with a thing that a POST to a list has made.
type made[T any] struct {
	ETag     string `header:"ETag" doc:"Its version; send it as If-Match with a change"`
	Location string `header:"Location" doc:"The new scope"`
	Body     T
}

func found[T any](body T, version int64) *one[T] { return &one[T]{etag(version), body} }

func created[T any](r *request, id string, body T, version int64) *made[T] {
	return &made[T]{etag(version), r.URL.EscapedPath() + "/" + id, body}
}
