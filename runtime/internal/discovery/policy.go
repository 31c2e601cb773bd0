// Package discovery computes what each caller is listed, and notifies clients when that changes.
package discovery

import (
	"cmp"
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
	off      atomic.Pointer[access.Set] // the tools that are switched off; nil for none
}

// Decide decides by the table. A tool that is switched off is unknown, whatever its rule. So is a
// tool that is not marked readonly if the message asks for readonly tools alone.
func (p *Policy) Decide(caller access.Principal, readOnly bool, k access.Kind,
	name string) access.Decision {
	if p.IsOff(k, name) {
		return access.Decision{Axis: access.AxisUnknown}
	}
	d := p.Table.Of(k).Decide(caller, name)
	// A concealed tool is not looked up, so that it takes as long as an unknown one.
	if readOnly && (d.Allowed || p.DenialOf(d) != access.Conceal) && p.Writes(k, name) {
		return access.Decision{Axis: access.AxisUnknown}
	}
	return d
}

// Writes reports whether something is a tool that is not marked readonly.
func (p *Policy) Writes(k access.Kind, name string) bool {
	return k == access.Tools && !p.ReadOnly.Contains(name)
}

// Offered returns the values of arguments in the schemas of a set of tools, as a caller is listed
// them. It is the zero set if no schema depends on its caller.
func (p *Policy) Offered(caller access.Principal, tools access.Set) access.Set {
	if p.ListAll {
		return access.Set{}
	}
	return p.Table.Offered(caller, tools)
}

// IsOff reports whether a tool is switched off. Prompts and resources never are.
func (p *Policy) IsOff(k access.Kind, name string) bool {
	off := p.off.Load()
	return k == access.Tools && off != nil && off.Contains(name)
}

// DenialOf returns the form of a refusal. A caller who lacks more than scopes gets no challenge.
func (p *Policy) DenialOf(d access.Decision) access.Denial {
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
			byDefault := rule.Denial == access.DenialDefault && len(rule.Scopes) > 0
			if rule.Denial == access.Challenge || byDefault && p.Denial == access.Challenge {
				return true
			}
		}
	}
	return false
}
