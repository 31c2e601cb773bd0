package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/pattern"
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

// read returns the permission in its canonical form, or what is wrong with each part of it. in is
// where it stands in the request: "body".
func (p Permission) read(in string) (grant.Permission, error) {
	read := grant.Permission{Type: p.Type, Resource: p.Resource,
		Unrestricted: grant.Unrestricted(p.Restricted != nil && !*p.Restricted),
		Parameters:   p.Parameters}
	err := read.Validate()
	if err == nil {
		read = read.Canonical() // in which escapes of a command are what they stand for
		hidden := first(plain(in+".resource", p.Resource), plain(in+".resource", read.Resource))
		for _, key := range slices.Sorted(maps.Keys(p.Parameters)) {
			if found := grant.HiddenParameter(p.Parameters[key]); found != nil {
				hidden = first(hidden, misfit(http.StatusUnprocessableEntity, in+".parameters",
					"%s", found))
			}
		}
		return read, hidden
	}
	parts := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		parts = joined.Unwrap()
	}
	p422 := problem(http.StatusUnprocessableEntity, "validation failed")
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

// rootsAre lets rooted say which roots there are.
const rootsAre = "; the roots are "

// rooted refuses a permission on files below a root that there is not: it would be granted, and
// never count. in is where the permission stands, and which says which roots there are, to those
// who may know, or is empty.
func (a *API) rooted(p grant.Permission, in, which string) error {
	roots := a.server.Roots()
	name := grant.Missing(p, roots)
	if name == "" {
		return nil
	}
	if which != "" {
		which += strings.Join(roots, ", ")
	}
	return misfit(http.StatusUnprocessableEntity, in+".resource", "unknown root %q%s", name,
		which)
}

// prose refuses a reason or a note that a keeper would not take.
func prose(location, text string) error {
	if err := grant.Prose(text); err != nil {
		return misfit(http.StatusUnprocessableEntity, location, "%s", err)
	}
	return nil
}

// plain refuses the name of somebody or something that none has: what cannot be seen in it may show
// as something else to who decides by it.
func plain(location, text string) error {
	if hidden := grant.Hidden(text); hidden != nil {
		return misfit(http.StatusUnprocessableEntity, location, "%s", hidden)
	}
	return nil
}

// until is the time until which something is granted; zero is for ever.
func until(location string, expires *time.Time) (time.Time, error) {
	switch {
	case expires == nil:
		return time.Time{}, nil
	case !time.Now().Before(*expires):
		return time.Time{}, misfit(http.StatusUnprocessableEntity, location,
			"it has passed: use a later time, or omit it for a grant without an expiry")
	}
	return expires.UTC(), nil
}

// when is a time of an answer, and nothing for none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// byGrant is a cursor of grants or of requests for them: an id, as their registry names it.
const byGrant = 'g'

// part reads a page of a list that a registry gives in parts of its own size, of what keep chooses.
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
		// One more than fits says that there is a next page.
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

// named reports whether a text can be the id of a grant or of a request: what a registry is asked
// for is no path, no NUL and no text of any length.
func named(id string) bool {
	return id != "" && len(id) <= 128 && !slices.Contains([]string{".", ".."}, id) &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") == ""
}

// changeGrants does something to grants for the caller. Do says what was done to what; see
// front.Change.
func (a *API) changeGrants(r *request, do func(ctx context.Context) (
	action, object string, err error)) error {
	return front.Change(r.Context(), a.grants, a.audit, a.log, r.by(), do)
}
