package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
	"github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// Permission is a permission on resources of a type.
type Permission struct {
	Type       string                     `json:"type" minLength:"1" maxLength:"128" doc:"A dotted kind: file.read, file.write, system.command, net.connect, or one of the server's own"`
	Resource   string                     `json:"resource" minLength:"1" maxLength:"4096" doc:"A pattern of resources: public/docs/**, git log *, api.example.com:443"`
	Restricted *bool                      `json:"restricted,omitempty" default:"true" doc:"It applies to isolated calls only. Default: true"`
	Parameters map[string]json.RawMessage `json:"parameters,omitempty" maxProperties:"16" doc:"JSON values that restrict the grant further; the tools of the type define them"`
}

func permissionOf(p grant.Permission) Permission {
	restricted := bool(!p.Unrestricted)
	return Permission{p.Type, p.Resource, &restricted, p.Parameters}
}

// read returns the permission in its canonical form, or the faults of its parts. in is its place in
// the request: "body".
func (p Permission) read(in string) (grant.Permission, error) {
	read := grant.Permission{Type: p.Type, Resource: p.Resource,
		Unrestricted: grant.Unrestricted(p.Restricted != nil && !*p.Restricted),
		Parameters:   p.Parameters}
	err := read.Validate()
	if err == nil {
		read = read.Canonical() // without the escapes of a command
		hidden := cmp.Or(plain(in+".resource", p.Resource), plain(in+".resource", read.Resource))
		for _, key := range slices.Sorted(maps.Keys(p.Parameters)) {
			if found := hiddentext.InJSON(p.Parameters[key]); found != nil {
				hidden = cmp.Or[error](hidden, problem.At(http.StatusUnprocessableEntity, in+".parameters",
					"%s", found))
			}
		}
		return read, hidden
	}
	parts := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts = joined.Unwrap()
	}
	p422 := problem.New(http.StatusUnprocessableEntity, "validation failed")
	for _, part := range parts {
		at, text := in+".type", part.Error()
		var wrong *pattern.Error
		switch {
		case errors.As(part, &wrong):
			at = in + ".resource"
		case strings.HasPrefix(text, "parameter"):
			at = in + ".parameters"
		}
		p422.Errors = append(p422.Errors, &huma.ErrorDetail{Location: at, Message: text})
	}
	return grant.Permission{}, p422
}

// rootsAre is the text before the names of the roots.
const rootsAre = "; the roots are "

// rooted refuses a permission on files below a missing root: it would be granted, and never count.
// in is where the permission is in the request. which is rootsAre for callers who may know the
// roots, or empty.
func (a *API) rooted(p grant.Permission, in, which string) error {
	roots := a.server.Roots()
	name := p.MissingRoot(roots)
	if name == "" {
		return nil
	}
	if which != "" {
		which += strings.Join(roots, ", ")
	}
	return problem.At(http.StatusUnprocessableEntity, in+".resource", "unknown root %q%s", name,
		which)
}

// prose refuses a reason or a note that a keeper would not take.
func prose(location, text string) error {
	if err := hiddentext.Prose(text); err != nil {
		return problem.At(http.StatusUnprocessableEntity, location, "%s", err)
	}
	return nil
}

// plain refuses an impossible name: its invisible characters may deceive the administrator who
// decides.
func plain(location, text string) error {
	if hidden := hiddentext.First(text); hidden != nil {
		return problem.At(http.StatusUnprocessableEntity, location, "%s", hidden)
	}
	return nil
}

// until is the time until which something is granted; zero is for ever.
func until(location string, expires *time.Time) (time.Time, error) {
	switch {
	case expires == nil:
		return time.Time{}, nil
	case !time.Now().Before(*expires):
		return time.Time{}, problem.At(http.StatusUnprocessableEntity, location,
			"it has passed: use a later time, or omit it for a grant without an expiry")
	}
	return expires.UTC(), nil
}

// when is a time of a response, and nothing for none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// byGrant is a cursor of grants or of requests for them: an id, as their registry names it.
const byGrant = 'g'

// part reads a page of the items that keep selects, from a registry that has pages of its own size.
func part[T any](r *request, p Paging, id func(T) string, keep func(T) bool,
	read func(after string, limit int) ([]T, error)) (found []T, more bool, err error) {
	_, after, err := keyOf(p.After, byGrant)
	if err != nil {
		return nil, false, err
	}
	if after != "" && !named(after) {
		return nil, false, errCursor
	}
	for {
		if err := r.Context().Err(); err != nil {
			return nil, false, err
		}
		// One more than fits shows that there is a next page.
		limit := min(p.Limit+1-len(found), grant.MaxPage)
		some, err := read(after, limit)
		switch {
		case errors.Is(err, grant.ErrInvalid) && p.After != "":
			return nil, false, errCursor
		case err != nil:
			return nil, false, err
		}
		for _, one := range some {
			after = id(one)
			if !keep(one) {
				continue
			}
			if len(found) == p.Limit {
				return found, true, nil
			}
			found = append(found, one)
		}
		if len(some) < limit {
			return found, false, nil
		}
	}
}

// named reports whether a text can be the id of a grant or of a request: registries get no path, no
// NUL and no long text.
func named(id string) bool {
	return id != "" && len(id) <= 128 && !slices.Contains([]string{".", ".."}, id) &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") == ""
}

// changeGrants changes grants for the caller. do returns the action and its object; see
// front.Change.
func (a *API) changeGrants(r *request, do func(ctx context.Context) (
	action, object string, err error)) error {
	return front.Change(r.Context(), a.grants, a.audit, a.log, r.by(), do)
}
