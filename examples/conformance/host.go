package main

import (
	"context"
	"sync"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
)

// host is a [capability.Source] with one user, who has the permissions that are true.
type host struct {
	mu     sync.Mutex
	allows map[string]bool
}

func (h *host) Capabilities(context.Context, access.Principal) (set capability.Set, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for permission, allowed := range h.allows {
		if allowed {
			set.Add(permission)
		}
	}
	return set, nil
}

func (h *host) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	return capability.User{ID: p.User, Name: p.User}, nil
}

func (h *host) MapAction(permission string) (string, error) { return permission, nil }

// Lists serves a tool and a prompt that are listed while the host has their permissions.
type Lists struct {
	host   *host
	server *runtime.Server
}

// TestTriggerToolChange changes the list of tools.
//
//mcp:tool
func (l *Lists) TestTriggerToolChange(context.Context) error { return l.change("suite.use_tool") }

// TestTriggerPromptChange changes the list of prompts.
//
//mcp:tool
func (l *Lists) TestTriggerPromptChange(context.Context) error {
	return l.change("suite.use_prompt")
}

// TestTriggerResourceUpdate reports an update of test://watched-resource.
//
//mcp:tool
func (l *Lists) TestTriggerResourceUpdate(ctx context.Context) error {
	return l.server.ResourceUpdated(ctx, "test://watched-resource")
}

func (l *Lists) change(permission string) error {
	l.host.mu.Lock()
	l.host.allows[permission] = !l.host.allows[permission]
	l.host.mu.Unlock()
	l.server.InvalidateCapabilities(nil)
	return nil
}

// TransientTool is listed after every other call of test_trigger_tool_change.
//
//mcp:tool authenticated action=use object=tool
func (l *Lists) TransientTool(context.Context) error { return nil }

// TransientPrompt is listed after every other call of test_trigger_prompt_change.
//
//mcp:prompt authenticated action=use object=prompt
func (l *Lists) TransientPrompt(context.Context) (string, error) { return "transient", nil }
