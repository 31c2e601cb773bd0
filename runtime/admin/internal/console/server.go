package console

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// summary is the first page.
type summary struct {
	Places []place // that the caller manages, who is no admin

	Roles                     [][]string // chains, each lowest first
	Tools, Prompts, Resources int
	Off                       []string
	Catalogs, Orgs            count
	Declared                  int
	Waiting                   *count // requests; nil where there are no grants
	Manifests                 []runtime.Manifest
	Adopted                   bool
	Caller                    access.Principal
}

// count is a number that is not counted beyond a page.
type count struct {
	N    int
	More bool
}

// home redirects to the first page.
func (v *visit) home() error {
	v.seeOther(runtime.PathConsole)
	return nil
}

func (v *visit) overview() error {
	s := summary{Caller: v.caller}
	for _, in := range v.managed {
		p, err := v.named(in)
		if err != nil {
			return err
		}
		s.Places = append(s.Places, p)
	}
	if v.admin {
		if err := v.summarize(&s); err != nil {
			return err
		}
	}
	return v.show("overview", page{Title: "Overview", Here: "overview", Data: s})
}

func (v *visit) summarize(s *summary) (err error) {
	table := v.server.Table()
	s.Roles = table.Roles
	s.Tools, s.Prompts, s.Resources = len(table.Rules), len(table.Prompts), len(table.Resources)
	s.Declared = len(v.server.DeclaredCatalogs())
	s.Manifests, s.Adopted = v.server.Manifests(), v.server.Adopted()
	if s.Off, err = v.store.ToolsOff(v.ctx); err != nil {
		return err
	}
	if s.Waiting, err = v.openPermissionRequests(); err != nil {
		return err
	}
	catalogs, more, err := v.store.Catalogs(v.ctx, store.Anywhere, store.Page[int64]{Limit: pageSize})
	if err != nil {
		return err
	}
	s.Catalogs = count{len(catalogs), more}
	orgs, more, err := v.store.Orgs(v.ctx, store.Page[int64]{Limit: pageSize})
	s.Orgs = count{len(orgs), more}
	return err
}

const pathTools = runtime.PathConsole + "/tools"

// toolSwitch is a tool, and whether it is switched off.
type toolSwitch struct {
	Name string
	Off  bool
	// this server has it; the store may know of others that it had, or that another replica has
	Served bool
}

func (v *visit) switches() (p page, err error) {
	off, err := v.store.ToolsOff(v.ctx)
	if err != nil {
		return p, err
	}
	served := v.server.Table().Of(access.Tools).Tools()
	var all []toolSwitch
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(served, off)))) {
		all = append(all, toolSwitch{name, slices.Contains(off, name),
			slices.Contains(served, name)})
	}
	p = page{Title: "Tools on and off", Here: "tools", Data: all}
	if q := v.r.URL.Query(); q.Has("unserved") && v.r.Method != http.MethodPost {
		p.Warning = unserved(all, q.Get("unserved"))
	}
	return p, nil
}

func (v *visit) listSwitches() error {
	p, err := v.switches()
	if err != nil {
		return err
	}
	return v.show("tools", p)
}

// unserved is the note on a switch whose tool the server does not have. A name that only the
// address contains is not shown: anybody can write an address.
func unserved(all []toolSwitch, name string) string {
	i := slices.IndexFunc(all, func(t toolSwitch) bool { return t.Name == name })
	switch {
	case i < 0:
		return "No tool of this server has the name of the switch."
	case all[i].Served:
		return ""
	}
	return "No tool of this server has this name: " + name +
		". If no other server of this store has it, check the spelling."
}

// switchTool switches a tool off, or on again.
func (v *visit) switchTool() error {
	off, tool := v.field("off") == "yes", v.field("tool")
	if err := v.store.SwitchTool(v.ctx, tool, off, v.by()); err != nil {
		return v.again(err, "tools", v.switches, ruleTool, "")
	}
	// The switch is stored, and the server receives the change in any case.
	if err := v.server.ReloadSwitches(v.ctx); err != nil {
		v.log.WarnContext(v.ctx, "the switch takes effect here when the server receives the change",
			"request_id", runtime.RequestID(v.ctx), "error", err)
	}
	q := url.Values{"done": {"tool-on"}}
	if off {
		q.Set("done", "tool-off")
	}
	if !slices.Contains(v.server.Table().Of(access.Tools).Tools(), tool) {
		q.Set("unserved", tool)
	}
	v.seeOther(withQuery(pathTools, q))
	return nil
}

const pathWorkspaces = runtime.PathConsole + "/workspaces"

// workspaceForm selects the workspace to clear.
type workspaceForm struct {
	Issuer, Client string
	Wrong          faults
}

// page is the form, with a problem.
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
