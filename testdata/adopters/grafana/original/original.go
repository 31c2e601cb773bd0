// Package original serves all tools of github.com/grafana/mcp-grafana by its own registration
// functions, as its command does.
package original

import (
	"log/slog"
	"net/http"

	mcpgrafana "github.com/grafana/mcp-grafana"
	"github.com/grafana/mcp-grafana/tools"
	"github.com/mark3labs/mcp-go/server"
)

// Server returns the server with the tools of all categories, reading and writing.
func Server() *server.MCPServer {
	s := server.NewMCPServer("mcp-grafana", "1.3.0")
	for _, add := range []func(*server.MCPServer){
		tools.AddSearchTools, tools.AddAssertsTools, tools.AddAdminTools, tools.AddRenderingTools,
		tools.AddExamplesTools, tools.AddConfigTools, tools.AddProvisioningTools,
		tools.AddDocsTools, tools.AddUserTools,
	} {
		add(s)
	}
	for _, add := range []func(s *server.MCPServer, enabled bool){
		tools.AddDatasourceTools, tools.AddIncidentTools, tools.AddPrometheusTools,
		tools.AddLokiTools, tools.AddElasticsearchTools, tools.AddQuickwitTools,
		tools.AddInfluxDBTools, tools.AddAlertingTools, tools.AddDashboardTools,
		tools.AddFolderTools, tools.AddOnCallTools, tools.AddSiftTools, tools.AddPyroscopeTools,
		tools.AddNavigationTools, tools.AddAnnotationTools, tools.AddSnapshotTools,
		tools.AddCloudWatchTools, tools.AddClickHouseTools, tools.AddSnowflakeTools,
		tools.AddRunPanelQueryTools, tools.AddGraphiteTools, tools.AddAthenaTools,
		tools.AddPluginTools, tools.AddAgento11yTools, tools.AddAssistantTools,
	} {
		add(s, true)
	}
	tools.AddAPITools(s, true, true)
	return s
}

// Handler serves it over HTTP. Each request has the credential for Grafana in a header.
func Handler() http.Handler {
	config := mcpgrafana.GrafanaConfig{Logger: slog.New(slog.DiscardHandler)}
	return server.NewStreamableHTTPServer(Server(),
		server.WithHTTPContextFunc(mcpgrafana.ComposedHTTPContextFunc(config)))
}
