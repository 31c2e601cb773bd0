package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

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
	const path = runtime.PathAPI + requestsPath
	tags := []string{"grants"}

	op := huma.Operation{OperationID: "list-own-grant-requests", Method: http.MethodGet, Path: path,
		Tags: tags, Summary: "List the permission requests of the caller's client, newest first"}
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

	op = huma.Operation{
		OperationID: "create-own-grant-request", Method: http.MethodPost, Path: path, Tags: tags,
		DefaultStatus: http.StatusCreated,
		Summary:       "Request a permission for the caller's client",
		Errors:        []int{http.StatusTooManyRequests},
		Description: "If the client has an open request for the same permission, " +
			"the answer is that request. The status is 201 then, too.",
	}
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

	op = huma.Operation{
		OperationID: "get-own-grant-request", Method: http.MethodGet, Path: path + "/{id}",
		Tags: tags, Summary: "Read a permission request of the caller's client",
		Errors: []int{http.StatusNotFound},
	}
	register(a, op, anybody, func(ctx context.Context, r *request, i *ID) (
		*one[OwnRequest], error) {
		q, err := a.requestByID(ctx, i.ID)
		if err == nil && !r.own(q) {
			err = grant.ErrUnknown
		}
		if errors.Is(err, grant.ErrUnknown) {
			// Another's is as one that never was, in the time that the record takes as well.
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
