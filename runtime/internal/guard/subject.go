package guard

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// subject is what a message asks for: a tool, a prompt, a resource, or the completion of one.
type subject struct {
	request.Target        // its name is that of a rule, if there is one
	requested      string // the name or URI that the client sent
	own            bool   // a toolset's handler answers for it
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

// subjectOf finds what a message asks for, and notes the request's part of the event.
func (g *Guard) subjectOf(m *Message) subject {
	e := m.event
	switch params := m.Params.(type) {
	case *mcp.GetPromptParams:
		e.Arguments = g.recordTexts(params.Arguments)
		return g.promptSubject(e, params.Name)
	case *mcp.ReadResourceParams:
		r, values := g.Resources.Find(params.URI)
		if r == nil {
			e.Arguments = g.recordTexts(map[string]string{"uri": params.URI})
			return subject{request.Target{Kind: access.Resources}, params.URI, false}
		}
		e.Resource, e.Arguments = r.URI, g.recordTexts(values)
		return subject{request.Target{Kind: access.Resources, Name: r.URI}, params.URI, !r.Adopted}
	case *mcp.CompleteParams:
		argument := params.Argument
		e.Arguments = g.recordTexts(map[string]string{argument.Name: argument.Value})
		if params.Ref.Type == "ref/prompt" {
			return g.promptSubject(e, params.Ref.Name)
		}
		uri := params.Ref.URI
		r := g.Resources.Named(uri)
		if r != nil {
			e.Resource = uri
		}
		return subject{request.Target{Kind: access.Resources, Name: uri}, uri, r != nil && !r.Adopted}
	}
	call := m.Params.(*mcp.CallToolParamsRaw) // the last of the methods that are decided
	e.Tool, e.Arguments = call.Name, g.recordArguments(call.Arguments)
	target := request.Target{Kind: access.Tools, Name: call.Name}
	return subject{target, call.Name, g.Tools[call.Name] != nil}
}

func (g *Guard) promptSubject(e *audit.Event, name string) subject {
	e.Prompt = name
	return subject{request.Target{Kind: access.Prompts, Name: name}, name, g.Prompts[name] != nil}
}

const maxRecordedArguments, maxRecordedName = 64, 64 // names in bytes

// recordArguments returns what the audit keeps of arguments: names, sizes and digests.
func (g *Guard) recordArguments(raw json.RawMessage) []audit.Argument {
	if g.Audit == nil || len(raw) == 0 || string(raw) == "null" {
		return nil
	}
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
		name := redact.Shorten(g.Masker.Text(string(redact.Shorten(m.name, 4<<10))), maxRecordedName)
		list[i] = audit.Argument{Name: name, Bytes: len(m.value), Digest: audit.DigestOf(m.value)}
	}
	return list
}

// recordTexts is recordArguments for arguments that are texts.
func (g *Guard) recordTexts(arguments map[string]string) []audit.Argument {
	raw, err := wire.Marshal(arguments)
	if err != nil || len(arguments) == 0 {
		return nil
	}
	return g.recordArguments(raw)
}
