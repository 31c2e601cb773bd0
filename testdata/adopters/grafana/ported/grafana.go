// Package ported serves tools of github.com/grafana/mcp-grafana with access rules. Arguments have
// the types of the original. So the generated files have descriptions of it, which are Copyright
// Grafana Labs, under the Apache License 2.0.
//
//mcp:server name=mcp-grafana version=1.3.0 required=tags
//mcp:default minrole=Viewer output=none
package ported

//go:generate go tool mcpgen

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	mcpgrafana "github.com/grafana/mcp-grafana"
	"github.com/grafana/mcp-grafana/tools"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Grafana has the handlers. They call Grafana with the token of the caller.
type Grafana struct{ config mcpgrafana.GrafanaConfig }

// New returns the handlers for the Grafana at a URL.
func New(url string) *Grafana {
	logger := slog.New(slog.DiscardHandler)
	return &Grafana{config: mcpgrafana.GrafanaConfig{URL: url, Logger: logger}}
}

// Descriptions are those of the original, by the name of the tool.
func Descriptions() map[string]string {
	texts := map[string]string{}
	for _, t := range []mcpgrafana.Tool{
		tools.CreateAnnotationTool, tools.CreateFolder, tools.CreateSnapshotTool,
		tools.DeleteSnapshotTool, tools.GenerateDeeplink, tools.GetAnnotationTagsTool,
		tools.GetAnnotationsTool, tools.GetDashboardByUID, tools.GetDashboardPanelQueries,
		tools.GetDashboardProperty, tools.GetDashboardSummary, tools.GetDatasource,
		tools.GetResourceDescription, tools.GetResourcePermissions, tools.GetRoleAssignments,
		tools.GetRoleDetails, tools.GetSnapshotTool, tools.ListAllRoles, tools.ListDatasources,
		tools.ListSnapshotsTool, tools.ListTeamRoles, tools.ListTeams, tools.ListUserRoles,
		tools.ListUsersByOrg, tools.SearchDashboards, tools.SearchFolders,
		tools.UpdateAnnotationTool, tools.UpdateDashboard, tools.UserInfoTool,
	} {
		texts[t.Tool.Name] = t.Tool.Description
	}
	return texts
}

// caller adds the clients of the original to the context, with the caller's token.
func (g *Grafana) caller(ctx context.Context) (context.Context, *mcpgrafana.GrafanaClient) {
	token, _ := runtime.CallerValue[identity.Token](ctx)
	config := g.config
	config.APIKey = token.Reveal()
	ctx = mcpgrafana.WithGrafanaConfig(ctx, config)
	client := mcpgrafana.NewGrafanaClient(ctx, config.URL, config.APIKey, nil)
	ctx = mcpgrafana.WithGrafanaClient(ctx, client)
	if kubernetes, err := mcpgrafana.NewKubernetesClient(ctx); err == nil {
		ctx = mcpgrafana.WithKubernetesClient(ctx, kubernetes)
	}
	return ctx, client
}

// call runs the handler of a tool of the original, and returns the text of its result.
func call[In any](
	ctx context.Context, g *Grafana, tool mcpgrafana.Tool, in In,
) (string, error) {
	var args map[string]any
	if text, err := json.Marshal(in); err != nil {
		return "", err
	} else if err := json.Unmarshal(text, &args); err != nil {
		return "", err
	}
	ctx, _ = g.caller(ctx)
	result, err := tool.Handler(ctx, mcpgo.CallToolRequest{
		Params: mcpgo.CallToolParams{Arguments: args},
	})
	if err != nil {
		return "", err
	}
	var text string
	for _, content := range result.Content {
		part, ok := content.(mcpgo.TextContent)
		if !ok {
			return "", errors.New("the result has content that is no text")
		}
		text += part.Text
	}
	if result.IsError {
		return "", errors.New(text)
	}
	return text, nil
}
