package request

import "github.com/modelcontextprotocol/go-sdk/mcp"

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

// Inputs are kinds of input that a handler can ask a client for. A client has the MCP capability of
// each kind that it supports.
type Inputs struct{ Form, URL, Sampling, SamplingTools, Roots bool }

// InputsOf returns the kinds of input for which a client has declared MCP capabilities in its
// handshake.
func InputsOf(c *mcp.ClientCapabilities) (i Inputs) {
	if c == nil {
		return i
	}
	if e := c.Elicitation; e != nil {
		i.URL, i.Form = e.URL != nil, e.Form != nil || e.URL == nil // as older clients have neither
	}
	i.Sampling = c.Sampling != nil
	i.SamplingTools = i.Sampling && c.Sampling.Tools != nil
	i.Roots = c.RootsV2 != nil
	return i
}

// InputsIn is [InputsOf] for the MCP capabilities in the _meta of a message, as decoded JSON.
func InputsIn(meta map[string]any) (i Inputs) {
	has := func(of any, name string) (map[string]any, bool) {
		members, _ := of.(map[string]any)
		member, ok := members[name].(map[string]any)
		return member, ok
	}
	capabilities := meta[mcp.MetaKeyClientCapabilities]
	if e, ok := has(capabilities, "elicitation"); ok {
		_, form := has(e, "form")
		_, i.URL = has(e, "url")
		i.Form = form || !i.URL
	}
	sampling, ok := has(capabilities, "sampling")
	i.Sampling = ok
	_, i.SamplingTools = has(sampling, "tools")
	_, i.Roots = has(capabilities, "roots")
	return i
}
