package admin

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// unblocked approves the requests of clients that are not blocked. Those of a blocked client stay
// open, and can be denied.
type unblocked struct {
	grant.Registry
	server runtime.Administered
}

// Approve implements [grant.Requests].
func (u unblocked) Approve(ctx context.Context, id string,
	v grant.Verdict) (grant.Request, grant.Grant, error) {
	r, err := u.Request(ctx, id)
	if err == nil && u.server.Blocked(ctx, boundary.Party{Issuer: r.Issuer, Client: r.Client,
		Subject: r.Principal}) {
		err = fmt.Errorf("%w: the client of the request is blocked: deny the request, or unblock the "+
			"client first", grant.ErrInvalid)
	}
	if err != nil {
		return r, grant.Grant{}, err
	}
	return u.Registry.Approve(ctx, id, v)
}

// RecordsChanges implements [grant.Recorder].
func (u unblocked) RecordsChanges() bool {
	r, ok := u.Registry.(grant.Recorder)
	return ok && r.RecordsChanges()
}
