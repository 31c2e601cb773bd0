package console

import (
	"net/url"
	"slices"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

const pathTools = runtime.PathConsole + "/tools"

// toolSwitch is a tool, and whether it is switched off.
type toolSwitch struct {
	Name string
	Off  bool
	// this server has it; the store may know of others that it had, or that another replica has
	Served bool
}

func (v *visit) switches() ([]toolSwitch, error) {
	off, err := v.store.ToolsOff(v.ctx)
	if err != nil {
		return nil, err
	}
	served := v.server.Table().Of(access.Tools).Tools()
	var all []toolSwitch
	for _, name := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(served, off)))) {
		all = append(all, toolSwitch{name, slices.Contains(off, name), slices.Contains(served, name)})
	}
	return all, nil
}

func (v *visit) listSwitches() error {
	all, err := v.switches()
	if err != nil {
		return err
	}
	p := page{Title: "Tools on and off", Here: "tools", Data: all}
	if q := v.r.URL.Query(); q.Has("unserved") {
		p.Warning = unserved(all, q.Get("unserved"))
	}
	return v.show("tools", p)
}

// unserved is what is to be known of a switch whose tool the server has not. A name that only an
// address says, and neither the server nor the store knows, is not repeated: anybody can write an
// address.
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
	off := v.field("off") == "yes"
	err := v.store.SwitchTool(v.ctx, v.field("tool"), off, v.by())
	if err == nil {
		// It stands, and the server will hear of it in any case.
		if err := v.server.ReloadSwitches(v.ctx); err != nil {
			v.log.WarnContext(v.ctx, "the switch takes effect here when the server receives the change",
				"request_id", runtime.RequestID(v.ctx), "error", err)
		}
	}
	if err == nil {
		q := url.Values{"done": {"tool-on"}}
		if off {
			q.Set("done", "tool-off")
		}
		if tool := v.field("tool"); !slices.Contains(v.server.Table().Of(access.Tools).Tools(), tool) {
			q.Set("unserved", tool)
		}
		v.seeOther(withQuery(pathTools, q))
		return nil
	}
	if !retyped(err) {
		return err
	}
	all, listErr := v.switches()
	if listErr != nil {
		return listErr
	}
	return v.refused(err, "tools", page{Title: "Tools on and off", Here: "tools", Data: all}, ruleTool, "")
}
