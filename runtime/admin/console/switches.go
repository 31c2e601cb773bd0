package console

import (
	"slices"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

const pathTools = runtime.PathConsole + "/tools"

// toolSwitch is a tool, and whether it is switched off.
type toolSwitch struct {
	Name   string
	Off    bool
	Served bool // this server has it; the store may know of others that it had, or that another replica has
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
	return v.show("tools", page{Title: "Tools on and off", Here: "tools", Data: all})
}

// switchTool switches a tool off, or on again.
func (v *visit) switchTool() error {
	off := v.field("off") == "yes"
	err := v.store.SwitchTool(v.ctx, v.field("tool"), off, v.by())
	if err == nil {
		// It stands, and the server will hear of it in any case.
		if err := v.server.ReloadSwitches(v.ctx); err != nil {
			v.log.WarnContext(v.ctx, "a switch counts here as soon as the server hears of it", "error", err)
		}
	}
	switch {
	case err == nil && off:
		return v.back(pathTools, "tool-off")
	case err == nil:
		return v.back(pathTools, "tool-on")
	}
	all, listErr := v.switches()
	if listErr != nil {
		return listErr
	}
	return v.refused(err, "tools", page{Title: "Tools on and off", Here: "tools", Data: all}, ruleTool, "")
}
