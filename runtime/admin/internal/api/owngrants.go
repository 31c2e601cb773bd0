package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	grantsPath   = "mcp/grants"
	requestsPath = grantsPath + "/requests"
)

// OwnGrant is a permission of the caller's client.
type OwnGrant struct {
	ID string `json:"id"`
	Permission
	Default bool       `json:"default" doc:"All clients have it: it is in the configuration of the server"`
	Expired bool       `json:"expired" doc:"It has expired"`
	Created *time.Time `json:"created_at,omitempty"`
	Expires *time.Time `json:"expires_at,omitempty" doc:"The expiry; without it, the grant does not expire"`
}

func ownGrantOf(g grant.Grant, now time.Time) OwnGrant {
	return OwnGrant{
		ID: g.ID, Permission: permissionOf(g.Permission), Default: g.Client == "",
		Expired: g.Expired(now), Created: when(g.Created), Expires: when(g.Expires),
	}
}

// GrantCheck reports whether the caller's client may use a resource.
type GrantCheck struct {
	Allowed bool   `json:"allowed"`
	Cause   string `json:"cause,omitempty" enum:"no_grant,expired,restricted,malformed,special,not_public" doc:"The reason"`
	Reason  string `json:"reason,omitempty" doc:"The reason, for readers"`
}

// ownGrants registers the operations of clients on their own grants.
func (a *API) ownGrants() {
	in := forAll("grants")
	op := in.operation(http.MethodGet, "list-own-grants", grantsPath,
		"List the grants of the caller's client, the default grants included")
	register(a, op, anybody, func(ctx context.Context, r *request, i *Paging) (
		*pageOutput[OwnGrant], error) {
		_, after, err := keyOf(i.After, byGrant)
		if err != nil {
			return nil, err
		}
		all, err := a.grantsOf(ctx, r)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		// ids are numbers, or longer
		key := func(g grant.Grant) string { return fmt.Sprintf("%03d%s", len(g.ID), g.ID) }
		some, more := cut(all, key, store.Page[string]{After: after, Limit: i.Limit})
		return paged(r, some, more, func(g grant.Grant) OwnGrant { return ownGrantOf(g, now) },
			func(g grant.Grant) string { return cursorOf(byGrant, key(g)) }), nil
	})

	op = in.operation(http.MethodGet, "check-own-grants", grantsPath+"/check",
		"Check whether the caller's client may use a resource")
	op.Description = "The result is for the name only. A call can still be refused because of the " +
		"target of a link or the address of a host."
	type checkInput struct {
		Type     string `query:"type" required:"true" minLength:"1" maxLength:"128"`
		Resource string `query:"resource" required:"true" minLength:"1" maxLength:"4096" doc:"A resource, not a pattern: a path, a host with its port, or the words of a command, plain or as a JSON array of strings"`
		Isolated bool   `query:"isolated" doc:"The tool would run in isolation"`
	}
	type output struct{ Body GrantCheck }
	register(a, op, anybody, func(ctx context.Context, r *request, i *checkInput) (*output, error) {
		query := grant.Query{Kind: i.Type, Resource: i.Resource, Isolated: i.Isolated}
		if pattern.FamilyOf(i.Type) == pattern.Commands {
			query.Resource, query.Argv = "", strings.Fields(i.Resource)
			if strings.HasPrefix(i.Resource, "[") {
				query.Argv = nil
				if err := json.Unmarshal([]byte(i.Resource), &query.Argv); err != nil {
					return nil, problem.At(http.StatusUnprocessableEntity, "query.resource",
						`it begins like a JSON array, but is not an array of strings: write ["git","log"], or `+
							`only the words`)
				}
			}
		}
		all, err := a.grantsOf(ctx, r)
		if err != nil {
			return nil, err
		}
		set, err := grant.NewSet(all...)
		if err != nil {
			return nil, err
		}
		decided := set.Decide(time.Now(), query)
		out := &output{GrantCheck{Allowed: decided.Allowed}}
		var denied *grant.Denied
		if errors.As(decided.Err(), &denied) {
			out.Body.Cause, out.Body.Reason = string(denied.Cause), denied.Reason
		}
		return out, nil
	})
}

// grantsOf are those of everybody and those of the caller's client, as the server decides by.
func (a *API) grantsOf(ctx context.Context, r *request) ([]grant.Grant, error) {
	own, _, err := a.grants.Grants(ctx, r.caller.Issuer, r.caller.ClientID())
	return append(a.server.GrantDefaults(), own...), err
}

