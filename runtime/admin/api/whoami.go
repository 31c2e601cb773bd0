package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Whoami is the authenticated caller.
type Whoami struct {
	Issuer  string   `json:"issuer" doc:"The issuer of the subject's tokens. An admin needs it and the subject to add the caller as a member"`
	Subject string   `json:"subject"`
	Client  string   `json:"client" doc:"The OAuth client of the token, or the subject"`
	Role    string   `json:"role" doc:"The caller's highest role that the server knows, or empty"`
	Scopes  []string `json:"scopes" nullable:"false"`
	Admin   bool     `json:"admin" doc:"The caller is an admin of the server"`
	Orgs    []Own    `json:"organizations" nullable:"false" doc:"The caller's memberships"`
	Teams   []Own    `json:"teams" nullable:"false" doc:"The caller's memberships. A member of a team is not a member of its organization"`
}

// Own is an organisation or a team of the caller.
type Own struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Standing string `json:"standing" enum:"member,manager" doc:"manager: its owners, admins and leads, who manage its catalogs"`
}

// whoami registers what callers may know of themselves.
func (a *API) whoami() {
	op := huma.Operation{
		OperationID: "whoami", Method: http.MethodGet, Path: runtime.PathAPI + "whoami",
		Tags: []string{"caller"}, Summary: "Read the caller's identity and its standings",
	}
	type output struct{ Body Whoami }
	register(a, op, anybody, func(ctx context.Context, r *request, _ *struct{}) (*output, error) {
		p := r.caller
		out := &output{Whoami{
			Issuer: p.Issuer, Subject: p.Subject, Client: p.ClientID(), Role: p.Role, Scopes: append([]string{}, p.Scopes...), Admin: a.authority.Admin(p),
			Orgs: []Own{}, Teams: []Own{},
		}}
		places, err := a.authority.Places(ctx, p)
		if err != nil {
			return nil, err
		}
		for in, standing := range places {
			own := Own{Standing: standing.String()}
			var into *[]Own
			var id int64
			if id = in.Org(); id != 0 {
				var org store.Org
				org, err = a.store.Org(ctx, id)
				own.Name, into = org.Name, &out.Body.Orgs
			} else {
				var team store.Team
				id = in.Team()
				team, err = a.store.Team(ctx, store.Anywhere, id)
				own.Name, into = team.Name, &out.Body.Teams
			}
			switch {
			case errors.Is(err, store.ErrNotFound): // it is gone since
				continue
			case err != nil:
				return nil, err
			}
			own.ID = textOf(id)
			*into = append(*into, own)
		}
		for _, own := range [][]Own{out.Body.Orgs, out.Body.Teams} {
			slices.SortFunc(own, func(a, b Own) int { return cmp.Compare(idOf(a.ID), idOf(b.ID)) })
		}
		return out, nil
	})
}
