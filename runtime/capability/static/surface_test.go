package static_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability/static"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func openAs(file, text string) (*static.Source,
	error) {
	return static.OpenFS(write(file, text), file)
}

var minRoles = [][]string{nil, {"Viewer"}, {"Member"}}

// surface is a toolset with a tool for each permission, and one more for each whose handler is
// constrained.
func surface() (toolset.Toolset, []access.Rule) {
	g := toolset.Generated{Package: "example.com/surface",
		Server: toolset.ServerInfo{Name: "surface", Version: "1"},
		Table:  access.Table{Roles: access.DefaultRoles()}}
	add := func(rule access.Rule) {
		g.Table.Rules = append(g.Table.Rules, rule)
		g.Tools = append(g.Tools, toolset.Tool{
			Name: rule.Tool, Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Structured(map[string]any{"tool": rule.Tool}, nil)
			}})
	}
	for i, p := range asked {
		app, rest, dotted := strings.Cut(p, ".")
		if !dotted {
			app, rest = "", p
		}
		action, object, _ := strings.Cut(rest, "_")
		rule := access.Rule{Tool: strings.ReplaceAll(p, ".", "_"), MinRole: minRoles[i%3],
			Permission: access.Permission{App: app, Action: action, Object: object}}
		add(rule)
		rule.Tool, rule.Constrained = rule.Tool+"_of_mine", true
		add(rule)
	}
	add(access.Rule{Tool: "status", Public: true})
	add(access.Rule{Tool: "whoami", Authenticated: true, Permission: access.NoPermission()})
	return toolset.NewToolset(g), g.Table.Rules
}

// TestListCallAndFileAgree holds the law of the surface for random files: what is listed is what
// can be called, and that is what the file lets the user do below its role.
func TestListCallAndFileAgree(t *testing.T) {
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		t.Run(denial.String(), func(t *testing.T) {
			file := write("a.yaml", "users: {}")
			source, err := static.OpenFS(file, "a.yaml")
			if err != nil {
				t.Fatal(err)
			}
			set, rules := surface()
			server, err := runtime.New(runtime.Options{
				Identity: identity.Bearer(func(_ context.Context, token string) (
					identity.Identity, error) {
					user, role, _ := strings.Cut(token, "_")
					return identity.Identity{
						Principal: access.Principal{
							Issuer: "test", Subject: "sub-" + user, User: user, Roles: []string{role}}}, nil
				}, identity.NamesUsers()),
				Anonymous: true, Access: runtime.AccessOptions{Denial: denial},
				Host: runtime.HostOptions{Source: source},
			}, set)
			if err != nil {
				t.Fatal(err)
			}
			url := mcptest.Serve(t, server)
			sessions := map[string]*mcp.ClientSession{}
			rapid.Check(t, func(rt *rapid.T) {
				w := drawWorld(rt)
				file["a.yaml"].Data = []byte(w.texts(rt)["a.yaml"])
				if err := source.Reload(); err != nil {
					rt.Fatal(err)
				}
				server.InvalidateCapabilities(nil)
				role := rapid.SampledFrom(append(access.DefaultRoles()[0], "")).Draw(rt, "role")
				token := rapid.SampledFrom([]string{"ada", "7", "nobody"}).Draw(rt, "user") + "_" +
					role
				if sessions[token] == nil {
					sessions[token] = mcptest.Connect(t, url, token, "")
				}
				session := sessions[token]
				user, _, _ := strings.Cut(token, "_")
				rank := slices.Index(access.DefaultRoles()[0], role) + 1
				listed := mcptest.Tools(t, session)
				for _, rule := range rules {
					may := rule.Public
					if u, known := w.Users[user]; known && u.active() && !rule.Public {
						permit := access.PermitAll
						if rule.Permission.Required() {
							permit = w.permit(user, rule.Permission.String())
						}
						may = (rule.MinRole == nil ||
							rank > slices.Index(access.DefaultRoles()[0], rule.MinRole[0])) &&
							(permit == access.PermitAll || permit == access.PermitConstrained &&
								rule.Constrained)
					}
					if got := slices.Contains(listed, rule.Tool); got != may {
						rt.Fatalf("%s as %s: listed %v, want %v", rule.Tool, token, got, may)
					}
					res, err := session.CallTool(
						t.Context(), &mcp.CallToolParams{
							Name: rule.Tool, Arguments: json.RawMessage(`{}`)})
					if got := err == nil && !res.IsError; got != may {
						rt.Fatalf("%s as %s: called %v, want %v: %v", rule.Tool, token, got, may,
							err)
					}
				}
			})
		})
	}
}

func TestServerStartsWhereTheFileListsNoActionsAndRefusesThoseItDoesNotList(t *testing.T) {
	set, _ := surface()
	start := func(text string) error {
		source, err := openAs("a.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = runtime.New(runtime.Options{
			Identity: identity.Static(
				map[string]access.Principal{identity.HashToken("t"): {
					Subject: "ada", User: "ada"}}), Host: runtime.HostOptions{Source: source},
		}, set)
		return err
	}
	if err := start("users: {ada: {superuser: true}}"); err != nil {
		t.Error(err)
	}
	err := start("actions: [" + strings.Join(asked[1:], ", ") +
		", dcim.view_devise]\nusers: {ada: {}}")
	if err == nil || !strings.Contains(err.Error(),
		"the host has no permission dcim.view_device, which tool") ||
		!strings.Contains(err.Error(), "did you mean dcim.view_devise") {
		t.Errorf("%v", err)
	}
	if err := start("users: {ada: {active: false}}"); err == nil ||
		!strings.Contains(err.Error(), `no active user "ada"`) {
		t.Errorf("%v", err)
	}
}
