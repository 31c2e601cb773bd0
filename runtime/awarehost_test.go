package runtime_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// fakeHost is a host in memory.
type fakeHost struct {
	mu    sync.Mutex
	users map[string]capability.Set
	asked map[string]int
	fail  func(context.Context) error // runs before each answer
}

func newHost(users map[string]capability.Set) *fakeHost {
	return &fakeHost{users: maps.Clone(users), asked: map[string]int{}}
}

func (h *fakeHost) set(user string, permissions ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == nil {
		h.users = map[string]capability.Set{}
	}
	h.users[user] = permissionsOf(permissions...)
}

func (h *fakeHost) remove(user string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.users, user)
}

func (h *fakeHost) failing(fail func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fail = fail
}

func (h *fakeHost) times(user string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[user]
}

func (h *fakeHost) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	h.mu.Lock()
	fail := h.fail
	h.asked[p.User]++
	h.mu.Unlock()
	if fail != nil {
		if err := fail(ctx); err != nil {
			return capability.Set{}, err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	set, ok := h.users[p.User]
	if !ok {
		return capability.Set{}, fmt.Errorf("user %q: %w", p.User, capability.ErrNoUser)
	}
	return set, nil
}

func (h *fakeHost) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.users[p.User]; !ok {
		return capability.User{}, capability.ErrNoUser
	}
	return capability.User{ID: "7", Name: p.User}, nil
}

func (h *fakeHost) MapAction(permission string) (string, error) { return permission, nil }

// permissionsOf are a host's permissions: "x" for all objects, "x?" under a constraint, "exempt
// object action".
func permissionsOf(permissions ...string) capability.Set {
	var set capability.Set
	for _, p := range permissions {
		if words := strings.Fields(p); words[0] == "exempt" {
			set.Exempt(words[1], words[2])
		} else if name, ok := strings.CutSuffix(p, "?"); ok {
			set.Add(name, capability.Constraint(`{"site":"a"}`))
		} else {
			set.Add(p)
		}
	}
	return set
}

func permission(s string) access.Permission {
	if s == "none" {
		return access.NoPermission()
	}
	app, rest, _ := strings.Cut(s, ".")
	action, object, _ := strings.Cut(rest, "_")
	return access.Permission{App: app, Action: action, Object: object}
}

// stock is a toolset whose rules name permissions.
func stock() toolset.Toolset { return toolset.NewToolset(stockGenerated()) }

func stockGenerated() toolset.Generated {
	call := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		constraints := []string{}
		own := capability.Constraints(ctx)
		for i, c := range own {
			constraints = append(constraints, string(c))
			if len(c) > 0 {
				c[0] = 'X' // what a handler does to its own is nobody else's
			}
			own[i] = capability.Constraint("Y")
		}
		return toolset.Structured(map[string]any{"constraints": constraints}, nil)
	}
	g := toolset.Generated{
		Package: "example.com/stock", Server: toolset.ServerInfo{Name: "stock", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{
			{Tool: "device_change", MinRole: []string{"Member"},
				Permission: permission("dcim.change_device")},
			{Tool: "device_find", MinRole: []string{"Viewer"}, Permission: permission("dcim.view_device"),
				Constrained: true},
			{Tool: "device_get", MinRole: []string{"Viewer"}, Permission: permission("dcim.view_device")},
			{Tool: "device_wipe", MinRole: []string{"Admin"}, Permission: permission("dcim.wipe_device"),
				Denial: access.Forbid},
			{Tool: "export", Permission: permission("billing.export")},
			{Tool: "status", Public: true},
			{Tool: "whoami", Authenticated: true, Permission: access.NoPermission()},
		}, Prompts: []access.Rule{
			{Prompt: "triage", Permission: permission("dcim.view_device")},
		}, Resources: []access.Rule{
			{Resource: "dcim://devices", Permission: permission("dcim.view_device"),
				Constrained: true},
			{Resource: "dcim://sites/{id}", Permission: permission("dcim.view_site")},
		}},
	}
	for _, rule := range g.Table.Rules {
		g.Tools = append(g.Tools, toolset.Tool{Name: rule.Tool, Input: anyInput, Call: call})
	}
	g.Prompts = []toolset.Prompt{{Name: "triage",
		Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText("look", nil)
		}}}
	read := func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText(fmt.Sprintf("%s", capability.Constraints(ctx)), nil)
	}
	g.Resources = []toolset.Resource{
		{URI: "dcim://devices", Name: "devices", Read: read},
		{URI: "dcim://sites/{id}", Name: "site", Read: read,
			Variables: []toolset.Variable{{Name: "id"}}},
	}
	return g
}

// hosted are callers whose tokens say all: "user_role", or of a client itself "any_role_client", or
// of a person who comes by one and has no user "any_role_client_person".
func hosted() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		parts := strings.Split(token, "_")
		p := access.Principal{Issuer: "test", Subject: "sub-" + parts[0], User: parts[0],
			Roles: []string{parts[1]}}
		if len(parts) > 2 {
			p.User, p.Client = "", parts[2]
		}
		return identity.Identity{Principal: p, ClientItself: len(parts) == 3}, nil
	}, identity.NamesUsers())
}

// aware makes a permission-aware server of the stock.
func aware(t testing.TB, h *fakeHost, options runtime.Options) *runtime.Server {
	t.Helper()
	options.Host.Source = h
	if options.Identity == nil {
		options.Identity = hosted()
	}
	return newServer(t, options, stock())
}

// scopedStock is the stock with a tool, a prompt and a resource more, which ask for scopes as well.
func scopedStock() toolset.Toolset {
	g := stockGenerated()
	needs := access.Rule{Scopes: []string{"move"}, Permission: permission("dcim.view_site")}
	move, plan, routes := needs, needs, needs
	move.Tool, plan.Prompt, routes.Resource = "move", "plan", "dcim://routes"
	g.Table.Rules = append(g.Table.Rules, move)
	slices.SortFunc(g.Table.Rules, func(a, b access.Rule) int {
		return strings.Compare(a.Tool, b.Tool)
	})
	g.Table.Prompts = append([]access.Rule{plan}, g.Table.Prompts...)
	g.Table.Resources = append(g.Table.Resources, routes)
	slices.SortFunc(g.Table.Resources, func(a, b access.Rule) int {
		return strings.Compare(a.Resource, b.Resource)
	})
	g.Tools = append(g.Tools, toolset.Tool{Name: "move", Input: anyInput, Call: g.Tools[0].Call})
	g.Prompts = append(g.Prompts, toolset.Prompt{Name: "plan", Get: g.Prompts[0].Get})
	g.Resources = append(g.Resources, toolset.Resource{URI: "dcim://routes", Name: "routes",
		Read: g.Resources[0].Read})
	return toolset.NewToolset(g)
}
