package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const internal = "internal error: the server's log says more"

// What is the same for whatever there is and there is not.
var (
	errNotFound  = problem(http.StatusNotFound, "there is nothing here, or nothing of yours")
	errNoAdmin   = problem(http.StatusForbidden, "this is for admins of the server")
	errNoManager = problem(http.StatusForbidden, "this is for owners, admins and leads, and for admins of the server")
)

// needs says for the audit what a refused caller lacks.
func needs(why error) string {
	switch {
	case errors.Is(why, errNoAdmin):
		return "needs the role of an admin"
	case errors.Is(why, errNoManager):
		return "needs to be owner, admin or lead"
	}
	return "needs to be a member"
}

// problem is what RFC 9457 calls one, with huma's form, which is the one that the document describes.
func problem(status int, format string, args ...any) *huma.ErrorModel {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status), Detail: fmt.Sprintf(format, args...)}
}

// problemOf is how an error is told to the caller. What nobody foresaw is told to the log alone.
func (a *API) problemOf(ctx context.Context, r *request, err error) *huma.ErrorModel {
	var known *huma.ErrorModel
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, catalog.ErrUnknown):
		return problem(http.StatusNotFound, "%s", catalog.ErrUnknown)
	case errors.Is(err, store.ErrNotFound):
		return errNotFound
	case errors.Is(err, store.ErrExists):
		return problem(http.StatusConflict, "there is one already: the name is taken, or it is in there")
	case errors.Is(err, store.ErrLimit):
		return problem(http.StatusConflict, "%s", strings.TrimPrefix(err.Error(), "store: "))
	case errors.Is(err, store.ErrConflict):
		return problem(http.StatusPreconditionFailed, "it has changed since you read it: read it again, and send its ETag as If-Match")
	case errors.Is(err, store.ErrInvalid):
		text := strings.TrimSuffix(err.Error(), ": "+store.ErrInvalid.Error())
		return problem(http.StatusUnprocessableEntity, "%s", strings.TrimPrefix(text, "store: "))
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		a.log.WarnContext(ctx, "the admin API had no answer in time", "request", r.id, "error", err)
		return problem(http.StatusServiceUnavailable, "no answer in time: a change may have been made or not")
	}
	a.log.ErrorContext(ctx, "the admin API failed", "request", r.id, "error", err)
	return problem(http.StatusInternalServerError, internal)
}

// write answers with a problem.
func write(w http.ResponseWriter, p *huma.ErrorModel) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p) // the client may be gone
}

// withoutValues leaves out of a problem what the request held: it may be large, and may be a secret that
// ends in somebody's log.
func withoutValues(_ huma.Context, _ string, v any) (any, error) {
	p, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	clean := *p
	clean.Errors = nil
	for _, detail := range p.Errors {
		clean.Errors = append(clean.Errors, &huma.ErrorDetail{Location: detail.Location, Message: detail.Message})
	}
	return &clean, nil
}
