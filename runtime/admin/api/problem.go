package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const internal = "internal error: see the server's log"

// What is the same for whatever there is and there is not.
var (
	errNotFound  = problem(http.StatusNotFound, "not found, or not accessible to you")
	errNoAdmin   = problem(http.StatusForbidden, "only admins of the server may do this")
	errNoManager = problem(http.StatusForbidden,
		"only owners, admins, leads and admins of the server may do this")
)

// needs says for the audit what a refused caller lacks.
func needs(why error) string {
	switch {
	case errors.Is(why, errNoAdmin):
		return front.NeedsAdmin
	case errors.Is(why, errNoManager):
		return front.NeedsManager
	}
	return front.NeedsMember
}

// problem is what RFC 9457 calls one, with huma's form, which is the one that the document
// describes.
func problem(status int, format string, args ...any) *huma.ErrorModel {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status),
		Detail: fmt.Sprintf(format, args...)}
}

// misfit is a problem with one part of a request, which is named as huma names those that it finds
// itself: "body.name", "query.org_id".
func misfit(status int, location, format string, args ...any) *huma.ErrorModel {
	p := problem(status, "%s", "validation failed")
	if status != http.StatusUnprocessableEntity {
		p.Detail = fmt.Sprintf(format, args...)
	}
	p.Errors = []*huma.ErrorDetail{{Location: location, Message: fmt.Sprintf(format, args...)}}
	return p
}

// taken says what the store found there already, where that is why it did not take something.
func taken(err error, location, format string, args ...any) error {
	if errors.Is(err, store.ErrExists) {
		return misfit(http.StatusConflict, location, format, args...)
	}
	return err
}

// unfit are the members of bodies by the words with which the store says that one of them is not
// valid. The first that fits counts.
var unfit = []struct{ says, location string }{
	{"the name of the", "body.name"}, {"has no name", "body.name"},
	{"the description", "body.description"}, {"the module", "body.module_id"},
	{"the issuer", "body.issuer"}, {"subject", "body.subject"}, {"no standing", "body.standing"},
	{"less than an hour ago", "body.before"},
}

// invalid is what the store does not take, and where it stands in the request if that is known.
func invalid(err error) *huma.ErrorModel {
	text := strings.TrimPrefix(strings.TrimSuffix(err.Error(), ": "+store.ErrInvalid.Error()),
		"store: ")
	for _, part := range unfit {
		if strings.Contains(text, part.says) {
			return misfit(http.StatusUnprocessableEntity, part.location, "%s", text)
		}
	}
	return problem(http.StatusUnprocessableEntity, "%s", text)
}

// problemOf converts an error to the response. An unexpected error is only logged.
func (a *API) problemOf(ctx context.Context, r *request, err error) *huma.ErrorModel {
	var known *huma.ErrorModel
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, grant.ErrUnknown):
		return errNotFound
	case errors.Is(err, grant.ErrDecided):
		return problem(http.StatusConflict, "it already has a decision: read it")
	case errors.Is(err, grant.ErrTooMany):
		return problem(http.StatusTooManyRequests,
			"this client, or all clients together, have too many open requests: wait until some have a "+
				"decision")
	case errors.Is(err, grant.ErrFull):
		return problem(http.StatusConflict, "%s", grant.ErrFull)
	case errors.Is(err, grant.ErrInvalid):
		return problem(http.StatusUnprocessableEntity, "%s", unprefixed(err))
	case errors.Is(err, catalog.ErrUnknown):
		return problem(http.StatusNotFound, "%s", catalog.ErrUnknown)
	case errors.Is(err, store.ErrNotFound):
		return errNotFound
	case errors.Is(err, store.ErrExists):
		return problem(http.StatusConflict, "it already exists")
	case errors.Is(err, store.ErrLimit):
		return problem(http.StatusConflict, "%s", strings.TrimPrefix(err.Error(), "store: "))
	case errors.Is(err, store.ErrConflict):
		return problem(http.StatusPreconditionFailed,
			"it has changed since you read it: read it again, and send its ETag as If-Match")
	case errors.Is(err, store.ErrInvalid):
		return invalid(err)
	}
	if outage := front.Outage(ctx, err, r.Method == http.MethodGet ||
		r.Method == http.MethodHead); outage != "" {
		a.log.ErrorContext(ctx, "the admin API returned no response", "request_id", r.id,
			"outage", outage, "error", err)
		return problem(http.StatusServiceUnavailable, "%s", outage)
	}
	a.log.ErrorContext(ctx, "the admin API failed", "request_id", r.id, "error", err)
	return problem(http.StatusInternalServerError, internal)
}

// unprefixed is what a registry says of what it does not take, without who says it.
func unprefixed(err error) string {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, "grant: "); ok {
		return rest
	}
	return text
}

// told is a problem as it leaves, with what the log calls the request.
type problemBody struct {
	*huma.ErrorModel
	RequestID string `json:"request_id,omitempty"`
}

// write answers with a problem, as tell does. id is the request's, or empty where nobody is known
// to have sent it.
func (a *API) write(w http.ResponseWriter, p *huma.ErrorModel, id string) {
	if p.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", front.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(problemBody{a.clean(p), id}) // the client may be gone
}

// tell makes a problem fit to leave. What the request held is left out: it may be large, and may be
// a secret that ends in somebody's log. What is to be said of it is said first. Names of members
// are repeated, but for what is secret in them.
func (a *API) tell(ctx huma.Context, _ string, v any) (any, error) {
	p, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if p.Status == http.StatusServiceUnavailable {
		ctx.SetHeader("Retry-After", front.RetryAfter)
	}
	return problemBody{a.clean(p), requestOf(ctx.Context()).id}, nil
}

// clean is a problem without what the request held, and without secrets.
func (a *API) clean(p *huma.ErrorModel) *huma.ErrorModel {
	clean, mask := *p, a.server.Masker()
	clean.Detail = mask.Text(p.Detail)
	clean.Errors = nil
	for _, detail := range p.Errors {
		message := detail.Message
		if message == validation.MsgExpectedMatchAtLeastOneSchema { // only ids have several
			message = notAnID
		}
		clean.Errors = append(clean.Errors, &huma.ErrorDetail{Location: mask.Text(detail.Location),
			Message: mask.Text(message)})
	}
	return &clean
}
