package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// Grant is a permission of a client, in the view of administrators.
type Grant struct {
	ID string `json:"id"`
	Permission
	Issuer  string     `json:"issuer" doc:"The issuer of the client's tokens (claim iss)"`
	Client  string     `json:"client"`
	By      string     `json:"by" doc:"The granting administrator"`
	Reason  string     `json:"reason"`
	Expired bool       `json:"expired" doc:"It has expired"`
	Created *time.Time `json:"created_at,omitempty"`
	Expires *time.Time `json:"expires_at,omitempty" doc:"The expiry; without it, the grant does not expire"`
}

func grantOf(g grant.Grant) Grant {
	return Grant{
		ID: g.ID, Permission: permissionOf(g.Permission), Issuer: g.Issuer, Client: g.Client,
		By: g.By, Reason: g.Reason,
		Expired: g.Expired(time.Now()), Created: when(g.Created), Expires: when(g.Expires),
	}
}

// ClientName selects a client.
type ClientName struct {
	Issuer string `json:"issuer" maxLength:"512" doc:"The issuer of the client's tokens; empty for grants in the configuration"`
	Client string `json:"client" minLength:"1" maxLength:"512" doc:"As returned by whoami"`
}

func (c ClientName) check() error {
	return cmp.Or(plain("body.issuer", c.Issuer), plain("body.client", c.Client))
}

// NewGrant contains the fields of a new grant. The caller is the grantor.
type NewGrant struct {
	ClientName
	Permission
	Expires *time.Time `json:"expires_at,omitempty" doc:"The expiry; without it, the grant does not expire"`
	Reason  string     `json:"reason,omitempty" maxLength:"1000" doc:"For the audit trail"`
}

// Revocation selects the grants to revoke.
type Revocation struct {
	ClientName
	Type     string `json:"type" minLength:"1" maxLength:"128"`
	Resource string `json:"resource,omitempty" minLength:"1" maxLength:"4096" doc:"The pattern exactly as granted; other grants stay. Without it, all grants of the type"`
	Reason   string `json:"reason,omitempty" maxLength:"1000" doc:"For the audit trail"`
}

// Revoked contains the revoked grants.
type Revoked struct {
	Revoked []Grant `json:"revoked" nullable:"false"`
}

// OfClients narrows a list of grants or of requests.
type OfClients struct {
	Paging
	Issuer string `query:"issuer" maxLength:"512"`
	Client string `query:"client" maxLength:"512"`
	Type   string `query:"type" maxLength:"128"`
}

// filter is the part of the list that comes after an id.
func (o OfClients) filter(status, after string, limit int) grant.Filter {
	return grant.Filter{Issuer: o.Issuer, Client: o.Client, Type: o.Type,
		Status: grant.Status(status), After: after, Limit: limit}
}

func (o OfClients) check() error {
	return cmp.Or(plain("query.issuer", o.Issuer), plain("query.client", o.Client),
		plain("query.type", o.Type))
}

