package api

import (
	"context"
	"net/http"
	"slices"
)

// Switch says whether a tool is on.
type Switch struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled" doc:"A tool that is off is unknown to everybody"`
}

type switchOutput struct{ Body Switch }

// ToolName is one tool.
type ToolName struct {
	Name string `path:"name" maxLength:"128" pattern:"^[A-Za-z0-9_.-]+$" patternDescription:"a tool's name"`
}

// switches registers the operations on the switches of tools. Each valid name has one, which is on, whether there is
// such a tool or not.
func (a *API) switches() {
	const path = "/mcp/tools"
	in := everywhere
	register(a, in.operation(http.MethodGet, "list-tools-off", path, "List the tools that are switched off, by name"), in.gate,
		func(ctx context.Context, r *request, i *Paging) (*pageOutput[Switch], error) {
			page, err := i.names()
			if err != nil {
				return nil, err
			}
			off, err := a.store.ToolsOff(ctx)
			if err != nil {
				return nil, err
			}
			off, more := cut(off, func(name string) string { return name }, page)
			return paged(r, off, more, func(name string) Switch { return Switch{Name: name} }, func(name string) string { return cursorOf(byName, name) }), nil
		})
	register(a, in.operation(http.MethodGet, "get-tool-switch", path+"/{name}", "Read whether a tool is on"), in.gate,
		func(ctx context.Context, r *request, i *ToolName) (*switchOutput, error) {
			off, err := a.store.ToolsOff(ctx)
			return &switchOutput{Switch{Name: i.Name, Enabled: !slices.Contains(off, i.Name)}}, err
		})
	type switched struct {
		ToolName
		Body struct {
			Enabled bool `json:"enabled"`
		}
	}
	for method, id := range map[string]string{http.MethodPut: "set-tool-switch", http.MethodPatch: "update-tool-switch"} {
		register(a, in.operation(method, id, path+"/{name}", "Switch a tool on or off"), in.gate,
			func(ctx context.Context, r *request, i *switched) (*switchOutput, error) {
				if err := a.store.SwitchTool(ctx, i.Name, !i.Body.Enabled, r.by()); err != nil {
					return nil, err
				}
				// It stands, and the server will hear of it in any case.
				if err := a.server.ReloadSwitches(ctx); err != nil {
					a.log.WarnContext(ctx, "a switch counts here as soon as the server hears of it", "request", r.id, "error", err)
				}
				return &switchOutput{Switch{Name: i.Name, Enabled: i.Body.Enabled}}, nil
			})
	}
}
