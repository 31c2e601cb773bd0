package api

import (
	"context"
	"net/http"

	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/isolate"
)

// workspaces registers the operation on the workspaces of clients. They are on the machine that the
// server runs on, as the resources of grants are.
func (a *API) workspaces(spaces isolate.Workspaces) {
	op := everywhere.operation(http.MethodPost, "clear-workspace", "/mcp/workspaces/clear",
		"Remove the files and variables of a client's workspace", http.StatusNotFound)
	op.DefaultStatus = http.StatusOK
	op.Description = "This ends isolated calls of the client that run in it. Each replica has its " +
		"own workspaces; this clears the one of the responding replica."
	type body struct{ Body ClientName }
	register(a, op, granters, func(ctx context.Context, r *request, i *body) (*body, error) {
		if err := i.Body.check(); err != nil {
			return nil, err
		}
		client := isolate.Client{Issuer: i.Body.Issuer, ID: i.Body.Client}
		found, err := front.ClearWorkspace(ctx, spaces, a.audit, a.log, r.by(), client)
		if err == nil && !found {
			err = problem(http.StatusNotFound, "%s has no workspace at this replica: check the spelling "+
				"of the client and its issuer",
				front.AboutClient(client.Issuer, client.ID))
		}
		return i, err
	})
}