// OwnRequest is a permission that the caller's client has requested. It does not name the
// administrator.
type OwnRequest struct {
	ID string `json:"id"`
	Permission
	Tool    string     `json:"tool,omitempty" doc:"The tool whose call was refused"`
	Reason  string     `json:"reason"`
	Status  string     `json:"status" enum:"open,approved,denied,withdrawn"`
	Created time.Time  `json:"created_at"`
	Decided *time.Time `json:"decided_at,omitempty"`
	Note    string     `json:"note,omitempty" doc:"The note of the decision"`
	GrantID string     `json:"grant_id,omitempty" doc:"The granted permission"`
}

func ownRequestOf(q grant.Request) OwnRequest {
	return OwnRequest{
		ID: q.ID, Permission: permissionOf(q.Permission), Tool: q.Tool, Reason: q.Reason,
		Status:  string(q.Status),
		Created: q.Created, Decided: when(q.Decided), Note: q.Note, GrantID: q.Grant,
	}
}

// NewRequest is a client's request. The client is the caller, and not part of the body.
type NewRequest struct {
	Permission
	Reason string `json:"reason" minLength:"1" maxLength:"1000" doc:"The reason for the request"`
	Tool   string `json:"tool,omitempty" maxLength:"128" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"a tool's name" doc:"The tool whose call was refused"`
}

// own reports whether a request is of the caller's client.
func (r *request) own(q grant.Request) bool {
	return q.Issuer == r.caller.Issuer && q.Client == r.caller.ClientID()
}

// ownRequests registers the operations of clients on their own requests.
func (a *API) ownRequests() {
	in := forAll("grants")
	op := in.operation(http.MethodGet, "list-own-grant-requests", requestsPath,
		"List the permission requests of the caller's client, newest first")
	register(a, op, anybody, func(ctx context.Context, r *request, i *Paging) (
		*pageOutput[OwnRequest], error) {
		some, more, err := part(r, *i, requestID, r.own,
			func(after string, limit int) ([]grant.Request, error) {
				return a.grants.Requests(ctx, grant.Filter{
					Issuer: r.caller.Issuer, Client: r.caller.ClientID(), Exact: true, After: after,
					Limit: limit})
			})
		return paged(r, some, more, ownRequestOf, requestCursor), err
	})

	op = in.operation(http.MethodPost, "create-own-grant-request", requestsPath,
		"Request a permission for the caller's client", http.StatusTooManyRequests)
	op.Description = "If the client has an open request for the same permission, " +
		"the answer is that request. The status is 201 then, too."
	register(a, op, anybody, func(ctx context.Context, r *request, i *struct{ Body NewRequest }) (
		*made[OwnRequest], error) {
		wanted, err := i.Body.Permission.read("body")
		if err == nil {
			err = a.rooted(wanted, "body", "")
		}
		if err == nil {
			err = prose("body.reason", i.Body.Reason)
		}
		if err != nil {
			return nil, err
		}
		var q grant.Request
		err = a.changeGrants(r, func(ctx context.Context) (string, string, error) {
			q, err = a.grants.Ask(ctx, grant.Request{
				Permission: wanted, Issuer: r.caller.Issuer, Client: r.caller.ClientID(),
				Principal: r.caller.Subject, Tool: i.Body.Tool, Reason: i.Body.Reason,
			})
			return "request permission", front.AboutRequest(q), err
		})
		return created(r, q.ID, ownRequestOf(q), 0), err
	})

	op = in.operation(http.MethodGet, "get-own-grant-request", requestsPath+"/{id}",
		"Read a permission request of the caller's client", http.StatusNotFound)
	register(a, op, anybody, func(ctx context.Context, r *request, i *ID) (
		*one[OwnRequest], error) {
		q, err := a.requestByID(ctx, i.ID)
		if err == nil && !r.own(q) {
			err = grant.ErrUnknown
		}
		if errors.Is(err, grant.ErrUnknown) {
			// Another's request is like a missing one, also in the time of the record.
			front.Refused(ctx, a.audit, a.log, r.by(), "get-own-grant-request",
				"a request for a permission", front.NeedsAsker)
		}
		return found(ownRequestOf(q), 0), err
	})
}

// requestByID is a request by its id, which may be any text.
func (a *API) requestByID(ctx context.Context, id string) (grant.Request, error) {
	if !named(id) {
		return grant.Request{}, grant.ErrUnknown
	}
	return a.grants.Request(ctx, id)
}

func requestID(q grant.Request) string     { return q.ID }
func requestCursor(q grant.Request) string { return cursorOf(byGrant, q.ID) }
