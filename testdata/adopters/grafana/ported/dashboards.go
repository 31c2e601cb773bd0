package ported

import (
	"context"

	"github.com/grafana/mcp-grafana/tools"
)

// SearchDashboards finds dashboards.
//
//mcp:tool title="Search dashboards" readonly destructive=false idempotent openworld=false
func (g *Grafana) SearchDashboards(
	ctx context.Context, in tools.SearchDashboardsParams,
) (string, error) {
	return call(ctx, g, tools.SearchDashboards, in)
}

// SearchFolders finds folders.
//
//mcp:tool title="Search folders" readonly destructive=false idempotent openworld=false
func (g *Grafana) SearchFolders(ctx context.Context, in tools.SearchFoldersParams) (string, error) {
	return call(ctx, g, tools.SearchFolders, in)
}

// GetDashboardByUID returns a dashboard.
//
//mcp:tool title="Get dashboard details" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetDashboardByUID(
	ctx context.Context, in tools.GetDashboardByUIDParams,
) (string, error) {
	return call(ctx, g, tools.GetDashboardByUID, in)
}

// GetDashboardSummary returns an overview of a dashboard.
//
//mcp:tool title="Get dashboard summary" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetDashboardSummary(
	ctx context.Context, in tools.GetDashboardSummaryParams,
) (string, error) {
	return call(ctx, g, tools.GetDashboardSummary, in)
}

// GetDashboardProperty returns a part of a dashboard.
//
//mcp:tool title="Get dashboard property" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetDashboardProperty(
	ctx context.Context, in tools.GetDashboardPropertyParams,
) (string, error) {
	return call(ctx, g, tools.GetDashboardProperty, in)
}

// GetDashboardPanelQueries returns the queries of the panels of a dashboard.
//
//mcp:tool title="Get dashboard panel queries" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetDashboardPanelQueries(
	ctx context.Context, in tools.DashboardPanelQueriesParams,
) (string, error) {
	return call(ctx, g, tools.GetDashboardPanelQueries, in)
}

// UpdateDashboard saves or patches a dashboard.
//
//mcp:tool minrole=Member title="Create or update dashboard" readonly=false destructive openworld=false
func (g *Grafana) UpdateDashboard(
	ctx context.Context, in tools.UpdateDashboardParams,
) (string, error) {
	return call(ctx, g, tools.UpdateDashboard, in)
}

// ListDatasources lists data sources.
//
//mcp:tool title="List datasources" readonly destructive=false idempotent openworld=false
func (g *Grafana) ListDatasources(
	ctx context.Context, in tools.ListDatasourcesParams,
) (string, error) {
	return call(ctx, g, tools.ListDatasources, in)
}

// GetDatasource returns a data source.
//
//mcp:tool minrole=Member title="Get datasource" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetDatasource(ctx context.Context, in tools.GetDatasourceParams) (string, error) {
	return call(ctx, g, tools.GetDatasource, in)
}

// GenerateDeeplink makes a link to a dashboard, a panel or a query.
//
//mcp:tool title="Generate navigation deeplink" readonly=false destructive=false idempotent=false openworld=false
func (g *Grafana) GenerateDeeplink(
	ctx context.Context, in tools.GenerateDeeplinkParams,
) (string, error) {
	return call(ctx, g, tools.GenerateDeeplink, in)
}

// ListSnapshots lists snapshots.
//
//mcp:tool title="List snapshots" readonly destructive=false idempotent openworld=false
func (g *Grafana) ListSnapshots(ctx context.Context, in tools.ListSnapshotsParams) (string, error) {
	return call(ctx, g, tools.ListSnapshotsTool, in)
}

// GetSnapshot returns a snapshot.
//
//mcp:tool title="Get snapshot" readonly destructive=false idempotent openworld=false
func (g *Grafana) GetSnapshot(ctx context.Context, in tools.GetSnapshotParams) (string, error) {
	return call(ctx, g, tools.GetSnapshotTool, in)
}

// CreateSnapshot saves a snapshot.
//
//mcp:tool minrole=Member title="Create snapshot" readonly=false destructive=false idempotent=false openworld=false
func (g *Grafana) CreateSnapshot(
	ctx context.Context, in tools.CreateSnapshotParams,
) (string, error) {
	return call(ctx, g, tools.CreateSnapshotTool, in)
}

// DeleteSnapshot deletes a snapshot.
//
//mcp:tool minrole=Member title="Delete snapshot" readonly=false destructive idempotent=false openworld=false
func (g *Grafana) DeleteSnapshot(
	ctx context.Context, in tools.DeleteSnapshotParams,
) (string, error) {
	return call(ctx, g, tools.DeleteSnapshotTool, in)
}

// UserInfo describes the caller and its organizations.
//
//mcp:tool title="Get current user info" readonly destructive=false idempotent openworld=false
func (g *Grafana) UserInfo(ctx context.Context, in tools.UserInfoParams) (string, error) {
	return call(ctx, g, tools.UserInfoTool, in)
}
