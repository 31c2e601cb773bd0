package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Adopt puts the guard around a go-sdk server that exists already, and adds toolsets to it.
//
// rules says who may use each of its own tools, by name; a rule's Tool may stay empty, and its
// MinRole is a position in the toolsets' hierarchy, or in access.DefaultRoles where they have
// none. Tools without a rule are refused, whether they are there now or are added later, as are
// its prompts, resources, completions and custom methods.
//
// What it cannot promise, because the server stays in other hands: middleware that is added
// after Adopt stands outside of the guard and can answer first. A tool that is replaced later
// runs, once it is allowed; the replaced tool of a toolset has its answer withheld. Its own
// tools are decided once, by the guard, and not again when go-sdk invokes them anew for a
// multi-round-trip request; they run without a time limit but that of the caller's credential,
// and a schema of theirs with
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
	own, info, err := toolsOf(server)
	if err != nil {
		return nil, startError(errors.Join(optsErr, fmt.Errorf("the tools of the adopted server cannot be listed: %w; adopt it before adding middleware that refuses callers", err)))
	}
	part, rulesErr := adoptedRules(own, rules)
	part.Table.Roles = hierarchy(toolsets)
	c, err := compose(toolsets, part)
	for _, t := range c.tools {
		if own[t.Name] != nil {
			err = errors.Join(err, fmt.Errorf("tool %q of a toolset is also a tool of the adopted server, which it would replace: rename one", t.Name))
		}
	}
	if err = errors.Join(optsErr, rulesErr, err); err != nil {
		return nil, startError(err)
	}
	c.info = ServerInfo{Name: info.Name, Title: info.Title, Version: info.Version}
	ruled := map[string]*mcp.Tool{}
	var refused []string
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, ok := rules[name]; ok {
			ruled[name] = own[name]
		} else {
			refused = append(refused, name)
		}
	}
	server.AddTool(&mcp.Tool{Name: refusalTool, InputSchema: stub}, refuse)
	s, err := assemble(opts, c, server, ruled)
	if err != nil {
		return nil, startError(err)
	}
	if len(refused) > 0 {
		s.log.Warn("tools of the adopted server have no rule and are refused: give each a rule in Adopt", "tools", refused)
	}
	return s, nil
}

// adoptedRules checks the rules of an adopted server's tools and makes a table of them.
func adoptedRules(own map[string]*mcp.Tool, rules map[string]access.Rule) (access.Part, error) {
	var errs []error
	part := access.Part{Package: "(the adopted server)"}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		rule := rules[name]
		switch {
		case own[name] == nil:
			errs = append(errs, fmt.Errorf("the adopted server has no tool %q, which has a rule: correct the name, or remove the rule", name))
		case rule.Tool != "" && rule.Tool != name:
			errs = append(errs, fmt.Errorf("the rule of tool %q names tool %q: leave its Tool empty", name, rule.Tool))
		case permissionOnly(rule):
			errs = append(errs, fmt.Errorf("tool %q has no rule but %s, which only permission-aware discovery enforces: add Authenticated, MinRole or Scopes", name, rule.Permission))
		}
		rule.Tool = cmp.Or(rule.Tool, name)
		part.Table.Rules = append(part.Table.Rules, rule)
	}
	return part, errors.Join(errs...)
}

// hierarchy is what the MinRole of an adopted tool's rule counts in: the toolsets' own, or the
// default one.
func hierarchy(toolsets []Toolset) []string {
	for _, set := range toolsets {
		if roles := set.generated.Table.Roles; roles != nil {
			return roles
		}
	}
	return access.DefaultRoles()
}

// toolsOf asks a server for its tools and its name, as a client would.
func toolsOf(server *mcp.Server) (map[string]*mcp.Tool, *mcp.Implementation, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	near, far := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, near, nil)
	if err != nil {
		return nil, nil, err
	}
	defer session.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "mcpgen", Version: "1"}, nil).
		Connect(ctx, far, &mcp.ClientSessionOptions{ProtocolVersion: newestWithSessions})
	if err != nil {
		return nil, nil, err
	}
	defer client.Close()
	info := client.InitializeResult().ServerInfo
	if info == nil {
		info = &mcp.Implementation{}
	}
	tools := map[string]*mcp.Tool{}
	if client.InitializeResult().Capabilities.Tools == nil {
		return tools, info, nil
	}
	for t, err := range client.Tools(ctx, nil) {
		if err != nil {
			return nil, nil, err
		}
		tools[t.Name] = t
	}
	return tools, info, nil
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
