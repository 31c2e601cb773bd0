package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Adopt puts the guard around a go-sdk server that exists already, and adds toolsets to it.
//
// rules says who may use each of its own tools, by name; a rule's Tool may stay empty, and its
// MinRole is a position in the toolsets' hierarchy, or in access.DefaultRoles where they have
// none. A rule whose Prompt or Resource is set is that of a prompt, or of a resource or a resource
// template by its URI, whatever its key. What has no rule is refused, whether it is there now or
// is added later, as are custom methods. Completions go by the rule of what they complete. Where
// a URI may mean several resources, an exact one counts first, then a template of a toolset, then
// the first of the server's own templates in the order of their text, as go-sdk has it.
//
// What it cannot promise, because the server stays in other hands: middleware that is added
// after Adopt stands outside of the guard and can answer first. A tool that is replaced later
// runs, once it is allowed; the replaced tool of a toolset has its answer withheld. A template
// that is added later may answer for a URI of one that has a rule. Its own tools, prompts and
// resources are decided once, by the guard, and not again when go-sdk invokes them anew for a
// multi-round-trip request; of these, prompts and resources may ask their callers for nothing.
// They run without a time limit but that of the caller's credential, and a schema of theirs with
// x-mcp-header is checked before the guard, which tells such a tool from an unknown one. So
// does a custom method that is refused from one that does not exist. Instructions are sent to
// everybody as they are. One of its tools that asks for sampling by a nil *mcp.CreateMessageParams
// or with a nil message in it ends the process, where a client of before 2026-07-28 calls it:
// go-sdk reads the question before anything here does. The server must not be connected to any transport but through what
// Adopt returns.
func Adopt(server *mcp.Server, options Options, rules map[string]access.Rule, toolsets ...Toolset) (*Server, error) {
	opts, optsErr := options.withDefaults()
	if server == nil {
		return nil, startError(errors.Join(optsErr, errors.New("Adopt has no server: pass the *mcp.Server to put the guard around")))
	}
	own, err := adoptedOf(server)
	if err != nil {
		return nil, startError(errors.Join(optsErr, fmt.Errorf("what the adopted server serves cannot be listed: %w; adopt it before adding middleware that refuses callers", err)))
	}
	part, rulesErr := own.table(rules, opts.PermissionAware)
	part.Table.Roles = hierarchy(toolsets)
	c, err := compose(toolsets, opts.PermissionAware, part)
	if err = errors.Join(optsErr, rulesErr, err, own.clashes(c)); err != nil {
		return nil, startError(err)
	}
	c.info = ServerInfo{Name: own.info.Name, Title: own.info.Title, Version: own.info.Version}
	if err := own.resolve(&c.resources); err != nil {
		return nil, startError(err)
	}
	server.AddTool(&mcp.Tool{Name: refusalTool, InputSchema: stub}, refuse)
	s, err := assemble(opts, c, server, own)
	if err != nil {
		return nil, startError(err)
	}
	for _, k := range kinds {
		table := s.table.Of(k)
		refused := slices.DeleteFunc(own.names(k), func(name string) bool { _, ruled := table.Tool(name); return ruled })
		if len(refused) > 0 {
			s.log.Warn(k.String()+"s of the adopted server have no rule and are refused: give each a rule in Adopt", k.String()+"s", refused)
		}
	}
	return s, nil
}

// hierarchy is what the MinRole of an adopted tool's rule counts in: the toolsets' own, or the
// default one.
func hierarchy(toolsets []Toolset) []string {
	for _, set := range toolsets {
		if roles := set.Generated().Table.Roles; roles != nil {
			return roles
		}
	}
	return access.DefaultRoles()
}

// refusalTool stands behind the guard of an adopted server and words its refusals: what a
// client of 2026-07-28 is sent must come out of a tool (see guard.forbid). It has no rule, so
// that it is unknown to every caller.
const refusalTool = "io.github.mcpgen.refused"

func refuse(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a refusalText
	if req == nil || req.Params == nil || json.Unmarshal(req.Params.Arguments, &a) != nil {
		return nil, internalError()
	}
	return errorResult(a.Text), nil
}

type refusalText struct {
	Text string `json:"text"`
}

// refusalArguments carries the words of a refusal to refuse.
func refusalArguments(name string, d access.Decision) json.RawMessage {
	out, err := json.Marshal(refusalText{forbidden(name, d).Content[0].(*mcp.TextContent).Text})
	if err != nil {
		return nil
	}
	return out
}
