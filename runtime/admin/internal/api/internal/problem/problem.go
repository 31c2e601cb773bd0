// Package problem makes the problems (RFC 9457) that the admin API responds with, in huma's form,
// which its document describes.
package problem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/mcpgen/mcpgen/internal/escape"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// NotAnID is the message for a text that is no id.
const NotAnID = `expected an id, for example "7" or 7: no sign, fraction, exponent or leading zero`

// The same for every item, whether it exists or not.
var (
	NotFound  = New(http.StatusNotFound, "not found, or not accessible to you")
	NoAdmin   = New(http.StatusForbidden, "only admins of the server may do this")
	NoManager = New(http.StatusForbidden,
		"only owners, admins, leads and admins of the server may do this")
)

// Internal is for errors that only the log contains.
var Internal = New(http.StatusInternalServerError, "internal error: see the server's log")

// New returns a problem with a detail.
func New(status int, format string, args ...any) *huma.ErrorModel {
	return &huma.ErrorModel{Status: status, Title: http.StatusText(status),
		Detail: fmt.Sprintf(format, args...)}
}

// At returns a problem with one part of a request. Its location is in the spelling of huma:
// "body.name", "query.org_id".
func At(status int, location, format string, args ...any) *huma.ErrorModel {
	p := New(status, "validation failed")
	if status != http.StatusUnprocessableEntity {
		p.Detail = fmt.Sprintf(format, args...)
	}
	p.Errors = []*huma.ErrorDetail{{Location: location, Message: fmt.Sprintf(format, args...)}}
	return p
}

// unfit are the members of bodies by the words of the store's error for an invalid one. The first
// that fits counts.
var unfit = []struct{ text, location string }{
	{"the name of the", "body.name"}, {"has no name", "body.name"},
	{"the description", "body.description"}, {"the module", "body.module_id"},
	{"the issuer", "body.issuer"}, {"role ", "body.roles"}, {"item ", "body.items"},
	{"of client and actor", "body.client"}, {"the client", "body.client"}, {"the actor",
		"body.actor"}, {"until is", "body.until"},
	{"subject", "body.subject"}, {"no standing", "body.standing"},
	{"less than an hour ago", "body.before"},
}

// invalid is the problem of a value that the store refuses, with its place in the request if known.
func invalid(err error) *huma.ErrorModel {
	text := strings.TrimPrefix(strings.TrimSuffix(err.Error(), ": "+store.ErrInvalid.Error()),
		"store: ")
	for _, part := range unfit {
		if strings.Contains(text, part.text) {
			return At(http.StatusUnprocessableEntity, part.location, "%s", text)
		}
	}
	return New(http.StatusUnprocessableEntity, "%s", text)
}

// Writer writes problems without the secrets and the input of their requests.
type Writer struct {
	Mask redact.Masker
	Log  *slog.Logger
}

// Of converts an error of a request to the response. id is the id of the request. An unexpected
// error is only logged.
func (w Writer) Of(ctx context.Context, method, id string, err error) *huma.ErrorModel {
	var known *huma.ErrorModel
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, grant.ErrUnknown):
		return NotFound
	case errors.Is(err, grant.ErrDecided):
		return New(http.StatusConflict, "it already has a decision: read it")
	case errors.Is(err, grant.ErrTooMany):
		return New(http.StatusTooManyRequests,
			"this client, or all clients together, have too many open requests: wait until some have a "+
				"decision")
	case errors.Is(err, grant.ErrFull):
		return New(http.StatusConflict, "%s", grant.ErrFull)
	case errors.Is(err, grant.ErrInvalid):
		return New(http.StatusUnprocessableEntity, "%s", unprefixed(err))
	case errors.Is(err, catalog.ErrUnknown):
		return New(http.StatusNotFound, "%s", catalog.ErrUnknown)
	case errors.Is(err, store.ErrNotFound):
		return NotFound
	case errors.Is(err, store.ErrExists):
		return New(http.StatusConflict, "it already exists")
	case errors.Is(err, store.ErrLimit):
		return New(http.StatusConflict, "%s", strings.TrimPrefix(err.Error(), "store: "))
	case errors.Is(err, store.ErrConflict):
		return New(http.StatusPreconditionFailed,
			"it has changed since you read it: read it again, and send its ETag as If-Match")
	case errors.Is(err, store.ErrInvalid):
		return invalid(err)
	}
	if outage := front.Outage(ctx, err, method == http.MethodGet ||
		method == http.MethodHead); outage != "" {
		w.Log.ErrorContext(ctx, "the admin API returned no response", "request_id", id,
			"outage", outage, "error", err)
		return New(http.StatusServiceUnavailable, "%s", outage)
	}
	w.Log.ErrorContext(ctx, "the admin API failed", "request_id", id, "error", err)
	return Internal
}

// unprefixed is the text of a registry's error, without the prefix of its package.
func unprefixed(err error) string {
	text := err.Error()
	if _, rest, ok := strings.Cut(text, "grant: "); ok {
		return rest
	}
	return text
}

// body is a problem with the id of its request.
type body struct {
	*huma.ErrorModel
	RequestID string `json:"request_id,omitempty"`
}

// Write writes a problem as the response. id is the id of the request, or empty if its sender is
// unknown.
func (w Writer) Write(to http.ResponseWriter, p *huma.ErrorModel, id string) {
	to.Header().Set("Content-Type", "application/problem+json")
	clean := w.Clean(p, id, to.Header().Set)
	to.WriteHeader(p.Status)
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(clean)                          // texts and numbers
	_, _ = io.WriteString(to, escape.JSON(b.String())) // the client may be gone
}

// Clean returns the body of the response, and sets the headers that a status needs. It leaves out
// the values of the request, which may be large, or secrets for the log of a client. The names of
// members stay, without secrets.
func (w Writer) Clean(p *huma.ErrorModel, id string, set func(header, value string)) any {
	if p.Status == http.StatusServiceUnavailable {
		set("Retry-After", front.RetryAfter)
	}
	clean := *p
	clean.Detail = w.Mask.Text(p.Detail)
	clean.Errors = nil
	for _, detail := range p.Errors {
		message := detail.Message
		if message == validation.MsgExpectedMatchAtLeastOneSchema {
			message = NotAnID
			if field := detail.Location[strings.LastIndexByte(detail.Location, '.')+1:]; field == "roles" ||
				field == "items" {
				message = `expected a list of texts, or "*" for all`
			}
		}
		clean.Errors = append(clean.Errors, &huma.ErrorDetail{
			Location: w.Mask.Text(detail.Location), Message: w.Mask.Text(message)})
	}
	return body{&clean, id}
}
