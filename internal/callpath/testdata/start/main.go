// Command start makes a server of one kind of items. The test compiles it with counters of
// statements.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// host has every permission.
type host struct{}

func (host) Resolve(context.Context, access.Principal) (capability.User, error) {
	return capability.User{ID: "1"}, nil
}

func (host) Capabilities(context.Context, access.Principal) (set capability.Set, _ error) {
	set.Exempt(capability.Any, capability.Any)
	return set, nil
}

func (host) MapAction(permission string) (string, error) { return permission, nil }

func main() {
	kind := os.Args[1]
	n, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	o := runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("a token that is long enough"): {Subject: "ada", User: "ada",
				Roles: []string{"Member"}}}),
		Logger: slog.New(slog.DiscardHandler),
	}
	g := toolset.Generated{Package: "example.com/start", Server: toolset.ServerInfo{Name: "start"},
		Table: access.Table{Roles: access.DefaultRoles()}}
	for i := range n {
		add(&g, kind, i)
	}
	if kind == "permissions" {
		o.Host.Source = host{}
	}
	if kind == "adopted" {
		err = adopt(o, g)
	} else {
		_, err = runtime.New(o, toolset.NewToolset(g))
	}
	if err != nil {
		panic(err)
	}
}

func adopt(o runtime.Options, g toolset.Generated) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "start"}, nil)
	rules := map[string]access.Rule{}
	for i, tool := range g.Tools {
		s.AddTool(&mcp.Tool{Name: tool.Name, InputSchema: json.RawMessage(tool.Input)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
		rules[tool.Name] = access.Rule{MinRole: g.Table.Rules[i].MinRole}
	}
	_, err := runtime.Adopt(s, o, rules)
	return err
}

func add(g *toolset.Generated, kind string, i int) {
	// The rules of neighbours differ, so that nothing is decided by equality.
	rule := access.Rule{MinRole: access.DefaultRoles()[0][i%4 : i%4+1]}
	switch name := fmt.Sprintf("item_%05d", i); kind {
	case "prompts":
		rule.Prompt = name
		g.Prompts = append(g.Prompts, toolset.Prompt{Name: name,
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptResult{}, nil
			}})
	case "resources", "templates":
		rule.Resource = "start://items/" + name
		r := resource(rule.Resource)
		if kind == "templates" {
			rule.Resource += "/{part}"
			r.URI, r.Variables = rule.Resource, []toolset.Variable{{Name: "part"}}
		}
		g.Resources = append(g.Resources, r)
	default:
		rule.Tool = name
		tool := toolset.Tool{Name: name, Description: "Does something.",
			Input: `{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]}},"required":["a"]}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Result{}, nil
			}}
		switch kind {
		case "values":
			for _, value := range []string{"x", "y"} {
				g.Table.Values = append(g.Table.Values, access.Rule{Tool: name, Argument: "a",
					Value: value, MinRole: []string{"Admin"}})
			}
		case "scopes":
			rule.Scopes = []string{name}
		case "aliases":
			tool.Aliases = []string{"old_" + name}
		case "catalogs":
			tool.Catalogs = []string{"catalog_" + name}
		case "permissions":
			rule.Permission = access.Permission{App: "a", Action: "view", Object: name}
		case "apps":
			tool.UI = "ui://start/" + name
			view := rule
			view.Tool, view.Resource = "", tool.UI
			g.Table.Resources = append(g.Table.Resources, view)
			g.Resources = append(g.Resources, resource(tool.UI))
		}
		g.Tools = append(g.Tools, tool)
	}
	t := access.NewTable(rule)
	g.Table.Rules = append(g.Table.Rules, t.Rules...)
	g.Table.Prompts = append(g.Table.Prompts, t.Prompts...)
	g.Table.Resources = append(g.Table.Resources, t.Resources...)
}

func resource(uri string) toolset.Resource {
	return toolset.Resource{URI: uri, Name: uri, MIMEType: "text/html;profile=mcp-app",
		Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceResult{}, nil
		}}
}
