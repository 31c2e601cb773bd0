// Package adopted puts the guard around a server.
package adopted

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Guarded returns the server with rules. Toolsets have the tools that moved.
func Guarded(
	old *mcp.Server, verify identity.Verifier, moved ...toolset.Toolset,
) (*runtime.Server, error) {
	byName, err := access.ParseRules(nil, map[string]string{ // nil: the default roles
		"reads": "authenticated", "writes": "minrole=Member",
		"delete_issue": "minrole=Admin scopes=issues",
	})
	if err != nil {
		return nil, err
	}
	rules, err := runtime.RulesByHint(old, byName["reads"], byName["writes"])
	if err != nil {
		return nil, err
	}
	rules["delete_issue"] = byName["delete_issue"]
	greet, day := byName["reads"], byName["reads"]
	greet.Prompt = "greet"
	day.Resource = "log://{day}" // the URI of a resource, or of a template
	rules["prompt greet"], rules["log of a day"] = greet, day
	return runtime.Adopt(old, runtime.Options{
		Identity: identity.Bearer(verify),
		Adopt:    runtime.AdoptOptions{Replace: true},
	}, rules, moved...) // moved: toolsets of mcpgen
}

type tenantKey struct{}

// Dependent returns options that give the tenant to the tools that moved.
func Dependent(tenant string) runtime.Options {
	return runtime.Options{
		Interceptors: []intercept.Middleware{func(next intercept.Next) intercept.Next {
			return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
				return next(context.WithValue(ctx, tenantKey{}, tenant), m)
			}
		}},
	}
}
