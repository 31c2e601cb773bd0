package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mcpgen/mcpgen/runtime/admin/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// gate says where a caller may look at and change things by an operation, or why nowhere. Of the
// request it reads the organisation or the team in its path, and nothing else.
type gate func(a *API, r *request) (store.Scope, error)

// anybody lets in who is somebody.
func anybody(*API, *request) (store.Scope, error) { return store.Scope{}, nil }

// adminsOnly lets admins of the server in, everywhere.
func adminsOnly(a *API, r *request) (store.Scope, error) {
	if !a.authority.Admin(r.caller) {
		return store.Anywhere, errNoAdmin
	}
	return store.Anywhere, nil
}

// granters lets in who decides which resources clients may use.
func granters(a *API, r *request) (store.Scope, error) {
	if !a.authority.MayGrant(r.caller) {
		return store.Anywhere, errNoAdmin
	}
	return store.Anywhere, nil
}

// auditors lets in who reads the audit trail.
func auditors(a *API, r *request) (store.Scope, error) {
	if !a.authority.MayAudit(r.caller) {
		return store.Anywhere, errNoAdmin
	}
	return store.Anywhere, nil
}

// managersOf lets in who manages the organisation or the team whose id is a part of the path.
func managersOf(part string, scope func(id int64) store.Scope) gate {
	return func(a *API, r *request) (store.Scope, error) {
		in := scope(idOf(r.PathValue(part)))
		standing, err := a.authority.Of(r.Context(), r.caller, in)
		switch {
		case err != nil:
			return in, err
		case standing == authority.Manager:
			return in, nil
		case standing == authority.Member:
			return in, errNoManager
		}
		return in, errNotFound
	}
}

// idOf is the number that an id stands for, or 0, which nothing has. An id has one spelling.
func idOf(text string) int64 {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 || strconv.FormatInt(id, 10) != text {
		return 0
	}
	return id
}

func textOf(id int64) string { return strconv.FormatInt(id, 10) }

// register adds an operation behind a gate. Whatever goes wrong in it is answered as a problem.
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
			if errors.Is(err, errNoAdmin) || errors.Is(err, errNoManager) ||
				errors.Is(err, errNotFound) {
				a.refused(r, op.OperationID, r.scope, err)
			}
		} else if err = r.checkQuery(); err == nil {
			err = r.read(w)
		}
		if err == nil {
			// the credential may have ended, or the caller gone, while the body came
			err = r.Context().Err()
		}
		if err != nil {
			a.write(w, a.problemOf(ctx.Context(), r, err), r.id)
			return
		}
		next(ctx)
	}}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		r := requestOf(ctx)
		out, err := do(ctx, r, in)
		if err != nil {
			return nil, a.problemOf(ctx, r, err)
		}
		return out, nil
	})
	switch item := a.huma.OpenAPI().Paths[op.Path]; op.Method {
	case http.MethodPost:
		a.describeBody(item.Post)
	case http.MethodPut:
		a.describeBody(item.Put)
	case http.MethodPatch:
		a.describeBody(item.Patch)
	}
}

// refused records that somebody has asked for what they may not do.
func (a *API) refused(r *request, action string, scope store.Scope, why error) {
	front.Refused(r.Context(), a.audit, a.log, r.by(), action, scope.String(), needs(why))
}