// grantsOfAll registers the operations on the grants of clients.
func (a *API) grantsOfAll() {
	const path = "/" + grantsPath
	in := everywhere
	register(a, in.operation(http.MethodGet, "list-grants", path,
		"List the grants of clients"), granters,
		func(ctx context.Context, r *request, i *OfClients) (*pageOutput[Grant], error) {
			if err := i.check(); err != nil {
				return nil, err
			}
			id := func(g grant.Grant) string { return g.ID }
			some, more, err := part(r, i.Paging, id, func(grant.Grant) bool { return true },
				func(after string, limit int) ([]grant.Grant, error) {
					return a.grants.List(ctx, i.filter("", after, limit))
				})
			return paged(r, some, more, grantOf,
				func(g grant.Grant) string { return cursorOf(byGrant, g.ID) }), err
		})

	register(a, in.operation(http.MethodGet, "get-grant", path+"/{id}", "Read a grant",
		http.StatusNotFound), granters,
		func(ctx context.Context, r *request, i *ID) (*one[Grant], error) {
			if !named(i.ID) {
				return nil, grant.ErrUnknown
			}
			some, err := a.grants.List(ctx, grant.Filter{ID: i.ID, Limit: 1})
			switch {
			case err != nil:
				return nil, err
			case len(some) == 0 || some[0].ID != i.ID:
				return nil, grant.ErrUnknown
			}
			return found(grantOf(some[0]), 0), nil
		})

	op := in.operation(http.MethodPost, "grant", path, "Grant a client a permission",
		http.StatusConflict)
	op.Description = "If the client has the same permission already, " +
		"the new grant replaces the old one under its id. The status is 201 then, too."
	type posted struct{ Body NewGrant }
	register(a, op, granters, func(ctx context.Context, r *request, i *posted) (
		*made[Grant], error) {
		given, err := i.Body.Permission.read("body")
		expires, late := until("body.expires_at", i.Body.Expires)
		if err == nil {
			err = a.rooted(given, "body", rootsAre)
		}
		if err := cmp.Or(err, late, i.Body.check(),
			prose("body.reason", i.Body.Reason)); err != nil {
			return nil, err
		}
		var g grant.Grant
		err = a.changeGrants(r, func(ctx context.Context) (string, string, error) {
			g, err = a.grants.Grant(ctx, grant.Grant{
				Permission: given, Issuer: i.Body.Issuer, Client: i.Body.Client,
				By: r.caller.Subject, Reason: i.Body.Reason, Expires: expires,
			})
			return "grant permission", front.AboutGrant(g), err
		})
		return created(r, g.ID, grantOf(g), 0), err
	})

	op = in.operation(http.MethodPost, "revoke-grants", path+"/revoke",
		"Revoke a permission, or all of a type, from a client", http.StatusNotFound)
	op.DefaultStatus = http.StatusOK
	op.Description = "It applies from the client's next request on. If the client has no such " +
		"grant, the API revokes nothing and returns 404 with the existing grants."
	register(a, op, granters, func(ctx context.Context, r *request, i *struct{ Body Revocation }) (
		*struct{ Body Revoked }, error) {
		if err := cmp.Or(i.Body.check(), plain("body.type", i.Body.Type),
			plain("body.resource", i.Body.Resource),
			prose("body.reason", i.Body.Reason)); err != nil {
			return nil, err
		}
		out := &struct{ Body Revoked }{Revoked{[]Grant{}}}
		err := a.changeGrants(r, func(ctx context.Context) (string, string, error) {
			revoked, err := a.grants.Revoke(ctx, grant.Revocation{
				Issuer: i.Body.Issuer, Client: i.Body.Client, Type: i.Body.Type,
				Resource: i.Body.Resource, By: r.caller.Subject, Reason: i.Body.Reason,
			})
			for _, g := range revoked {
				out.Body.Revoked = append(out.Body.Revoked, grantOf(g))
			}
			if err == nil && len(revoked) == 0 {
				return "", "", a.noneToRevoke(ctx, i.Body)
			}
			if len(revoked) == 1 {
				return "revoke permission", front.AboutGrant(revoked[0]), nil
			}
			return "revoke permission", fmt.Sprintf(
				"%d grants of %s: %s", len(revoked),
				front.AboutClient(i.Body.Issuer, i.Body.Client), i.Body.Type), err
		})
		return out, err
	})
}

// noneToRevoke returns an error with the reason why a revocation removed nothing, and the grants
// that the client has. After a success, the admin would assume that the client has lost them.
func (a *API) noneToRevoke(ctx context.Context, i Revocation) error {
	if i.Resource != "" {
		if _, everybodys := grant.Revoke(a.server.GrantDefaults(), i.Type, i.Resource); len(
			everybodys) > 0 {
			return problem.New(http.StatusNotFound,
				"all clients have %s %s by configuration (GrantDefaults); it cannot be revoked",
				i.Type, everybodys[0].Resource)
		}
	}
	held, _, err := a.grants.Grants(ctx, i.Issuer, i.Client)
	if err != nil {
		return err
	}
	whose, lacks := front.AboutClient(i.Issuer, i.Client), "has no grant of "+i.Type
	if i.Resource != "" {
		lacks += " " + i.Resource
	}
	_, alike := grant.Revoke(held, i.Type, "")
	switch {
	case len(alike) > 0:
		return problem.New(http.StatusNotFound, "%s %s; it has %s", whose, lacks,
			few(alike, func(g grant.Grant) string { return g.Resource }))
	case len(held) > 0:
		return problem.New(http.StatusNotFound, "%s %s; it has %s", whose, lacks,
			few(held, func(g grant.Grant) string { return g.Type + " " + g.Resource }))
	}
	others, err := a.grants.List(ctx, grant.Filter{Client: i.Client, Limit: 1})
	if err != nil {
		return err
	}
	if len(others) > 0 { // an empty issuer in a filter is any
		return problem.New(http.StatusNotFound, "%s %s, nor any other; a client with grants is %s", whose,
			lacks, front.AboutClient(others[0].Issuer, others[0].Client))
	}
	return problem.New(
		http.StatusNotFound,
		"%s %s, nor any other: check the spelling in the list of grants", whose, lacks)
}

// few names some of many in one line.
func few(all []grant.Grant, name func(grant.Grant) string) string {
	const most = 3
	var names []string
	for _, g := range all[:min(most, len(all))] {
		names = append(names, name(g))
	}
	text := strings.Join(names, ", ")
	if len(all) > most {
		text += fmt.Sprintf(" and %d more", len(all)-most)
	}
	return text
}

// PermissionRequest is a client's request, in the view of administrators.
type PermissionRequest struct {
	OwnRequest
	Issuer    string `json:"issuer" doc:"The issuer of the client's tokens"`
	Client    string `json:"client"`
	Principal string `json:"principal" doc:"The subject of the request"`
	By        string `json:"decided_by,omitempty"`
}

