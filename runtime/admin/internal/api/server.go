package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/isolate"
)

// Switch contains whether a tool is on.
type Switch struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled" doc:"A tool that is off is hidden from all callers"`
	Served  bool   `json:"served" doc:"This server has a tool with this name. You can also switch other names: another server of the store or a later version may have the tool. Otherwise, check the spelling"`
}

type switchOutput struct{ Body Switch }

// ToolName selects a tool.
type ToolName struct {
	Name string `path:"name" maxLength:"128" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"a tool's name"`
}

// served reports whether the server has a tool of a name.
func (a *API) served(name string) bool {
	return slices.Contains(a.server.Table().Of(access.Tools).Tools(), name)
}

// switches registers the operations on the switches of tools. Each valid name has one, which is on,
// whether there is such a tool or not.
func (a *API) switches() {
	const path = "/mcp/tools"
	in := everywhere
	register(a, in.operation(http.MethodGet, "list-tool-switches", path,
		"List the switches of all tools by name: tools of this server, and others that are switched "+
			"off"), in.gate,
		func(ctx context.Context, r *request, i *Paging) (*pageOutput[Switch], error) {
			page, err := i.names()
			if err != nil {
				return nil, err
			}
			off, err := a.store.ToolsOff(ctx)
			if err != nil {
				return nil, err
			}
			served := a.server.Table().Of(access.Tools).Tools()
			all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(served, off))))
			some, more := cut(all, func(name string) string { return name }, page)
			show := func(name string) Switch {
				return Switch{name, !slices.Contains(off, name), slices.Contains(served, name)}
			}
			return paged(r, some, more, show,
				func(name string) string { return cursorOf(byName, name) }), nil
		})
	register(a, in.operation(http.MethodGet, "get-tool-switch", path+"/{name}",
		"Read the switch of a tool"), in.gate,
		func(ctx context.Context, r *request, i *ToolName) (*switchOutput, error) {
			off, err := a.store.ToolsOff(ctx)
			return &switchOutput{Switch{i.Name, !slices.Contains(off, i.Name), a.served(i.Name)}}, err
		})
	type switched struct {
		ToolName
		Body struct {
			Enabled bool `json:"enabled"`
		}
	}
	for method, id := range map[string]string{
		http.MethodPut: "set-tool-switch", http.MethodPatch: "update-tool-switch",
	} {
		register(a, in.operation(method, id, path+"/{name}", "Switch a tool on or off"), in.gate,
			func(ctx context.Context, r *request, i *switched) (*switchOutput, error) {
				if err := a.store.SwitchTool(ctx, i.Name, !i.Body.Enabled, r.by()); err != nil {
					return nil, err
				}
				// The switch is stored, and the server receives the change in any case.
				if err := a.server.ReloadSwitches(ctx); err != nil {
					a.log.WarnContext(ctx, "the switch takes effect here when the server receives the change",
						"request_id", r.id, "error", err)
				}
				return &switchOutput{Switch{i.Name, i.Body.Enabled, a.served(i.Name)}}, nil
			})
	}
}

// Manifest identifies the mcp.manifest.json of a package of the server.
type Manifest struct {
	Package string `json:"package" doc:"The import path"`
	Digest  string `json:"digest,omitempty" doc:"The digest of the manifest's content: sha256: and hexadecimal digits. Absent if an earlier version of mcpgen generated the package"`
}

// Manifests are those of all packages of the server.
type Manifests struct {
	Items   []Manifest `json:"items" nullable:"false" doc:"In the order of the server's toolsets"`
	Adopted bool       `json:"adopted" doc:"The server also serves an adopted go-sdk server, which no manifest describes"`
}

type manifestsOutput struct{ Body Manifests }

// manifests registers the digests, which are for admins alone: they change with hidden tools.
func (a *API) manifests() {
	op := everywhere.operation(http.MethodGet, "list-manifests", "/mcp/manifests",
		"List the digests of the manifests that the server was built from")
	register(a, op, everywhere.gate,
		func(context.Context, *request, *struct{}) (*manifestsOutput, error) {
			list := Manifests{Items: []Manifest{}, Adopted: a.server.Adopted()}
			for _, m := range a.server.Manifests() {
				list.Items = append(list.Items, Manifest(m))
			}
			return &manifestsOutput{list}, nil
		})
}

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
			err = problem.New(http.StatusNotFound,
				"%s has no workspace at this replica: check the spelling of the client and its issuer",
				front.AboutClient(client.Issuer, client.ID))
		}
		return i, err
	})
}
