package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/input"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// gate returns where a caller may read and change things by an operation, or why nowhere. Of the
// request it reads only the organisation or the team in its path.
type gate func(a *API, r *request) (store.Scope, error)

// anybody admits every authenticated caller.
func anybody(*API, *request) (store.Scope, error) { return store.Scope{}, nil }

var (
	adminsOnly = only((*authority.Authority).Admin)
	granters   = only((*authority.Authority).MayGrant) // decide which resources clients may use
	auditors   = only((*authority.Authority).MayAudit) // read the audit trail
)

// only admits, everywhere, callers that may.
func only(may func(*authority.Authority, access.Principal) bool) gate {
	return func(a *API, r *request) (store.Scope, error) {
		if !may(a.authority, r.caller) {
			return store.Anywhere, problem.NoAdmin
		}
		return store.Anywhere, nil
	}
}

// managersOf admits the managers of the organisation or the team whose id is a part of the path.
func managersOf(part string, scope func(id int64) store.Scope) gate {
	return func(a *API, r *request) (store.Scope, error) {
		in := scope(ids.Of(r.PathValue(part)))
		standing, err := a.authority.Of(r.Context(), r.caller, in)
		switch {
		case err != nil:
			return in, err
		case standing == authority.Manager:
			return in, nil
		case standing == authority.Member:
			return in, problem.NoManager
		}
		return in, problem.NotFound
	}
}

// register adds an operation behind a gate. Each of its errors becomes a problem.
func register[I, O any](a *API, op huma.Operation, g gate,
	do func(ctx context.Context, r *request, in *I) (*O, error)) {
	op.Security = []map[string][]string{{security: {}}}
	// The body is read before huma: huma's deadline of 5 s would end the connection's context, and
	// with it every later request on the connection. An unread body keeps the deadline of
	// front.Await.
	op.BodyReadTimeout = -1
	op.Errors = append(op.Errors, http.StatusBadRequest, http.StatusUnauthorized,
		http.StatusForbidden, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusServiceUnavailable)
	switch op.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		op.Errors = append(op.Errors, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType)
	}
	slices.Sort(op.Errors)
	op.Middlewares = huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		r := requestOf(ctx.Context())
		_, w := humago.Unwrap(ctx)
		var err error
		if r.scope, err = g(a, r); err != nil {
			if errors.Is(err, problem.NoAdmin) || errors.Is(err, problem.NoManager) ||
				errors.Is(err, problem.NotFound) {
				a.refused(r, op.OperationID, r.scope, err)
			}
		} else if err = input.CheckQuery(r.Request); err == nil {
			r.body, err = input.Body(w, r.Request)
		}
		if err == nil {
			// the credential may have expired, or the caller left, while the body was read
			err = r.Context().Err()
		}
		if err != nil {
			a.problems.Write(w, a.problems.Of(ctx.Context(), r.Method, r.id, err), r.id)
			return
		}
		next(ctx)
	}}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		r := requestOf(ctx)
		out, err := do(ctx, r, in)
		if err != nil {
			return nil, a.problems.Of(ctx, r.Method, r.id, err)
		}
		return out, nil
	})
	item, schemas := a.huma.OpenAPI().Paths[op.Path], a.huma.OpenAPI().Components.Schemas
	switch op.Method {
	case http.MethodPost:
		input.DescribeBody(schemas, item.Post)
	case http.MethodPut:
		input.DescribeBody(schemas, item.Put)
	case http.MethodPatch:
		input.DescribeBody(schemas, item.Patch)
	}
}

// refused records a refused request.
func (a *API) refused(r *request, action string, scope store.Scope, why error) {
	front.Refused(r.Context(), a.audit, a.log, r.by(), action, scope.String(), a.needs(r, why))
}

// needs is what a refused caller lacks, for the audit.
func (a *API) needs(r *request, why error) string {
	admin, manager := errors.Is(why, problem.NoAdmin), errors.Is(why, problem.NoManager)
	switch {
	case (admin || manager) && !a.server.MayManage(r.caller):
		return front.NeedsClient
	case admin:
		return front.NeedsAdmin
	case manager:
		return front.NeedsManager
	}
	return front.NeedsMember
}

// home is a path at which catalogs are managed, with the same operations for its managers.
type home struct {
	path string // of all below it
	part string // the parameter of the path that selects one, or empty
	name string // in the names of its operations
	tag  string
	gate gate
}

// forAll is the home of operations that every authenticated caller may call.
func forAll(tag string) home { return home{path: runtime.PathAPI, tag: tag, gate: anybody} }

var (
	everywhere   = home{runtime.PathAPI + "admin", "", "admin", "admin", adminsOnly}
	organization = home{runtime.PathAPI + "orgs/{org_id}", "org_id", "org", "organizations",
		managersOf("org_id", store.InOrg)}
	team = home{runtime.PathAPI + "teams/{team_id}", "team_id", "team", "teams",
		managersOf("team_id", store.InTeam)}
)

// operation is one below the home. id has the home's name in the place of "*".
func (h home) operation(method, id, path, summary string, errors ...int) huma.Operation {
	op := huma.Operation{
		OperationID: strings.Replace(id, "*", h.name, 1), Method: method, Path: h.path + path,
		Summary: summary, Tags: []string{h.tag}, Errors: errors,
	}
	if method == http.MethodPost {
		op.DefaultStatus = http.StatusCreated
	}
	if h.part != "" {
		op.Parameters = []*huma.Param{{Name: h.part, In: "path", Required: true,
			Schema: &huma.Schema{Type: huma.TypeString}}}
		op.Errors = append(op.Errors, http.StatusNotFound)
	}
	return op
}
