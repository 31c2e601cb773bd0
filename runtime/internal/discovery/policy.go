// Package discovery computes what each caller is listed, and notifies clients when that changes.
package discovery

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Policy makes every decision of a server, so that lists and calls agree.
type Policy struct {
	Table   access.Table
	Denial  access.Denial // of rules that have none
	ListAll bool          // lists contain everything
	// ReadOnly has the tools that are marked readonly.
	ReadOnly access.Set
	// Apps has the tools of each resource that is an MCP App, by its URI.
	Apps map[string][]string
	off  atomic.Pointer[access.Set] // the tools that are switched off; nil for none
}

// without returns the tools of a set that are not switched off.
func without(tools access.Set, off *access.Set) access.Set {
	if off == nil {
		return tools
	}
	return tools.Without(*off)
}

// turnOff switches these tools off and all others on.
func (p *Policy) turnOff(names ...string) (before, now *access.Set) {
	if tools := p.Table.Named(names); tools.Len() > 0 {
		now = &tools
	}
	return p.off.Swap(now), now
}

// Decide decides by the table. A tool that is switched off is unknown, whatever its rule. So is a
// tool that is not marked readonly if the message asks for readonly tools alone, and an MCP App if
// all its tools are unknown to the caller.
func (p *Policy) Decide(caller access.Principal, readOnly bool, k access.Kind,
	name string) access.Decision {
	if p.IsOff(k, name) {
		return access.Decision{Axis: access.AxisUnknown}
	}
	d := p.Table.Of(k).Decide(caller, name)
	// A concealed tool is not looked up, so that it takes as long as an unknown one.
	if p.shows(d) && (readOnly && p.Writes(k, name) || p.isAppWithout(caller, k, name)) {
		return access.Decision{Axis: access.AxisUnknown}
	}
	return d
}

// shows reports whether a caller can see that what was decided exists.
func (p *Policy) shows(d access.Decision) bool {
	return d.Allowed || p.DenialOf(d) != access.Conceal
}

// isAppWithout reports whether something is an MCP App without a tool that a caller can see. A rule
// of values can conceal a tool whose own rule, which is that of the app, admits the caller.
func (p *Policy) isAppWithout(caller access.Principal, k access.Kind, name string) bool {
	tools, isApp := p.Apps[name]
	return isApp && k == access.Resources && !slices.ContainsFunc(tools, func(tool string) bool {
		return p.shows(p.Decide(caller, false, access.Tools, tool))
	})
}

// Writes reports whether something is a tool that is not marked readonly.
func (p *Policy) Writes(k access.Kind, name string) bool {
	return k == access.Tools && !p.ReadOnly.Contains(name)
}

// Fields returns the names of the guarded fields.
func (p *Policy) Fields() (names []string) {
	for _, rule := range p.Table.Fields {
		names = append(names, rule.Field)
	}
	return names
}

// Offered returns the values of arguments in the schemas of a set of tools, as a caller is listed
// them. It is the zero set if no schema depends on its caller.
func (p *Policy) Offered(caller access.Principal, tools access.Set) access.Set {
	switch {
	case !p.ListAll:
		return p.Table.Offered(caller, tools)
	case caller.Bounds == nil:
		return access.Set{}
	}
	return p.insideOf(caller, access.Values)
}

// insideOf returns the items that are not outside the boundary of a caller, whatever their rules.
func (p *Policy) insideOf(caller access.Principal, k access.Kind) access.Set {
	table := p.Table.Of(k)
	all := table.All()
	if caller.Bounds == nil {
		return all
	}
	var names []string
	for _, name := range all.All {
		if table.Decide(caller, name).Axis != access.AxisBoundary {
			names = append(names, name)
		}
	}
	return table.Named(names)
}

// Choices returns the values of arguments in the schema of a tool, as a caller is listed it. It is
// nil if the caller is listed all values.
func (p *Policy) Choices(caller access.Principal, tool string) (choices []access.Choice) {
	switch {
	case !p.ListAll:
		return p.Table.Choices(caller, tool)
	case caller.Bounds == nil:
		return nil
	}
	inside := p.insideOf(caller, access.Values)
	for _, v := range p.Table.Values {
		if v.Tool != tool {
			continue
		}
		n := len(choices)
		if n == 0 || choices[n-1].Argument != v.Argument {
			choices, n = append(choices, access.Choice{Argument: v.Argument}), n+1
		}
		if inside.Contains(v.Name()) {
			choices[n-1].Values = append(choices[n-1].Values, v.Value)
		}
	}
	return choices
}

// IsOff reports whether a tool is switched off, or an MCP App whose tools all are, or are not
// served. Prompts and other resources never are.
func (p *Policy) IsOff(k access.Kind, name string) bool {
	off := p.off.Load()
	isOff := func(tool string) bool { return off != nil && off.Contains(tool) }
	if k == access.Tools {
		return isOff(name)
	}
	tools, isApp := p.Apps[name]
	return isApp && k == access.Resources &&
		!slices.ContainsFunc(tools, func(tool string) bool { return !isOff(tool) })
}

// withoutTools returns the MCP Apps that have none of a set of tools.
func (p *Policy) withoutTools(tools access.Set) access.Set {
	var apps []string
	for uri, of := range p.Apps {
		if !slices.ContainsFunc(of, tools.Contains) {
			apps = append(apps, uri)
		}
	}
	return p.Table.Of(access.Resources).Named(apps)
}

// DenialOf returns the form of a refusal. A caller who lacks more than scopes gets no challenge. An
// item outside the boundary of a client is concealed also if the server lists everything.
func (p *Policy) DenialOf(d access.Decision) access.Denial {
	if d.Axis == access.AxisBoundary {
		return access.Conceal
	}
	denial := cmp.Or(d.Denial, p.Denial)
	if denial == access.Challenge && !d.LacksScopesOnly() {
		denial = access.Conceal
	}
	if denial == access.Conceal && p.ListAll {
		denial = access.Forbid
	}
	return denial
}

// Challenges reports whether any refusal may be a challenge.
func (p *Policy) Challenges() bool {
	for _, k := range request.Kinds {
		for _, rule := range p.Table.Of(k).Rules {
			byDefault := rule.Denial == access.DenialDefault && rule.Alternatives() != nil
			if rule.Denial == access.Challenge || byDefault && p.Denial == access.Challenge {
				return true
			}
		}
	}
	return false
}
