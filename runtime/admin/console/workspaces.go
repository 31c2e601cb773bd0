package console

import (
	"net/http"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/isolate"
)

const pathWorkspaces = runtime.PathConsole + "/workspaces"

// workspaceForm says whose workspace is to be cleared.
type workspaceForm struct {
	Issuer, Client string
	Wrong          faults
}

// page is the form, with what is wrong.
func (d workspaceForm) page(problem string) page {
	return page{Title: "Workspaces", Here: "workspaces", Problem: problem, Data: d}
}

func (v *visit) showWorkspaces() error {
	return v.show("workspaces", workspaceForm{Issuer: v.caller.Issuer}.page("")) // the likely one
}

func (v *visit) clearWorkspace() error {
	d := workspaceForm{Issuer: v.field("issuer"), Client: v.field("client"), Wrong: faults{}}
	d.Wrong.name("client", d.Client, true)
	d.Wrong.name("issuer", d.Issuer, false)
	if len(d.Wrong) > 0 {
		return v.showAs(http.StatusUnprocessableEntity, "workspaces", d.page(problemBelow))
	}
	client := isolate.Client{Issuer: d.Issuer, ID: d.Client}
	found, err := front.ClearWorkspace(v.ctx, v.server.Workspaces(), v.audit, v.log, v.by(), client)
	switch {
	case err != nil:
		return err
	case !found:
		const none = "This client has no workspace at this replica. Check the spelling of the client " +
			"and its issuer."
		return v.showAs(http.StatusNotFound, "workspaces", d.page(none))
	}
	return v.back(pathWorkspaces, "workspace-cleared")
}
