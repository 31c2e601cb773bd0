package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime"
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
	return OwnGrant{ID: g.ID, Permission: permissionOf(g.Permission), Default: g.Client == "", Expired: g.Expired(now), Created: when(g.Created), Expires: when(g.Expires)}
}

// GrantCheck reports whether the caller's client may use a resource.
type GrantCheck struct {
	Allowed bool   `json:"allowed"`
	Cause   string `json:"cause,omitempty" enum:"no_grant,expired,restricted,malformed,special,not_public" doc:"The reason"`
	Reason  string `json:"reason,omitempty" doc:"The reason, for readers"`
}

// ownGrants registers what clients may know of their own grants.
func (a *API) ownGrants() {
	op := huma.Operation{
		OperationID: "list-own-grants", Method: http.MethodGet, Path: runtime.PathAPI + grantsPath, Tags: []string{"grants"},
		Summary: "List the grants of the caller's client, the default grants included",
	}
	register(a, op, anybody, func(ctx context.Context, r *request, i *Paging) (*pageOutput[OwnGrant], error) {
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
		return paged(r, some, more, func(g grant.Grant) OwnGrant { return ownGrantOf(g, now) }, func(g grant.Grant) string { return cursorOf(byGrant, key(g)) }), nil
	})

	op = huma.Operation{
		OperationID: "check-own-grants", Method: http.MethodGet, Path: runtime.PathAPI + grantsPath + "/check", Tags: []string{"grants"},
		Summary: "Check whether the caller's client may use a resource",
		Description: "The result is for the name only. A call can still be refused because of the " +
			"target of a link or the address of a host.",
	}
	type checkInput struct {
		Type     string `query:"type" required:"true" minLength:"1" maxLength:"128"`
		Resource string `query:"resource" required:"true" minLength:"1" maxLength:"4096" doc:"A resource, not a pattern: a path, a host with its port, or the words of a command, plain or as a JSON array of strings"`
		Isolated bool   `query:"isolated" doc:"The tool would run in isolation"`
	}
	type output struct{ Body GrantCheck }
	register(a, op, anybody, func(ctx context.Context, r *request, i *checkInput) (*output, error) {
		ask := grant.Ask{Kind: i.Type, Resource: i.Resource, Isolated: i.Isolated}
		if grant.FamilyOf(i.Type) == grant.Commands {
			ask.Resource, ask.Argv = "", strings.Fields(i.Resource)
			if strings.HasPrefix(i.Resource, "[") {
				ask.Argv = nil
				if err := json.Unmarshal([]byte(i.Resource), &ask.Argv); err != nil {
					return nil, misfit(http.StatusUnprocessableEntity, "query.resource",
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
		decided := set.Decide(time.Now(), ask)
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
