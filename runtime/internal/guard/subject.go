package guard

import (
	"bytes"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// subject is what a message asks for: a tool, a prompt, a resource, or the completion of one.
type subject struct {
	request.Target        // its name is that of a rule, if there is one
	requested      string // the name or URI that the client sent
	own            bool   // a toolset's handler answers for it
	// texts returns the arguments of a prompt or a completion, or a URI's variables; nil for none. It
	// is for an allowed message: a hidden resource takes as long as an unknown one.
	texts func() map[string]string
}

// unknown is the answer if the subject does not exist or is concealed.
func (s subject) unknown() error {
	switch s.Kind {
	case access.Prompts:
		return wire.UnknownPrompt(s.requested)
	case access.Resources:
		return wire.UnknownResource(s.requested)
	}
	return wire.UnknownTool(s.requested)
}

// subjectOf finds what a message asks for, and notes it in the event.
func (g *Guard) subjectOf(m *Message) subject {
	e := m.event
	switch params := m.Params.(type) {
	case *mcp.GetPromptParams:
		return g.promptSubject(e, params.Name, params.Arguments)
	case *mcp.ReadResourceParams:
		return g.resourceSubject(m, params.URI)
	case *mcp.SubscribeParams:
		return g.resourceSubject(m, params.URI)
	case *mcp.CompleteParams:
		texts := map[string]string{}
		if params.Context != nil {
			maps.Copy(texts, params.Context.Arguments)
		}
		texts[params.Argument.Name] = params.Argument.Value
		if params.Ref.Type == "ref/prompt" {
			return g.promptSubject(e, params.Ref.Name, texts)
		}
		uri := params.Ref.URI
		r := g.Resources.Named(uri)
		if r != nil {
			e.Resource = uri
		}
		target := request.Target{Kind: access.Resources, Name: uri}
		return subject{target, uri, r != nil && !r.Adopted, given(texts)}
	}
	requested := m.Params.(*mcp.CallToolParamsRaw).Name // the last of the methods that are decided
	e.Tool = g.toolName(requested)
	target := request.Target{Kind: access.Tools, Name: e.Tool}
	return subject{target, requested, g.Tools[e.Tool] != nil, nil}
}

// toolName returns the name of the tool that a name or an alias means.
func (g *Guard) toolName(requested string) string {
	if name, ok := g.Aliases[requested]; ok {
		return name
	}
	return requested
}

func (g *Guard) promptSubject(e *audit.Event, name string, texts map[string]string) subject {
	e.Prompt = name
	target := request.Target{Kind: access.Prompts, Name: name}
	return subject{target, name, g.Prompts[name] != nil, given(texts)}
}

func given(texts map[string]string) func() map[string]string {
	return func() map[string]string { return texts }
}

// resource returns the resource that a URI means for a caller. Resources that match the same URI
// have equal rules, but a boundary may exclude some of them, and an MCP App may have no tools for
// the caller. These answer nothing, as if the server did not have them.
func (g *Guard) resource(caller access.Principal, uri string) *invoke.Resource {
	return g.Resources.Find(uri, func(name string) bool {
		axis := g.Policy.Decide(caller, false, access.Resources, name).Axis
		return axis != access.AxisUnknown && axis != access.AxisBoundary
	})
}

func (g *Guard) resourceSubject(m *Message, uri string) subject {
	r := g.resource(m.Principal, uri)
	s := subject{request.Target{Kind: access.Resources}, uri, false,
		func() map[string]string { return r.Values(uri) }}
	if r != nil {
		m.event.Resource, s.Name, s.own = r.URI, r.URI, !r.Adopted
	}
	return s
}

// missingTool is what the caller of an MCP App lacks whose tools are hidden by their values.
const missingTool = "the caller may use no tool of this MCP App"

// recordDecision notes a decision in the event. The name of a refused tool or prompt may be a
// misplaced token: it is masked, whether it exists or not.
func (g *Guard) recordDecision(m *Message, s subject, d access.Decision) {
	e := m.event
	if !d.Allowed && s.Kind != access.Resources {
		masked := g.maskOf(m).TextWithin(s.requested, 128)
		for _, name := range []*string{&e.Tool, &e.Prompt} {
			if *name == s.requested { // and not an alias
				*name = masked
			}
		}
	}
	e.Tool, e.Prompt = redact.Shorten(e.Tool, 128), redact.Shorten(e.Prompt, 128)
	e.Resource = redact.Shorten(e.Resource, 256) // as its author wrote it
	e.Arguments = g.argumentsOf(m, s, d.Allowed)
	if e.Axis = string(d.Axis); d.Allowed {
		return
	}
	e.Missing = principal.Missing(m.Permissions, d)
	_, isApp := g.Policy.Apps[s.Name]
	if g.Policy.IsOff(s.Kind, s.Name) {
		e.Missing = "the tool is switched off" // or that of an MCP App
	} else if isApp && s.Kind == access.Resources && d.Axis == access.AxisUnknown {
		e.Missing = missingTool
	} else if m.Catalog.ReadOnly && d.Axis == access.AxisUnknown {
		if _, known := g.Policy.Table.Of(s.Kind).Tool(s.Name); known {
			e.Missing = "the client requested only readonly tools"
		}
	}
}

// maskOf returns the masker of a message.
func (g *Guard) maskOf(m *Message) redact.Masker {
	if m.Credential == nil {
		return g.Masker
	}
	return m.Mask(g.Masker)
}

// argumentsOf returns what the event has of a request's arguments. Of a denied one nothing is
// decoded: it is one digest of the text as it was sent.
func (g *Guard) argumentsOf(m *Message, s subject, allowed bool) []audit.Argument {
	if g.Audit == nil {
		return nil
	}
	raw, err := []byte(m.Arguments), error(nil)
	if call, ok := m.Params.(*mcp.CallToolParamsRaw); ok {
		raw = call.Arguments
	} else if allowed {
		var texts map[string]string
		if s.texts != nil {
			texts = s.texts()
		}
		if len(texts) == 0 {
			return nil
		}
		raw, err = wire.Marshal(texts)
	}
	switch {
	case err != nil || len(raw) == 0 || string(raw) == "null":
		return nil
	case allowed:
		return recordArguments(raw, g.maskOf(m))
	}
	return []audit.Argument{{Bytes: len(raw), Digest: audit.DigestOf(raw)}}
}

const maxRecordedArguments, maxRecordedName = 64, 64 // names in bytes

// recordArguments returns what the audit keeps of arguments: names, sizes and digests.
func recordArguments(raw []byte, mask redact.Masker) []audit.Argument {
	type member struct{ name, value []byte }
	var few [12]member
	members := few[:0]
	err := decode.Members(raw, wire.Limits, func(name, value []byte) {
		members = append(members, member{name, value})
	})
	if err != nil {
		members = append(members[:0], member{nil, raw}) // not an object: one nameless value
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	members = members[:min(len(members), maxRecordedArguments)]
	list := make([]audit.Argument, len(members))
	for i, m := range members { // clients invent names too, so they are masked before they are cut
		name := redact.Shorten(mask.Text(string(redact.Shorten(m.name, 4<<10))),
			maxRecordedName)
		list[i] = audit.Argument{Name: name, Bytes: len(m.value), Digest: audit.DigestOf(m.value)}
	}
	return list
}