func permissionRequestOf(q grant.Request) PermissionRequest {
	return PermissionRequest{ownRequestOf(q), q.Issuer, q.Client, q.Principal, q.By}
}

// Approval contains the decision to approve a request.
type Approval struct {
	Note       string      `json:"note,omitempty" maxLength:"1000" doc:"The client reads it"`
	Expires    *time.Time  `json:"expires_at,omitempty" doc:"The expiry; without it, the grant does not expire"`
	Permission *Permission `json:"permission,omitempty" doc:"The permission to grant instead of the requested one; it must not exceed the request"`
}

// Approved contains a request and its grant.
type Approved struct {
	Request PermissionRequest `json:"request"`
	Grant   Grant             `json:"grant"`
}

// Denial contains the decision to deny a request.
type Denial struct {
	Note string `json:"note,omitempty" maxLength:"1000" doc:"The client reads it"`
}

// requestsOfAll registers the operations on clients' requests.
func (a *API) requestsOfAll() {
	const path = "/" + requestsPath
	in := everywhere
	type listed struct {
		OfClients
		Status string `query:"status" enum:"open,approved,denied,withdrawn"`
	}
	register(a, in.operation(http.MethodGet, "list-grant-requests", path,
		"List the permission requests of clients, newest first"), granters,
		func(ctx context.Context, r *request, i *listed) (*pageOutput[PermissionRequest], error) {
			if err := i.check(); err != nil {
				return nil, err
			}
			some, more, err := part(r, i.Paging, requestID,
				func(grant.Request) bool { return true },
				func(after string, limit int) ([]grant.Request, error) {
					return a.grants.Requests(ctx, i.filter(i.Status, after, limit))
				})
			return paged(r, some, more, permissionRequestOf, requestCursor), err
		})
	register(a, in.operation(http.MethodGet, "get-grant-request", path+"/{id}",
		"Read a permission request of a client", http.StatusNotFound), granters,
		func(ctx context.Context, r *request, i *ID) (*one[PermissionRequest], error) {
			q, err := a.requestByID(ctx, i.ID)
			return found(permissionRequestOf(q), 0), err
		})

	type approved struct {
		ID
		Body Approval
	}
	op := in.operation(http.MethodPost, "approve-grant-request", path+"/{id}/approve",
		"Approve a permission request, in full or in part", http.StatusNotFound, http.StatusConflict)
	op.DefaultStatus = http.StatusOK
	op.Description = "The status is 200, because the operation decides on a request that exists. " +
		"GET " + in.path + "/" + grantsPath + "/{id} reads the grant."
	register(a, op, granters, func(ctx context.Context, r *request, i *approved) (
		*struct{ Body Approved }, error) {
		verdict := grant.Verdict{By: r.caller.Subject, Note: i.Body.Note}
		err := prose("body.note", i.Body.Note)
		if i.Body.Permission != nil && err == nil {
			if verdict.Permission, err = i.Body.Permission.read("body.permission"); err == nil {
				err = a.rooted(verdict.Permission, "body.permission", rootsAre)
			}
		}
		expires, late := until("body.expires_at", i.Body.Expires)
		if err := cmp.Or(err, late); err != nil {
			return nil, err
		}
		verdict.Expires = expires
		q, err := a.requestByID(ctx, i.ID.ID)
		switch {
		case err != nil:
			return nil, err
		case q.Status != grant.Open:
			return nil, grant.ErrDecided
		case i.Body.Permission != nil && !q.Covers(verdict.Permission):
			return nil, problem.At(http.StatusUnprocessableEntity, "body.permission",
				"%s is more than the request, which is %s", verdict.Permission, q.Permission)
		}
		var g grant.Grant
		err = a.changeGrants(r, func(ctx context.Context) (string, string, error) {
			q, g, err = a.grants.Approve(ctx, i.ID.ID, verdict)
			return "approve request", front.AboutRequest(q) + "; granted: " + g.Permission.String(),
				err
		})
		return &struct{ Body Approved }{Approved{permissionRequestOf(q), grantOf(g)}}, err
	})

	type denied struct {
		ID
		Body Denial
	}
	op = in.operation(http.MethodPost, "deny-grant-request", path+"/{id}/deny",
		"Deny a permission request", http.StatusNotFound, http.StatusConflict)
	op.DefaultStatus = http.StatusOK
	register(a, op, granters, func(ctx context.Context, r *request, i *denied) (
		*one[PermissionRequest], error) {
		if err := prose("body.note", i.Body.Note); err != nil {
			return nil, err
		}
		if !named(i.ID.ID) {
			return nil, grant.ErrUnknown
		}
		var q grant.Request
		err := a.changeGrants(r, func(ctx context.Context) (_, _ string, err error) {
			q, err = a.grants.Deny(ctx, i.ID.ID,
				grant.Verdict{By: r.caller.Subject, Note: i.Body.Note})
			return "deny request", front.AboutRequest(q), err
		})
		return found(permissionRequestOf(q), 0), err
	})
}
